//! The summary of a server: a banner for its operator, and a page for browsers.

use std::fmt::Write;

use axum::Router;
use axum::response::{Html, IntoResponse};
use axum::routing::get;
use http::header::{CONTENT_SECURITY_POLICY, HOST};
use http::{HeaderMap, Uri};
use trunkline_command_tools::ToolFolder;
use trunkline_gateway::Gateway;
use trunkline_records::RecordType;

use super::database::Served;
use super::history::Recorder;
use super::records::ServedRecords;
use crate::config::Location;

/// The summary of a server.
#[derive(Clone)]
pub(super) struct Summary {
    /// The labels and texts of the components.
    lines: Vec<Line>,
    /// A method for the example of a call.
    method: &'static str,
    needs_token: bool,
    has_console: bool,
    scheme: &'static str,
}

#[derive(Clone)]
struct Line {
    label: &'static str,
    /// For clients: without paths.
    text: String,
    /// For the operator.
    banner: String,
}

/// The components of a server that its summary describes.
pub(super) struct Components<'a> {
    pub(super) databases: &'a [Served],
    pub(super) records: Option<&'a ServedRecords>,
    pub(super) tools: Option<&'a ToolFolder>,
    pub(super) gateway: Option<&'a Gateway>,
    /// The name of the agent's model.
    pub(super) model: Option<&'a str>,
    pub(super) recorder: Option<&'a Recorder>,
    pub(super) has_console: bool,
    pub(super) needs_token: bool,
    pub(super) accepts_certificates: bool,
    pub(super) is_https: bool,
}

const NAME: &str = concat!("trunkline ", env!("CARGO_PKG_VERSION"));

/// The paths of JSON-RPC, which have a page for browsers, too.
pub(super) const PATHS: [&str; 3] = ["/", "/rpc", "/jsonrpc"];

impl Summary {
    pub(super) fn new(components: &Components<'_>) -> Self {
        let Components { databases, records, tools, gateway, model, recorder, .. } = *components;
        let access = match (components.needs_token, components.accepts_certificates) {
            (true, true) => "token or client certificate required",
            (true, false) => "token required",
            (false, true) => "client certificate required",
            (false, false) => "no token required, from this machine only",
        };
        let lines = [
            Some(if databases.is_empty() { no_database() } else { serving(databases) }),
            Some(records.map_or_else(no_records, of_records)),
            tools.map(of_tools),
            gateway.map(of_gateway),
            model.map(|model| line("agent", format!("model {model}"), "")),
            Some(recorder.map_or_else(no_history, of_recorder)),
            Some(line("access", access, "")),
        ];
        Self {
            lines: lines.into_iter().flatten().collect(),
            method: if !databases.is_empty() { "db.list_tables" } else { "rpc.discover" },
            needs_token: components.needs_token,
            has_console: components.has_console,
            scheme: if components.is_https { "https" } else { "http" },
        }
    }

    /// The banner of a server that listens at `address`, and for probes at `probes`.
    pub(super) fn banner(&self, address: &str, probes: Option<&str>) -> String {
        let url = self.url(address);
        let mut banner = format!("{NAME}\n");
        for (index, line) in self.lines.iter().enumerate() {
            banner += &format!("  {:<9} {}\n", line.label, line.banner);
            if index == 0 {
                banner += &format!("  listening {url}\n");
                if let Some(probes) = probes {
                    banner += &format!("  probes    http://{probes}/health\n");
                }
                if self.has_console {
                    banner += &format!("  console   {url}/console\n");
                }
            }
        }
        banner + &format!("\n  {}\n  {}", self.curl(&url), self.mcp_client(&url))
    }

    /// The route of the page. Its URLs have the name that the client used for the server.
    pub(super) fn routes(self) -> Router {
        PATHS.into_iter().fold(Router::new(), |router, path| {
            let summary = self.clone();
            router.route(
                path,
                get(async move |uri: Uri, headers: HeaderMap| summary.answer(&uri, &headers)),
            )
        })
    }

    fn answer(&self, uri: &Uri, headers: &HeaderMap) -> impl IntoResponse + use<> {
        // HTTP/2 has the name in the URI.
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        let host = uri.authority().map(http::uri::Authority::as_str).or(host);
        ([(CONTENT_SECURITY_POLICY, POLICY)], Html(self.page(host.unwrap_or("localhost"))))
    }

    fn page(&self, host: &str) -> String {
        let url = self.url(host);
        let mut rows = String::new();
        for Line { label, text, .. } in &self.lines {
            let (label, text) = (escaped(label), escaped(text));
            // Writing to a string never fails.
            let _ = writeln!(rows, "<tr><th>{label}</th><td>{text}</td></tr>");
        }
        let console = if self.has_console { "<a href=\"/console\">Console</a> · " } else { "" };
        let (curl, mcp_client) = (escaped(&self.curl(&url)), escaped(&self.mcp_client(&url)));
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n<title>{NAME}</title>\n\
             <style>{STYLE}</style>\n</head>\n<body>\n<h1>{NAME}</h1>\n\
             <p>This server answers JSON-RPC 2.0 (<code>POST /</code>) and MCP (<code>/mcp</code>).</p>\n\
             <table>\n{rows}</table>\n<h2>Call a method</h2>\n<pre>{curl}</pre>\n\
             <h2>Add the server to an MCP client</h2>\n<pre>{mcp_client}</pre>\n\
             <p>{console}<a href=\"/openrpc.json\">Methods (OpenRPC)</a> · <a href=\"/health\">Health</a> · \
             <a href=\"/metrics\">Metrics</a></p>\n</body>\n</html>\n"
        )
    }

    fn url(&self, address: &str) -> String {
        format!("{}://{address}", self.scheme)
    }

    /// A command that calls a method.
    fn curl(&self, url: &str) -> String {
        let token = if self.needs_token { " -H 'Authorization: Bearer TOKEN'" } else { "" };
        format!(
            "curl -s {url}/ -H 'Content-Type: application/json'{token} \
             -d '{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{}\"}}'",
            self.method
        )
    }

    /// A command that adds the server to an MCP client.
    fn mcp_client(&self, url: &str) -> String {
        let token = if self.needs_token { " --header 'Authorization: Bearer TOKEN'" } else { "" };
        format!("claude mcp add --transport http trunkline {url}/mcp{token}")
    }
}

