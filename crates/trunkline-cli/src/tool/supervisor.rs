//! What stays beside a program as long as it runs, and ends all that it has started.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, Write, stdin};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{ChildStdin, Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, kill_process, kill_process_group,
    wait, waitid,
};

/// How long what was killed may take to go.
const TO_GO: Duration = Duration::from_secs(4);
/// The threads need little, and count into limits of memory.
const STACK: usize = 64 << 10;

/// What came first on stdin: the program's input.
type Input = Vec<u8>;

/// The program, for both who watch it and who end it.
#[derive(Clone, Default)]
struct Leader(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Its number, as long as it is nobody else's.
    pid: Option<Pid>,
    is_unwanted: bool,
}

/// The threads that a program needs beside this one: they are there before its limits hold.
pub(super) struct Supervisor {
    leader: Leader,
    input: Receiver<Input>,
    feeding: Sender<(ChildStdin, Input)>,
}

impl Supervisor {
    pub(super) fn start() -> Result<Self> {
        adopt_orphans();
        let leader = Leader::default();
        let (sender, input) = channel();
        let followed = leader.clone();
        spawn("tool-control", move || follow(&sender, &followed))?;
        let (feeding, fed) = channel();
        spawn("tool-input", move || feed(&fed))?;
        Ok(Self { leader, input, feeding })
    }

    /// Runs a program with the first line of stdin, until it ends or nobody wants it any more. Nothing that
    /// it has started is left then.
    pub(super) fn run(self, command: &mut Command) -> Result<ExitStatus> {
        let input = self.input.recv().context("stdin has ended before there was a line on it")?;
        let mut child = {
            let mut leader = self.leader.lock();
            ensure!(!leader.is_unwanted, "stdin has ended before the program could be started");
            let child = command.process_group(0).stdin(Stdio::piped()).spawn()?;
            leader.pid = pid(child.id());
            child
        };
        if let Some(pipe) = child.stdin.take() {
            // The thread is there until this process ends.
            let _ = self.feeding.send((pipe, input));
        }
        if let Some(pid) = pid(child.id()) {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), options) {}
        }
        self.leader.signal(Signal::KILL);
        self.leader.lock().pid = None;
        let status = child.wait()?;
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
            // It may have gone to another group.
            let _ = kill_process(pid, signal);
        }
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
    let builder = thread::Builder::new().name(name.to_owned()).stack_size(STACK);
    builder.spawn(work).context("cannot start a thread")?;
    Ok(())
}

/// Does what stdin says: its first line is for the program, each other one asks it to end, and when stdin
/// ends, so does the program.
fn follow(input: &Sender<Input>, leader: &Leader) {
    let mut lines = stdin().lock();
    let mut line = Vec::new();
    if lines.read_until(b'\n', &mut line).is_err() || line.last() != Some(&b'\n') {
        return;
    }
    // Whoever waits for it is there until this process ends.
    let _ = input.send(std::mem::take(&mut line));
    while let Ok(1..) = lines.read_until(b'\n', &mut line) {
        leader.signal(Signal::TERM);
        line.clear();
    }
    leader.lock().is_unwanted = true;
    leader.signal(Signal::KILL);
}

fn feed(fed: &Receiver<(ChildStdin, Input)>) {
    if let Ok((mut pipe, input)) = fed.recv() {
        // A program that does not want its input closes the pipe, and is none the worse for it.
        let _ = pipe.write_all(&input);
    }
}

/// Has processes whose parent ends become children of this one, so that they can be found.
fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_child_subreaper(Some(getpid())) {
        tracing::debug!(%error, "processes that leave their group are not found");
    }
}

/// Kills what is left, wherever it has gone, until there are no children any more.
fn end_descendants() {
    let end = Instant::now() + TO_GO;
    while has_children() && Instant::now() < end {
        for process in descendants() {
            // It is one of these until it was waited for: by its parent, which is killed here as well.
            let _ = kill_process(process, Signal::KILL);
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn has_children() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// All children of this process, and theirs.
fn descendants() -> Vec<Pid> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
        if let Some(number) = number
            && let Some(parent) = parent_of(number)
        {
            children.entry(parent).or_default().push(number);
        }
    }
    let mut found = Vec::new();
    let mut parents = vec![std::process::id()];
    while let Some(parent) = parents.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            found.extend(pid(child));
            parents.push(child);
        }
    }
    found
}

/// `12 (name, which may have spaces) S 11 …`
fn parent_of(process: u32) -> Option<u32> {
    let stat = fs::read(format!("/proc/{process}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

fn pid(number: u32) -> Option<Pid> {
    Pid::from_raw(number.try_into().ok()?)
}

/// Ends as the program has ended. What an exit status cannot say is told on stdin, if it is a socket.
pub(super) fn end_like(status: ExitStatus) -> ExitCode {
    /// What shells add to the number of a signal.
    const BY_SIGNAL: i32 = 128;
    let code = match (status.code(), status.signal()) {
        (Some(code), _) => code,
        (None, Some(signal)) => {
            tell(&format!("signal {signal}"));
            if let Some(signal) = Signal::from_named_raw(signal) {
                // Some signals are not for this process to die of.
                let _ = kill_process(getpid(), signal);
            }
            BY_SIGNAL + signal
        }
        (None, None) => return ExitCode::FAILURE,
    };
    u8::try_from(code).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Says that there was no program.
pub(super) fn tell_unstarted(error: &anyhow::Error) {
    tell(&format!("unstarted {}", format!("{error:#}").replace('\n', " ")));
}

fn tell(line: &str) {
    // Nobody listens where stdin can only be read.
    let _ = rustix::io::write(stdin(), format!("{line}\n").as_bytes());
}
