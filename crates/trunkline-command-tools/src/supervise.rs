//! A process that runs a program and ends everything that the program has started.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, kill_process};

use crate::descendants::{adopt_orphans, end_descendants, wait_for_child};

/// The reason why a program was not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SuperviseError {
    /// The program is missing.
    #[error("the program is missing")]
    Missing,
    /// The program cannot be started.
    #[error("cannot start {program}")]
    Start {
        /// The program.
        program: String,
        /// The reason.
        source: std::io::Error,
    },
    /// The thread that watches stdin cannot be started.
    #[error("cannot start a thread")]
    Thread(#[source] std::io::Error),
}

/// The time for the program to end after its stdin is closed, and then after SIGTERM. Together, they are less than the
/// time after which a client of MCP ends the process group, 2 s by default.
const GRACE: Duration = Duration::from_secs(1);
const TERM_GRACE: Duration = Duration::from_millis(500);

/// Runs a program with the stdin, stdout and stderr of this process, and ends like it, so that a command ends with its
/// parent, also if that is killed by SIGKILL. `arguments` are the program and its arguments.
///
/// When the other end of stdin is closed, also because its process was killed, the program has a second to end. Then it
/// gets SIGTERM, and half a second later it is killed. When it has ended, all processes that it started are killed,
/// also those in other process groups (on Linux). Those that end before, after their parent, are reaped. Call this from `main`, with no other thread.
///
/// # Errors
/// If the program was not started.
pub fn supervise(
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<ExitCode, SuperviseError> {
    let mut arguments = arguments.into_iter();
    let program = arguments.next().ok_or(SuperviseError::Missing)?;
    // Without it, processes that leave the group of the program are not found.
    let _ = adopt_orphans();
    let failed =
        |source| SuperviseError::Start { program: program.to_string_lossy().into(), source };
    let mut child = Command::new(&program).args(arguments).spawn().map_err(failed)?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let running = Running(Arc::new(Mutex::new(pid)));
    let watched = running.clone();
    thread::Builder::new()
        .name("watch-stdin".to_owned())
        .spawn(move || {
            if is_closed_stdin() {
                end(&watched);
            }
        })
        .map_err(SuperviseError::Thread)?;
    wait_for_child(child.id());
    running.forget();
    let status = child.wait().map_err(failed)?;
    end_descendants();
    Ok(exit_code(status))
}

/// Waits until the other end of stdin is closed, without reading. Returns whether that can be found out.
fn is_closed_stdin() -> bool {
    let stdin = std::io::stdin();
    loop {
        let mut descriptors = [PollFd::new(&stdin, PollFlags::empty())];
        match poll(&mut descriptors, None) {
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
            Ok(_) => return !descriptors[0].revents().contains(PollFlags::NVAL),
        }
    }
}

/// The id of the program, until its status is taken: later, the id may belong to another process. A lock instead of a
/// descriptor of the process, which systems other than Linux and older kernels do not have.
#[derive(Clone)]
struct Running(Arc<Mutex<Option<Pid>>>);

impl Running {
    fn lock(&self) -> MutexGuard<'_, Option<Pid>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Call this before the status is taken.
    fn forget(&self) {
        *self.lock() = None;
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = *self.lock() {
            // It may have ended meanwhile, and is a zombie then.
            let _ = kill_process(pid, signal);
        }
    }
}

/// Ends the program. The process ends before if the program ends by itself.
fn end(program: &Running) {
    thread::sleep(GRACE);
    program.signal(Signal::TERM);
    thread::sleep(TERM_GRACE);
    program.signal(Signal::KILL);
}

/// The exit code of a program, or that of shells for a signal.
#[must_use]
pub fn exit_code(status: ExitStatus) -> ExitCode {
    const SIGNAL_BASE: i32 = 128;
    let code = status.code().or(status.signal().map(|signal| SIGNAL_BASE + signal));
    code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    #[test]
    fn a_program_whose_status_was_taken_is_not_signalled() {
        for is_forgotten in [false, true] {
            let mut other = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
            let running = Running(Arc::new(Mutex::new(Pid::from_raw(other.id().cast_signed()))));
            if is_forgotten {
                running.forget();
            }
            running.signal(Signal::KILL);
            // Without a signal, it ends with its stdin.
            drop(other.stdin.take());
            let killed = other.wait().unwrap().signal();
            assert_eq!(killed, (!is_forgotten).then_some(9));
        }
    }
}
