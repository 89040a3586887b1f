//! The official conformance suite, against the example server and the example client of `trunkline-mcp`.
//!
//! The expected results are in lists: one scenario per line, `passes NAME` or `waits NAME for REASON`. A scenario that
//! passes unexpectedly fails the step as well, so that the lists stay correct.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::peers::Node;
use crate::server_process::ServerProcess;
use crate::workspace::{self, Workspace};

const SUITE: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
const DEADLINE: Duration = Duration::from_secs(300);

/// The program under test, the requirement sets of the suite, and the expected results.
const SETS: [(&str, &str, &str); 4] = [
    ("server", "2025-11-25", include_str!("2025-11-25.txt")),
    ("server", "2026-07-28", include_str!("2026-07-28.txt")),
    ("client", "2025-11-25", include_str!("client-2025-11-25.txt")),
    ("client", "2026-07-28", include_str!("client-2026-07-28.txt")),
];

/// The failure of each scenario; `None` if it passed.
type Report = BTreeMap<String, Option<String>>;

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let node = Node::sdks(workspace)?;
    let mut wrong = Vec::new();
    for (side, revision, list) in SETS {
        let report = run_suite(workspace, &node, side, revision)?;
        let passed = report.values().filter(|failure| failure.is_none()).count();
        println!("{side} {revision}: {passed} of {} scenarios pass", report.len());
        let differences = compare(list, &report);
        wrong.extend(differences.into_iter().map(|line| format!("{side} {revision} {line}")));
    }
    ensure!(wrong.is_empty(), "different from xtask/src/conformance/*.txt:\n{}", wrong.join("\n"));
    Ok(())
}

fn run_suite(workspace: &Workspace, node: &Node, side: &str, revision: &str) -> Result<Report> {
    let folder = workspace.fresh_folder(format!("target/conformance/{side}-{revision}"))?;
    let program = workspace.build(&format!("conformance_{side}"))?;
    let mut suite = node.command(workspace, SUITE);
    suite.args([side, "--requirements", revision]);
    // Ends with this function.
    let mut server = None;
    if side == "server" {
        let mut command = workspace.command(&program);
        command.args(["--listen", "127.0.0.1:0"]);
        let started =
            server.insert(ServerProcess::start(&mut command, &folder.join("server.log"))?);
        suite.args(["--url", &started.url]);
    } else {
        suite.arg("--command").arg(&program);
    }
    let results = folder.join("results");
    let log = File::create(folder.join("suite.log"))?;
    suite.arg("--output-dir").arg(&results).stdout(log.try_clone()?).stderr(log);
    let ended = workspace::run_within(DEADLINE, &mut suite);
    // The exit code covers only the required scenarios of the revision; the report covers all.
    if !results.is_dir() {
        ended?;
    }
    let mut report = Report::new();
    collect(&results, "", &mut report)?;
    Ok(report)
}

/// Reads the folders of scenarios: `server-SCENARIO-TIME` or `SCENARIO-TIME`. The names of some scenarios have a slash, which
/// leads to a folder of folders.
fn collect(folder: &Path, group: &str, report: &mut Report) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("no {}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(scenario) = scenario(&name) else {
            ensure!(group.is_empty(), "`{name}` is not the folder of a scenario");
            collect(&entry.path(), &format!("{name}/"), report)?;
            continue;
        };
        // An aborted scenario has no checks.
        let checks = fs::read_to_string(entry.path().join("checks.json"));
        let failure = match checks {
            Ok(checks) => failure(&serde_json::from_str::<Vec<Value>>(&checks)?),
            Err(_) => Some("aborted; see suite.log".to_owned()),
        };
        report.insert(format!("{group}{scenario}"), failure);
    }
    Ok(())
}

/// The name before `-2026-07-28T01-02-03-456Z`.
fn scenario(folder: &str) -> Option<&str> {
    let (name, time) = folder.split_at_checked(folder.len().checked_sub(25)?)?;
    let is_time = time.starts_with("-2") && time.ends_with('Z');
    is_time.then(|| name.strip_prefix("server-").unwrap_or(name))
}

