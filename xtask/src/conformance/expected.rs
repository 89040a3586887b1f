//! The lists of scenarios: one per line, `passes NAME` or `waits NAME for REASON`.

use anyhow::{Context, Result, bail, ensure};

use super::report::Report;

pub(super) struct Expected(Vec<Line>);

struct Line {
    scenario: String,
    passes: bool,
}

impl Expected {
    pub(super) fn parse(list: &str) -> Result<Self> {
        let lines = list.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.map(Line::parse).collect::<Result<_>>().map(Self)
    }

    /// One line for each unexpected result.
    pub(super) fn compare(&self, report: &Report) -> Vec<String> {
        let mut wrong = Vec::new();
        for Line { scenario, passes } in &self.0 {
            match report.failure(scenario) {
                None => wrong.push(format!("{scenario}: is listed, but was not run")),
                Some(None) if !passes => {
                    wrong.push(format!("{scenario}: passes now; list it with `passes`"));
                }
                Some(Some(failure)) if *passes => {
                    wrong.push(format!("{scenario}: failed: {failure}"));
                }
                Some(_) => {}
            }
        }
        for scenario in report.scenarios() {
            if !self.0.iter().any(|line| line.scenario == scenario) {
                wrong.push(format!("{scenario}: was run, but is not listed"));
            }
        }
        wrong
    }
}

impl Line {
    fn parse(line: &str) -> Result<Self> {
        let mut words = line.split_whitespace();
        let (verdict, scenario) =
            words.next().zip(words.next()).with_context(|| format!("`{line}` has no scenario"))?;
        let reason = words.next();
        let passes = match verdict {
            "passes" => {
                ensure!(reason.is_none(), "`{line}` needs no reason");
                true
            }
            "waits" => {
                ensure!(reason == Some("for"), "`{line}` has no reason: `waits NAME for REASON`");
                false
            }
            _ => bail!("`{line}` starts with neither `passes` nor `waits`"),
        };
        Ok(Self { scenario: scenario.to_owned(), passes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_parse(list: &str, expected: Option<usize>) {
        assert_eq!(Expected::parse(list).ok().map(|list| list.0.len()), expected, "{list:?}");
    }

    #[test]
    fn parses_lists() {
        check_parse("", Some(0));
        check_parse("# a\n\npasses a\n  waits b for c\n", Some(2));
        check_parse("passes", None);
        check_parse("passes a for b", None);
        check_parse("waits a", None);
        check_parse("waits a for", Some(1));
        check_parse("fails a", None);
    }

    #[track_caller]
    fn check_compare(list: &str, report: &[(&str, Option<&str>)], expected: &[&str]) {
        let list = Expected::parse(list).unwrap();
        assert_eq!(list.compare(&Report::of(report)), expected);
    }

    #[test]
    fn reports_unexpected_results() {
        check_compare("passes a", &[("a", None)], &[]);
        check_compare("waits a for b", &[("a", Some("b"))], &[]);
        check_compare("passes a", &[("a", Some("b"))], &["a: failed: b"]);
        check_compare("waits a for b", &[("a", None)], &["a: passes now; list it with `passes`"]);
        check_compare("passes a", &[], &["a: is listed, but was not run"]);
        check_compare("", &[("a", None)], &["a: was run, but is not listed"]);
    }
}
