//! `trunkline tools` on a terminal: progress, and questions of servers.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;

use crate::support::{McpServer, PATIENCE, Terminal, trunkline};

/// Calls a tool on a terminal. Programs are those of `folder` only, if there is one.
fn call(server: &McpServer, arguments: &[&str], folder: Option<&Path>) -> Terminal {
    let mut command = trunkline(Path::new("."));
    command.args(["tools", &server.url]).args(arguments);
    if let Some(folder) = folder {
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
        command.env("PATH", path);
    }
    Terminal::run(&command)
}

#[test]
fn shows_progress() {
    let server = McpServer::start();
    let mut call = call(&server, &["advance", "--log-level", "info"], None);
    call.until("[info] about to begin\n");
    call.until("[error] ");
    call.until("[#####---------------]  25% 1/4 one \\u{1b}[2Jhostile");
    server.go_on.notify_one();
    call.until("advanced\n");
    assert_eq!(call.end(), (Some(0), true));
}

#[test]
fn shows_the_status_of_tasks() {
    let server = McpServer::start();
    let mut call = call(&server, &["build"], None);
    call.until("task: working: compiling \\u{1b}[2Jhostile");
    server.go_on.notify_one();
    call.until("built\n");
    assert_eq!(call.end(), (Some(0), true));
}

/// A table would cut the URIs at the width of the terminal.
#[test]
fn lists_are_not_tables_on_terminals() {
    let server = McpServer::start();
    for (command, action, expected) in [
        ("resources", "list", "test://a/logo.png  (image/png"),
        (
            "resources",
            "templates",
            "test://items/{id}  (text/plain)\n  item: One item.\n1 template\n",
        ),
        ("prompts", "list", "greet  (name*)\n  Greets"),
    ] {
        let mut list = trunkline(Path::new("."));
        let mut list = Terminal::run(list.args([command, &server.url, action]));
        list.until(expected);
        assert_eq!(list.end(), (Some(0), true), "{command} {action}");
    }
}

#[test]
fn fills_in_forms() {
    let server = McpServer::start();
    let mut form = call(&server, &["form"], None);
    let heading = form.until("asks for information:");
    assert!(heading.ends_with(&format!("{} ", server.url)), "{heading}");
    form.until("Who are you? \\u{1b}[2Jhostile");
    form.until("age (integer, 0 to 150) [30]: ");
    form.types("200\r");
    form.until("more than 150");
    form.types("\r");
    form.until("agrees (yes or no, optional): ");
    form.types("\r");
    form.until("   1  Red (r)\n   2  \\u{1b}[2Jhostile (g)\n");
    form.until("colour (number of a choice): ");
    form.types("3\r");
    form.until("enter a number from 1 to 2");
    form.types("2\r");
    form.until("  \\u{1b}[2Jhostile\nname (text, at least 2 characters): ");
    for (answer, reason) in [("x\r", "less than 2 characters"), ("\r", "a value is required")] {
        form.types(answer);
        form.until(reason);
        form.until("name (text, at least 2 characters): ");
    }
    form.types("Ada\r");
    form.until("tags (numbers of choices, with commas, optional): ");
    form.types("3, 1\r");
    form.until("  age: 30\n  colour: g\n  name: Ada\n  tags: z, x\n");
    form.until("send this? [y]es, [e]dit, [d]ecline: ");
    form.types("e\r");
    for (question, answer) in [
        ("age (", "7\r"),
        ("agrees (", "no\r"),
        ("colour (", "Red\r"),
        ("name (", "Bob\r"),
        ("tags (", "\r"),
    ] {
        form.until(question);
        form.types(answer);
    }
    form.until("send this?");
    form.types("y\r");
    form.until("accepted {");
    let content = form.until("}");
    let content: serde_json::Value = serde_json::from_str(&format!("{{{content}}}")).unwrap();
    let expected = serde_json::json!({"name": "Bob", "age": 7, "colour": "r", "agrees": false});
    assert_eq!(content, expected);
    assert_eq!(form.end(), (Some(0), true));
}

/// Ctrl-D and `d` decline, Ctrl-C cancels the question, and not the call.
#[test]
fn refuses_forms() {
    let server = McpServer::start();
    for (keys, shown, result) in
        [("\x04", "declined\n", "was declined"), ("\x03", "cancelled\n", "was cancelled")]
    {
        let mut form = call(&server, &["form"], None);
        form.until("age (");
        form.types(keys);
        form.until(shown);
        form.until(result);
        assert_eq!(form.end(), (Some(0), true));
    }
    let mut form = call(&server, &["form"], None);
    for (question, answer) in [
        ("age (", "\r"),
        ("agrees (", "\r"),
        ("colour (", "1\r"),
        ("name (", "Ada\r"),
        ("tags (", "\r"),
    ] {
        form.until(question);
        form.types(answer);
    }
    form.until("send this?");
    form.types("d\r");
    form.until("was declined");
    assert_eq!(form.end(), (Some(0), true));
}

/// A browser that writes the URL to `opened`.
fn browser() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let (opener, opened) = (folder.path().join("xdg-open"), folder.path().join("opened"));
    let script =
        format!("#!/bin/sh\nprintf %s \"$1\" > {0}.new && mv {0}.new {0}\n", opened.display());
    fs::write(&opener, script).unwrap();
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

#[test]
fn asks_before_it_opens_pages() {
    let server = McpServer::start();
    for (keys, result, is_opened) in [
        ("y\r", "agreed", true),
        ("visited\r", "agreed", false),
        ("d\r", "was declined", false),
        ("\x04", "was declined", false),
        ("\r\x03", "was cancelled", false),
    ] {
        let folder = browser();
        let opened = folder.path().join("opened");
        let mut page = call(&server, &["visit"], Some(folder.path()));
        page.until("asks you to visit a page:\n  Please pay.\n");
        page.until("URL:  https://example.com/pay?id=7\n  site: https://example.com\n");
        page.until("open it in the browser? (visited: you open it yourself) [y]es, ");
        assert!(!opened.exists());
        page.types(keys);
        page.until(result);
        assert_eq!(page.end(), (Some(0), true), "{keys:?}");
        if is_opened {
            let begin = std::time::Instant::now();
            while !opened.exists() {
                assert!(begin.elapsed() < PATIENCE);
                std::thread::yield_now();
            }
            assert_eq!(fs::read_to_string(&opened).unwrap(), "https://example.com/pay?id=7");
        }
        assert_eq!(opened.exists(), is_opened, "{keys:?}");
    }
}

#[test]
fn ctrl_c_cancels_a_call() {
    let server = McpServer::start();
    for (tool, status) in [("wait", ""), ("wait_in_task", "task: working")] {
        let mut wait = call(&server, &[tool], None);
        assert_eq!(server.events.recv_timeout(PATIENCE), Ok("started"));
        wait.until(status);
        wait.types("\x03");
        wait.until("trunkline: interrupted");
        assert_eq!(wait.end(), (Some(130), true));
        assert_eq!(server.events.recv_timeout(PATIENCE), Ok("ended"), "{tool}");
    }
}
