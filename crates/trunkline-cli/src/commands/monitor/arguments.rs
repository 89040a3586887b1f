use clap::Args;
use clap::builder::PossibleValuesParser;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use trunkline::client::http::Url;

use crate::commands::connection::{Address, Connection, MORE};
use crate::terminal::Failure;

const NOTES: &str = "\
Ctrl-C ends the command. If the connection breaks, it reconnects and shows the calls that the server has kept \
meanwhile. With --json, each entry is a line of JSON with the request and the response.

Exit codes:
  0  interrupted by Ctrl-C or SIGTERM
  1  the server denies access to its history, or the output could not be written
  2  invalid command line
  3  no response: the first connection failed
  4  protocol error: the response is not a history";

/// The characters that are escaped in the values of a query.
const QUERY_VALUE: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'*');

/// Show the calls of a server as they happen
#[derive(Args)]
#[command(after_help = MORE, after_long_help = NOTES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    server: Address,
    /// Only calls of this method, or with a prefix: math.*
    #[arg(help_heading = "Filters", long, value_name = "NAME")]
    method: Option<String>,
    /// Only calls with this id: JSON, or a string
    #[arg(help_heading = "Filters", long, value_name = "ID", allow_hyphen_values = true)]
    id: Option<String>,
    /// Only calls with this outcome
    #[arg(help_heading = "Filters", long, value_parser = PossibleValuesParser::new(["result", "error", "cancelled"]))]
    status: Option<String>,
    /// Only errors with this code
    #[arg(help_heading = "Filters", long, value_name = "CODE", allow_hyphen_values = true)]
    code: Option<i64>,
    /// Only calls of this endpoint, such as mcp
    #[arg(help_heading = "Filters", long, value_name = "NAME")]
    endpoint: Option<String>,
    /// Only calls by this principal
    #[arg(help_heading = "Filters", long, value_name = "NAME")]
    principal: Option<String>,
    /// Only calls of this trace
    #[arg(help_heading = "Filters", long, value_name = "HEX")]
    trace_id: Option<String>,
    /// Number of earlier calls to show first
    #[arg(help_heading = "Filters", long, value_name = "CALLS")]
    last: Option<u64>,
    #[command(flatten)]
    pub(super) connection: Connection,
}

impl Arguments {
    /// Returns the URL of the stream, with the filters.
    pub(super) fn url(&self) -> Result<Url, Failure> {
        let text = |value: &Option<String>| value.clone();
        let filters = [
            ("method", text(&self.method)),
            ("id", text(&self.id)),
            ("status", text(&self.status)),
            ("code", self.code.map(|code| code.to_string())),
            ("endpoint", text(&self.endpoint)),
            ("principal", text(&self.principal)),
            ("trace_id", text(&self.trace_id)),
            ("limit", self.last.map(|last| last.to_string())),
        ];
        let mut url = stream_url(&self.server.url()?.or_path("/history/stream").to_string());
        for (name, value) in filters {
            if let Some(value) = value {
                url.push(if url.contains('?') { '&' } else { '?' });
                url += &format!("{name}={}", utf8_percent_encode(&value, QUERY_VALUE));
            }
        }
        url.parse().map_err(|_| Failure::Usage("the filters are too long for a URL".to_owned()))
    }
}

/// The URL of the stream of a history page. Other URLs are returned unchanged.
fn stream_url(url: &str) -> String {
    let (path, query) = url.split_at(url.find('?').unwrap_or(url.len()));
    match path.trim_end_matches('/') {
        page if page.ends_with("/history") => format!("{page}/stream{query}"),
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::stream_url;

    #[track_caller]
    fn check(url: &str, expected: &str) {
        assert_eq!(stream_url(url), expected);
    }

    #[test]
    fn finds_the_stream_of_a_page() {
        check("http://h/history", "http://h/history/stream");
        check("http://h/history/", "http://h/history/stream");
        check("http://h/a/history?code=1", "http://h/a/history/stream?code=1");
        check("http://h/history/stream?code=1", "http://h/history/stream?code=1");
        check("http://h/prehistory", "http://h/prehistory");
        check("http://h/?a=/history", "http://h/?a=/history");
    }
}
