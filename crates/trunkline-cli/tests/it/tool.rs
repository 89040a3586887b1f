//! Command tools under the launcher of the binary.

mod examples;
mod folder;
mod limits;

use std::io::{Read, Write};
use std::process::{Command, Output, Stdio};

use crate::support::trunkline;

/// Runs `trunkline tool run …`, whose stdin has a line and stays open.
fn run(mut command: Command, arguments: &[&str]) -> Output {
    command.args(["tool", "run"]).args(arguments).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    // It may end without reading it.
    drop(pipe.write_all(b"\n"));
    let ended = child.wait_with_output().unwrap();
    drop(pipe);
    ended
}

/// The exit code, stdout and stderr of a program under limits.
fn limited(arguments: &[&str]) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let ended = run(trunkline(folder.path()), arguments);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (ended.status.code(), text(ended.stdout), text(ended.stderr))
}

/// Checks the limits that a shell reports.
#[track_caller]
fn check_limit(flag: &str, limit: &str, script: &str, expected: &str) {
    let (code, stdout, stderr) = limited(&[flag, limit, "--", "sh", "-c", script]);
    assert_eq!((code, stdout.trim(), &*stderr), (Some(0), expected, ""), "{flag}");
}

#[test]
fn limits_apply_to_the_program() {
    check_limit("--cpu-seconds", "7", "ulimit -t", "7");
    check_limit("--memory-bytes", "1073741824", "ulimit -v", "1048576");
    check_limit("--file-bytes", "51200", "ulimit -f", "100");
    check_limit("--open-files", "33", "ulimit -n", "33");
    check_limit("--open-files", "33", "ulimit -c", "0");
    let (code, ..) = limited(&["--cpu-seconds", "5", "--", "sh", "-c", "exit 7"]);
    assert_eq!(code, Some(7));
    let more = "ulimit -n 20 2>/dev/null && ulimit -n 60 2>/dev/null && echo more";
    let (_, stdout, _) = limited(&["--open-files", "50", "--", "sh", "-c", more]);
    assert_eq!(stdout, "", "what is lowered stays");
}

#[test]
fn exceeded_limits_end_the_program() {
    use std::os::unix::process::ExitStatusExt;
    let folder = tempfile::tempdir().unwrap();
    let run = |limits: &[&str], script: &str| {
        let arguments = [limits, &["--", "sh", "-c", script]].concat();
        run(trunkline(folder.path()), &arguments).status
    };
    /// The same numbers on Linux, macOS and the BSDs.
    const SIGXCPU: i32 = 24;
    assert_eq!(run(&["--cpu-seconds", "1"], "while :; do :; done").signal(), Some(SIGXCPU));
    let large = run(&["--file-bytes", "1000"], "head -c 5000 /dev/zero > file");
    assert!(!large.success());
    assert_eq!(folder.path().join("file").metadata().unwrap().len(), 1000);
}

#[test]
fn programs_that_cannot_be_executed() {
    let (code, stdout, stderr) = limited(&["--", "/no/such/program"]);
    assert_eq!((code, &*stdout), (Some(126), ""));
    assert!(stderr.contains("cannot execute /no/such/program"), "{stderr}");
    let (code, _, stderr) = limited(&["--cgroup", "/no/such", "--", "true"]);
    assert_eq!(code, Some(126));
    assert!(stderr.contains("cannot enter the cgroup /no/such"), "{stderr}");
}

/// The program receives stdin, and ends when it is closed.
#[test]
fn closing_stdin_ends_the_program() {
    let (code, stdout, _) = limited(&["--", "cat"]);
    assert_eq!((code, &*stdout), (Some(0), "\n"), "it gets one line, and the end");

    let folder = tempfile::tempdir().unwrap();
    let script = "trap 'echo asked; exit 3' TERM; echo here; while :; do sleep 0.01; done";
    for (what, then, expected) in [("a line", Some("\n"), Some(3)), ("the end", None, None)] {
        let mut command = trunkline(folder.path());
        command.args(["tool", "run", "--", "sh", "-c", script]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (mut pipe, mut said) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        pipe.write_all(b"{}\n").unwrap();
        let mut here = [0; 5];
        said.read_exact(&mut here).unwrap();
        let kept = then.map(|line| pipe.write_all(line.as_bytes()).map(|()| pipe).unwrap());
        assert_eq!(child.wait().unwrap().code(), expected, "{what}");
        drop(kept);
    }
}

/// Root has no such limit: another user runs the program.
#[test]
#[cfg(target_os = "linux")]
fn the_number_of_processes_is_bounded() {
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65_534;
    // The processes end soon by themselves.
    let script = "i=0; while [ $i -lt 100 ]; do sleep 2 >/dev/null & i=$((i+1)); echo $i; done";
    let mut command = trunkline(std::path::Path::new("/"));
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        command.uid(NOBODY).gid(NOBODY);
    }
    let ended = run(command, &["--processes", "10", "--", "sh", "-c", script]);
    let started = String::from_utf8(ended.stdout).unwrap().lines().count();
    assert!((1..=10).contains(&started), "{started}");
    assert!(!ended.status.success());
}
