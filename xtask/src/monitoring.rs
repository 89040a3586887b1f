//! The dashboard and the alerts, with a Prometheus that reads a server.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::server_process::ServerProcess;
use crate::workspace::{self, Workspace};

const RULES: &str = "packaging/prometheus/trunkline.rules.yml";
const TESTS: &str = "packaging/prometheus/trunkline.test.yml";
const CONFIG: &str = "packaging/prometheus/prometheus.yml";
const DASHBOARD: &str = "packaging/grafana/trunkline.json";

/// The time within which queries must have data. Rates need two samples.
const DEADLINE: Duration = Duration::from_secs(120);

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    for program in ["prometheus", "promtool", "curl"] {
        workspace::output(workspace.command(program).arg("--version"))
            .with_context(|| format!("{program} is missing: `apt-get install prometheus curl`"))?;
    }
    for arguments in
        [["check", "rules", RULES], ["check", "config", CONFIG], ["test", "rules", TESTS]]
    {
        workspace::run(workspace.command("promtool").args(arguments))?;
    }
    let program = workspace.build("trunkline")?;
    let folder = workspace.fresh_folder("target/monitoring")?;
    let mut serve = workspace.command(&program);
    serve.args(["serve", "--sample", "--listen", "127.0.0.1:0", "--db"]);
    serve.arg(folder.join("sample.db"));
    let server = ServerProcess::start(&mut serve, &folder.join("server.log"))?;
    let calls = Calls { workspace, url: &server.url };
    calls.make()?;
    check_metrics(&calls)?;
    let prometheus = Prometheus::start(workspace, &folder, &server.url)?;
    let queries = queries(workspace)?;
    let until = Instant::now() + DEADLINE;
    loop {
        calls.make()?;
        let missing = queries
            .iter()
            .map(|query| Ok((query, prometheus.has_data(workspace, &query.expression)?)))
            .filter(|found| !matches!(found, Ok((_, true))))
            .collect::<Result<Vec<_>>>()?;
        let Some((first, _)) = missing.first() else { break };
        ensure!(
            Instant::now() < until,
            "{} queries have no data, such as {}: {}",
            missing.len(),
            first.place,
            first.expression
        );
        sleep(Duration::from_millis(500));
    }
    println!("{} queries of the dashboard and the alerts have data", queries.len());
    prometheus.check_rules(workspace)
}

/// Calls that fill all metrics.
struct Calls<'w> {
    workspace: &'w Workspace,
    url: &'w str,
}

impl Calls<'_> {
    fn make(&self) -> Result<()> {
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
            self.curl(&["-H", "content-type: application/json", "-d", &batch.to_string()], "")?;
        ensure!(reply.starts_with('['), "not a reply to a batch: {reply}");
        Ok(())
    }

    fn curl(&self, arguments: &[&str], path: &str) -> Result<String> {
        let mut curl = self.workspace.command("curl");
        curl.args(["-sS", "--max-time", "20"]).args(arguments).arg(format!("{}{path}", self.url));
        workspace::output(&mut curl)
    }
}

const ENDLESS: &str =
    "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

/// Checks `/metrics` with `promtool check metrics`.
fn check_metrics(calls: &Calls<'_>) -> Result<()> {
    use std::io::Write;

    let text = calls.curl(&[], "/metrics")?;
    let mut check = calls.workspace.command("promtool");
    let mut check = check.args(["check", "metrics"]).stdin(Stdio::piped()).spawn()?;
    check.stdin.take().context("stdin is piped")?.write_all(text.as_bytes())?;
    ensure!(check.wait()?.success(), "promtool has found problems in /metrics:\n{text}");
    Ok(())
}

/// A query, and where it is from.
struct Query {
    place: String,
    expression: String,
}

/// The queries of the dashboard, and the metrics of the alerts.
fn queries(workspace: &Workspace) -> Result<Vec<Query>> {
    let dashboard: Value = serde_json::from_str(&workspace.read(Path::new(DASHBOARD))?)
        .with_context(|| format!("{DASHBOARD} is not JSON"))?;
    let mut queries = Vec::new();
    for panel in dashboard["panels"].as_array().into_iter().flatten() {
        let title = panel["title"].as_str().unwrap_or_default();
        for target in panel["targets"].as_array().into_iter().flatten() {
            let expression = target["expr"].as_str().context("a target has no query")?;
            let expression =
                expression.replace("$__rate_interval", "30s").replace("$instance", ".*");
            queries.push(Query { place: format!("the panel `{title}`"), expression });
        }
    }
    ensure!(queries.len() > 20, "{DASHBOARD} has only {} queries", queries.len());
    let rules = workspace.read(Path::new(RULES))?;
    let words = rules.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
    let metrics: BTreeSet<_> = words.filter(|word| word.starts_with("trunkline_")).collect();
    ensure!(!metrics.is_empty(), "{RULES} uses no metric");
    queries.extend(metrics.into_iter().map(|metric| Query {
        place: format!("an alert in {RULES}"),
        expression: metric.to_owned(),
    }));
    Ok(queries)
}

