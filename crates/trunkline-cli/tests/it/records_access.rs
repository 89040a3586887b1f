//! Access to records: tokens, rules, rates, tools.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::access::Issuer;
use crate::records::{place, serve};
use crate::support::{Server, post, run, trunkline};

fn list_of_tools() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
}

/// The tools after those of the database, of which a read-only server lists four.
fn tools(result: &Value) -> Vec<String> {
    let tools = result["tools"].as_array().unwrap_or_else(|| panic!("{result}")).iter();
    let names = tools.map(|tool| tool["name"].as_str().unwrap().to_owned());
    names.skip(4).collect()
}

fn commands_of(resource: &str) -> Vec<String> {
    let commands = ["create", "read", "update", "delete", "list", "filter", "status", "revert"];
    commands.map(|command| format!("{resource}_{command}")).to_vec()
}

/// A name, flags, variables, and the listed tools.
type Row<'r> = (&'r str, &'r [&'r str], &'r [(&'r str, &'r str)], Vec<String>);

#[test]
fn exposed_types_are_tools() {
    let both = || [commands_of("todo"), commands_of("crm_contact")].concat();
    let rows: [Row<'_>; 6] = [
        ("none", &[], &[], Vec::new()),
        ("one", &["--expose", "crm.contact"], &[], commands_of("crm_contact")),
        ("two", &["--expose", "crm.contact", "--expose", "todo"], &[], both()),
        ("with commas", &["--expose", "crm.contact, todo,"], &[], both()),
        ("all", &["--expose", "*"], &[], both()),
        ("the environment", &[], &[("TRUNKLINE_EXPOSE", "todo")], commands_of("todo")),
    ];
    for (name, arguments, environment, expected) in rows {
        let folder = place();
        let mut command = crate::records::command(folder.path(), arguments);
        command.envs(environment.iter().copied());
        let mut server = Server::start(command);
        for path in ["/mcp", "/"] {
            let reply = server.connect().ask(&post(path, &[], &list_of_tools())).json();
            assert_eq!(tools(&reply["result"]), expected, "{name} at {path}");
        }
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello});
        let reply = server.connect().ask(&post("/mcp", &[], &hello)).json();
        let instructions = reply["result"]["instructions"].as_str().unwrap();
        assert_eq!(
            instructions.contains("There are also records"),
            !expected.is_empty(),
            "{name}: {reply}"
        );
        for tool in instructions.split(' ').filter(|word| word.ends_with("_status")) {
            assert!(expected.contains(&tool.to_owned()), "{name}: there is no {tool}");
        }
        assert_eq!(server.banner().contains("(* MCP tools)"), !expected.is_empty(), "{name}");
    }
}

#[test]
fn tools_execute_commands() {
    let folder = place();
    let server = serve(folder.path(), &["--expose", "crm.contact"]);
    let call = |tool: &str, arguments: Value| {
        let params = json!({"name": tool, "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        server.connect().ask(&post("/mcp", &[], &call)).json()["result"].take()
    };
    let created = call("crm_contact_create", json!({"id": "a", "name": "Ada"}));
    assert_eq!(created["isError"], false, "{created}");
    let read = server.call("crm.contact.read", &json!(["a"]));
    let created = created["content"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(created).unwrap(), read["result"]);
    let refused = call("crm_contact_update", json!({"id": "a", "state": "knwn"}));
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(refused.to_string().contains("is not one of"), "{refused}");
}

/// The client may start the server in a directory that is not writable.
#[test]
fn stdio_serves_records_with_flags_only() {
    let rows: [(&str, &[&str], Vec<String>, bool); 4] = [
        ("nothing", &[], Vec::new(), false),
        ("a directory alone", &["--data-dir", "data"], Vec::new(), false),
        ("types", &["--records", "types.toml"], Vec::new(), true),
        ("tools", &["--expose", "todo"], commands_of("todo"), true),
    ];
    for (name, arguments, expected, has_records) in rows {
        let folder = place();
        let create =
            json!({"jsonrpc": "2.0", "id": 2, "method": "todo.create", "params": {"title": "t"}});
        let input = folder.path().join("input");
        fs::write(&input, format!("{}\n{create}\n", list_of_tools())).unwrap();
        let mut command = trunkline(folder.path());
        command.arg("mcp").args(arguments).stdin(Stdio::from(fs::File::open(&input).unwrap()));
        let ended = run(&mut command);
        assert_eq!(ended.code, Some(0), "{name}: {ended:?}");
        let reply = |id: u64| {
            let replies =
                ended.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            replies.into_iter().find(|reply| reply["id"] == id).unwrap()
        };
        assert_eq!(tools(&reply(1)["result"]), expected, "{name}");
        assert_eq!(reply(2)["result"]["version"] == 1, has_records, "{name}: {}", reply(2));
        let data = folder.path().join(".trunkline");
        assert_eq!(data.exists(), has_records, "{name}");
        if has_records {
            let left = crate::support::files(&data).into_keys().collect::<Vec<_>>();
            assert_eq!(left, ["trunkline.sqlite"], "{name}");
        }
        assert!(!folder.path().join("data").exists(), "{name}");
    }
    let folder = place();
    let ended = run(trunkline(folder.path()).args(["mcp", "--expose", "nope"]));
    assert_eq!((ended.code, &*ended.stdout), (Some(1), ""), "{ended:?}");
    assert!(ended.stderr.contains("the known ones are todo"), "{ended:?}");
}

#[test]
fn tokens() {
    let folder = place();
    let server = serve(folder.path(), &["--bearer", "right"]);
    let create = json!({"command": "create", "resource": "todo", "payload": {"title": "t"}});
    let again =
        json!({"command": "create", "resource": "todo", "id": "a", "payload": {"title": "t"}});
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "todo.list"});
    let revert = json!({"requestId": "r"});
    let rows = [
        ("POST", "/execute", &create, 201),
        ("POST", "/execute", &list, 200),
        ("POST", "/repeat", &again, 201),
        ("POST", "/revert", &revert, 200),
        ("GET", "/forms", &create, 200),
    ];
    for (method, path, body, status) in rows {
        let ask = |header: &str| {
            let request = post(path, &[header], body).replacen("POST", method, 1);
            server.connect().ask(&request)
        };
        assert_eq!(ask("Authorization: Bearer right").status, status, "{method} {path}");
        for header in ["X-None: 0", "Authorization: Bearer wrong"] {
            let reply = ask(header);
            assert_eq!(reply.status, 401, "{method} {path} {header}");
            assert!(reply.json()["error"].is_string(), "{method} {path}: {}", reply.json());
        }
        let foreign =
            post(path, &["Authorization: Bearer right", "Origin: http://evil.example"], body);
        let reply = server.connect().ask(&foreign.replacen("POST", method, 1));
        assert_eq!(reply.status, 403, "{method} {path}");
    }
}