/// Stricter than the suite, which accepts scenarios with warnings or with skipped checks only.
fn failure(checks: &[Value]) -> Option<String> {
    let failed =
        checks.iter().find(|check| check["status"] == "FAILURE" || check["status"] == "WARNING");
    let has_passed = checks.iter().any(|check| check["status"] == "SUCCESS");
    failed
        .map(|check| format!("{} ({})", check["id"], check["errorMessage"]))
        .or_else(|| (!has_passed).then(|| "no checks".to_owned()))
}

/// One line for each unexpected result.
fn compare(list: &str, report: &Report) -> Vec<String> {
    let words = |line| str::split_whitespace(line).collect::<Vec<_>>();
    let mut listed = BTreeMap::new();
    let mut wrong = Vec::new();
    for line in list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match words(line)[..] {
            ["passes", name] => _ = listed.insert(name, true),
            ["waits", name, "for", ..] => _ = listed.insert(name, false),
            _ => {
                wrong
                    .push(format!("`{line}` is neither `passes NAME` nor `waits NAME for REASON`"));
            }
        }
    }
    for (scenario, failure) in report {
        match (listed.remove(&**scenario), failure) {
            (None, _) => wrong.push(format!("{scenario}: was run, but is not listed")),
            (Some(true), Some(failure)) => wrong.push(format!("{scenario}: failed: {failure}")),
            (Some(false), None) => {
                wrong.push(format!("{scenario}: passes now; list it with `passes`"));
            }
            _ => {}
        }
    }
    wrong.extend(listed.keys().map(|scenario| format!("{scenario}: is listed, but was not run")));
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_name(folder: &str, expected: Option<&str>) {
        assert_eq!(scenario(folder), expected, "{folder:?}");
    }

    #[test]
    fn scenario_of_a_folder() {
        check_name("server-ping-2026-11-22T01-34-29-994Z", Some("ping"));
        check_name("server-sse-a-2026-11-22T01-34-29-994Z", Some("sse-a"));
        check_name("server-ping", None);
        check_name("sse-retry-2026-11-22T01-34-29-994Z", Some("sse-retry"));
        check_name("auth", None);
        check_name("server-with-a-long-name-but-no-time", None);
    }

    #[track_caller]
    fn check_verdict(checks: &str, expected: Option<&str>) {
        let parsed: Vec<Value> = serde_json::from_str(checks).unwrap();
        assert_eq!(failure(&parsed).as_deref(), expected, "{checks}");
    }

    #[test]
    fn scenarios_pass_with_successful_checks_only() {
        check_verdict(r#"[{"id": "a", "status": "SUCCESS"}]"#, None);
        check_verdict(r#"[{"id": "a", "status": "SUCCESS"}, {"id": "b", "status": "INFO"}]"#, None);
        check_verdict(
            r#"[{"id": "a", "status": "SUCCESS"},
                {"id": "b", "status": "FAILURE", "errorMessage": "c"}]"#,
            Some(r#""b" ("c")"#),
        );
        check_verdict(
            r#"[{"id": "a", "status": "SUCCESS"}, {"id": "b", "status": "WARNING"}]"#,
            Some(r#""b" (null)"#),
        );
        check_verdict(r#"[{"id": "a", "status": "SKIPPED"}]"#, Some("no checks"));
        check_verdict("[]", Some("no checks"));
    }

    #[track_caller]
    fn check_compare(list: &str, report: &[(&str, Option<&str>)], expected: &[&str]) {
        let owned = |(name, failure): &(&str, Option<&str>)| {
            ((*name).to_owned(), failure.map(str::to_owned))
        };
        let report = report.iter().map(owned).collect();
        assert_eq!(compare(list, &report), expected, "{list}");
    }

    #[test]
    fn reports_unexpected_results() {
        check_compare("# x\n\npasses a", &[("a", None)], &[]);
        check_compare("waits a for b", &[("a", Some("b"))], &[]);
        check_compare("passes a", &[("a", Some("b"))], &["a: failed: b"]);
        check_compare("waits a for b", &[("a", None)], &["a: passes now; list it with `passes`"]);
        check_compare("passes a", &[], &["a: is listed, but was not run"]);
        check_compare("", &[("a", None)], &["a: was run, but is not listed"]);
        let invalid = "`waits a` is neither `passes NAME` nor `waits NAME for REASON`";
        check_compare("waits a", &[], &[invalid]);
    }
}
