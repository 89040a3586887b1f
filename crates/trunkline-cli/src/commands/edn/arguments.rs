use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};

/// Converts documents between EDN and JSON, from stdin to stdout.
#[derive(Args)]
#[command(after_help = NOTES)]
pub(crate) struct Arguments {
    /// What stands on stdin.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "edn")]
    pub(super) from: Format,
    /// What is written to stdout. JSON that stays JSON changes its layout only; EDN is read and written
    /// anew, without comments and metadata, and with its numbers and instants in one notation.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "json")]
    pub(super) to: Format,
    /// Indent what is written, instead of one line for each document.
    #[arg(long)]
    pub(super) pretty: bool,
    /// What keys become. From JSON to EDN: keywords where they can be (the default), or strings. From
    /// EDN to JSON: the text of keywords (the default), or, for all keywords and symbols, their name
    /// without the namespace.
    #[arg(long, value_enum, value_name = "AS")]
    pub(super) keys: Option<Keys>,
    /// From EDN to JSON, write what has an unknown tag without it, instead of refusing it.
    #[arg(long)]
    pub(super) unwrap_tags: bool,
    /// The most bytes that one document may have.
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 64 << 20,
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=1 << 40)
    )]
    pub(super) max_bytes: usize,
}

const NOTES: &str = "\
There may be many documents, one behind the other. Each is converted as soon as it is complete: at its
last bracket or quote, or, if it has none, at the white space behind it. What is written begins on a
line of its own. Documents nest at most 1,024 deep.

Exit codes:
  0  all documents were converted
  1  one is wrong, which is told on stderr, and those before it were converted
  2  the command line is wrong";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Edn,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Keys {
    Keyword,
    String,
    Name,
}
