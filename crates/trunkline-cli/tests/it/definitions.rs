//! The definitions in all lists of MCP, which every host of a language model should accept.

use std::fs;
use std::path::Path;
use std::sync::mpsc::channel;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::call_peer::{Asked, Peer};
use crate::support::{Model, PATIENCE, Server, post, run, trunkline, with_content};
use crate::tools::result;

/// A schema with keywords that some API refuses.
fn refused() -> Value {
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$defs": {
            "Node": {
                "type": "object", "description": "A node",
                "properties": { "children": { "type": "array", "items": { "$ref": "#/$defs/Node" } } },
            },
        },
        "type": "object", "required": ["mode"], "additionalProperties": {},
        "properties": {
            "mode": { "const": "fast", "description": "The mode" },
            "node": { "$ref": "#/$defs/Node" },
            "any": {}, "all": true, "list": { "type": "array" }, "rule[]": { "type": "string" },
            "level": { "enum": [0.5, 0.9, null] }, "size": { "type": ["integer", "null"], "exclusiveMinimum": 0 },
            "tuple": { "type": "array", "prefixItems": [{ "type": "string" }, { "type": "number" }] },
            "target": { "oneOf": [{ "type": "string", "format": "uri" }, { "type": "object" }], "description": "" },
        },
        "anyOf": [{ "required": ["node"] }, { "required": ["list"] }],
    })
}

const LONG: &str = "get_configuration_item_with_all_relationship";

/// The replies of an upstream whose definitions have no descriptions.
fn upstream(asked: &Asked) -> Vec<u8> {
    let blank = |name: &str| json!({ "name": name, "title": "", "description": "" });
    let with = |mut entry: Value, member: &str, value: Value| {
        entry[member] = value;
        entry
    };
    let tool = |name: &str| {
        let tool = with(blank(name), "inputSchema", refused());
        with(tool, "outputSchema", refused())
    };
    let id = &asked.json()["params"]["name"];
    result(
        asked,
        &match asked.json()["method"].as_str().unwrap() {
            "server/discover" => json!({
                "supportedVersions": ["2026-07-28"],
                "capabilities": { "tools": {}, "prompts": {}, "resources": {} },
            }),
            "tools/list" => {
                let bare = json!({ "name": "bare", "inputSchema": { "type": "object" } });
                json!({ "tools": [tool("rich"), bare, tool(LONG)], "resultType": "complete" })
            }
            "prompts/list" => {
                let arguments = json!([{ "name": "a", "description": "" }]);
                json!({ "prompts": [with(blank(LONG), "arguments", arguments)], "resultType": "complete" })
            }
            "resources/list" => {
                json!({ "resources": [with(blank("r"), "uri", json!("up:a"))], "resultType": "complete" })
            }
            "resources/templates/list" => {
                let template = with(blank("t"), "uriTemplate", json!("up:a/{b}"));
                json!({ "resourceTemplates": [template], "resultType": "complete" })
            }
            _ => json!({ "content": [{ "type": "text", "text": id }], "resultType": "complete" }),
        },
    )
}

/// A folder with a file of every kind of definition.
fn place(upstream: &str, rewrites: bool) -> TempDir {
    let (folder, _) = with_content("CREATE TABLE emp (id INTEGER PRIMARY KEY, name TEXT)");
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("tools")).unwrap();
    fs::write(
        path("tools/shout.toml"),
        "name = 'shout'\ndescription = 'Shouts.'\ncommand = ['/bin/cat']\n\
         [input_schema]\ntype = 'object'\n\
         properties.text = { type = ['string', 'null'], description = 'The text' }\n\
         properties.any = {}\nproperties.level = { enum = [1, 2] }\n\
         [output_schema]\ntype = 'object'\nproperties.x = { type = ['string', 'null'] }\n",
    )
    .unwrap();
    fs::write(
        path("types.toml"),
        "[records.todo.fields]\ntitle = { type = 'string', required = true }\n\
         priority = { type = 'integer', default = 3 }\n\
         [records.a_very_long_name_of_a_type_of_records.fields]\ntitle = { type = 'string' }\n",
    )
    .unwrap();
    fs::write(
        path("trunkline.toml"),
        format!(
            "[server]\nwritable = true\ntoolset = 'full'\noutput_schemas = true\n\
             [databases.main]\nurl = 'a.db'\n\
             [records]\ntypes = 'types.toml'\nexpose = ['*']\n\
             [command_tools]\nfolder = 'tools'\n[history]\nresources = true\n\
             [queries.bare]\nsql = 'SELECT 1'\n\
             [queries.top]\nsql = 'SELECT :count, :name'\n\
             params = [{{ name = 'count', type = 'integer', default = 10 }}, {{ name = 'name' }}]\n\
             [upstreams.servicenow]\nurl = '{upstream}'\nrewrite_schemas = {rewrites}\n"
        ),
    )
    .unwrap();
    folder
}

