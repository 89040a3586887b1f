//! The dashboard and the alerts, with a Prometheus that reads a server.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::server_process::Stage;
use crate::workspace::{Process, Workspace, command, output, run as run_command, wait_for};

const RULES: &str = "packaging/prometheus/trunkline.rules.yml";
const TESTS: &str = "packaging/prometheus/trunkline.test.yml";
const CONFIG: &str = "packaging/prometheus/prometheus.yml";
const DASHBOARD: &str = "packaging/grafana/trunkline.json";

/// The time within which queries must have data. Rates need two samples.
const DEADLINE: Duration = Duration::from_secs(120);

const ENDLESS: &str =
    "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    for arguments in
        [["check", "rules", RULES], ["check", "config", CONFIG], ["test", "rules", TESTS]]
    {
        run_command(workspace.command("promtool").args(arguments))
            .context("`apt-get install prometheus curl` if promtool is missing")?;
    }
    let stage = Stage::new(workspace, "monitoring")?;
    let database = stage.folder.join("sample.db");
    let server = stage.start("server", &mut stage.serve(&database, &["--sample"]))?;
    make_calls(workspace, &server.url)?;
    let metrics = stage.folder.join("metrics.txt");
    std::fs::write(&metrics, curl(workspace, &[&format!("{}/metrics", server.url)])?)?;
    run_command(command!(workspace, "promtool", "check", "metrics").stdin(File::open(&metrics)?))?;

    let (_prometheus, api) = start_prometheus(&stage, server.address())?;
    let mut queries = queries(workspace)?;
    let count = queries.len();
    let poll = || {
        make_calls(workspace, &server.url)?;
        let mut without_data = BTreeSet::new();
        for query in std::mem::take(&mut queries) {
            let text = format!("query={query}");
            let reply =
                get(workspace, &[&format!("{api}/query"), "-G", "--data-urlencode", &text])?;
            let results = reply["data"]["result"].as_array().context(query.clone())?;
            let is_number =
                |result: &Value| result["value"][1].as_str().is_some_and(|value| value != "NaN");
            if !results.iter().any(is_number) {
                without_data.insert(query);
            }
        }
        println!("{} queries have no data: {:?}", without_data.len(), without_data.first());
        queries = without_data;
        std::thread::sleep(Duration::from_millis(500));
        Ok(queries.is_empty().then_some(()))
    };
    wait_for(DEADLINE, poll, || "queries have no data".to_owned())?;
    println!("{count} queries of the dashboard and the alerts have data");
    wait_for(
        DEADLINE,
        || {
            let reply = get(workspace, &[&format!("{api}/rules")])?;
            let groups = reply["data"]["groups"].as_array().context("no groups")?;
            let mut rules = groups.iter().filter_map(|group| group["rules"].as_array()).flatten();
            let bad = rules.clone().find(|rule| rule["health"] == "err");
            ensure!(bad.is_none() && rules.clone().count() > 0, "an alert fails: {bad:?}");
            Ok(rules.all(|rule| rule["health"] == "ok").then_some(()))
        },
        || "the alerts were not evaluated".to_owned(),
    )
}

/// Calls that fill all metrics.
fn make_calls(workspace: &Workspace, url: &str) -> Result<()> {
    let rpc = |method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let batch = json!([
        rpc("db.list_tables", json!({})),
        rpc("db.query_records", json!({ "table_name": "nation" })),
        rpc("db.query_records", json!({ "table_name": "absent" })),
        rpc("absent", json!({})),
        rpc("tools/call", json!({ "name": "list_tables", "arguments": {} })),
        // Fails after its timeout, which is a failure of the server.
        rpc("db.execute_raw_query", json!({ "query": ENDLESS, "timeout_ms": 20 })),
    ]);
    let reply =
        curl(workspace, &[url, "-H", "content-type: application/json", "-d", &batch.to_string()])?;
    ensure!(reply.starts_with('['), "not a reply to a batch: {reply}");
    Ok(())
}

fn curl(workspace: &Workspace, arguments: &[&str]) -> Result<String> {
    output(command!(workspace, "curl", "-sS", "--max-time", "20").args(arguments))
}

fn get(workspace: &Workspace, arguments: &[&str]) -> Result<Value> {
    let reply: Value = serde_json::from_str(&curl(workspace, arguments)?)?;
    ensure!(reply["status"] == "success", "{arguments:?}: {reply}");
    Ok(reply)
}

/// The queries of the dashboard, and the metrics of the alerts.
fn queries(workspace: &Workspace) -> Result<BTreeSet<String>> {
    let dashboard: Value = serde_json::from_str(&workspace.read(Path::new(DASHBOARD))?)?;
    let panels = dashboard["panels"].as_array().context("no panels")?;
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let mut queries = BTreeSet::new();
    for target in targets {
        let query = target["expr"].as_str().context("a target has no query")?;
        queries.insert(query.replace("$__rate_interval", "30s").replace("$instance", ".*"));
    }
    ensure!(queries.len() > 20, "{DASHBOARD} has only {} queries", queries.len());
    let rules = workspace.read(Path::new(RULES))?;
    let words = rules.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
    let metrics: Vec<_> = words.filter(|word| word.starts_with("trunkline_")).collect();
    ensure!(!metrics.is_empty(), "{RULES} uses no metric");
    queries.extend(metrics.into_iter().map(str::to_owned));
    Ok(queries)
}

/// Starts a Prometheus on loopback, and returns the URL of its API.
fn start_prometheus(stage: &Stage<'_>, target: &str) -> Result<(Process, String)> {
    // JSON is YAML.
    let config = json!({
        "global": { "scrape_interval": "1s", "evaluation_interval": "1s" },
        "rule_files": [stage.workspace.path(RULES)],
        "scrape_configs": [
            { "job_name": "trunkline", "static_configs": [{ "targets": [target] }] },
        ],
    });
    let path = stage.folder.join("prometheus.yml");
    std::fs::write(&path, config.to_string())?;
    let log = stage.folder.join("prometheus.log");
    let mut command = stage.workspace.command("prometheus");
    command.arg(format!("--config.file={}", path.display()));
    command.arg(format!("--storage.tsdb.path={}", stage.folder.join("tsdb").display()));
    command.args(["--web.listen-address=127.0.0.1:0", "--log.level=info"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&log)?);
    let mut prometheus = Process::start(&mut command)?;
    let poll = || {
        let text = std::fs::read_to_string(&log)?;
        ensure!(prometheus.0.try_wait()?.is_none(), "prometheus has ended:\n{text}");
        // `msg="Listening on" address=127.0.0.1:1234`
        let (_, rest) = text.split_once("\"Listening on\" address=").unwrap_or_default();
        let address = rest.split_once(char::is_whitespace).map(|(address, _)| address);
        Ok(address.map(|address| format!("http://{address}/api/v1")))
    };
    let api = wait_for(DEADLINE, poll, || "prometheus does not listen".to_owned())?;
    Ok((prometheus, api))
}
