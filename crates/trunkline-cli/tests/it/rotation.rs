//! Secrets in files that change while the server runs, and upstreams whose settings change.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::call_peer::{self as peer, Peer};
use crate::roles::bearer;
use crate::support::{PATIENCE, Server, post, tpch, trunkline};

#[track_caller]
fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let deadline = Instant::now() + 2 * PATIENCE;
    while !is_true() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn write(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).unwrap();
}

fn serve(folder: &Path) -> Server {
    let mut command = trunkline(folder);
    command.args(["serve", "--db", "tpch.db", "--port", "0"]);
    Server::start(command)
}

/// The HTTP status of a call with a token.
fn status(server: &Server, token: &str) -> u16 {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "db.list_tables"});
    server.connect().ask(&post("/", &[&bearer(token)], &call)).status
}

/// A server that accepts the token in its file `token`.
fn protected() -> (TempDir, Server) {
    let (folder, _) = tpch();
    write(folder.path(), "trunkline.toml", "access.bearer = [{ file = 'token' }]\n");
    write(folder.path(), "token", "one\n");
    let server = serve(folder.path());
    assert_eq!(["one", "two"].map(|token| status(&server, token)), [200, 401]);
    (folder, server)
}

fn is_ready(server: &Server, upstream: &str) -> bool {
    let list = server.call("gateway.upstreams", &json!({}));
    let list = list["result"]["upstreams"].as_array().unwrap().clone();
    list.iter().any(|one| one["name"] == upstream && one["state"] == "ready")
}

/// Writes a version of a secret, as Kubernetes mounts it.
fn mount(folder: &Path, version: &str, token: &str) {
    let data = folder.join(version);
    fs::create_dir_all(&data).unwrap();
    fs::write(data.join("token"), token).unwrap();
    let new = folder.join("..new");
    symlink(version, &new).unwrap();
    fs::rename(&new, folder.join("..data")).unwrap();
}

/// Kubernetes replaces the files of a secret by replacing the link to their folder.
#[test]
fn a_rotated_token_of_the_server_is_accepted_without_a_signal() {
    let (folder, _) = tpch();
    let secret = folder.path().join("secret");
    mount(&secret, "1", "one\n");
    symlink("..data/token", secret.join("token")).unwrap();
    write(folder.path(), "trunkline.toml", "access.bearer = [{ file = 'secret/token' }]\n");
    let server = serve(folder.path());
    assert_eq!(status(&server, "one"), 200);
    mount(&secret, "2", "two\n");
    until("the new token is refused", || status(&server, "two") == 200);
    assert_eq!(status(&server, "one"), 401);

    // Not with an edited configuration file, which the operator has not applied yet.
    let text = "access.bearer = [{ file = 'secret/token' }]\nserver.limits.body = 100\n";
    write(folder.path(), "trunkline.toml", text);
    mount(&secret, "3", "three\n");
    std::thread::sleep(Duration::from_secs(6));
    assert_eq!(["two", "three"].map(|token| status(&server, token)), [200, 401]);
    server.signal("HUP");
    until("the signal is ignored", || status(&server, "three") == 200);
    let ended = server.stop();
    let warning = "a file with a secret has changed, and so has the configuration file";
    assert_eq!(ended.stderr.matches(warning).count(), 1, "{}", ended.stderr);
    assert_eq!(ended.stderr.matches("configuration reloaded").count(), 2, "{}", ended.stderr);
}

/// The token is read again when the upstream refuses it, and the refused call is repeated.
#[test]
fn a_rotated_token_of_an_upstream_loses_no_call() {
    let (remote_folder, remote) = protected();
    let (folder, _) = tpch();
    write(folder.path(), "token", "one\n");
    let section = "[upstreams.remote]\nbearer = { file = 'token' }\n";
    let text = format!("{section}url = 'http://{}/mcp'\n", remote.address);
    write(folder.path(), "trunkline.toml", &text);
    let server = serve(folder.path());
    until("the upstream is not ready", || is_ready(&server, "remote"));
    for token in ["two", "three"] {
        write(folder.path(), "token", token);
        write(remote_folder.path(), "token", token);
        remote.signal("HUP");
        until("the remote server does not reload", || status(&remote, token) == 200);
        let called = server.call("remote.list_tables", &json!({}));
        assert!(called["result"].is_object(), "{called}");
    }
    assert!(!server.stop().stderr.contains("upstream failed"));
}

