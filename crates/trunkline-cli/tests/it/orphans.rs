//! Processes that adopt the orphans of their programs.

use std::fs;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::support::PATIENCE;

/// The names and states of the children of a process.
fn children(parent: u32) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let Some((name, rest)) = stat.rsplit_once(')') else { continue };
        let fields: Vec<&str> = rest.split_whitespace().collect();
        if fields[1] == parent.to_string() {
            found.push(format!("{}) {}", name, fields[0]));
        }
    }
    found
}

fn start(command: &[&str], script: &str) -> Child {
    let mut process = Command::new(env!("CARGO_BIN_EXE_trunkline"));
    process.args(command).args(["sh", "-c", script]).stdin(Stdio::piped());
    process.spawn().unwrap()
}

#[track_caller]
fn until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "{what}");
        sleep(Duration::from_millis(10));
    }
}

/// `script` leaves orphans, and then exits with 7 when it reads a line.
#[track_caller]
fn check_orphans(command: &[&str], script: &str) {
    let folder = tempfile::tempdir().unwrap();
    let ready = folder.path().join("ready");
    let script = format!("{script}; echo > {}; read line; exit 7", ready.display());
    let mut process = start(command, &script);
    until("the program leaves orphans", || ready.exists());
    // Only the program is left.
    until("the orphans are reaped", || children(process.id()).len() == 1);
    process.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert_eq!(process.wait().unwrap().code(), Some(7), "{command:?}: {script}");
}

#[test]
fn orphans_are_reaped_while_the_program_runs() {
    for command in [&["tool", "supervise"][..], &["tool", "init"]] {
        check_orphans(command, "for i in 1 2 3 4 5; do (sleep 0.1 &); done");
        // They have another session, end by a signal, or have orphans themselves.
        check_orphans(command, "(setsid sh -c 'kill -9 $$' &); (setsid sleep 0.1 &)");
        check_orphans(command, "(sh -c '(sleep 0.1 &); (sleep 0.2 &); sleep 0.05' &)");
        check_orphans(command, "true");
    }
}

/// The status of the program is not taken with those of its orphans.
#[test]
fn the_status_of_the_program_is_passed_on() {
    for command in [&["tool", "supervise"][..], &["tool", "init"]] {
        for (script, expected) in [
            ("exit 3", 3),
            ("kill -9 $$", 137),
            ("i=0; while [ $i -lt 50 ]; do (true &); i=$((i+1)); done; exit 5", 5),
        ] {
            let mut process = start(command, script);
            assert_eq!(process.wait().unwrap().code(), Some(expected), "{command:?}: {script}");
        }
    }
}

#[test]
fn the_first_process_passes_signals_on() {
    for (signal, expected) in [("TERM", 15), ("INT", 2), ("HUP", 1), ("USR1", 10)] {
        let folder = tempfile::tempdir().unwrap();
        let ready = folder.path().join("ready");
        let script = format!(
            "trap 'exit {expected}' {signal}; echo > {}; while :; do sleep 0.01; done",
            ready.display()
        );
        let mut process = start(&["tool", "init"], &script);
        until("the program starts", || ready.exists());
        let id = process.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        assert_eq!(process.wait().unwrap().code(), Some(expected), "{signal}");
    }
}
