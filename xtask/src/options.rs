//! Options on the command line of a task.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};

/// The given options by name, such as `--rounds`. Flags have an empty value.
pub(crate) struct Options {
    given: BTreeMap<String, String>,
    usage: &'static str,
}

impl Options {
    /// Parses options, which the usage lists as `[--flag]` or `[--name VALUE]`. `None` if help is requested, which is
    /// printed.
    pub(crate) fn parse(arguments: &[String], usage: &'static str) -> Result<Option<Self>> {
        let mut given = BTreeMap::new();
        let mut arguments = arguments.iter();
        while let Some(name) = arguments.next() {
            if name == "-h" || name == "--help" {
                println!("{usage}");
                return Ok(None);
            }
            let value = if usage.contains(&format!("[{name}]")) {
                String::new()
            } else if name.starts_with("--") && usage.contains(&format!("[{name} ")) {
                arguments
                    .next()
                    .with_context(|| format!("`{name}` needs a value\n\n{usage}"))?
                    .clone()
            } else {
                bail!("invalid argument `{name}`\n\n{usage}");
            };
            given.insert(name.clone(), value);
        }
        Ok(Some(Self { given, usage }))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.given.contains_key(name)
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.given.get(name).map(String::as_str)
    }

    /// A number greater than 0.
    pub(crate) fn number(&self, name: &str, default: u32) -> Result<u32> {
        let Some(text) = self.text(name) else { return Ok(default) };
        let number = text.parse().ok().filter(|number| *number > 0);
        number.with_context(|| format!("{name} needs a number, got `{text}`\n\n{}", self.usage))
    }

    /// The names that `--only` selects: one of them, or all.
    pub(crate) fn only<'n>(&self, names: &[&'n str]) -> Result<Vec<&'n str>> {
        let is_chosen = |name: &&&str| self.text("--only").is_none_or(|only| only == **name);
        let chosen: Vec<&str> = names.iter().filter(is_chosen).copied().collect();
        ensure!(!chosen.is_empty(), "invalid value of --only\n\n{}", self.usage);
        Ok(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USAGE: &str = "usage: task [--only PART] [--json] [--rounds N]";

    #[track_caller]
    fn check(arguments: &[&str], expected: Option<(&[&str], u32, bool)>) {
        let arguments: Vec<String> = arguments.iter().map(|&text| text.to_owned()).collect();
        let parsed = Options::parse(&arguments, USAGE).and_then(|options| {
            let options = options.context("no help")?;
            Ok((options.only(&["a", "b"])?, options.number("--rounds", 5)?, options.has("--json")))
        });
        let expected = expected.map(|(only, rounds, json)| (only.to_vec(), rounds, json));
        assert_eq!(parsed.ok(), expected, "{arguments:?}");
    }

    #[test]
    fn options_are_those_of_the_usage() {
        check(&[], Some((&["a", "b"], 5, false)));
        check(&["--only", "b", "--json", "--rounds", "2"], Some((&["b"], 2, true)));
        for invalid in [
            &["--only", "c"][..],
            &["--only"],
            &["--rounds", "0"],
            &["--rounds", "x"],
            &["--other"],
            &["json"],
            &["--jso"],
        ] {
            check(invalid, None);
        }
    }
}
