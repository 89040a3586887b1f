//! `--upstream` and `[upstreams.NAME]`.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::console::{ORIGIN, get, send};
use crate::support::{PATIENCE, Server, post, run, runs, tpch, trunkline};

/// The command of an MCP server over stdio.
fn stdio_server() -> String {
    format!("{} mcp --db tpch.db", env!("CARGO_BIN_EXE_trunkline"))
}

fn start(folder: &Path, upstreams: &[(&str, &str)]) -> Server {
    let mut command = trunkline(folder);
    command.args(["--db", "tpch.db", "--listen", "127.0.0.1:0"]);
    for (name, target) in upstreams {
        command.arg("--upstream").arg(format!("{name}={target}"));
    }
    Server::start(command)
}

/// Waits until a condition is met.
#[track_caller]
fn until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "{what}");
        sleep(Duration::from_millis(10));
    }
}

fn status(server: &Server, name: &str) -> Value {
    let list = server.call("gateway.upstreams", &json!({}));
    let list = list["result"]["upstreams"].as_array().unwrap().clone();
    list.into_iter().find(|upstream| upstream["name"] == name).unwrap()
}

#[track_caller]
fn until_ready(server: &Server, name: &str) {
    until(name, || status(server, name)["state"] == "ready");
}

/// Writes a script, and returns the command that runs it.
fn script(folder: &TempDir, name: &str, text: &str) -> String {
    fs::write(folder.path().join(name), text).unwrap();
    format!("sh {name}")
}

/// The list in the text of a result, between the marks.
fn tables(reply: &Value) -> Value {
    let text = reply["result"]["content"][0]["text"].as_str().unwrap();
    serde_json::from_str(text.lines().nth(2).unwrap()).unwrap()
}

#[test]
fn tools_of_stdio_and_http_over_all_protocols() {
    let (folder, database) = tpch();
    let remote = Server::of(&database);
    let url = format!("http://{}/mcp", remote.address);
    let server = start(folder.path(), &[("local", &stdio_server()), ("remote", &url)]);
    for upstream in ["local", "remote"] {
        until_ready(&server, upstream);
        let method = format!("{upstream}.list_tables");
        let found = server.call(&method, &json!({}));
        let expected = tables(&found);
        assert_eq!(expected["tables"].as_array().map(Vec::len), Some(8), "{upstream}: {found}");

        let tool = format!("{upstream}__list_tables");
        let list = server.call("tools/list", &json!({}));
        let tools = list["result"]["tools"].as_array().unwrap();
        assert!(tools.iter().any(|listed| listed["name"] == *tool), "{list}");
        let result = server.call("tools/call", &json!({ "name": tool, "arguments": {} }));
        assert_eq!(tables(&result), expected, "{upstream}");

        let native = json!({ "command": "list_tables", "resource": upstream });
        let executed = server.connect().ask(&post("/execute", &[], &native)).json();
        assert_eq!(tables(&executed), expected, "{upstream}: {executed}");

        let history = server.connect().get(&format!("/history?method={method}")).json();
        assert_eq!(history["entries"].as_array().unwrap().len(), 3, "{history}");
    }
}