/// A line whose banner has details that its text has not.
fn line(label: &'static str, text: impl Into<String>, details: &str) -> Line {
    let text = text.into();
    Line { label, banner: format!("{text}{details}"), text }
}

fn serving(databases: &[Served]) -> Line {
    let describe = |served: &Served, place: String| {
        let name = served.name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
        let mode = if served.is_writable { "writable" } else { "read-only" };
        format!("{name}{place} ({mode})")
    };
    let joined = |place: fn(&Location) -> String| {
        let databases = databases.iter().map(|served| describe(served, place(&served.location)));
        databases.collect::<Vec<_>>().join(", ")
    };
    Line { label: "serving", text: joined(Location::short), banner: joined(Location::to_string) }
}

fn no_database() -> Line {
    line("serving", "no database", " (on with --db)")
}

fn of_gateway(gateway: &Gateway) -> Line {
    let names: Vec<String> = gateway.names().iter().map(ToString::to_string).collect();
    line("upstreams", names.join(", "), "")
}

fn no_records() -> Line {
    line("records", "off", " (on with --records, --expose, --data-dir or --store)")
}

/// The names of the types; those that are tools have a star.
fn of_records(records: &ServedRecords) -> Line {
    /// The maximum number of names.
    const SHOWN: usize = 10;
    let types = records.store.types();
    let is_tool = |name: &str| records.exposed.iter().any(|exposed| exposed == name);
    let name = |kind: &RecordType| {
        format!("{}{}", kind.name(), if is_tool(kind.name()) { "*" } else { "" })
    };
    let names: Vec<String> = types.iter().take(SHOWN).map(name).collect();
    let more = match types.iter().count().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let legend = if records.exposed.is_empty() { "" } else { " (* MCP tools)" };
    let problem = match records.store.problem() {
        Some(problem) => format!("; cannot be written: {problem}"),
        None => String::new(),
    };
    let details = format!(", in {}{problem}", records.location);
    line("records", format!("on, {}{more}{legend}", names.join(", ")), &details)
}

fn of_tools(folder: &ToolFolder) -> Line {
    let (tools, rejected) = (folder.tools().len(), folder.rejected().len());
    let rejected = match rejected {
        0 => String::new(),
        1 => "; 1 invalid file, see GET /tools".to_owned(),
        rejected => format!("; {rejected} invalid files, see GET /tools"),
    };
    let details = format!(" in {}{rejected}", folder.path().display());
    line("tools", tools.to_string(), &details)
}

fn no_history() -> Line {
    line("history", "off", " (--no-history)")
}

fn of_recorder(recorder: &Recorder) -> Line {
    let details = match (&recorder.folder, recorder.problem()) {
        (Some(folder), _) => format!(", and log files in {}", folder.display()),
        (None, Some(problem)) => format!("; log files cannot be written: {problem}"),
        (None, None) => "; no log files (on with --log)".to_owned(),
    };
    line("history", format!("on, last {} calls in memory", recorder.entries), &details)
}

const STYLE: &str = "body{font:16px/1.5 sans-serif;max-width:50em;margin:2em auto;padding:0 1em}\
    th{text-align:left;padding-right:1.5em;font-weight:normal;color:#666;vertical-align:top}\
    pre{background:#f4f4f4;color:#222;padding:.7em;overflow-x:auto}";

/// Nothing but the style, by its hash.
const POLICY: &str = "default-src 'none'; style-src 'sha256-ZZ7fAscgl+Dh30ozfAGFZODzTLsxdB4JBEj+wyu5JFs='; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Text as the content of an element.
fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut escaped, character| {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            character => escaped.push(character),
        }
        escaped
    })
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::{Components, Location, POLICY, STYLE, Served, Summary};

    #[test]
    fn policy_allows_the_style() {
        let digest = ring::digest::digest(&ring::digest::SHA256, STYLE.as_bytes());
        let source = format!("style-src 'sha256-{}'", STANDARD.encode(digest));
        assert!(POLICY.contains(&source), "{source}");
    }

    #[test]
    fn page_escapes_text() {
        let summary = Summary::new(&Components {
            databases: &[Served {
                name: None,
                location: Location::File("<b>&\"'.db".into()),
                is_writable: false,
                preparation: None,
            }],
            records: None,
            tools: None,
            gateway: None,
            model: None,
            recorder: None,
            has_console: false,
            needs_token: false,
            accepts_certificates: false,
            is_https: false,
        });
        let page = summary.page("localhost");
        assert!(page.contains("<td>&lt;b&gt;&amp;&quot;&#39;.db (read-only)</td>"), "{page}");
    }
}