fn serve(folder: &Path, arguments: &[&str]) -> Server {
    let mut command = trunkline(folder);
    command.args(["--listen", "127.0.0.1:0"]).args(arguments);
    let server = Server::start(command);
    let deadline = Instant::now() + PATIENCE;
    loop {
        let status = server.call("gateway.upstreams", &json!({}));
        if status["result"]["upstreams"][0]["state"] == "ready" {
            return server;
        }
        assert!(Instant::now() < deadline, "{status}");
        sleep(Duration::from_millis(10));
    }
}

const LISTS: [(&str, &str); 4] = [
    ("tools/list", "tools"),
    ("prompts/list", "prompts"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
];

/// The entries of a list, in an era.
fn list(server: &Server, (method, member): (&str, &str), is_modern: bool) -> Vec<Value> {
    let mut body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": {} });
    let method = format!("mcp-method: {method}");
    let headers = ["mcp-protocol-version: 2026-07-28", &*method];
    let headers: &[&str] = if is_modern {
        body["params"]["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        &headers
    } else {
        &[]
    };
    let reply = server.connect().ask(&post("/mcp", headers, &body)).json();
    reply["result"][member].as_array().unwrap_or_else(|| panic!("{reply}")).clone()
}

/// Adds the problems of a schema. `is_input` is whether APIs of models receive it.
fn lint_schema(schema: &Value, place: &str, is_input: bool, found: &mut Vec<String>) {
    let Some(members) = schema.as_object() else {
        found.push(format!("{place}: {schema}"));
        return;
    };
    const KEYWORDS: [&str; 20] = [
        "type",
        "description",
        "title",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "default",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
        "pattern",
        "format",
        "x-mcp-header",
    ];
    let unknown = members.keys().filter(|name| {
        !KEYWORDS.contains(&name.as_str()) && (is_input || name.as_str() != "anyOf")
    });
    found.extend(unknown.map(|name| format!("{place}: {name}")));
    let kind = schema["type"].as_str();
    if kind.is_none() && (is_input || !schema["type"].is_null()) {
        found.push(format!("{place}: type {}", schema["type"]));
    }
    let texts = schema["enum"].as_array().into_iter().flatten();
    if !texts.clone().all(|text| text.as_str().is_some_and(|text| !text.is_empty()))
        || texts.count() > 0 && kind != Some("string")
    {
        found.push(format!("{place}: enum {}", schema["enum"]));
    }
    if !schema["additionalProperties"].is_null() && schema["additionalProperties"] != false {
        found.push(format!("{place}: additionalProperties"));
    }
    if (kind == Some("object")) != schema["properties"].is_object() {
        found.push(format!("{place}: no properties"));
    }
    if kind == Some("array") && is_input && schema["items"]["type"].is_null()
        || !schema["items"].is_null() && schema["items"]["type"].is_null()
    {
        found.push(format!("{place}: items {}", schema["items"]));
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        if is_input && !((1..=64).contains(&name.len()) && name.bytes().all(is_allowed)) {
            found.push(format!("{place}: property `{name}`"));
        }
        lint_schema(property, &format!("{place}/{name}"), is_input, found);
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        if schema["properties"][name.as_str().unwrap()].is_null() {
            found.push(format!("{place}: requires {name}"));
        }
    }
    if schema["items"].is_object() {
        lint_schema(&schema["items"], &format!("{place}[]"), is_input, found);
    }
    for alternative in schema["anyOf"].as_array().into_iter().flatten() {
        lint_schema(alternative, &format!("{place}|"), is_input, found);
    }
}

/// Adds the titles and descriptions that are blank.
fn lint_texts(entry: &Value, place: &str, found: &mut Vec<String>) {
    match entry {
        Value::Object(members) => {
            for (name, member) in members {
                let is_text = matches!(&**name, "title" | "description");
                if is_text && member.as_str().is_some_and(|text| text.trim().is_empty()) {
                    found.push(format!("{place}: {name}"));
                }
                lint_texts(member, place, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| lint_texts(item, place, found)),
        _ => {}
    }
}

#[test]
fn all_lists_have_definitions_that_hosts_accept() {
    let peer = Peer::new(upstream);
    let folder = place(&peer.url, true);
    let (sent, asked) = channel();
    let model = Model::new(move |question, speech| {
        sent.send(question.definitions()).unwrap();
        speech.sends("done");
    });
    let server = serve(folder.path(), &model.flags());
    let mut found = Vec::new();
    for is_modern in [false, true] {
        for listed in LISTS {
            let entries = list(&server, listed, is_modern);
            assert!(!entries.is_empty(), "{listed:?}");
            for entry in &entries {
                let name = entry["name"].as_str().unwrap();
                let place = format!("{listed:?} {name}");
                if matches!(listed.1, "tools" | "prompts") && name.len() > 40 {
                    found.push(format!("{place}: {} characters", name.len()));
                }
                lint_texts(entry, &place, &mut found);
                if listed.1 != "tools" {
                    continue;
                }
                if entry["description"].as_str().is_none_or(str::is_empty) {
                    found.push(format!("{place}: no description"));
                }
                lint_schema(&entry["inputSchema"], &place, true, &mut found);
                if let Some(schema) = entry.get("outputSchema") {
                    lint_schema(schema, &format!("{place} out"), false, &mut found);
                }
            }
        }
        let names = list(&server, LISTS[0], is_modern);
        for part in [
            "execute_raw_query",
            "database_health",
            "todo_create",
            "bare",
            "top",
            "shout",
            "servicenow__rich",
        ] {
            assert!(names.iter().any(|tool| tool["name"] == part), "{part} {names:?}");
        }
    }
    let chat = json!({ "jsonrpc": "2.0", "id": 1, "method": "agent.chat", "params": { "message": "hello" } });
    server.connect().ask(&post("/api", &[], &chat));
    let tools = asked.recv_timeout(PATIENCE).unwrap();
    assert!(tools.len() > 20, "{}", tools.len());
    for tool in tools {
        let place = format!("agent {}", tool["name"]);
        lint_texts(&tool, &place, &mut found);
        if tool["description"].as_str().is_none_or(str::is_empty) {
            found.push(format!("{place}: no description"));
        }
        lint_schema(&tool["parameters"], &place, true, &mut found);
    }
    assert_eq!(found, Vec::<String>::new(), "{found:#?}");

    // Descriptions of params are kept, and arguments are validated against the schema of the upstream.
    let tools = list(&server, LISTS[0], false);
    let rich = tools.iter().find(|tool| tool["name"] == "servicenow__rich").unwrap();
    assert_eq!(rich["description"], "Servicenow rich");
    assert_eq!(rich["inputSchema"]["properties"]["mode"]["description"], "The mode");
    for (arguments, is_error) in [
        (json!({ "mode": "fast", "list": [], "all": 5, "rule[]": "x", "size": null }), false),
        (json!({ "mode": "fast", "list": [], "size": 0 }), true),
        (json!({ "mode": "fast" }), true),
    ] {
        let call = json!({ "name": "servicenow__rich", "arguments": arguments });
        let called = server.call("tools/call", &call);
        assert_eq!(called["result"]["isError"] == true, is_error, "{arguments} {called}");
    }
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn schemas_of_an_upstream_are_unchanged_on_request() {
    let peer = Peer::new(upstream);
    let folder = place(&peer.url, false);
    let server = serve(folder.path(), &[]);
    let tools = list(&server, LISTS[0], false);
    let find = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
    assert_eq!(find("servicenow__rich")["inputSchema"], refused());
    assert_eq!(find("shout")["inputSchema"]["properties"]["text"]["type"], "string");
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn long_names_are_short_in_lists_only() {
    let peer = Peer::new(upstream);
    let folder = place(&peer.url, true);
    let full = format!("servicenow__{LONG}");
    // The digits are those of `printf %s NAME | sha256sum`.
    let short = "servicenow__get_configuration_i_a9168579";
    for (arguments, listed) in
        [(&["--audit-log", "audit.log"][..], short), (&["--max-tool-name", "64"], &*full)]
    {
        let server = serve(folder.path(), arguments);
        let names = |member: (&str, &str)| -> Vec<String> {
            let entries = list(&server, member, false).into_iter();
            entries.map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
        };
        assert!(names(LISTS[0]).contains(&listed.to_owned()), "{:?}", names(LISTS[0]));
        assert!(names(LISTS[1]).contains(&listed.to_owned()), "{:?}", names(LISTS[1]));
        for name in [listed, &full] {
            let arguments = json!({ "mode": "fast", "list": [] });
            let called =
                server.call("tools/call", &json!({ "name": name, "arguments": arguments }));
            assert_eq!(called["result"]["content"][0]["text"], LONG, "{called}");
        }
        let method = format!("servicenow.{LONG}");
        let history = server.connect().get(&format!("/history?method={method}")).json();
        assert_eq!(history["entries"].as_array().unwrap().len(), 2, "{history}");
        let ended = server.stop();
        let warned = ended.stderr.matches(&format!("`{full}` as `{short}`")).count();
        // The tool and the prompt have the same name.
        assert_eq!(warned, if listed == short { 2 } else { 0 }, "{}", ended.stderr);
        let lines = ended.stderr.lines().filter(|line| line.contains("are listed in a short form"));
        assert_eq!(lines.count(), if listed == short { 2 } else { 0 }, "{}", ended.stderr);
    }
    let audit = fs::read_to_string(folder.path().join("audit.log")).unwrap();
    assert!(audit.contains(&format!("servicenow.{LONG}")), "{audit}");
    assert!(!audit.contains(short), "{audit}");
}

/// An upstream with this number of tools.
fn upstream_of(count: u32) -> Peer {
    Peer::new(move |asked| {
        if asked.json()["method"] != "tools/list" {
            return upstream(asked);
        }
        let schema = json!({ "type": "object" });
        let tool = |index: u32| json!({ "name": format!("t{index}"), "inputSchema": schema });
        let tools: Vec<_> = (0..count).map(tool).collect();
        result(asked, &json!({ "tools": tools, "resultType": "complete" }))
    })
}

/// Most clients read only the first page of a list.
#[test]
fn a_second_page_of_tools_is_reported() {
    let peer = upstream_of(995);
    let folder = place(&peer.url, true);
    let server = serve(folder.path(), &[]);
    assert_eq!(list(&server, LISTS[0], false).len(), 1000);
    let ended = server.stop();
    let message = "`tools/list` has more than one page";
    let lines = ended.stderr.lines().filter(|line| line.contains(message));
    assert_eq!(lines.count(), 1, "{}", ended.stderr);

    for (count, is_reported) in [(6, true), (5, false)] {
        let other = upstream_of(count).url;
        let mut command = trunkline(folder.path());
        command.args(["doctor", "--port", "0", "--upstream"]).arg(format!("other={other}"));
        let ended = run(&mut command);
        let warning = format!("warning  upstreams: {message}");
        assert_eq!(ended.stdout.contains(&warning), is_reported, "{}", ended.stdout);
    }
}
