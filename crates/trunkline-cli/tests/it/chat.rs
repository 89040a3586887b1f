//! `trunkline chat` in pipes, against servers with and without a model.

use std::io::{Read, Seek, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{channel, sync_channel};
use std::thread;

use serde_json::{Value, json};

use crate::call::check;
use crate::call_peer::{Peer, http, json as json_answer};
use crate::support::{Ended, Model, PATIENCE, Question, Server, Speech, run, tpch, trunkline};

/// A server of the sample, with a model.
pub(crate) fn server_with(model: &Model, database: &Path) -> Server {
    let mut command = trunkline(database.parent().unwrap());
    command.args(["--listen", "127.0.0.1:0", "--writable", "--db"]).arg(database);
    command.args(model.flags());
    Server::start(command)
}

pub(crate) fn url(address: SocketAddr) -> String {
    format!("http://{address}")
}

/// The command with these lines on stdin.
fn command(url: &str, arguments: &[&str], lines: &str) -> Command {
    let mut command = trunkline(Path::new("."));
    command.args(["chat", url]).args(arguments);
    let mut stdin = tempfile::tempfile().unwrap();
    stdin.write_all(lines.as_bytes()).unwrap();
    stdin.rewind().unwrap();
    command.stdin(stdin);
    command
}

fn chat(url: &str, arguments: &[&str], lines: &str) -> Ended {
    run(&mut command(url, arguments, lines))
}

/// A name, arguments, lines of stdin, the exit code, and parts of stdout and of stderr.
type Row<'r> = (&'r str, &'r [&'r str], &'r str, i32, &'r [&'r str], &'r [&'r str]);

#[track_caller]
fn check_rows(url: &str, rows: &[Row<'_>]) {
    for (name, arguments, lines, code, stdout, stderr) in rows {
        check(name, &chat(url, arguments, lines), *code, stdout, stderr);
    }
}

#[test]
fn reports_a_missing_model() {
    let (_folder, path) = tpch();
    let server = Server::of(&path);
    let refused = &["error -32000: No model is configured\n", "--agent-url", "kind: no_model"][..];
    let url = url(server.address);
    check("a message", &chat(&url, &["-m", "hi"], ""), 1, &[], refused);
    check("a command", &chat(&url, &[], "/tools"), 0, &["list_tables  "], &[]);
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn executes_messages_and_commands() {
    let (_folder, path) = tpch();
    let server = server_with(&Model::listing(), &path);
    let answer = &["lineitem"][..];
    let called = &["> list_tables\n< 8 tables, ", " ms\n"][..];
    let clauses = "list the tables\n/clear\nlist the tables\n/conversations\n";
    check_rows(
        &url(server.address),
        &[
            ("a message", &[], "list the tables\n", 0, answer, called),
            ("no line end", &[], "\n \nlist the tables", 0, answer, called),
            ("one message", &["-m", "list the tables"], "ignored\n", 0, answer, called),
            ("/tools", &[], "/tools", 0, &["list_tables  ", "Lists tables"], &[]),
            (
                "/tools NAME",
                &[],
                "/tools list_tables",
                0,
                &["list_tables\nLists tables", "\n{\n  \"", "\"type\": \"object\""],
                &[],
            ),
            ("no tool", &[], "/tools fly\n/tools", 2, &[], &["unknown tool `fly`; /tools lists"]),
            (
                "no command",
                &[],
                "/tolls\n/tools",
                2,
                &[],
                &["unknown command /tolls; did you mean /tools?"],
            ),
            ("no message", &[], "/usr/bin is full", 2, &[], &["unknown command /usr/bin"]),
            ("a message with a slash", &[], "//tools", 0, &["/tools\n"], &["Asking"]),
            ("/help", &[], "/help", 0, &[], &["/tools [NAME]", "/quit", "//text"]),
            ("/quit", &[], "/quit\n/tolls", 0, &[], &[]),
            ("nothing to confirm", &[], "/confirm", 2, &[], &["no call requires confirmation"]),
            ("/clear", &[], clauses, 0, &["list the tables\n"], &["new conversation"]),
            ("/resume", &[], "/resume 1", 2, &[], &["unknown conversation `1`; /conversations"]),
            (
                "no conversation",
                &["--conversation", "1"],
                "hi",
                1,
                &[],
                &["error -32011", "kind: conversation"],
            ),
            ("no tool in JSON", &["--json"], "/tools fly", 2, &[], &["unknown tool `fly`"]),
        ],
    );
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn reports_servers_without_an_answer() {
    let (folder, _path) = tpch();
    let mut start = trunkline(folder.path());
    start.args(["--listen", "127.0.0.1:0", "--db", "tpch.db", "--bearer", "s3cret-of-16-bytes"]);
    start.args(Model::listing().flags());
    let server = Server::start(start);
    let address = url(server.address);
    let denied = &["-32007", "TRUNKLINE_TOKEN"][..];
    check("no token", &chat(&address, &[], "hi\nhi"), 1, &[], denied);
    check("nor for tools", &chat(&address, &[], "/tools"), 1, &[], denied);
    let given = ["--bearer", "s3cret-of-16-bytes", "-m", "list the tables"];
    check("a token", &chat(&address, &given, ""), 0, &["lineitem"], &["list_tables"]);
    let elsewhere = chat(&format!("{address}/elsewhere"), &["--bearer", "s3cret-of-16-bytes"], "a");
    check("no such path", &elsewhere, 1, &[], &["path of the URL"]);

    let at = |path: &str| chat(&format!("{address}{path}"), &given, "");
    check("a slash", &at("/api/"), 0, &["lineitem"], &["list_tables"]);
    let elsewhere = &["error -32601", "check that the server has an agent"];
    check("another endpoint", &at("/rpc"), 1, &[], elsewhere);

    let none = "http://127.0.0.1:1";
    check("no server", &chat(none, &[], "hi"), 3, &[], &["start the server"]);
    check("no server, in JSON", &chat(none, &["--json"], "hi"), 3, &[], &["start the server"]);
    check("no message", &chat(none, &[], ""), 0, &[], &[]);
    check("no URL", &chat("x", &[], "hi"), 2, &[], &["http://x"]);
    let wrong = run(command(none, &[], "").stdin(not_utf8()));
    check("no text", &wrong, 2, &[], &["a line of stdin is not valid UTF-8"]);
    let long = "x".repeat(2 << 20);
    check("a long line", &chat(none, &[], &long), 2, &[], &["more than 1048576 bytes"]);
}

fn not_utf8() -> Stdio {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"\xff\n").unwrap();
    file.rewind().unwrap();
    file.into()
}

/// A model that does what the message names.
fn scripted(question: &Question, speech: &mut Speech) {
    let results = question.results();
    match question.message() {
        _ if !results.is_empty() => speech.sends("It is done."),
        "count" => speech.calls(&[(
            "query_records",
            json!({ "table_name": "region", "columns": ["r_name"], "limit": 1 }),
        )]),
        "two" => speech.calls(&[
            ("query_records", json!({ "table_name": "nation" })),
            ("describe_table", json!({ "table_name": "nope" })),
        ]),
        "delete" => speech.calls(&[(
            "delete_record",
            json!({ "table_name": "region", "filters": { "r_name": "\u{1b}[2J" } }),
        )]),
        "hostile" => {
            speech.sends("\n\nred \u{1b}[31m\u{9b}2J");
            speech.sends("\u{7}\u{202e} two\r");
            speech.sends("\nlines");
        }
        "refuse" => speech.refuses(500, "out of \u{1b}[2Jmemory"),
        message => {
            speech.sends(&format!("{}: ", question.turns()));
            speech.sends(message);
        }
    }
}

#[test]
fn shows_turns() {
    let (_folder, path) = tpch();
    let model = Model::new(scripted);
    let server = server_with(&model, &path);
    let row = "> query_records columns=[\"r_name\"] limit=1 table_name=\"region\"\n< 1 row: [";
    check_rows(
        &url(server.address),
        &[
            ("one conversation", &[], "a\nb\n", 0, &["1: a\n2: b\n"], &["Asking tiny\n"]),
            ("two", &[], "a\n/clear\nb\n", 0, &["1: a\n1: b\n"], &["new conversation"]),
            ("a call", &[], "count", 0, &["It is done.\n"], &[row]),
            (
                "two calls",
                &["-m", "two"],
                "",
                0,
                &["It is done.\n"],
                &[
                    "> query_records table_name=\"nation\"",
                    "25 rows",
                    "> describe_",
                    "error -32003: Database error: ",
                ],
            ),
            (
                "hostile",
                &[],
                "hostile",
                0,
                &["red \\u{1b}[31m\\u{9b}2J\\u{7}\\u{202e} two\nlines\n"],
                &["Asking"],
            ),
            (
                "to be confirmed, and not",
                &[],
                "delete\na",
                0,
                &["Confirmation required: `delete_record`", "\n2: a\n"],
                &["requires confirmation:\n{\n  \"filters\"", "\\u001b[2J", "/confirm "],
            ),
            (
                "confirmed",
                &[],
                "delete\n/confirm",
                0,
                &["It is done.\n"],
                &["Not confirmed", "\n> delete_record ", "\n< {\""],
            ),
            (
                "confirmed too late",
                &[],
                "delete\na\n/confirm",
                2,
                &["2: a\n"],
                &["no call requires confirmation"],
            ),
            (
                "a failure",
                &[],
                "refuse\na",
                1,
                &[],
                &["error -32000: The model failed\n", "memory", "kind: refused"],
            ),
        ],
    );
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn confirms_a_call_later() {
    let (_folder, path) = tpch();
    let model = Model::new(scripted);
    let server = server_with(&model, &path);
    let address = url(server.address);
    let proposed = chat(&address, &["-m", "delete"], "");
    let said = proposed.stderr.lines().last().unwrap();
    let refused = proposed.stderr.matches("must confirm the call first").count();
    assert_eq!(refused, 1, "shown once: {proposed:?}");
    let (token, id) = said.split_once(" (conversation ").unwrap();
    let (token, id) = (token.strip_prefix("confirm with: ").unwrap(), id.trim_end_matches(')'));
    let confirmed = chat(&address, &["--conversation", id], token);
    check("later", &confirmed, 0, &["It is done.\n"], &["> delete_record"]);
    let again = chat(&address, &["--conversation", id], token);
    check("again", &again, 1, &[], &["error -32011", "kind: confirmation"]);

    let commands = format!("/resume {id}\na\n/conversations\n/delete {id}\nb\n/conversations");
    let ended = chat(&address, &[], &commands);
    let parts = ["3: a\n", &format!("{id}*  now"), "  delete\n", "1: b\n"];
    check("conversations", &ended, 0, &parts, &["continuing: delete", "deleted"]);
    assert_eq!(ended.stdout.matches(id).count(), 1, "{ended:?}");
}

#[test]
fn prints_events_as_json() {
    let (_folder, path) = tpch();
    let model = Model::new(scripted);
    let server = server_with(&model, &path);
    let ended = chat(&url(server.address), &["--json"], "count\n/conversations\nrefuse");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let read = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    let lines: Vec<Value> = ended.stdout.lines().map(read).collect();
    let types: Vec<_> = lines.iter().map(|line| line["type"].as_str().unwrap_or("-")).collect();
    let expected =
        ["status", "status", "tool_call", "tool_result", "status", "token", "done", "-", "status"];
    assert_eq!(types, expected, "{ended:?}");
    assert_eq!(lines[6]["response"], "It is done.");
    assert_eq!(lines[7]["conversations"][0]["conversation_id"], lines[6]["conversation_id"]);
    let failed = read(&ended.stderr);
    assert_eq!((&failed["code"], &failed["data"]["kind"]), (&json!(-32000), &json!("refused")));
}

/// Each part is printed before the next one arrives.
#[test]
fn streams_answers() {
    let (_folder, path) = tpch();
    let (go_on, gone_on) = sync_channel(0);
    let gone_on = Mutex::new(gone_on);
    let model = Model::new(move |_, speech| {
        speech.sends("first");
        gone_on.lock().unwrap().recv_timeout(PATIENCE).unwrap();
        speech.sends("second");
    });
    let server = server_with(&model, &path);
    let mut chat = command(&url(server.address), &[], "hi\n").spawn().unwrap();
    let mut stdout = chat.stdout.take().unwrap();
    let (sender, pieces) = channel();
    thread::spawn(move || {
        let mut bytes = [0; 64];
        while let Ok(count @ 1..) = stdout.read(&mut bytes) {
            drop(sender.send(String::from_utf8(bytes[..count].to_vec()).unwrap()));
        }
    });
    let piece = || pieces.recv_timeout(PATIENCE).unwrap();
    assert_eq!(piece(), "first");
    go_on.send(()).unwrap();
    let rest: String = std::iter::from_fn(|| pieces.recv_timeout(PATIENCE).ok()).collect();
    assert_eq!(rest, "second\n");
    assert_eq!(chat.wait().unwrap().code(), Some(0));
}

/// As in `trunkline chat … | head -1`.
#[test]
fn ends_when_stdout_is_closed() {
    let (_folder, path) = tpch();
    let model = Model::new(|_, speech| {
        speech.sends("this is not read");
        speech.stalls();
    });
    let server = server_with(&model, &path);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ended = run(command(&url(server.address), &[], "hi\n").stdout(writer));
    check("closed", &ended, 0, &[], &["Asking tiny\n"]);
}

#[test]
fn reads_replies_of_other_servers() {
    let answer = json!({
        "response": "Fine.", "conversation_id": "c",
        "steps": [{ "tool": "t", "arguments": { "a": 1 }, "result": "x\u{1b}", "ms": 3 }],
    });
    let response = |id: u64| json!({ "jsonrpc": "2.0", "id": id, "result": answer }).to_string();
    let events = |text: &str| {
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
        format!("{head}{text}").into_bytes()
    };
    let token = |text: &str| {
        format!("event: token\ndata: {}\n\n", json!({ "type": "token", "text": text }))
    };
    let last = format!("event: response\ndata: {}\n\n", response(1));
    let called = &["> t a=1\n< x\\u{1b}, 3 ms\n"][..];
    let none: &[&str] = &[];
    let rows = [
        ("JSON", json_answer(&response(1)), 0, &["Fine.\n"][..], called),
        ("another id", json_answer(&response(7)), 4, none, &["its id is 7"][..]),
        ("a page", http("200 OK\nContent-Type: text/html", "<p>"), 4, none, &["text/html"]),
        ("no method", http("404 Not Found\nContent-Type: text/html", "<p>"), 4, none, &["404"]),
        ("only a response", events(&last), 0, &["Fine.\n"], called),
        (
            "a lone return",
            events(&(token("Fine.\n") + &token("\r") + &last)),
            0,
            &["Fine.\n"],
            none,
        ),
        // The response adds what the events lack.
        ("in pieces", events(&(token("Fi") + &token("ne.") + &last)), 0, &["Fine.\n"], none),
        ("cut off", events(&token("Fi")), 3, &["Fi\n"], &["closed"]),
        ("no end", events("event: token\ndata: {"), 3, none, &["closed"]),
        ("no JSON", events("event: token\ndata: {\n\n"), 4, none, &["EOF"]),
        ("unknown", events(&format!("event: news\ndata: x\n\n{last}")), 0, &["Fine.\n"], called),
    ];
    for (name, answer, code, stdout, stderr) in rows {
        let peer = Peer::always(answer);
        let ended = chat(&peer.url, &["-m", "How are you?", "--conversation", "c"], "");
        check(name, &ended, code, stdout, stderr);
        assert!(!ended.stdout.contains("\n\n"), "{name}: {ended:?}");
        let asked = &peer.asked()[0];
        assert!(asked.head.starts_with("post /api http/1.1\r\n"), "{asked:?}");
        assert_eq!(asked.header("accept"), Some("text/event-stream"));
        let params = json!({ "message": "How are you?", "conversation_id": "c" });
        let method = "agent.chat";
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        assert_eq!(asked.json(), request);
    }
}
