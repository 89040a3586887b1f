//! Clients of two nodes behind nginx, which notice neither that there are two nodes nor that one is restarted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::future::Future;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;
use trunkline::client::Http;
use trunkline_mcp::client::{
    Change, Client, ClientHandler, Error, HandlerError, HandlerFeatures, McpClientConfig,
};
use trunkline_mcp::tools::Tool;
use trunkline_mcp::{ElicitRequest, ElicitResult, Received};
use trunkline_test_postgres::free_address;

use super::{LIST, Nodes, start};
use crate::support::{PATIENCE, Server};

/// nginx with the configuration of `docs/operations/nodes.md`, and without privileges.
pub(crate) struct Nginx {
    process: Child,
    folder: PathBuf,
    pub(crate) address: SocketAddr,
}

impl Nginx {
    pub(crate) fn start(folder: &Path, nodes: &[SocketAddr]) -> Self {
        let folder = folder.join("nginx");
        fs::create_dir_all(&folder).unwrap();
        let address = free_address();
        let documented = documented_configuration(nodes, address);
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let temporary = temporary.map(|name| format!("{name}_temp_path {name};\n")).concat();
        let config = format!(
            "daemon off; worker_processes 1; pid nginx.pid; error_log error.log;
            events {{ worker_connections 4096; }}
            http {{
                {temporary}
                log_format nodes '$status $upstream_addr $request_method $http_mcp_session_id';
                access_log access.log nodes;
                {documented}
            }}"
        );
        fs::write(folder.join("nginx.conf"), config).unwrap();
        let process = nginx(&folder).stdin(Stdio::null()).spawn().unwrap();
        let nginx = Self { process, folder, address };
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(address).is_err() {
            assert!(Instant::now() < deadline, "nginx does not listen: {}", nginx.errors());
            std::thread::sleep(Duration::from_millis(10));
        }
        nginx
    }

    /// The id of its first process.
    pub(crate) fn process(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn errors(&self) -> String {
        fs::read_to_string(self.folder.join("error.log")).unwrap_or_default()
    }

    /// The fields of the requests so far.
    pub(crate) fn requests(&self) -> Vec<Vec<String>> {
        let log = fs::read_to_string(self.folder.join("access.log")).unwrap();
        // Several addresses are separated by commas.
        let fields = |line: &str| line.replace(", ", ",").split(' ').map(str::to_owned).collect();
        log.lines().map(fields).collect()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // `SIGQUIT` would wait for open streams.
        let stop = format!("kill -TERM {}", self.process.id());
        drop(Command::new("sh").args(["-c", &stop]).status());
        drop(self.process.wait());
    }
}

/// nginx with the files in a folder.
pub(super) fn nginx(folder: &Path) -> Command {
    let programs = ["/usr/sbin/nginx", "/usr/bin/nginx"];
    let program = programs.into_iter().find(|path| Path::new(path).exists());
    let program = program.expect("nginx is required: `apt-get install nginx` on Debian");
    let mut command = Command::new(program);
    command.arg("-p").arg(folder).args(["-c", "nginx.conf", "-e", "error.log"]);
    command
}

/// The block of nginx in the documentation, with these addresses and without TLS.
fn documented_configuration(nodes: &[SocketAddr], address: SocketAddr) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operations/nodes.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, block) = page.split_once("```nginx\n").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    let mut nodes = Some(nodes.iter().map(|node| format!("server {node} max_fails=0;\n")));
    let mut lines = Vec::new();
    for line in block.lines() {
        match line.trim() {
            server if server.starts_with("server 10.0.0.") => {
                lines.extend(nodes.take().into_iter().flatten());
            }
            "listen 443 ssl;" => lines.push(format!("listen {address};\n")),
            _ => lines.push(format!("{line}\n")),
        }
    }
    assert!(nodes.is_none(), "the block has servers");
    lines.concat()
}

/// A user who confirms everything, and a record of changes.
#[derive(Default)]
pub(crate) struct User {
    confirmed: AtomicUsize,
    changes: Mutex<Vec<String>>,
}

impl ClientHandler for User {
    fn features(&self) -> HandlerFeatures {
        let mut features = HandlerFeatures::default();
        features.forms = true;
        features
    }

    fn elicit(
        &self,
        _: ElicitRequest,
    ) -> Pin<Box<dyn Future<Output = Result<ElicitResult, HandlerError>> + Send + '_>> {
        self.confirmed.fetch_add(1, Ordering::SeqCst);
        let content = Map::from_iter([("confirm".to_owned(), Value::Bool(true))]);
        Box::pin(std::future::ready(Ok(ElicitResult::Accept(content))))
    }

    fn changed(&self, change: Change) {
        if let Change::Resource(uri) = change {
            self.changes.lock().unwrap().push(uri);
        }
    }
}

/// A client, and its tools by name.
pub(crate) struct Caller {
    pub(crate) client: Client,
    tools: BTreeMap<String, Received<Tool>>,
    user: Arc<User>,
    pub(crate) name: &'static str,
}

impl Caller {
    /// A client of the era `legacy` or `modern`.
    pub(crate) async fn connect(address: SocketAddr, name: &'static str) -> Self {
        let http = Http::connect(&format!("http://{address}/mcp")).unwrap();
        let user = Arc::new(User::default());
        let mut config = McpClientConfig::new("nodes", "1");
        config.handler = user.clone();
        if name == "legacy" {
            config.eras.assume_legacy(&http);
        }
        let client = Client::connect(http, config).await.unwrap();
        let tools = client.list_tools().await.unwrap();
        let tools = tools.items.into_iter().map(|tool| (tool.name.clone(), tool)).collect();
        Self { client, tools, user, name }
    }