#[test]
fn a_server_over_stdio_serves_upstreams() {
    let (folder, database) = tpch();
    let remote = Server::of(&database);
    let mut command = trunkline(folder.path());
    let upstream = format!("remote=http://{}", remote.address);
    command.args(["mcp", "--db", "tpch.db", "--upstream", &upstream]);
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    fs::write(folder.path().join("input"), format!("{list}\n")).unwrap();
    let begun = Instant::now();
    // The tools of an upstream are missing if it does not answer within 3 s.
    loop {
        command.stdin(fs::File::open(folder.path().join("input")).unwrap());
        let ended = run(&mut command);
        let reply: Value = serde_json::from_str(&ended.stdout).unwrap();
        let tools = reply["result"]["tools"].as_array().unwrap();
        let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert!(names.contains(&"list_tables"), "{names:?}");
        if names.contains(&"remote__list_tables") {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{names:?}");
    }
}

/// Without a flag of the database, upstreams are served without one, also next to a file of the default name.
#[test]
fn upstreams_alone_need_no_database() {
    let (_folder, database) = tpch();
    let remote = Server::of(&database);
    let upstream = format!("remote=http://{}", remote.address);
    let section = format!("[upstreams.remote]\nurl = \"http://{}\"\n", remote.address);
    let flag = ["--upstream", &*upstream];
    let writable = ["--upstream", &*upstream, "--writable"];
    let named = ["--upstream", &*upstream, "--db", "trunkline.db"];
    let rows: [(&[&str], bool, Option<&str>); 6] = [
        (&flag, false, None),
        (&flag, true, None),
        (&[], false, Some(&section)),
        (&writable, false, None),
        (&named, true, None),
        (&[], false, None),
    ];
    for (arguments, exists, section) in rows {
        let row = format!("{arguments:?} {exists} {section:?}");
        let folder = tempfile::tempdir().unwrap();
        if exists {
            fs::write(folder.path().join("trunkline.db"), "").unwrap();
        }
        if let Some(section) = section {
            fs::write(folder.path().join("trunkline.toml"), section).unwrap();
        }
        let has_upstreams = !arguments.is_empty() || section.is_some();
        let has_database = !has_upstreams || arguments.len() > 2;
        let mut command = trunkline(folder.path());
        command.args(["--listen", "127.0.0.1:0"]).args(arguments);
        let mut server = Server::start(command);
        let banner = server.banner();
        let served = if has_database { "trunkline.db (" } else { "no database" };
        assert!(banner.contains(&format!("  serving   {served}")), "{row}: {banner}");
        assert_eq!(banner.contains("  upstreams remote\n"), has_upstreams, "{row}: {banner}");
        assert_eq!(banner.contains("db.list_tables"), has_database, "{row}: {banner}");
        let list = server.call("db.list_tables", &json!({}));
        assert_eq!(list["error"].is_null(), has_database, "{row}: {list}");
        if has_upstreams {
            until_ready(&server, "remote");
            let tables = server.call("remote.list_tables", &json!({}));
            assert_eq!(tables["result"]["isError"], false, "{row}: {tables}");
        }
        assert_eq!(server.connect().get("/health").json()["status"], "healthy", "{row}");
        assert_eq!(server.stop().code, Some(0), "{row}");

        let mut command = trunkline(folder.path());
        command.arg("mcp").args(arguments);
        let ended = run(&mut command);
        assert_eq!(ended.code, Some(0), "{row}: {}", ended.stderr);
        let path = folder.path().join("trunkline.db");
        assert_eq!(path.exists(), exists || has_database, "{row}");
    }
}

#[test]
fn hostile_commands_do_not_disturb_others() {
    let (folder, _) = tpch();
    let dying = script(&folder, "dying.sh", "echo oops >&2; exit 3");
    let server = start(
        folder.path(),
        &[
            ("hanging", "sleep 1000"),
            ("garbage", "yes garbage"),
            ("dying", &dying),
            ("missing", "no-such-program"),
            ("good", &stdio_server()),
        ],
    );
    until_ready(&server, "good");
    let found = server.call("good.list_tables", &json!({}));
    assert_eq!(found["result"]["isError"], false, "{found}");
    for (name, part) in [
        ("dying", "oops"),
        ("garbage", "lines that are not messages"),
        ("missing", "no-such-program"),
    ] {
        until(name, || status(&server, name)["failures"].as_u64().unwrap() >= 2);
        let status = status(&server, name);
        let error = status["last_error"].as_str().unwrap();
        assert!(error.contains(part), "{name}: {status}");
    }
    assert_eq!(status(&server, "good")["failures"], 0);
    assert_eq!(server.stop().code, Some(0));
}

/// A program that ignores the end of stdin and SIGTERM, and starts others, one of them in another session.
const STUBBORN: &str = "\
trap '' TERM
setsid sh -c 'trap \"\" TERM; echo $$ > escaped; sleep 1000; sleep 1000' &
sh -c 'trap \"\" TERM; echo $$ > child; sleep 1000; sleep 1000' &
echo $$ > program
sleep 1000
sleep 1000
";

#[track_caller]
fn check_end_of_processes(end: impl FnOnce(Server)) {
    let (folder, _) = tpch();
    let stubborn = script(&folder, "stubborn.sh", STUBBORN);
    let server = start(folder.path(), &[("stubborn", &stubborn)]);
    let pid = |name: &str| {
        let text = fs::read_to_string(folder.path().join(name)).unwrap_or_default();
        text.strip_suffix('\n').map(str::to_owned)
    };
    let names = ["program", "child", "escaped"];
    until("the processes start", || names.iter().all(|name| pid(name).is_some()));
    let pids = names.map(|name| pid(name).unwrap());
    assert!(pids.iter().all(|pid| runs(pid)));
    end(server);
    until("the processes end", || !pids.iter().any(|pid| runs(pid)));
}

#[test]
fn processes_end_with_the_server() {
    check_end_of_processes(|server| drop(server.stop()));
}

#[test]
fn processes_end_when_the_server_is_killed() {
    check_end_of_processes(|server| {
        server.signal("KILL");
        drop(server.end());
    });
}

#[test]
fn commands_get_only_listed_variables() {
    let (folder, _) = tpch();
    let file = "\
[upstreams.files]
command = ['sh', 'print.sh', 'a b']
env = { PLAIN = 'text', FROM_ENV = { env = 'SOURCE' }, FROM_FILE = { file = 'secret' } }
folder = 'sub'
";
    fs::create_dir(folder.path().join("sub")).unwrap();
    fs::write(folder.path().join("trunkline.toml"), file).unwrap();
    fs::write(folder.path().join("secret"), "of-file\n").unwrap();
    let print = "pwd > out; echo \"$1\" >> out; env >> out; mv out done; sleep 1000";
    fs::write(folder.path().join("sub/print.sh"), print).unwrap();
    let mut command = trunkline(folder.path());
    command.args(["--db", "tpch.db", "--listen", "127.0.0.1:0"]);
    command.env("SOURCE", "of-env").env("TRUNKLINE_BEARER", "s3cret");
    let server = Server::start(command);
    let output = folder.path().join("sub/done");
    until("the program writes its variables", || output.exists());
    let output = fs::read_to_string(output).unwrap();
    for line in ["a b", "PLAIN=text", "FROM_ENV=of-env", "FROM_FILE=of-file"] {
        assert!(output.lines().any(|one| one == line), "{line}: {output}");
    }
    assert!(output.lines().next().unwrap().ends_with("/sub"), "{output}");
    for absent in ["s3cret", "SOURCE=", "TRUNKLINE_"] {
        assert!(!output.contains(absent), "{absent}: {output}");
    }
    drop(server.stop());
}

#[test]
fn the_flag_replaces_the_upstream_of_the_file() {
    let (folder, database) = tpch();
    let remote = Server::of(&database);
    let file = "[upstreams.up]\nurl = 'http://127.0.0.1:1/mcp'\nbearer = { env = 'TOKEN' }\ndeny = ['list_*']\n";
    fs::write(folder.path().join("trunkline.toml"), file).unwrap();
    let mut command = trunkline(folder.path());
    command.args(["--db", "tpch.db", "--listen", "127.0.0.1:0"]).env("TOKEN", "t");
    command.arg("--upstream").arg(format!("up=http://{}/mcp", remote.address));
    let server = Server::start(command);
    until_ready(&server, "up");
    assert_eq!(server.call("up.list_tables", &json!({}))["result"]["isError"], false);
}

/// An upstream whose tool `list_tables` is not the approved one, and is withheld.
fn start_with_withheld_tool(folder: &Path) -> Server {
    let file = format!(
        "[upstreams.up]\ncommand = [{:?}, 'mcp', '--db', 'tpch.db']\nallow = ['list_tables']\npin = true\n",
        env!("CARGO_BIN_EXE_trunkline")
    );
    fs::write(folder.join("trunkline.toml"), file).unwrap();
    let approved = json!({ "digest": "0".repeat(64), "definition": { "title": "Earlier" } });
    let approvals = json!({ "version": 2, "upstreams": { "up": { "list_tables": approved } } });
    fs::create_dir(folder.join("data")).unwrap();
    fs::write(folder.join("data/upstreams.json"), approvals.to_string()).unwrap();
    let mut command = trunkline(folder);
    command.args(["--db", "tpch.db", "--data-dir", "data", "--listen", "127.0.0.1:0"]);
    let server = Server::start_without_data_directory(command);
    until_ready(&server, "up");
    server
}

#[test]
fn withheld_tools_are_approved_with_the_command_line() {
    let (folder, _) = tpch();
    let server = start_with_withheld_tool(folder.path());
    let url = format!("http://{}/", server.address);
    let call = |arguments: &[&str]| {
        let mut command = trunkline(folder.path());
        run(command.args(["call", &url]).args(arguments))
    };
    let list = call(&["gateway.upstreams", "upstream=up", "tool=list_tables"]);
    let list: Value = serde_json::from_str(&list.stdout).unwrap();
    let found = &list["upstreams"][0]["unapproved"][0];
    assert_eq!(found["difference"][0], r#"- title: "Earlier""#, "{list}");
    let approve = |digest: &str| {
        let tools = format!("tools={}", json!({ "list_tables": digest }));
        call(&["gateway.approve", "upstream=up", &tools])
    };
    let refused = approve(&"0".repeat(64));
    assert!(refused.code == Some(1) && refused.stderr.contains("another digest"), "{refused:?}");
    assert_eq!(server.call("up.list_tables", &json!({}))["error"]["code"], -32601);
    assert_eq!(approve(found["digest"].as_str().unwrap()).code, Some(0));
    assert_eq!(server.call("up.list_tables", &json!({}))["result"]["isError"], false);
}

#[test]
fn withheld_tools_are_approved_in_the_console() {
    let (folder, _) = tpch();
    let server = start_with_withheld_tool(folder.path());
    let page = get(&server, "/console/tools", &[]).text;
    let digest = page.split("name=\"digest\" value=\"").nth(1).unwrap();
    let digest = &digest[..64];
    assert!(page.contains("- title: &#34;Earlier&#34;"), "{page}");
    let approve = |digest: &str| {
        let fields = [
            ("action", "approve"),
            ("upstream", "up"),
            ("tool", "list_tables"),
            ("digest", digest),
        ];
        send(&server, "/console/tools", &[ORIGIN], &fields)
    };
    assert!(approve(&"0".repeat(64)).text.contains("another digest"));
    assert_eq!(server.call("up.list_tables", &json!({}))["error"]["code"], -32601);
    let location = approve(digest).reply.header("location").map(str::to_owned);
    assert_eq!(location.as_deref(), Some("/console/tools?done=approved"));
    assert_eq!(server.call("up.list_tables", &json!({}))["result"]["isError"], false);
}

#[test]
fn refused_upstreams() {
    #[track_caller]
    fn check(upstream: &str, part: &str) {
        let (folder, _) = tpch();
        let mut command: Command = trunkline(folder.path());
        let ended = run(command.args(["--db", "tpch.db", "--upstream", upstream]));
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stderr.contains(part), "{upstream}: {}", ended.stderr);
    }
    check("http://127.0.0.1", "the format is NAME=URL or NAME=COMMAND");
    check("a__b=x", "invalid --upstream a__b=x: a name of an upstream has");
    check("a=http://", "invalid URL");
    check("a=http://user:password@host", "user or password in the URL");
    check("a=", "the command is empty");
    check("a=x 'y", "the quote ' is not closed");
    check("db=x", "is the prefix of other methods");
    check("gateway=x", "is the prefix of other methods");
}
