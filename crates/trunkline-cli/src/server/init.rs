//! The first process of a container, which passes signals on and reaps orphans.
//!
//! The kernel makes this process the parent of all orphans of the container. It cannot take their status as a server,
//! which needs the status of the children that it has started. So the server is a child of the first process.

use std::env;
use std::io::{self, IsTerminal};
use std::os::unix::process::CommandExt;
use std::process::{self, Command, ExitCode};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use trunkline_command_tools::{adopt_orphans, exit_code, wait_for_child};

use super::own_process::{hide_environment, own_program};

/// The signals that are passed on.
const SIGNALS: [Signal; 6] =
    [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM, Signal::USR1, Signal::USR2];

/// Runs this command line in another process, if this is the first process. Returns `None` if this process should run
/// it.
pub(crate) fn first_process() -> Option<ExitCode> {
    const FIRST: u32 = 1;
    if !cfg!(target_os = "linux") || process::id() != FIRST {
        return None;
    }
    hide_environment();
    let mut arguments = env::args_os();
    let mut command = Command::new(own_program().ok()?);
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    // For example, the limit of processes is one.
    run(command.args(arguments)).ok()
}

/// Runs a command until it ends. Meanwhile, passes signals on to it, and reaps orphans.
///
/// # Errors
///
/// When it cannot be started.
pub(crate) fn run(command: &mut Command) -> io::Result<ExitCode> {
    // The first process adopts orphans without this.
    let _ = adopt_orphans();
    let child: Arc<Mutex<Option<Pid>>> = Arc::default();
    let runtime = Builder::new_current_thread().enable_io().build()?;
    {
        let _context = runtime.enter();
        for number in SIGNALS {
            let mut received = signal(SignalKind::from_raw(number.as_raw()))?;
            let child = Arc::clone(&child);
            runtime.spawn(async move {
                while received.recv().await.is_some() {
                    pass_on(number, &child);
                }
            });
        }
    }
    let mut process = {
        // A signal that arrives meanwhile is passed on afterwards.
        let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
        let process = command.spawn()?;
        *child = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
        process
    };
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || runtime.block_on(std::future::pending::<()>()))?;
    wait_for_child(process.id());
    // Later, its id may belong to another process.
    *child.lock().unwrap_or_else(PoisonError::into_inner) = None;
    Ok(exit_code(process.wait()?))
}

fn pass_on(signal: Signal, child: &Mutex<Option<Pid>>) {
    // The terminal sends these to all processes of the group.
    let is_of_terminal = [Signal::INT, Signal::QUIT].contains(&signal) && io::stdin().is_terminal();
    if let Some(child) = *child.lock().unwrap_or_else(PoisonError::into_inner)
        && !is_of_terminal
    {
        let _ = kill_process(child, signal);
    }
}
