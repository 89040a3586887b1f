//! Tools with a launcher.

use std::fs;

use serde_json::json;
use trunkline_command_tools::{Launcher, ProcessBound, ProcessLimits, ToolConfig};

use super::support::Folder;

/// Writes its arguments to a file, and runs the program.
const LAUNCHER: &str = "\
printf '%s\\n' \"$@\" > ../arguments
while [ \"$1\" != -- ]; do shift; done
shift
read -r line
printf '%s\\n' \"$line\" | \"$@\"";

#[tokio::test]
async fn passes_limits_to_the_launcher() {
    let place = Folder::new();
    place.script("launch.sh", LAUNCHER);
    fs::create_dir(place.path().join("tools")).unwrap();
    let folder = place.path().join("tools");
    fs::write(
        folder.join("t.toml"),
        "name = 't'\ndescription = 'd'\ncommand = ['echo', '-n', '--', '1']\n[input_schema]\ntype = 'object'",
    )
    .unwrap();
    let program = place.path().join("launch.sh");
    let config = ToolConfig {
        launcher: Some(Launcher { program, arguments: vec!["tool".into(), "run".into()] }),
        limits: ProcessLimits {
            cpu_seconds: 1,
            memory_bytes: 2,
            file_bytes: 3,
            open_files: 4,
            processes: 50,
        },
        ..ToolConfig::default()
    };
    let folder = trunkline_command_tools::ToolFolder::open(&folder, config).unwrap();
    let router = trunkline_command_tools::operations(&folder);
    let error = router.build().unwrap().call::<i64>("t", &json!({})).await.unwrap_err();
    // `echo` prints `--`.
    assert!(error.to_string().contains("not one JSON value"), "{error}");
    let arguments = fs::read_to_string(place.path().join("arguments")).unwrap();
    let arguments: Vec<_> = arguments.lines().collect();
    let limits =
        "tool run --cpu-seconds 1 --memory-bytes 2 --file-bytes 3 --open-files 4 --processes 50";
    let limits: Vec<_> = limits.split(' ').collect();
    let (begin, rest) = arguments.split_at(limits.len());
    assert_eq!(begin, limits);
    let rest = match (folder.process_bound(), rest) {
        (ProcessBound::Cgroup, ["--cgroup", path, rest @ ..]) => {
            assert!(!fs::exists(path).unwrap(), "{path} is left");
            rest
        }
        (ProcessBound::Rlimit | ProcessBound::Nothing, rest) => rest,
        other => panic!("{other:?}"),
    };
    let [separator, program, arguments @ ..] = rest else { panic!("{rest:?}") };
    assert_eq!(*separator, "--");
    assert!(program.ends_with("/echo"), "{program}");
    assert_eq!(arguments, ["-n", "--", "1"]);
}