    /// Calls a tool. A result with `isError` is returned as its text.
    pub(crate) async fn try_call(
        &self,
        tool: &str,
        arguments: &Value,
    ) -> Result<Result<(), String>, Error> {
        let arguments: Box<RawValue> = to_raw_value(arguments).unwrap();
        let result = self.client.call_tool(&self.tools[tool], &arguments).await?;
        Ok(if result.is_error { Err(format!("{result:?}")) } else { Ok(()) })
    }

    async fn call(&self, tool: &str, arguments: Value) {
        let outcome = self.try_call(tool, &arguments).await;
        assert!(matches!(outcome, Ok(Ok(()))), "{} {tool} {arguments}: {outcome:?}", self.name);
    }

    /// Creates a record, changes it and deletes it, after the user has confirmed both.
    pub(crate) async fn work(&self, id: &str) {
        self.call("todo_create", json!({"id": id, "title": "x"})).await;
        self.call("todo_update", json!({"id": id, "title": "y"})).await;
        self.call("todo_delete", json!({"id": id})).await;
    }

    /// Waits until the client is notified of a change after those so far.
    pub(crate) async fn until_changed(&self, uri: &str, count: usize) {
        let deadline = Instant::now() + PATIENCE;
        let changes =
            || self.user.changes.lock().unwrap().iter().filter(|found| *found == uri).count();
        while changes() < count {
            assert!(Instant::now() < deadline, "{}: {} changes", self.name, changes());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Stops a node with SIGTERM, and starts it again at its address.
fn restart(node: Server, folder: &Path, store: &str) -> Server {
    let address = node.address;
    let ended = node.stop();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    start(folder, store, address)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL and nginx"]
async fn clients_do_not_notice_that_nodes_are_restarted() {
    let Nodes { a, b, store, folder } = Nodes::start();
    let nginx = Nginx::start(folder.path(), &[a.address, b.address]);
    let mut callers = Vec::new();
    for name in ["legacy", "modern"] {
        let caller = Caller::connect(nginx.address, name).await;
        caller.client.subscribe(LIST).await.unwrap();
        callers.push(Arc::new(caller));
    }

    // Load: each caller has several tasks, which work until both nodes were restarted.
    let (is_over, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let mut load = JoinSet::new();
    for caller in &callers {
        for task in 0..4 {
            let (caller, is_over, done) =
                (Arc::clone(caller), Arc::clone(&is_over), Arc::clone(&done));
            load.spawn(async move {
                let mut round = 0;
                while !is_over.load(Ordering::SeqCst) {
                    caller.work(&format!("{}-{task}-{round}", caller.name)).await;
                    done.fetch_add(1, Ordering::SeqCst);
                    round += 1;
                }
            });
        }
    }
    let until = |count: usize| {
        let done = Arc::clone(&done);
        async move {
            let deadline = Instant::now() + PATIENCE;
            while done.load(Ordering::SeqCst) < count {
                assert!(Instant::now() < deadline, "{} rounds", done.load(Ordering::SeqCst));
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    };
    let mut servers = Vec::new();
    for server in [a, b] {
        until(done.load(Ordering::SeqCst) + 10).await;
        servers.push(tokio::task::block_in_place(|| restart(server, folder.path(), &store)));
    }
    let [a, b]: [Server; 2] = servers.try_into().ok().unwrap();
    until(done.load(Ordering::SeqCst) + 10).await;
    is_over.store(true, Ordering::SeqCst);
    while let Some(ended) = load.join_next().await {
        ended.unwrap();
    }

    // Changes reach both clients, whichever node they arise on.
    for node in [&a, &b] {
        let counts = callers.iter().map(|caller| caller.user.changes.lock().unwrap().len());
        let counts: Vec<_> = counts.collect();
        super::create(node, &format!("last-{}", node.address.port()));
        for (caller, count) in callers.iter().zip(counts) {
            caller.until_changed(LIST, count + 1).await;
        }
    }

    let rounds = done.load(Ordering::SeqCst);
    let confirmed: usize =
        callers.iter().map(|caller| caller.user.confirmed.load(Ordering::SeqCst)).sum();
    assert_eq!(confirmed, 2 * rounds, "each update and each deletion is confirmed once");
    let requests = nginx.requests();
    let failed: Vec<_> = requests.iter().filter(|fields| !fields[0].starts_with('2')).collect();
    assert!(failed.is_empty(), "{failed:?}\n{}", nginx.errors());
    let sessions: BTreeSet<_> =
        requests.iter().map(|fields| &fields[3]).filter(|id| *id != "-").collect();
    assert_eq!(sessions.len(), 1, "the session of the legacy client is not replaced");
    for node in [&a, &b] {
        let address = node.address.to_string();
        let share = requests.iter().filter(|fields| fields[1].ends_with(&address)).count();
        assert!(share > requests.len() / 20, "{share} of {}", requests.len());
    }
    let retried = requests.iter().filter(|fields| fields[1].contains(',')).count();
    println!(
        "{rounds} rounds, {} requests, {retried} of them sent to the other node",
        requests.len()
    );
    drop((callers, nginx));
    Nodes { a, b, store, folder }.stop();
}
