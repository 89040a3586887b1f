//! The command line of `cargo xtask bench`.

use std::str::FromStr;

use anyhow::{Context, Result, bail};

pub(super) const USAGE: &str = "\
usage: cargo xtask bench [--only PART] [--json] [--rounds N] [--seconds S]

  --only PART   rpc: JSON-RPC beside jsonrpsee and others, over HTTP and in process
                latency: requests per second and latency of a single call, at 1, 16 and 256 connections
                connections: memory of an idle connection
                mcp: tools/call and tools/list of 100 tools beside rmcp
                streams: memory of open subscriptions and abandoned sessions of MCP
                sql: a database beside Google's MCP Toolbox
                execute: records natively and by JSON-RPC, and how many can be made to last
                client: a client and a server in one process, beside jsonrpsee's
                edn: EDN read and written beside clojure-reader, edn-format and serde_json
                instructions: user instructions per request, under callgrind
                layers: what each optional layer costs a call, in process
  --json        print the report as JSON
  --rounds N    how often each of them is measured (default 5)
  --seconds S   how long each measurement of a server takes (default 3)";

#[derive(Debug, PartialEq)]
pub(super) struct Options {
    /// The selected part; `None` selects all.
    pub(super) only: Option<Part>,
    pub(super) json: bool,
    pub(super) rounds: usize,
    pub(super) seconds: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Rpc,
    Latency,
    Connections,
    Mcp,
    Streams,
    Sql,
    Execute,
    Client,
    Edn,
    Instructions,
    Layers,
}

const PARTS: [(&str, Part); 11] = [
    ("rpc", Part::Rpc),
    ("latency", Part::Latency),
    ("connections", Part::Connections),
    ("mcp", Part::Mcp),
    ("streams", Part::Streams),
    ("sql", Part::Sql),
    ("execute", Part::Execute),
    ("client", Part::Client),
    ("edn", Part::Edn),
    ("instructions", Part::Instructions),
    ("layers", Part::Layers),
];

impl Options {
    /// Parses the arguments. Returns `None` for `--help`.
    pub(super) fn parse(args: &[String]) -> Result<Option<Self>> {
        let mut options = Self { only: None, json: false, rounds: 5, seconds: 3 };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--only" => options.only = Some(part(args.next())?),
                "--json" => options.json = true,
                "--rounds" => options.rounds = number(arg, args.next())?,
                "--seconds" => options.seconds = number(arg, args.next())?,
                "-h" | "--help" => return Ok(None),
                _ => bail!("`{arg}` is not an option of bench\n\n{USAGE}"),
            }
        }
        if options.rounds == 0 || options.seconds == 0 {
            bail!("--rounds and --seconds must be at least 1");
        }
        Ok(Some(options))
    }

    /// Runs the rounds, and returns their measurements.
    pub(super) fn rounds_of<T>(&self, what: &str, round: impl Fn() -> Result<T>) -> Result<Vec<T>> {
        let rounds = self.rounds;
        (1..=rounds)
            .map(|number| {
                eprintln!("{what}, round {number} of {rounds}");
                round()
            })
            .collect()
    }

    pub(super) fn includes(&self, part: Part) -> bool {
        self.only.is_none_or(|only| only == part)
    }
}

fn part(value: Option<&String>) -> Result<Part> {
    let part = PARTS.iter().find(|(name, _)| value.is_some_and(|value| value == name));
    part.map(|&(_, part)| part).with_context(|| {
        let names = PARTS.map(|(name, _)| name).join(", ");
        format!("--only needs one of {names}\n\n{USAGE}")
    })
}

fn number<N: FromStr>(option: &str, value: Option<&String>) -> Result<N> {
    let value = value.with_context(|| format!("{option} needs a number"))?;
    value.parse().ok().with_context(|| format!("{option} needs a number, not `{value}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(args: &str, expected: Option<(Option<Part>, bool, usize, u32)>) {
        let args: Vec<String> = args.split_whitespace().map(str::to_owned).collect();
        let parsed = Options::parse(&args).ok().flatten();
        let expected =
            expected.map(|(only, json, rounds, seconds)| Options { only, json, rounds, seconds });
        assert_eq!(parsed, expected, "{args:?}");
    }

    #[test]
    fn parses_options() {
        check("", Some((None, false, 5, 3)));
        check("--json --rounds 9", Some((None, true, 9, 3)));
        check("--seconds 1 --only sql", Some((Some(Part::Sql), false, 5, 1)));
        check("--only client --rounds 1", Some((Some(Part::Client), false, 1, 3)));
        check("--json --only layers", Some((Some(Part::Layers), true, 5, 3)));
        check("--only execute --seconds 2", Some((Some(Part::Execute), false, 5, 2)));
        check("--rounds 2 --only edn", Some((Some(Part::Edn), false, 2, 3)));
        check("--only latency", Some((Some(Part::Latency), false, 5, 3)));
        check("--only connections", Some((Some(Part::Connections), false, 5, 3)));
        check("--only", None);
        check("--only http", None);
        check("--only clients", None);
        check("--rounds", None);
        check("--rounds many", None);
        check("--rounds 0", None);
        check("--quick", None);
        check("--help", None);
    }

    #[test]
    fn selects_everything_by_default() {
        let includes =
            |only, part| Options { only, json: false, rounds: 1, seconds: 1 }.includes(part);
        assert!(includes(None, Part::Mcp));
        assert!(includes(Some(Part::Mcp), Part::Mcp));
        assert!(!includes(Some(Part::Mcp), Part::Rpc));
    }
}