#[test]
fn a_rotated_key_of_the_model_is_sent_without_a_restart() {
    let (folder, _) = tpch();
    let message =
        r#"{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#;
    let model = Peer::always(peer::json(message));
    write(folder.path(), "key", "one\n");
    let text =
        format!("[agent]\nurl = '{}/v1'\nmodel = 'm'\nkey = {{ file = 'key' }}\n", model.url);
    write(folder.path(), "trunkline.toml", &text);
    let server = serve(folder.path());
    let sent = || {
        let params = json!({"message": "hello"});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "agent.chat", "params": params});
        let reply = server.connect().ask(&post("/api", &[], &call)).json();
        assert!(reply["result"].is_object(), "{reply}");
        model.asked().last().unwrap().header("authorization").unwrap().to_owned()
    };
    assert_eq!(sent(), "bearer one");
    write(folder.path(), "key", "two\n");
    until("the key is not read again", || sent() == "bearer two");
    check_reload(&server, &[], &[]);
}

/// The lines of `pids` are the processes of the upstream `local`.
fn gateway(folder: &Path, remote: &Server, settings: &str) -> String {
    // Not the configuration file of the gateway.
    write(folder, "empty.toml", "");
    let script = "echo $$ >> pids; exec \"$0\" mcp --db tpch.db --config empty.toml";
    let program = env!("CARGO_BIN_EXE_trunkline");
    format!(
        "[upstreams.local]\ncommand = ['sh', '-c', '{script}', '{program}']\n\
         [upstreams.remote]\nurl = 'http://{}/mcp'\n{settings}",
        remote.address
    )
}

fn processes(folder: &Path) -> usize {
    fs::read_to_string(folder.join("pids")).unwrap_or_default().lines().count()
}

