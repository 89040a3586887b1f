//! A command on a pseudo-terminal.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use super::PATIENCE;
use super::process::remove_settings;

/// A process on a terminal of 80 columns. It is killed when dropped.
pub(crate) struct Terminal {
    process: u32,
    /// Receives the exit code.
    ended: Receiver<Option<i32>>,
    is_over: bool,
    keyboard: File,
    /// The side of the process. While it is open, the terminal keeps its settings.
    slave: File,
    screen: Receiver<Vec<u8>>,
    /// The output since the last wait, without escape sequences and without lines that were replaced.
    shown: Vec<u8>,
    place: Place,
    /// The number in the last escape sequence.
    number: usize,
    /// The number of lines by which the cursor was just moved up.
    up: usize,
    /// Whether there were escape sequences.
    has_escapes: bool,
}

/// The state of the parser of escape sequences.
#[derive(Clone, Copy)]
enum Place {
    Text,
    Escape,
    /// A sequence, which ends with a letter.
    Sequence,
}

impl Terminal {
    /// Runs a command as the leader of a session, which receives Ctrl-C.
    pub(crate) fn run(command: &Command) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let not_ours = i32::try_from(OpenptFlags::NOCTTY.bits()).unwrap();
        let slave = OpenOptions::new().read(true).write(true).custom_flags(not_ours).open(name);
        let slave = slave.unwrap();
        let stream = || Stdio::from(OwnedFd::from(slave.try_clone().unwrap()));
        let mut leader = in_session(command);
        let mut child = leader.stdin(stream()).stdout(stream()).stderr(stream()).spawn().unwrap();
        let process = child.id();
        let (end, ended) = channel();
        thread::spawn(move || end.send(child.wait().unwrap().code()));
        let keyboard = File::from(master);
        let screen = read(keyboard.try_clone().unwrap());
        Self {
            process,
            ended,
            is_over: false,
            keyboard,
            slave,
            screen,
            shown: Vec::new(),
            place: Place::Text,
            number: 0,
            up: 0,
            has_escapes: false,
        }
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until `wanted` is shown. Returns the output before it, without escape sequences.
    #[track_caller]
    pub(crate) fn until(&mut self, wanted: &str) -> String {
        self.until_within(PATIENCE, wanted)
            .unwrap_or_else(|text| panic!("no {wanted:?} in {text:?}"))
    }

    /// The same with a time limit. The error is the output since the last wait.
    fn until_within(&mut self, limit: Duration, wanted: &str) -> Result<String, String> {
        let deadline = Instant::now() + limit;
        loop {
            let text = String::from_utf8_lossy(&self.shown).into_owned();
            if let Some((before, rest)) = text.split_once(wanted) {
                self.shown = rest.as_bytes().to_vec();
                return Ok(before.to_owned());
            }
            match self.screen.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(bytes) => bytes.into_iter().for_each(|byte| self.show(byte)),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return Err(text);
                }
            }
        }
    }

    /// Sends SIGINT until `wanted` is shown. The editor does not notice a signal between its prompt and its read.
    #[track_caller]
    pub(crate) fn interrupt_until(&mut self, wanted: &str) {
        let begun = Instant::now();
        loop {
            self.signal("INT");
            match self.until_within(PATIENCE / 12, wanted) {
                Ok(_) => return,
                Err(text) => assert!(begun.elapsed() < PATIENCE, "no {wanted:?} in {text:?}"),
            }
        }
    }

    /// Whether there were escape sequences.
    pub(crate) fn has_escapes(&self) -> bool {
        self.has_escapes
    }

    /// Waits until the process has ended. Returns the rest of the output.
    pub(crate) fn rest(&mut self) -> String {
        self.ended.recv_timeout(PATIENCE).expect("it ends in time");
        self.is_over = true;
        // The side of the process is still open here: the end of the output is marked.
        const END: &str = "-- end --";
        self.slave.write_all(END.as_bytes()).unwrap();
        self.until(END)
    }

    fn show(&mut self, byte: u8) {
        self.has_escapes |= byte == b'\x1b';
        self.place = match (self.place, byte) {
            (Place::Text, b'\x1b') => Place::Escape,
            (Place::Escape, b'[') => {
                self.number = 0;
                Place::Sequence
            }
            (Place::Sequence, b'0'..=b'9') => {
                self.number = (self.number * 10 + usize::from(byte - b'0')).min(1_000);
                Place::Sequence
            }
            (Place::Sequence, b' '..=b'?') => Place::Sequence,
            (Place::Sequence, byte) => {
                match byte {
                    b'A' => self.up = self.number.max(1),
                    b'J' => self.clear(),
                    _ => self.up = 0,
                }
                Place::Text
            }
            (Place::Escape, _) | (Place::Text, b'\r' | b'\x07') => Place::Text,
            (Place::Text, byte) => {
                self.up = 0;
                self.shown.push(byte);
                Place::Text
            }
        };
    }

    /// Removes the text below and after the cursor, which is at the start of a line.
    fn clear(&mut self) {
        for up in 0..=std::mem::take(&mut self.up) {
            if up > 0 {
                self.shown.pop();
            }
            let line = self.shown.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            self.shown.truncate(line);
        }
    }

    /// Sends a signal, by its name without `SIG`.
    pub(crate) fn signal(&self, name: &str) {
        let script = format!("kill -{name} {}", self.process);
        assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
    }

    /// Waits until it has ended. Returns its exit code, and whether the terminal has its original modes: lines, echo
    /// and signals.
    #[track_caller]
    pub(crate) fn end(mut self) -> (Option<i32>, bool) {
        let code = self.ended.recv_timeout(PATIENCE).expect("it ends in time");
        self.is_over = true;
        let modes = tcgetattr(&self.slave).unwrap().local_modes;
        (code, modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Once it was waited for, its number may be another's.
        if !self.is_over && self.ended.try_recv() == Err(TryRecvError::Empty) {
            self.signal("KILL");
        }
    }
}

/// The command as the leader of a session, with stdin as its terminal.
pub(crate) fn in_session(command: &Command) -> Command {
    let mut leader = Command::new("setsid");
    leader.arg("--ctty").arg(command.get_program()).args(command.get_args());
    // Also for a shell that starts the program.
    remove_settings(&mut leader);
    leader.env("TERM", "xterm-256color");
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => leader.env(name, value),
            None => leader.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        leader.current_dir(folder);
    }
    leader
}

fn read(mut master: File) -> Receiver<Vec<u8>> {
    let (sender, screen) = channel();
    thread::spawn(move || {
        let mut bytes = [0; 4096];
        // It fails when the other side is closed.
        while let Ok(count @ 1..) = master.read(&mut bytes) {
            if sender.send(bytes[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    screen
}
