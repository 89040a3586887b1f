use clap::Args;
use clap::builder::PossibleValuesParser;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use trunkline::client::http::Url;

use crate::commands::connection::{Connection, url};

const NOTES: &str = "\
It ends with Ctrl-C, and comes again when the connection breaks: what the server still keeps of the time
between is shown, too. With --json, each entry is a line of JSON with the request and the response.

Exit codes:
  0  it was ended
  1  the server refuses to show its history, or nothing can be printed
  2  the command line is wrong
  3  the server cannot be reached
  4  what answers there is no history";

/// The characters of a value that are escaped in a query.
const QUERY_VALUE: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'*');

/// Shows the calls of a server as they come.
#[derive(Args)]
#[command(after_help = NOTES)]
pub(crate) struct Arguments {
    /// The server, like http://127.0.0.1:8080 (its /history/stream is read), its /history, or the stream
    #[arg(value_parser = url)]
    url: Url,
    /// Only calls of this method, or of methods that begin so: math.*
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    /// Only calls with this id, as JSON; what is no JSON is a string.
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    id: Option<String>,
    /// Only calls that ended so.
    #[arg(long, value_parser = PossibleValuesParser::new(["result", "error", "cancelled"]))]
    status: Option<String>,
    /// Only errors of this code.
    #[arg(long, value_name = "CODE", allow_hyphen_values = true)]
    code: Option<i64>,
    /// Only calls through this door, like mcp
    #[arg(long, value_name = "NAME")]
    door: Option<String>,
    /// Only calls by this principal.
    #[arg(long, value_name = "NAME")]
    principal: Option<String>,
    /// Only calls of this trace.
    #[arg(long, value_name = "HEX")]
    trace_id: Option<String>,
    /// Begin with so many of those that the server keeps.
    #[arg(long, value_name = "CALLS")]
    last: Option<u64>,
    #[command(flatten)]
    pub(super) connection: Connection,
}

impl Arguments {
    /// Where the stream is, with what is wanted of it.
    pub(super) fn url(&self) -> Result<Url, String> {
        let text = |value: &Option<String>| value.clone();
        let wanted = [
            ("method", text(&self.method)),
            ("id", text(&self.id)),
            ("status", text(&self.status)),
            ("code", self.code.map(|code| code.to_string())),
            ("door", text(&self.door)),
            ("principal", text(&self.principal)),
            ("trace_id", text(&self.trace_id)),
            ("limit", self.last.map(|last| last.to_string())),
        ];
        let mut url = streamed(&self.url.clone().or_path("/history/stream").to_string());
        for (name, value) in wanted {
            if let Some(value) = value {
                url.push(if url.contains('?') { '&' } else { '?' });
                url += &format!("{name}={}", utf8_percent_encode(&value, QUERY_VALUE));
            }
        }
        url.parse().map_err(|_| "what is wanted is too long for a URL".to_owned())
    }
}

/// The stream of a history, of which the page may be given.
fn streamed(url: &str) -> String {
    let (path, query) = url.split_at(url.find('?').unwrap_or(url.len()));
    match path.trim_end_matches('/') {
        page if page.ends_with("/history") => format!("{page}/stream{query}"),
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::streamed;

    #[track_caller]
    fn check(url: &str, expected: &str) {
        assert_eq!(streamed(url), expected);
    }

    #[test]
    fn pages_stand_for_their_streams() {
        check("http://h/history", "http://h/history/stream");
        check("http://h/history/", "http://h/history/stream");
        check("http://h/a/history?code=1", "http://h/a/history/stream?code=1");
        check("http://h/history/stream?code=1", "http://h/history/stream?code=1");
        check("http://h/prehistory", "http://h/prehistory");
        check("http://h/?a=/history", "http://h/?a=/history");
    }
}