fn tools(server: &Server) -> Vec<String> {
    let list = server.call("tools/list", &json!({}));
    let tools = list["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// A header in a file: the upstream restarts, and the others do not.
#[test]
fn a_rotated_header_restarts_its_upstream_only() {
    let (remote_folder, remote) = protected();
    let (folder, _) = tpch();
    write(folder.path(), "header", "Bearer one\n");
    let settings = "headers = { Authorization = { file = 'header' } }\n";
    let text = gateway(folder.path(), &remote, settings);
    write(folder.path(), "trunkline.toml", &text);
    let server = serve(folder.path());
    for upstream in ["local", "remote"] {
        until(upstream, || is_ready(&server, upstream));
    }
    write(folder.path(), "header", "Bearer two\n");
    write(remote_folder.path(), "token", "two\n");
    remote.signal("HUP");
    until("the header is not read again", || {
        status(&remote, "two") == 200
            && server.call("remote.list_tables", &json!({}))["result"].is_object()
    });
    assert!(server.call("local.list_tables", &json!({}))["result"].is_object());
    assert_eq!(processes(folder.path()), 1);
}

#[track_caller]
fn check_reload(server: &Server, applied: &[&str], restart: &[&str]) {
    let reply = server.connect().ask(&post("/admin/reload", &[], &json!({})));
    assert_eq!(reply.json(), json!({"applied": applied, "restart": restart}));
}

#[test]
fn a_reload_restarts_the_upstreams_whose_settings_changed() {
    let (_remote_folder, database) = tpch();
    let remote = Server::of(&database);
    let (folder, _) = tpch();
    let file = |settings: &str| {
        let text = gateway(folder.path(), &remote, settings);
        write(folder.path(), "trunkline.toml", &text);
    };
    file("");
    let server = serve(folder.path());
    for upstream in ["local", "remote"] {
        until(upstream, || is_ready(&server, upstream));
    }
    let has = |server: &Server, name: &str| tools(server).iter().any(|tool| tool == name);
    assert!(has(&server, "remote__list_tables") && has(&server, "remote__query_records"));
    check_reload(&server, &[], &[]);

    file("deny = ['list_*']\n");
    check_reload(&server, &["upstreams.remote"], &[]);
    until("the tool is still offered", || !has(&server, "remote__list_tables"));
    assert!(has(&server, "remote__query_records") && has(&server, "local__list_tables"));

    // None remains.
    file("deny = ['*']\n");
    check_reload(&server, &["upstreams.remote"], &[]);
    until("tools are still offered", || {
        !tools(&server).iter().any(|tool| tool.starts_with("remote__"))
    });
    file("");
    check_reload(&server, &["upstreams.remote"], &[]);
    until("the tools are not offered again", || has(&server, "remote__list_tables"));
    let called: Value = server.call("remote.list_tables", &json!({}));
    assert!(called["result"].is_object(), "{called}");

    assert_eq!(processes(folder.path()), 1);
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn a_reload_adds_and_removes_upstreams() {
    let (_remote_folder, database) = tpch();
    let remote = Server::of(&database);
    let (folder, _) = tpch();
    let file = |settings: &str| {
        let text = gateway(folder.path(), &remote, settings);
        write(folder.path(), "trunkline.toml", &text);
    };
    let other = format!("[upstreams.other]\nurl = 'http://{}/mcp'\n", remote.address);
    file("");
    let server = serve(folder.path());
    for upstream in ["local", "remote"] {
        until(upstream, || is_ready(&server, upstream));
    }
    let has = |name: &str| tools(&server).iter().any(|tool| tool == name);
    let code = || server.call("other.list_tables", &json!({}))["error"]["code"].clone();
    assert_eq!(code(), -32601);
    for _ in 0..2 {
        file(&other);
        check_reload(&server, &["upstreams.other"], &[]);
        until("the upstream is not ready", || is_ready(&server, "other"));
        assert!(has("other__list_tables") && has("remote__list_tables"));
        assert!(server.call("other.list_tables", &json!({}))["result"].is_object());
        check_reload(&server, &[], &[]);

        file(&format!("{other}deny = ['list_*']\n"));
        check_reload(&server, &["upstreams.other"], &[]);
        until("the tool is still offered", || !has("other__list_tables"));
        assert!(has("other__query_records"));

        file("");
        check_reload(&server, &["upstreams.other"], &[]);
        until("the tools are still offered", || !has("other__query_records"));
        assert_eq!(code(), -32601);
    }

    // All of them, and a command in their place.
    write(folder.path(), "trunkline.toml", "");
    check_reload(&server, &["upstreams.local", "upstreams.remote"], &[]);
    until("tools are still offered", || !has("local__list_tables") && !has("remote__list_tables"));
    assert_eq!(processes(folder.path()), 1);
    file("");
    check_reload(&server, &["upstreams.local", "upstreams.remote"], &[]);
    until("the command is not started", || has("local__list_tables"));
    assert_eq!(processes(folder.path()), 2);

    // Names of other methods, and mistakes, change nothing.
    for (section, part) in [
        ("[upstreams.db]\ncommand = ['true']\n", "prefix of other methods"),
        ("[upstreams.todo]\ncommand = ['true']\n", "prefix of other methods"),
        ("[upstreams.a]\n", "requires `url` or `command`"),
        ("[roles.r]\ntokens = ['x']\noperations = ['nothing.*']\n", "unknown token"),
    ] {
        file(section);
        let reply = server.connect().ask(&post("/admin/reload", &[], &json!({})));
        let error = reply.json()["error"].as_str().unwrap_or_default().to_owned();
        assert!(reply.status == 400 && error.contains(part), "{section}: {error}");
    }
    assert!(has("local__list_tables"));
    assert_eq!(server.stop().code, Some(0));
}

/// Rules and roles apply to the methods of an upstream that was added, and may name them.
#[test]
fn rules_apply_to_the_upstreams_that_a_reload_adds() {
    let (_remote_folder, database) = tpch();
    let remote = Server::of(&database);
    let (folder, _) = tpch();
    let upstream =
        |name: &str| format!("[upstreams.{name}]\nurl = 'http://{}/mcp'\n", remote.address);
    let tokens = "access.tokens = { ada = { file = 'ada' }, bob = { file = 'bob' } }\n";
    let file = |roles: &str, upstreams: &str| {
        write(folder.path(), "trunkline.toml", &format!("{tokens}{roles}{upstreams}"));
    };
    write(folder.path(), "ada", "a1");
    write(folder.path(), "bob", "b1");
    let admin = "[roles.admin]\ntokens = ['ada']\noperations = ['*']\n";
    let (first, second) = (upstream("first"), upstream("second"));
    file(admin, &first);
    let server = serve(folder.path());
    let call = |token: &str, method: &str| {
        let params = match method.ends_with("query_records") {
            true => json!({ "table_name": "nation" }),
            false => json!({}),
        };
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        server.connect().ask(&post("/", &[&bearer(token)], &call)).json()
    };
    let reload = || server.connect().ask(&post("/admin/reload", &[&bearer("a1")], &json!({})));
    let guest = "[roles.guest]\ntokens = ['bob']\noperations = ['second.list_tables']\n";
    file(&format!("{admin}{guest}"), &format!("{first}{second}"));
    let reply = reload().json();
    assert_eq!(reply["applied"], json!(["roles.guest", "upstreams.second"]), "{reply}");
    until("the upstream is not ready", || call("a1", "second.list_tables")["result"].is_object());
    assert!(call("b1", "second.list_tables")["result"].is_object());
    assert_eq!(call("b1", "second.query_records")["error"]["code"], -32008);
    assert_eq!(call("b1", "first.list_tables")["error"]["code"], -32008);
    // A role that names it would remain without effect.
    file(&format!("{admin}{guest}"), &first);
    assert_eq!(reload().status, 400);
    assert!(call("b1", "second.list_tables")["result"].is_object());
}