/// A Prometheus on loopback. It is killed when it is dropped.
struct Prometheus {
    child: Child,
    url: String,
}

impl Prometheus {
    fn start(workspace: &Workspace, folder: &Path, target: &str) -> Result<Self> {
        let target = target.strip_prefix("http://").context("the server has no address")?;
        let rules = workspace.path(RULES);
        // JSON is YAML.
        let config = json!({
            "global": { "scrape_interval": "1s", "evaluation_interval": "1s" },
            "rule_files": [rules],
            "scrape_configs": [
                { "job_name": "trunkline", "static_configs": [{ "targets": [target] }] },
            ],
        });
        let path = folder.join("prometheus.yml");
        std::fs::write(&path, config.to_string())?;
        let log = folder.join("prometheus.log");
        let mut command = Command::new("prometheus");
        command.arg(format!("--config.file={}", path.display()));
        command.arg(format!("--storage.tsdb.path={}", folder.join("tsdb").display()));
        command.args(["--web.listen-address=127.0.0.1:0", "--log.level=info"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&log)?);
        let child = command.spawn().context("cannot start prometheus")?;
        let mut prometheus = Self { child, url: String::new() };
        let until = Instant::now() + DEADLINE;
        while prometheus.url.is_empty() {
            let text = std::fs::read_to_string(&log)?;
            if let Some(status) = prometheus.child.try_wait()? {
                bail!("prometheus has ended ({status}):\n{text}");
            }
            ensure!(Instant::now() < until, "prometheus does not listen:\n{text}");
            if let Some(address) = text.lines().find_map(address) {
                prometheus.url = format!("http://{address}");
            } else {
                sleep(Duration::from_millis(50));
            }
        }
        Ok(prometheus)
    }

    /// Whether a query has a result. It is an error if the query is invalid.
    fn has_data(&self, workspace: &Workspace, query: &str) -> Result<bool> {
        let reply =
            self.get(workspace, "/api/v1/query", &["--data-urlencode", &format!("query={query}")])?;
        ensure!(reply["status"] == "success", "invalid query {query}: {reply}");
        let results = reply["data"]["result"].as_array().context("a reply without a result")?;
        let is_number =
            |result: &Value| result["value"][1].as_str().is_some_and(|value| value != "NaN");
        Ok(results.iter().any(is_number))
    }

    /// Checks that all alerts are evaluated without errors.
    fn check_rules(&self, workspace: &Workspace) -> Result<()> {
        let until = Instant::now() + DEADLINE;
        loop {
            let reply = self.get(workspace, "/api/v1/rules", &[])?;
            let groups = reply["data"]["groups"].as_array().cloned().unwrap_or_default();
            let rules: Vec<_> =
                groups.iter().filter_map(|group| group["rules"].as_array()).flatten().collect();
            ensure!(!rules.is_empty(), "Prometheus has no rules: {reply}");
            let bad = rules.iter().find(|rule| rule["health"] != "ok");
            let Some(bad) = bad else {
                println!("{} alerts are evaluated", rules.len());
                return Ok(());
            };
            ensure!(Instant::now() < until && bad["health"] != "err", "an alert fails: {bad}");
            sleep(Duration::from_millis(200));
        }
    }

    fn get(&self, workspace: &Workspace, path: &str, arguments: &[&str]) -> Result<Value> {
        let mut curl = workspace.command("curl");
        curl.args(["-sS", "--max-time", "20", "--get"]).args(arguments);
        let reply = workspace::output(curl.arg(format!("{}{path}", self.url)))?;
        serde_json::from_str(&reply).with_context(|| format!("not JSON: {reply}"))
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // Both fail only if the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The address in a line of the log: `msg="Listening on" address=127.0.0.1:1234`.
fn address(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("\"Listening on\" ")?;
    let (_, rest) = rest.split_once("address=")?;
    rest.split_whitespace().next()
}
