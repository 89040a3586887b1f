//! The lists of scenarios: one a line, `passes NAME` or `waits NAME for what`.

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

    /// One line for each scenario that is not as expected.
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
            words.next().zip(words.next()).with_context(|| format!("`{line}` names none"))?;
        let reason = words.next();
        let passes = match verdict {
            "passes" => {
                ensure!(reason.is_none(), "`{line}` needs no reason");
                true
            }
            "waits" => {
                ensure!(reason == Some("for"), "`{line}` does not say what it waits for");
                false
            }
            _ => bail!("`{line}` begins with neither `passes` nor `waits`"),
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
    fn a_list_is_read() {
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
    fn what_is_not_as_listed_is_told() {
        check_compare("passes a", &[("a", None)], &[]);
        check_compare("waits a for b", &[("a", Some("b"))], &[]);
        check_compare("passes a", &[("a", Some("b"))], &["a: failed: b"]);
        check_compare("waits a for b", &[("a", None)], &["a: passes now; list it with `passes`"]);
        check_compare("passes a", &[], &["a: is listed, but was not run"]);
        check_compare("", &[("a", None)], &["a: was run, but is not listed"]);
    }
}
