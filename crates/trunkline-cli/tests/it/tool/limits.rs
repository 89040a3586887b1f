//! Tools under the limits that the binary sets.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use tempfile::TempDir;
use trunkline_command_tools::{ProcessBound, ProcessLimits};

use super::folder::{call, open};
use crate::support::runs;

/// A tool of a shell script, alone in its folder.
fn tool(script: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("t.sh"), script).unwrap();
    let manifest = "name = 't'\ndescription = 'd'\ncommand = ['sh', './t.sh']\ntimeout_ms = 20000\n\
                    [input_schema]\ntype = 'object'\n";
    fs::write(folder.path().join("t.toml"), manifest).unwrap();
    folder
}

#[test]
fn a_fork_bomb_is_bounded() {
    const TRIED: usize = 300;
    // Each process would run for long. A shell that cannot start another process ends.
    let bomb = format!(
        "i=0\nwhile [ $i -lt {TRIED} ]; do sleep 1000 & i=$((i+1)); echo $! >> pids; done\necho $i"
    );
    let directory = tool(&bomb);
    let limits = ProcessLimits { processes: 20, ..ProcessLimits::default() };
    let (folder, rpc) = open(directory.path(), limits);
    let called = call(&rpc, "t", &json!({}));
    let pids = fs::read_to_string(directory.path().join("pids")).unwrap();
    let started = pids.lines().count();
    match folder.process_bound() {
        ProcessBound::Cgroup | ProcessBound::Rlimit => {
            assert_eq!(called.unwrap_err().code(), -32002);
            assert!((1..=20).contains(&started), "{started}");
        }
        // Root without cgroups: the number is not limited, and they still end.
        _ => assert_eq!(called.unwrap(), json!(TRIED)),
    }
    let left: Vec<_> = pids.lines().filter(|pid| runs(pid)).collect();
    assert_eq!(left, [""; 0], "of {started}");
}

/// Processes that leave the process group of their tool, whatever their parent.
#[test]
#[cfg(target_os = "linux")]
fn processes_that_leave_their_group_end_with_their_tool() {
    const LEFT: usize = 20;
    let directory = tool(&format!(
        ": > pids\ni=0\nwhile [ $i -lt {LEFT} ]; do\n\
         setsid sh -c 'echo $$ >> pids; (setsid sleep 1000 & echo $! >> pids); exec sleep 1000' >/dev/null &\n\
         i=$((i+1))\ndone\n\
         while [ \"$(wc -l < pids)\" -lt {} ]; do sleep 0.01; done\necho 1",
        2 * LEFT
    ));
    let (_, rpc) = open(directory.path(), ProcessLimits::default());
    assert_eq!(call(&rpc, "t", &json!({})).unwrap(), 1);
    let pids = fs::read_to_string(directory.path().join("pids")).unwrap();
    let left: Vec<_> = pids.lines().filter(|pid| runs(pid)).collect();
    assert_eq!(left, [""; 0]);
}

/// A file that the system cannot execute is an error, even if a shell could run it.
#[test]
fn a_script_needs_an_interpreter_line() {
    let directory = tool("echo 1");
    let script = directory.path().join("t.sh");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let manifest = directory.path().join("t.toml");
    let text = fs::read_to_string(&manifest).unwrap().replace("['sh', './t.sh']", "['./t.sh']");
    fs::write(&manifest, text).unwrap();
    let (_, rpc) = open(directory.path(), ProcessLimits::default());
    let error = call(&rpc, "t", &json!({})).unwrap_err();
    let data: Value = serde_json::from_str(error.data().unwrap().get()).unwrap();
    assert_eq!(data["kind"], "unstarted", "{data}");
}

/// A tool of this script fails under small limits.
#[track_caller]
fn check(script: &str, kind: &str, reason: &str) {
    let limits = ProcessLimits {
        cpu_seconds: 1,
        memory_bytes: 256 << 20,
        file_bytes: 1000,
        open_files: 40,
        ..ProcessLimits::default()
    };
    let directory = tool(script);
    let (_, rpc) = open(directory.path(), limits);
    let error = call(&rpc, "t", &json!({})).unwrap_err();
    let data: Value = serde_json::from_str(error.data().unwrap().get()).unwrap();
    assert_eq!(data["kind"], kind, "{data}");
    assert!(data["reason"].as_str().unwrap().contains(reason), "{data}");
}

#[test]
fn cpu_time_memory_and_files_are_bounded() {
    check("kill -SEGV $$", "signal", "SIGSEGV: it crashed");
    check("while :; do :; done", "signal", "SIGXCPU: it exceeded the limit of CPU time");
    check("head -c 2000 /dev/zero > file || exit 9", "exit_code", "exit code 9");
    check("dd if=/dev/zero of=/dev/null bs=300M count=1 || exit 8", "exit_code", "exit code 8");
    check("test \"$(ulimit -n)\" = 40 && exit 7", "exit_code", "exit code 7");
}