#[test]
fn rules() {
    let folder = place();
    let issuer = Issuer::new();
    issuer.publish(folder.path());
    let signed = ["--jwks", "jwks.json", "--audience", "*", "--require"];
    let slip = run(crate::records::command(folder.path(), &signed).arg("tood.*=a:b"));
    assert_eq!(slip.code, Some(1), "{slip:?}");
    let told = "no method matches; the prefixes are db., todo., crm.contact.";
    assert!(slip.stderr.contains(told), "{}", slip.stderr);

    let rules = [&signed[..], &["todo.delete=role:admin"]].concat();
    let server = serve(folder.path(), &rules);
    let delete = json!({"command": "delete", "resource": "todo", "id": "a"});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "todo.delete", "params": ["a"]});
    for (claims, status, code) in
        [(json!({}), 403, -32008), (json!({"role": "admin"}), 404, -32011)]
    {
        let token = issuer.token(claims);
        let reply = server.connect().ask(&post("/execute", &[&token], &delete));
        assert_eq!(reply.status, status, "{}", reply.json());
        assert!(reply.json()["error"].is_string(), "{}", reply.json());
        for path in ["/execute", "/rpc"] {
            let reply = server.connect().ask(&post(path, &[&token], &call));
            assert_eq!(reply.json()["error"]["code"], code, "{path}");
        }
    }
}

#[test]
fn rules_of_the_agent() {
    let folder = place();
    let issuer = Issuer::new();
    issuer.publish(folder.path());
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "agent.list_capabilities"});
    let signed = ["--jwks", "jwks.json", "--audience", "*", "--require"];
    let rules = ["agent.*", "agent.list_capabilities", "agent*", "*"];
    for rule in rules.map(|pattern| format!("{pattern}=role:admin")) {
        let server = serve(folder.path(), &[&signed[..], &[&rule]].concat());
        for (claims, status) in [(json!({}), 403), (json!({"role": "admin"}), 200)] {
            let reply = server.connect().ask(&post("/api", &[&issuer.token(claims)], &list));
            assert_eq!(reply.status, status, "{rule}: {}", reply.json());
        }
    }
    let slip = run(crate::records::command(folder.path(), &signed).arg("agent.chta=a:b"));
    assert_eq!(slip.code, Some(1), "{slip:?}");
    assert!(slip.stderr.contains("--require agent.chta"), "{}", slip.stderr);
}

#[test]
fn rates_of_the_agent() {
    let folder = place();
    let server = serve(folder.path(), &["--rate-limit", "1"]);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "agent.list_capabilities"});
    let replies: Vec<_> =
        (0..20).map(|_| server.connect().ask(&post("/api", &[], &list)).status).collect();
    assert!(replies[..2].iter().all(|status| *status == 200), "{replies:?}");
    assert!(replies.contains(&429), "{replies:?}");
}

#[test]
fn rates() {
    let folder = place();
    let server = serve(folder.path(), &["--rate-limit", "1"]);
    let list = json!({"command": "list", "resource": "todo"});
    // A burst is two calls; a third within a second is refused.
    let replies: Vec<_> =
        (0..20).map(|_| server.connect().ask(&post("/execute", &[], &list))).collect();
    assert!(replies[..2].iter().all(|reply| reply.status == 200));
    let refused = replies.iter().find(|reply| reply.status == 429).expect("20 calls in a second");
    assert!(refused.json()["error"].is_string(), "{}", refused.json());
}
