use clap::{Args, ValueEnum};

use crate::commands::connection::MORE;
use crate::config::bytes;

/// Convert documents between EDN and JSON, from stdin to stdout
#[derive(Args)]
#[command(after_help = MORE, after_long_help = NOTES)]
pub(crate) struct Arguments {
    /// Format of stdin
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "edn")]
    pub(super) from: Format,
    /// Format of stdout
    ///
    /// From JSON to JSON, only the layout changes. From EDN to EDN, comments and metadata are removed, and numbers and
    /// instants are normalized.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "json")]
    pub(super) to: Format,
    /// Indent the output, instead of one line per document
    #[arg(long)]
    pub(super) pretty: bool,
    /// Conversion of keys
    ///
    /// From JSON to EDN: keywords where possible (the default), or strings. From EDN to JSON: the text of keywords (the
    /// default), or the names of all keywords and symbols without their namespaces.
    #[arg(long, value_enum, value_name = "AS")]
    pub(super) keys: Option<Keys>,
    /// From EDN to JSON, omit unknown tags instead of rejecting them
    #[arg(long)]
    pub(super) unwrap_tags: bool,
    /// Maximum size of a document in bytes
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 64 << 20,
        value_parser = bytes::<usize>(1..=1 << 40)
    )]
    pub(super) max_bytes: usize,
}

const NOTES: &str = "\
stdin may have any number of documents. Each is converted as soon as it is complete: at its last bracket or \
quote, or else at the white space after it. Each begins on a new line of the output. The maximum nesting depth is \
1,024.

Exit codes:
  0  all documents were converted
  1  a document is invalid; the documents before it were converted
  2  invalid command line";

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
