//! The report of the suite: a folder for each scenario with its checks, `server-<scenario>-<time>` for servers and
//! `<scenario>-<time>` for clients. The names of some scenarios have a slash, which leads to a folder of folders.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

/// The length of `-2026-07-28T01-02-03-456Z`.
const TIME: usize = 25;

/// Results by scenario: the failure, or none if it passed.
pub(super) struct Report(BTreeMap<String, Option<String>>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Check {
    id: String,
    status: String,
    error_message: Option<String>,
}

impl Report {
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let mut scenarios = BTreeMap::new();
        collect(folder, "", &mut scenarios)?;
        ensure!(!scenarios.is_empty(), "the suite ran no scenario");
        Ok(Self(scenarios))
    }

    #[cfg(test)]
    pub(super) fn of(scenarios: &[(&str, Option<&str>)]) -> Self {
        let owned = |(name, failure): &(&str, Option<&str>)| {
            ((*name).to_owned(), failure.map(str::to_owned))
        };
        Self(scenarios.iter().map(owned).collect())
    }

    /// `None` if it was not run, `Some(None)` if it passed.
    pub(super) fn failure(&self, scenario: &str) -> Option<Option<&str>> {
        self.0.get(scenario).map(Option::as_deref)
    }

    pub(super) fn scenarios(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let passed = self.0.values().filter(|failure| failure.is_none()).count();
        write!(f, "{passed} of {} scenarios pass", self.0.len())
    }
}

fn collect(
    folder: &Path,
    group: &str,
    scenarios: &mut BTreeMap<String, Option<String>>,
) -> Result<()> {
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        match scenario(&name) {
            Some(scenario) => {
                scenarios.insert(format!("{group}{scenario}"), verdict(&entry.path())?);
            }
            None if group.is_empty() && entry.path().is_dir() => {
                collect(&entry.path(), &format!("{name}/"), scenarios)?;
            }
            None => bail!("`{name}` is not the folder of a scenario"),
        }
    }
    Ok(())
}

fn scenario(folder: &str) -> Option<&str> {
    let (name, time) = folder.split_at_checked(folder.len().checked_sub(TIME)?)?;
    let is_time = time.starts_with("-2") && time.ends_with('Z');
    is_time.then(|| name.strip_prefix("server-").unwrap_or(name))
}

fn verdict(folder: &Path) -> Result<Option<String>> {
    // An aborted scenario has no checks.
    let Ok(checks) = std::fs::read_to_string(folder.join("checks.json")) else {
        return Ok(Some("aborted; see suite.log".to_owned()));
    };
    let checks: Vec<Check> =
        serde_json::from_str(&checks).with_context(|| format!("in {}", folder.display()))?;
    Ok(failure_of(&checks))
}

/// Stricter than the suite, which accepts scenarios with warnings or with skipped checks only.
fn failure_of(checks: &[Check]) -> Option<String> {
    let failures: Vec<String> = checks
        .iter()
        .filter(|check| matches!(check.status.as_str(), "FAILURE" | "WARNING"))
        .map(|check| {
            let why = check.error_message.as_deref().unwrap_or("no reason given");
            format!("{} ({why})", check.id)
        })
        .collect();
    if !failures.is_empty() {
        return Some(failures.join("; "));
    }
    let shown = checks.iter().any(|check| check.status == "SUCCESS");
    (!shown).then(|| "no checks".to_owned())
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
        let parsed: Vec<Check> = serde_json::from_str(checks).unwrap();
        assert_eq!(failure_of(&parsed).as_deref(), expected, "{checks}");
    }

    #[test]
    fn scenarios_pass_with_successful_checks_only() {
        check_verdict(r#"[{"id": "a", "status": "SUCCESS"}]"#, None);
        check_verdict(r#"[{"id": "a", "status": "SUCCESS"}, {"id": "b", "status": "INFO"}]"#, None);
        check_verdict(
            r#"[{"id": "a", "status": "SUCCESS"},
                {"id": "b", "status": "FAILURE", "errorMessage": "c"}]"#,
            Some("b (c)"),
        );
        check_verdict(
            r#"[{"id": "a", "status": "SUCCESS"}, {"id": "b", "status": "WARNING"}]"#,
            Some("b (no reason given)"),
        );
        check_verdict(r#"[{"id": "a", "status": "SKIPPED"}]"#, Some("no checks"));
        check_verdict("[]", Some("no checks"));
    }
}
