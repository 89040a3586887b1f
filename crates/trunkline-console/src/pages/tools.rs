//! Command tools and upstream servers: their states, errors, reloading and reconnecting.

use askama::Template;
use axum::response::Response;
use serde_json::{Map, Value, json};

use super::operations;
use crate::console::{Layout, Problem, Visit, page, see_other};
use crate::json::Json;
use crate::text;

const SECTION: &str = "tools";

struct Tool {
    name: String,
    href: String,
    description: String,
}

struct Upstream {
    name: String,
    target: String,
    state: String,
    class: &'static str,
    tools: String,
    resources: String,
    prompts: String,
    failures: String,
    last_error: String,
    retry: String,
    unapproved: Vec<Unapproved>,
    rejected: Vec<(String, String)>,
}

/// A tool that changed, or is withheld until it is approved.
struct Unapproved {
    name: String,
    digest: String,
    difference: Vec<String>,
    /// The form that shows the whole difference, if this one is not.
    more: Option<String>,
}

#[derive(Template)]
#[template(path = "tools.html")]
struct ToolsPage {
    layout: Layout,
    has_tools: bool,
    tools: Vec<Tool>,
    rejected: Vec<(String, String)>,
    failure: String,
    tools_problem: Option<Problem>,
    has_upstreams: bool,
    upstreams: Vec<Upstream>,
    upstreams_problem: Option<Problem>,
    notice: &'static str,
    /// The error of the last action.
    problem: Option<Problem>,
}

pub(super) async fn show(visit: Visit) -> Response {
    let notice = match visit.fields.text("done") {
        "reloaded" => "The tools were reloaded.",
        "reconnected" => "A connection attempt was started. Reload the page to see its result.",
        "approved" => "The tool was approved.",
        _ => "",
    };
    page(&tools_page(&visit, notice, None).await)
}

async fn tools_page(visit: &Visit, notice: &'static str, problem: Option<Problem>) -> ToolsPage {
    let config = &visit.console.config;
    let mut tools_page = ToolsPage {
        layout: visit.layout("Tools", SECTION),
        has_tools: config.has_tools,
        tools: Vec::new(),
        rejected: Vec::new(),
        failure: String::new(),
        tools_problem: None,
        has_upstreams: config.has_upstreams,
        upstreams: Vec::new(),
        upstreams_problem: None,
        notice,
        problem,
    };
    if config.has_tools {
        match visit.call("agent.list_tools", &Map::new()).await {
            Ok(called) => tools_page.add_tools(&called.result),
            Err(error) => tools_page.tools_problem = Some(Problem::of(&error)),
        }
    }
    if config.has_upstreams {
        match visit.call("gateway.upstreams", &Map::new()).await {
            Ok(called) => {
                tools_page.upstreams =
                    called.result.items("upstreams").iter().map(Upstream::of).collect();
            }
            Err(error) => tools_page.upstreams_problem = Some(Problem::of(&error)),
        }
    }
    tools_page
}

impl ToolsPage {
    fn add_tools(&mut self, listing: &Json) {
        let tool = |tool: &Json| Tool {
            href: operations::href(&format!("tool.{}", tool.text("name"))),
            name: tool.text("name"),
            description: tool.text("description"),
        };
        self.tools = listing.items("tools").iter().map(tool).collect();
        let rejected = listing.items("rejected").iter();
        self.rejected = rejected.map(|one| (one.text("file"), one.text("reason"))).collect();
        self.failure = listing.text("failure");
    }
}

impl Upstream {
    fn of(status: &Json) -> Self {
        let name = status.text("name");
        let unapproved = |tool: &Json| {
            let tool_name = tool.text("name");
            let params = json!({ "upstream": name, "tool": tool_name }).to_string();
            let form = format!(
                "{}{}",
                operations::href("gateway.upstreams"),
                text::query(&[("params", &params)])
            );
            Unapproved {
                digest: tool.text("digest"),
                difference: tool.items("difference").iter().map(Json::plain).collect(),
                more: (tool.text("truncated") == "true").then_some(form),
                name: tool_name,
            }
        };
        let unapproved = status.items("unapproved").iter().map(unapproved).collect();
        let state = status.text("state");
        Self {
            name,
            target: status.text("target"),
            class: match state.as_str() {
                "ready" => "ok",
                "failed" => "error",
                _ => "cancelled",
            },
            state,
            tools: status.text("tools"),
            resources: status.text("resources"),
            prompts: status.text("prompts"),
            failures: status.text("failures"),
            last_error: status.text("last_error"),
            retry: status
                .get("retry_in_ms")
                .and_then(Json::as_f64)
                .map(text::millis)
                .unwrap_or_default(),
            unapproved,
            rejected: status
                .items("rejected")
                .iter()
                .map(|one| (one.text("name"), one.text("reason")))
                .collect(),
        }
    }
}

pub(super) async fn act(visit: Visit) -> Response {
    let upstream = || {
        let name = visit.fields.text("upstream");
        Map::from_iter([("upstream".to_owned(), Value::from(name))])
    };
    let (method, params, done) = match visit.fields.text("action") {
        "reload" => ("agent.reload_tools", Map::new(), "reloaded"),
        "reconnect" => ("gateway.reconnect", upstream(), "reconnected"),
        "approve" => {
            let mut params = upstream();
            let (tool, digest) = (visit.fields.text("tool"), visit.fields.text("digest"));
            params.insert("tools".to_owned(), json!({ tool: digest }));
            ("gateway.approve", params, "approved")
        }
        _ => return see_other("/console/tools"),
    };
    match visit.call_for_button(method, &params).await {
        Ok(_) => see_other(&format!("/console/tools{}", text::query(&[("done", done)]))),
        Err(error) => page(&tools_page(&visit, "", Some(Problem::of(&error))).await),
    }
}
