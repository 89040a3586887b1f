//! `--command-tools`: commands of a folder as methods and tools, at all endpoints.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Instant;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::access::Issuer;
use crate::support::{PATIENCE, Server, mismatch, post, run, runs, trunkline};

const ECHO: &str = r#"
name = "echo"
description = "Says it again."
command = ["./echo.sh"]
read_only = true
[input_schema]
type = "object"
required = ["text"]
properties.text.type = "string"
"#;

/// A folder with `tools/echo.toml` and an invalid file.
fn place() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let tools = folder.path().join("tools");
    fs::create_dir(&tools).unwrap();
    fs::write(tools.join("echo.toml"), ECHO).unwrap();
    fs::write(tools.join("bad.toml"), "name = 5").unwrap();
    let script = tools.join("echo.sh");
    fs::write(&script, "#!/bin/sh\nexec cat\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

fn serve(folder: &Path) -> Server {
    let mut command = trunkline(folder);
    command.args(["--listen", "127.0.0.1:0", "--command-tools", "tools"]);
    Server::start(command)
}

#[track_caller]
fn check(found: &Value, expected: &Value) {
    if let Some(mismatch) = mismatch(found, expected) {
        panic!("{mismatch}\n{found}");
    }
}

fn rpc(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// Hosts show their models only the first text block of an error.
#[test]
fn a_failure_has_all_lines_of_stderr_in_its_first_block() {
    let folder = place();
    let tools = folder.path().join("tools");
    let fail = r#"
name = "fail"
description = "Fails."
command = ["sh", "-c", "echo one >&2; echo two >&2; exit 3"]
[input_schema]
type = "object"
"#;
    fs::write(tools.join("fail.toml"), fail).unwrap();
    let server = serve(folder.path());
    let result = server.call("tools/call", &json!({ "name": "fail", "arguments": {} }));
    let result = &result["result"];
    assert_eq!(result["isError"], true, "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    for part in ["exit code 3", "one\ntwo"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn all_endpoints_call_command_tools() {
    let folder = place();
    let server = serve(folder.path());
    let said = json!({ "text": "x" });
    let text = json!([{ "type": "text", "text": said.to_string() }]);
    let tool = rpc("tools/call", &json!({ "name": "echo", "arguments": said }));
    let wrong = json!({ "text": 5 });
    let native =
        |payload: &Value| json!({ "command": "echo", "resource": "tool", "payload": payload });
    let rows = [
        ("/", rpc("tool.echo", &said), json!({ "result": said })),
        ("/", tool.clone(), json!({ "result": { "content": text, "isError": false } })),
        ("/mcp", tool, json!({ "result": { "content": text, "isError": false } })),
        ("/execute", native(&said), json!({ "result": said })),
        (
            "/execute",
            native(&wrong),
            json!({ "error": "/text: this value is not of type \"string\"" }),
        ),
        ("/", rpc("tool.echo", &wrong), json!({ "error": { "code": -32602 } })),
        ("/", rpc("tool.none", &json!({})), json!({ "error": { "code": -32601 } })),
    ];
    for (path, body, expected) in rows {
        check(&server.connect().ask(&post(path, &[], &body)).json(), &expected);
    }
    let forms = server.connect().get("/forms").json();
    let rels: Vec<&str> =
        forms.as_array().unwrap().iter().filter_map(|form| form["rel"].as_str()).collect();
    assert!(rels.contains(&"tool.echo"), "{rels:?}");
    assert_eq!(server.stop().code, Some(0));
}

/// Eight levels of ten references each: 10^8 subschemas for one value.
#[test]
fn a_schema_that_expands_without_bound_is_rejected() {
    let folder = place();
    let mut bomb = ECHO.replace("\"echo\"", "\"bomb\"");
    bomb += "properties.bomb.\"$ref\" = \"#/$defs/l0\"\n";
    for level in 0..8 {
        let reference = format!("{{ \"$ref\" = \"#/$defs/l{}\" }}", level + 1);
        bomb += &format!("\"$defs\".l{level}.allOf = [{}]\n", [&*reference; 10].join(", "));
    }
    bomb += "\"$defs\".l8.type = \"integer\"\n";
    fs::write(folder.path().join("tools").join("bad.toml"), bomb).unwrap();
    let server = serve(folder.path());
    let listed = server.connect().get("/tools").json();
    let reason = listed["rejected"][0]["reason"].as_str().unwrap();
    for part in
        ["bad.toml:6:1: invalid JSON Schema", "more than 1000 subschemas", "use fewer references"]
    {
        assert!(reason.contains(part), "no {part:?} in {reason}");
    }
    let call = rpc("tool.bomb", &json!({ "text": "x", "bomb": 1 }));
    let reply = server.connect().ask(&post("/", &[], &call)).json();
    check(&reply, &json!({ "error": { "code": -32601 } }));
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn tools_are_added_and_removed_at_run_time() {
    let folder = place();
    let mut server = serve(folder.path());
    let banner = server.banner();
    let line =
        format!("  tools     1 in {}; 1 invalid file", folder.path().join("tools").display());
    assert!(banner.contains(&line), "{banner}");
    let tools = folder.path().join("tools");
    let listed = server.connect().get("/tools").json();
    check(
        &listed,
        &json!({ "added": [], "changed": [], "removed": [], "tools": [{ "name": "echo" }] }),
    );
    let reason = listed["rejected"][0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("bad.toml:1:8: "), "{reason}");

    fs::write(tools.join("again.toml"), ECHO.replace("\"echo\"", "\"again\"")).unwrap();
    fs::remove_file(tools.join("bad.toml")).unwrap();
    let since = Instant::now();
    // Either the watcher or this request finds the change first.
    loop {
        let reply = server.connect().ask(&post("/tools/reload", &[], &json!({})));
        assert_eq!(reply.status, 200);
        let names: Vec<Value> = reply.json()["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].clone())
            .collect();
        if names == [json!("again"), json!("echo")] && reply.json()["rejected"] == json!([]) {
            break;
        }
        assert!(since.elapsed() < PATIENCE, "{names:?}");
    }
    let said = json!({ "text": "y" });
    assert_eq!(server.call("tool.again", &said)["result"], said);

    // Without a request: the folder is watched.
    fs::remove_file(tools.join("again.toml")).unwrap();
    let since = Instant::now();
    let gone = rpc("tool.again", &json!({ "text": "y" }));
    while server.post(&gone).json()["error"]["code"] != -32601 {
        assert!(since.elapsed() < PATIENCE, "the tool is still there");
    }
    while server.post(&rpc("tools/list", &json!({}))).json().to_string().contains("\"again\"") {
        assert!(since.elapsed() < PATIENCE, "the tool is still listed");
    }
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn a_missing_folder_prevents_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = trunkline(folder.path());
    let ended = run(command.args(["--listen", "127.0.0.1:0", "--command-tools", "nowhere"]));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("nowhere"), "{ended:?}");
}

/// The paths of tools call methods, whose rules apply.
#[test]
fn rules_apply_to_the_tool_endpoints() {
    let folder = place();
    let issuer = Issuer::new();
    issuer.publish(folder.path());
    let mut command = trunkline(folder.path());
    command.args(["--listen", "127.0.0.1:0", "--command-tools", "tools", "--jwks", "jwks.json"]);
    command.args(["--audience", "*", "--require", "*=role:admin"]);
    let server = Server::start(command);
    for (role, status, code) in [("user", 403, json!(-32008)), ("admin", 200, Value::Null)] {
        let token = issuer.token(json!({ "role": role }));
        let list = format!("GET /tools HTTP/1.1\r\nHost: localhost\r\n{token}\r\n\r\n");
        for request in [list, post("/tools/reload", &[&token], &json!({}))] {
            let reply = server.connect().ask(&request);
            assert_eq!(reply.status, status, "{role}: {request}");
            assert_eq!(reply.json()["error"]["code"], code, "{role}: {request}");
        }
    }
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn a_reload_takes_no_body() {
    let folder = place();
    let server = serve(folder.path());
    let bodies = [
        ("", 200),
        (" { }\n", 200),
        ("garbage", 400),
        ("[]", 400),
        ("{} {}", 400),
        (r#"{"folder": "/etc"}"#, 400),
    ];
    for (body, status) in bodies {
        let length = body.len();
        let request = format!(
            "POST /tools/reload HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        let reply = server.connect().ask(&request);
        assert_eq!(reply.status, status, "{body}: {}", reply.json());
        if status != 200 {
            check(&reply.json(), &json!({ "error": { "code": -32602 } }));
        }
    }
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn reloads_lose_no_call() {
    const RELOADS: usize = 30;
    let folder = place();
    let server = serve(folder.path());
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let caller = |number: usize| {
            let (mut connection, is_over) = (server.connect(), &is_over);
            move || {
                let mut calls = 0;
                while !is_over.load(Ordering::Relaxed) {
                    let said = json!({ "text": format!("{number}: {calls}") });
                    let reply = connection.ask(&post("/", &[], &rpc("tool.echo", &said)));
                    assert_eq!(reply.json()["result"], said);
                    calls += 1;
                }
                calls
            }
        };
        let callers: Vec<_> = (0..4).map(|number| scope.spawn(caller(number))).collect();
        for version in 1..=RELOADS {
            let changed = ECHO.replace("again.", &format!("again, {version}."));
            let new = folder.path().join("tools/echo.new");
            fs::write(&new, changed).unwrap();
            fs::rename(&new, folder.path().join("tools/echo.toml")).unwrap();
            let reply = server.connect().ask(&post("/tools/reload", &[], &json!({})));
            let says = format!("Says it again, {version}.");
            check(&reply.json(), &json!({ "tools": [{ "description": says }] }));
        }
        is_over.store(true, Ordering::Relaxed);
        for caller in callers {
            assert!(caller.join().unwrap() > 0);
        }
    });
    assert_eq!(server.stop().code, Some(0));
}

/// A tool that the agent runs for a chat or a program.
#[test]
fn a_tool_ends_when_the_client_of_the_agent_disconnects() {
    let folder = place_of("echo $$ > pid.new; mv pid.new pid; sleep 1000");
    let server = serve(folder.path());
    let asked = rpc("agent.execute_tool", &json!({ "tool": "t" }));
    for accept in ["Accept: application/json", "Accept: text/event-stream"] {
        let mut connection = server.connect();
        connection.send(&post("/api", &[accept], &asked));
        let path = folder.path().join("tools/pid");
        let since = Instant::now();
        while !path.exists() {
            assert!(since.elapsed() < PATIENCE, "{accept}: the tool does not start");
        }
        let pid = fs::read_to_string(&path).unwrap();
        assert!(runs(pid.trim()), "{accept}");
        drop(connection);
        let since = Instant::now();
        while runs(pid.trim()) {
            assert!(since.elapsed() < PATIENCE, "{accept}: {pid} still runs");
        }
        fs::remove_file(path).unwrap();
    }
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn a_stdio_client_is_notified_of_changes() {
    let folder = place();
    let mut command = trunkline(folder.path());
    command.args(["mcp", "--command-tools", "tools"]).stdin(Stdio::piped()).stderr(Stdio::null());
    let mut server = command.spawn().unwrap();
    let mut input = server.stdin.take().unwrap();
    let (sender, lines) = channel();
    let output = BufReader::new(server.stdout.take().unwrap());
    std::thread::spawn(move || {
        output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    let next =
        || -> Value { serde_json::from_str(&lines.recv_timeout(PATIENCE).unwrap()).unwrap() };
    let client = json!({ "name": "test", "version": "1" });
    let params =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    writeln!(input, "{}", rpc("initialize", &params)).unwrap();
    check(&next(), &json!({ "result": { "capabilities": { "tools": { "listChanged": true } } } }));
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    writeln!(input, "{ready}").unwrap();
    writeln!(input, "{}", rpc("ping", &json!({}))).unwrap();
    check(&next(), &json!({ "result": {} }));
    fs::write(folder.path().join("tools/more.toml"), ECHO.replace("\"echo\"", "\"more\"")).unwrap();
    check(&next(), &json!({ "method": "notifications/tools/list_changed" }));
    drop(input);
    assert!(server.wait().unwrap().success());
}

#[test]
fn rates_apply_to_the_tool_endpoints() {
    let folder = place();
    let mut command = trunkline(folder.path());
    command.args(["--listen", "127.0.0.1:0", "--command-tools", "tools", "--rate-limit", "1"]);
    let server = Server::start(command);
    let reload = || server.connect().ask(&post("/tools/reload", &[], &json!({})));
    // A burst is twice the rate.
    let replies: Vec<_> = (0..20).map(|_| reload()).collect();
    let refused = replies.iter().find(|reply| reply.status != 200).expect("one too many");
    assert_eq!((replies[0].status, refused.status), (200, 429));
    check(&refused.json(), &json!({ "jsonrpc": "2.0", "error": { "code": -32010 } }));
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn methods_manage_the_folder() {
    let folder = place();
    let server = serve(folder.path());
    let api =
        |method: &str| server.connect().ask(&post("/api", &[], &rpc(method, &json!({})))).json();
    let listed = server.connect().get("/tools").json();
    assert_eq!(api("agent.list_tools")["result"], listed);
    assert_eq!(api("agent.reload_tools")["result"], listed);

    fs::remove_dir_all(folder.path().join("tools")).unwrap();
    let failed = server.connect().ask(&post("/tools/reload", &[], &json!({})));
    assert_eq!(failed.status, 500);
    let reason = json!("No such file or directory (os error 2); keeping the previous tools");
    check(&failed.json(), &json!({ "error": { "code": -32000, "data": { "reason": reason } } }));
    let listed = server.connect().get("/tools").json();
    assert_eq!(listed["failure"], "No such file or directory (os error 2)");
    assert_eq!(listed["tools"][0]["name"], "echo", "it is offered as before");
    assert_eq!(server.stop().code, Some(0));
}

/// A folder with one tool, `t`, of this script, which other users can reach, too.
fn place_of(script: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let tools = folder.path().join("tools");
    fs::create_dir(&tools).unwrap();
    fs::write(tools.join("t.sh"), script).unwrap();
    let manifest = "name = 't'\ndescription = 'd'\ncommand = ['sh', 't.sh']\ntimeout_ms = 60000\n\
                    [input_schema]\ntype = 'object'\n";
    fs::write(tools.join("t.toml"), manifest).unwrap();
    for path in [folder.path(), &tools] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    }
    folder
}

#[test]
#[cfg(target_os = "linux")]
fn tools_end_with_a_server_that_is_killed() {
    let script = "setsid sleep 1000 &\n\
                  sed 's/.*) //' /proc/$PPID/stat | cut -d ' ' -f 2 > server\n\
                  echo $$ $! > pids.new; mv pids.new pids; sleep 1000";
    let folder = place_of(script);
    let server = serve(folder.path());
    let mut connection = server.connect();
    connection.send(&post("/", &[], &rpc("tool.t", &json!({}))));
    let since = Instant::now();
    let pids = loop {
        match fs::read_to_string(folder.path().join("tools/pids")) {
            Ok(pids) => break pids,
            Err(_) => assert!(since.elapsed() < PATIENCE, "the tool does not start"),
        }
    };
    server.signal("KILL");
    server.end();
    let since = Instant::now();
    for pid in pids.split_whitespace() {
        while runs(pid) {
            assert!(since.elapsed() < PATIENCE, "{pid} still runs");
        }
    }
    // Its cgroups, if any, are removed by the next server.
    let killed = fs::read_to_string(folder.path().join("tools/server")).unwrap();
    assert_eq!(serve(folder.path()).stop().code, Some(0));
    let left = format!("trunkline-tool-{}-", killed.trim());
    let places = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"].map(|place| fs::read_dir(place).ok());
    let mut names = places.into_iter().flatten().flatten().flatten().map(|entry| entry.file_name());
    assert!(!names.any(|name| name.to_string_lossy().starts_with(&left)), "{left}");
}

/// Neither a tool nor its launcher inherits files that the server inherited.
#[test]
#[cfg(target_os = "linux")]
fn tools_inherit_no_open_files() {
    let script = "printf '\"%s\"' \"$(cat <&9)$(cat /proc/$PPID/fd/9)\"";
    let folder = place_of(script);
    fs::write(folder.path().join("secret"), "hidden").unwrap();
    let mut command = trunkline(folder.path());
    let program = command.get_program().to_owned();
    let opened = ["-c", "exec 9<secret; exec \"$0\" \"$@\""];
    let mut shell = std::process::Command::new("sh");
    shell.args(opened).arg(program).args(["--listen", "127.0.0.1:0", "--command-tools", "tools"]);
    shell.current_dir(folder.path()).stdin(Stdio::null());
    shell.stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, _) in command.get_envs() {
        shell.env_remove(name);
    }
    command = shell;
    let server = Server::start(command);
    assert_eq!(server.call("tool.t", &json!({}))["result"], "");
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn tools_see_only_the_declared_environment() {
    let script = "printf '\"%s\"' \"$(env | cut -d = -f 1 | sort | tr '\\n' ' ')\"";
    let folder = place_of(script);
    let path = folder.path().join("tools/t.toml");
    let manifest = fs::read_to_string(&path).unwrap();
    let names = "env = ['SHOWN', 'MISSING']\ntimeout_ms";
    fs::write(&path, manifest.replace("timeout_ms", names)).unwrap();
    let mut command = trunkline(folder.path());
    command.args(["--listen", "127.0.0.1:0", "--command-tools", "tools"]);
    command.env("SHOWN", "1").env("TRUNKLINE_AGENT_KEY", "hidden").env("HIDDEN", "1");
    let server = Server::start(command);
    let seen = server.call("tool.t", &json!({}));
    let names = seen["result"].as_str().unwrap_or_else(|| panic!("{seen}"));
    // Variables that the shell adds are ignored.
    let of_shell = ["PWD", "OLDPWD", "SHLVL", "_"];
    let names: Vec<_> = names.split_whitespace().filter(|name| !of_shell.contains(name)).collect();
    assert_eq!(names, ["PATH", "SHOWN"]);
    assert_eq!(server.stop().code, Some(0));
}

/// The environment of the server may contain keys. Root can read it, so the server runs as another user.
#[test]
#[cfg(target_os = "linux")]
fn tools_cannot_read_the_environment_of_the_server() {
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65_534;
    // The server is the parent of the launcher of the script.
    let script = "server=$(sed 's/.*) //' /proc/$PPID/stat | cut -d ' ' -f 2)\n\
                  cat /proc/$server/environ > seen 2> refused\n\
                  grep -q '^Name:.trunkline' /proc/$server/status && wc -c < seen";
    let folder = place_of(script);
    let mut command = trunkline(folder.path());
    command.args(["--listen", "127.0.0.1:0", "--command-tools", "tools"]);
    command.env("TRUNKLINE_AGENT_KEY", "hidden");
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        command.uid(NOBODY).gid(NOBODY);
    }
    let server = Server::start_without_data_directory(command);
    assert_eq!(server.call("tool.t", &json!({}))["result"], 0);
    let refused = fs::read_to_string(folder.path().join("tools/refused")).unwrap();
    assert!(refused.contains("Permission denied"), "{refused}");
    assert_eq!(server.stop().code, Some(0));
}
