//! The command line of `cargo xtask bench`.

use std::str::FromStr;

use anyhow::{Context, Result, bail};

pub(super) const USAGE: &str = "\
usage: cargo xtask bench [--json] [--rounds N] [--seconds S]

  --json        print the report as JSON
  --rounds N    how often each server is measured (default 5)
  --seconds S   how long each measurement takes (default 3)";

#[derive(Debug, PartialEq)]
pub(super) struct Options {
    pub(super) json: bool,
    pub(super) rounds: usize,
    pub(super) seconds: u32,
}

impl Options {
    /// `None` asks for the usage.
    pub(super) fn parse(args: &[String]) -> Result<Option<Self>> {
        let mut options = Self { json: false, rounds: 5, seconds: 3 };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--json" => options.json = true,
                "--rounds" => options.rounds = number(arg, args.next())?,
                "--seconds" => options.seconds = number(arg, args.next())?,
                "-h" | "--help" => return Ok(None),
                _ => bail!("`{arg}` is not an option of bench\n\n{USAGE}"),
            }
        }
        if options.rounds == 0 || options.seconds == 0 {
            bail!("nothing is measured in 0 rounds or 0 seconds");
        }
        Ok(Some(options))
    }
}

fn number<N: FromStr>(option: &str, value: Option<&String>) -> Result<N> {
    let value = value.with_context(|| format!("{option} needs a number"))?;
    value.parse().ok().with_context(|| format!("{option} needs a number, not `{value}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(args: &str, expected: Option<(bool, usize, u32)>) {
        let args: Vec<String> = args.split_whitespace().map(str::to_owned).collect();
        let parsed = Options::parse(&args).ok().flatten();
        let expected = expected.map(|(json, rounds, seconds)| Options { json, rounds, seconds });
        assert_eq!(parsed, expected, "{args:?}");
    }

    #[test]
    fn options_are_read() {
        check("", Some((false, 5, 3)));
        check("--json --rounds 9", Some((true, 9, 3)));
        check("--seconds 1", Some((false, 5, 1)));
        check("--rounds", None);
        check("--rounds many", None);
        check("--rounds 0", None);
        check("--quick", None);
        check("--help", None);
    }
}
