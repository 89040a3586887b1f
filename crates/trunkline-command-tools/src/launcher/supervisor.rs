//! The process that supervises a program, and ends everything that the program has started.

use std::io::{BufRead, Write, stdin};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{ChildStdin, Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::process::{Pid, Signal, getpid, kill_process, kill_process_group};

use super::error::LaunchError;
use super::protocol::Report;
use crate::descendants::{adopt_orphans, end_descendants, wait_for_child};
use crate::supervise::exit_code;

/// Stacks count towards the limit of memory.
const STACK_SIZE: usize = 64 << 10;

/// The first line of stdin: the input of the program.
type Input = Vec<u8>;

/// The program, shared by the thread that waits for it and the one that ends it.
#[derive(Clone, Default)]
struct Leader(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Set as long as the id cannot belong to a later process.
    pid: Option<Pid>,
    is_cancelled: bool,
}

/// The threads that serve a program. They are started before its limits are set.
pub(super) struct Supervisor {
    leader: Leader,
    input: Receiver<Input>,
    feeding: Sender<(ChildStdin, Input)>,
}

impl Supervisor {
    pub(super) fn start() -> Result<Self, LaunchError> {
        if let Err(error) = adopt_orphans() {
            tracing::debug!(%error, "cannot adopt orphans: processes that leave their group are not found");
        }
        let leader = Leader::default();
        let (sender, input) = channel();
        let controlled = leader.clone();
        spawn("tool-control", move || follow(&sender, &controlled))?;
        let (feeding, inputs) = channel();
        spawn("tool-input", move || feed(&inputs))?;
        Ok(Self { leader, input, feeding })
    }

    /// Runs a program with the first line of stdin, until it ends or stdin is closed. Ends everything that it has
    /// started before returning.
    pub(super) fn run(self, command: &mut Command) -> Result<ExitStatus, LaunchError> {
        let program = PathBuf::from(command.get_program());
        let failed = |source| LaunchError::Execute { program: program.clone(), source };
        let input = self.input.recv().map_err(|_| LaunchError::Closed)?;
        let mut child = {
            let mut leader = self.leader.lock();
            if leader.is_cancelled {
                return Err(LaunchError::Closed);
            }
            let child = command.process_group(0).stdin(Stdio::piped()).spawn().map_err(failed)?;
            leader.pid = pid(child.id());
            child
        };
        if let Some(pipe) = child.stdin.take() {
            // The thread runs until this process ends.
            let _ = self.feeding.send((pipe, input));
        }
        wait_for_child(child.id());
        self.leader.signal(Signal::KILL);
        self.leader.lock().pid = None;
        let status = child.wait().map_err(failed)?;
        end_descendants();
        Ok(status)
    }
}

impl Leader {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.lock().pid {
            let _ = kill_process_group(pid, signal);
            // The program may have moved to another group.
            let _ = kill_process(pid, signal);
        }
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), LaunchError> {
    let builder = thread::Builder::new().name(name.to_owned()).stack_size(STACK_SIZE);
    builder.spawn(work).map(drop).map_err(LaunchError::Thread)
}

/// Follows stdin: the first line is the input of the program, each other line sends it SIGTERM, and the end of
/// stdin kills it.
fn follow(input: &Sender<Input>, leader: &Leader) {
    let mut lines = stdin().lock();
    let mut line = Vec::new();
    if lines.read_until(b'\n', &mut line).is_err() || line.last() != Some(&b'\n') {
        return;
    }
    // The receiver lives until this process ends.
    let _ = input.send(std::mem::take(&mut line));
    while let Ok(1..) = lines.read_until(b'\n', &mut line) {
        leader.signal(Signal::TERM);
        line.clear();
    }
    leader.lock().is_cancelled = true;
    leader.signal(Signal::KILL);
}

fn feed(inputs: &Receiver<(ChildStdin, Input)>) {
    if let Ok((mut pipe, input)) = inputs.recv() {
        // A program may close its stdin without reading it.
        let _ = pipe.write_all(&input);
    }
}

fn pid(number: u32) -> Option<Pid> {
    Pid::from_raw(number.try_into().ok()?)
}

/// Ends this process with the exit code or the signal of the program. Reports the signal first, since it may not end
/// this process.
pub(super) fn exit_like(status: ExitStatus) -> ExitCode {
    if let Some(signal) = status.signal() {
        report(&Report::Signal(signal));
        if let Some(signal) = Signal::from_named_raw(signal) {
            // Some signals do not end this process.
            let _ = kill_process(getpid(), signal);
        }
    }
    exit_code(status)
}

/// Writes a report to stdin, which is a socket if a service has started this process.
pub(super) fn report(report: &Report) {
    // Any other stdin can only be read.
    let _ = rustix::io::write(stdin(), format!("{report}\n").as_bytes());
}
