//! Roles: the operations, databases and rate limits of callers, over every protocol.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::access::Issuer;
use crate::support::{Ended, Model, Reply, Server, post, run, trunkline};

/// A folder with the databases `hr.db` and `shop.db`, tokens that equal their names, and a configuration file.
pub(crate) fn folder(config: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (file, table) in [("hr.db", "emp"), ("shop.db", "item")] {
        let connection = rusqlite::Connection::open(folder.path().join(file)).unwrap();
        let sql = format!("CREATE TABLE {table} (id INTEGER PRIMARY KEY, name TEXT)");
        connection.execute_batch(&sql).unwrap();
    }
    for token in ["reader", "clerk", "both", "admin", "nobody"] {
        fs::write(folder.path().join(token), format!("{token}\n")).unwrap();
    }
    fs::write(folder.path().join("trunkline.toml"), config).unwrap();
    folder
}

pub(crate) fn serve(folder: &Path, arguments: &[&str]) -> Server {
    let mut command = trunkline(folder);
    command.args(["--listen", "127.0.0.1:0"]).args(arguments);
    Server::start(command)
}

pub(crate) const DATABASES: &str = "\
[databases.hr]
url = 'hr.db'
writable = true

[databases.shop]
url = 'shop.db'
writable = true

[queries.staff]
sql = 'SELECT count(*) FROM emp'

[queries.items]
sql = 'SELECT count(*) FROM item'
database = 'shop'
";

const TOKENS: &str = "\
[access.tokens]
reader = { file = 'reader' }
clerk = { file = 'clerk' }
both = { file = 'both' }
admin = { file = 'admin' }
nobody = { file = 'nobody' }
";

const ROLES: &str = "\
[roles.reader]
tokens = ['reader', 'both']
claims = ['role:reader', 'scope:read']
operations = ['db.*', 'queries.*']
deny = ['db.describe_table']
read_only = true
databases = ['HR']

[roles.clerk]
tokens = ['clerk', 'both']
operations = ['db.list_tables', 'db.insert_record', 'agent.list_conversations']
databases = ['shop']

[roles.admin]
tokens = ['admin']
operations = ['*']
";

/// The roles without signed tokens.
fn listed_roles() -> String {
    let lines = ROLES.lines().filter(|line| !line.starts_with("claims"));
    lines.map(|line| format!("{line}\n")).collect()
}

fn rpc(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// The header line with a token.
pub(crate) fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}")
}

fn get(server: &Server, path: &str, header: &str) -> Reply {
    server.connect().ask(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{header}\r\n\r\n"))
}

/// The table of calls and callers. `1` means that the caller may make the call.
#[test]
fn roles_restrict_operations_and_databases_over_all_protocols() {
    let config =
        format!("[access]\njwks = 'jwks.json'\naudiences = ['*']\n{TOKENS}{ROLES}{DATABASES}");
    let folder = folder(&config);
    let issuer = Issuer::new();
    issuer.publish(folder.path());
    let server = serve(folder.path(), &["--toolset", "full"]);
    let callers = [
        bearer("reader"),
        bearer("clerk"),
        bearer("both"),
        bearer("admin"),
        bearer("nobody"),
        issuer.token(json!({"role": ["other", "reader"]})),
        issuer.token(json!({"scope": "read"})),
        issuer.token(json!({"role": "clerk", "sub": "clerk"})),
    ];
    let list = |database: &str| rpc("db.list_tables", &json!({ "database": database }));
    let insert = |database: &str, table: &str| {
        let params = json!({"database": database, "table_name": table, "data": {"name": "a"}});
        rpc("db.insert_record", &params)
    };
    let sql = |sql: &str, read_only: bool| {
        rpc("db.execute_raw_query", &json!({"query": sql, "read_only": read_only}))
    };
    let tool = |name: &str, arguments: Value| {
        rpc("tools/call", &json!({"name": name, "arguments": arguments}))
    };
    let read = |uri: &str| rpc("resources/read", &json!({ "uri": uri }));
    let describe = rpc("db.describe_table", &json!({"table_name": "emp"}));
    let plan = json!({"database": "shop", "query": "SELECT 1"});
    let rows = [
        ("/rpc", list("hr"), "10110110"),
        ("/rpc", list("Hr"), "10110110"),
        ("/rpc", list("shop"), "01110000"),
        ("/rpc", rpc("db.list_tables", &json!({})), "10110110"),
        ("/rpc", rpc("db.list_tables", &json!([])), "10110110"),
        ("/rpc", rpc("db.list_tables", &json!({"database": null})), "10110110"),
        ("/rpc", describe, "00010000"),
        ("/rpc", insert("hr", "emp"), "00010000"),
        ("/rpc", insert("shop", "item"), "01110000"),
        ("/rpc", sql("SELECT 1", true), "10110110"),
        ("/rpc", sql("DELETE FROM emp", false), "00010000"),
        ("/rpc", rpc("queries.staff", &json!({})), "10110110"),
        ("/rpc", rpc("queries.items", &json!({})), "00010000"),
        ("/mcp", tool("list_tables", json!({"database": "hr"})), "10110110"),
        ("/mcp", tool("list_tables", json!({"database": "shop"})), "01110000"),
        (
            "/mcp",
            tool(
                "insert_record",
                json!({"database": "shop", "table_name": "item", "data": {"name": "b"}}),
            ),
            "01110000",
        ),
        ("/mcp", tool("explain_query", plan), "00010000"),
        ("/mcp", tool("items", json!({})), "00010000"),
        ("/mcp", read("db://hr/tables"), "10110110"),
        ("/mcp", read("db://shop/tables"), "01110000"),
        ("/api", rpc("agent.list_conversations", &json!({})), "01110000"),
        ("/db/hr/query", json!({"sql": "SELECT 1"}), "10110110"),
        ("/db/shop/query", json!({"sql": "SELECT 1"}), "00010000"),
        // Invalid params and unknown methods are refused like other calls.
        ("/rpc", rpc("db.insert_record", &json!({"database": "shop", "a": 1})), "01110000"),
        ("/rpc", rpc("db.list_tables", &json!({"database": "hr", "a": 1})), "10110110"),
        ("/rpc", rpc("db.nope", &json!({})), "00010000"),
        ("/rpc", rpc("nope", &json!({})), "00010000"),
        ("/rpc", rpc("rpc.discover", &json!({})), "11111111"),
        ("/mcp", rpc("ping", &json!({})), "11111111"),
    ];
    for (path, body, expected) in &rows {
        let found = callers.iter().map(|caller| {
            let reply = server.connect().ask(&post(path, &[caller], body));
            let reply_status = reply.status;
            match reply_status {
                403 => {
                    let reply = reply.json();
                    let error = &reply["error"];
                    assert_eq!(error["code"], -32008, "{path} {body}: {reply}");
                    let reason = error["data"]["reason"].as_str().unwrap_or_default();
                    assert!(reason.starts_with("no role of the caller permits `"), "{reply}");
                    '0'
                }
                200 => '1',
                _ => panic!("{path} {body}: {reply:?}"),
            }
        });
        let found: String = found.collect();
        assert_eq!(found, *expected, "{path} {body}");
    }
    for (caller, expected) in callers.iter().zip([403, 403, 403, 200, 403, 403, 403, 403]) {
        assert_eq!(get(&server, "/history", caller).status, expected, "{caller}");
        assert_eq!(get(&server, "/openrpc.json", caller).status, 200, "{caller}");
    }
    assert_eq!(server.connect().get("/health").status, 200);
    assert_eq!(server.post(&list("hr")).status, 401, "without a token");
}

#[test]
fn lists_contain_what_the_caller_may_use() {
    let folder = folder(&format!("{TOKENS}{}{DATABASES}", listed_roles()));
    let server = serve(folder.path(), &[]);
    let ask = |caller: &str, method: &str| {
        let reply =
            server.connect().ask(&post("/mcp", &[&bearer(caller)], &rpc(method, &json!({}))));
        reply.json()["result"].clone()
    };
    let names = |list: &Value, key: &str| {
        let names = list.as_array().unwrap().iter().map(|entry| entry[key].as_str().unwrap());
        names.collect::<Vec<_>>().join(" ")
    };
    for (caller, tools, resources) in [
        (
            "reader",
            "list_tables query_records execute_raw_query list_databases staff",
            "db://hr/tables",
        ),
        ("clerk", "list_tables insert_record", ""),
        ("nobody", "", ""),
    ] {
        let mut found: Vec<String> = names(&ask(caller, "tools/list")["tools"], "name")
            .split(' ')
            .map(str::to_owned)
            .collect();
        let mut expected: Vec<String> = tools.split(' ').map(str::to_owned).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{caller}");
        assert_eq!(
            names(&ask(caller, "resources/list")["resources"], "uri"),
            resources,
            "{caller}"
        );
    }
}

/// The agent lists them and shows them to its model.
#[test]
fn the_agent_has_the_tools_that_the_caller_may_use() {
    let (told, shown) = std::sync::mpsc::channel();
    let model = Model::new(move |question, speech| {
        told.send(question.tools()).unwrap();
        speech.sends("Done.");
    });
    let roles = "[roles.reader]\ntokens = ['reader']\noperations = ['agent.*', 'db.list_tables']\n\
                 [roles.admin]\ntokens = ['admin']\noperations = ['*']\n";
    let folder = folder(&format!("{TOKENS}{roles}{DATABASES}"));
    let server = serve(folder.path(), &model.flags());
    let ask = |caller: &str, method: &str, params: &Value| {
        server.connect().ask(&post("/api", &[&bearer(caller)], &rpc(method, params))).json()
    };
    for (caller, is_complete, code) in
        [("reader", false, json!(-32008)), ("admin", true, Value::Null)]
    {
        let is_expected = |tools: &[String]| match is_complete {
            true => tools.len() > 8 && tools.contains(&"insert_record".to_owned()),
            false => tools == ["list_tables"],
        };
        let listed = ask(caller, "agent.list_capabilities", &json!({}));
        let listed = listed["result"]["tools"].as_array().unwrap().iter();
        let listed: Vec<_> = listed.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
        assert!(is_expected(&listed), "{caller}: {listed:?}");
        let reply = ask(caller, "agent.chat", &json!({"message": "Hello"}));
        assert_eq!(reply["result"]["response"], "Done.", "{caller}: {reply}");
        let shown = shown.recv().unwrap();
        assert!(is_expected(&shown), "{caller}: {shown:?}");
        let insert = json!({"table_name": "emp", "data": {"name": "a"}});
        let call = json!({"tool": "insert_record", "params": insert});
        assert_eq!(ask(caller, "agent.execute_tool", &call)["error"]["code"], code, "{caller}");
    }
}

#[test]
fn the_console_shows_permitted_databases() {
    let folder = folder(&format!("{TOKENS}{}{DATABASES}", listed_roles()));
    let server = serve(folder.path(), &[]);
    let reply = get(&server, "/console/databases", &bearer("reader"));
    assert_eq!((reply.status, reply.header("location")), (303, Some("/console/databases/hr")));
    assert_eq!(get(&server, "/console/databases/hr", &bearer("reader")).status, 200);
    assert_eq!(get(&server, "/console/databases/shop", &bearer("reader")).status, 404);
    let page =
        String::from_utf8(get(&server, "/console/databases", &bearer("admin")).body).unwrap();
    assert!(page.contains("/console/databases/shop"), "{page}");
}

#[test]
fn records_and_forms_are_those_that_the_caller_may_use() {
    let folder = folder(&format!("{TOKENS}{}{DATABASES}", listed_roles()));
    let server = serve(folder.path(), &["--data-dir", "data"]);
    let names = |caller: &str| {
        let forms = get(&server, "/forms", &bearer(caller)).json();
        let forms = forms.as_array().unwrap().iter();
        let names = forms.filter_map(|form| Some(form["rel"].as_str()?.to_owned()));
        names.filter(|name| name.contains('.')).collect::<Vec<_>>()
    };
    let mut clerk = names("clerk");
    clerk.sort();
    assert_eq!(clerk, ["db.insert_record", "db.list_tables"]);
    assert!(names("nobody").is_empty(), "{:?}", names("nobody"));
    let admin = names("admin");
    for name in ["todo.create", "db.list_tables", "queries.items"] {
        assert!(admin.iter().any(|one| one == name), "{name}: {admin:?}");
    }
    for (caller, status) in [("clerk", 404), ("admin", 200)] {
        let page = get(&server, "/console/records/todo", &bearer(caller));
        assert_eq!(page.status, status, "{caller}");
        let page = get(&server, "/console", &bearer(caller)).body;
        let page = String::from_utf8(page).unwrap();
        assert_eq!(page.contains("todo"), status == 200, "{caller}: {page}");
    }
}

#[test]
fn each_database_with_its_own_tools() {
    let folder = folder(&format!(
        "{TOKENS}{DATABASES}[roles.hr]\ntokens = ['reader']\noperations = ['db.*']\ndatabases = ['hr']\n"
    ));
    let server = serve(folder.path(), &["--db-tools", "separate"]);
    for (method, params, expected) in [
        ("db.hr.list_tables", json!({}), 200),
        ("db.shop.list_tables", json!({}), 403),
        // The argument does not exist here.
        ("db.shop.list_tables", json!({"database": "hr"}), 403),
        ("prompts/get", json!({"name": "hr_explore_database"}), 200),
        ("prompts/get", json!({"name": "shop_explore_database"}), 403),
    ] {
        let reply = server.connect().ask(&post("/", &[&bearer("reader")], &rpc(method, &params)));
        assert_eq!(reply.status, expected, "{method} {params}: {reply:?}");
    }
    let body = rpc("prompts/list", &json!({}));
    let prompts = server.connect().ask(&post("/", &[&bearer("reader")], &body)).json();
    let prompts = prompts["result"]["prompts"].as_array().unwrap();
    assert_eq!(prompts.len(), 3, "{prompts:?}");
    assert!(prompts.iter().all(|one| one["name"].as_str().unwrap().starts_with("hr_")));
    let reply = get(&server, "/db/other/query?sql=SELECT+1", &bearer("reader"));
    let body = String::from_utf8(reply.body).unwrap();
    assert_eq!(reply.status, 404, "{body}");
    assert!(!body.contains("shop"), "{body}");
}

/// The table of other requests and callers. `1` means that the caller may make the request.
#[test]
fn roles_restrict_the_other_endpoints() {
    let folder = folder(&format!("{TOKENS}{}{DATABASES}", listed_roles()));
    let server = serve(folder.path(), &["--log"]);
    let callers = ["reader", "clerk", "admin", "nobody"];
    let complete = |database: &str| {
        let params = json!({
            "ref": {"type": "ref/prompt", "name": "explain_table"},
            "argument": {"name": "table_name", "value": ""},
            "context": {"arguments": {"database": database}},
        });
        post_of("/mcp", &rpc("completion/complete", &params).to_string())
    };
    let escaped =
        r#"{"jsonrpc":"2.0","id":1,"method":"db.list_tables","params":{"d\u0061tabase":"shop"}}"#;
    let execute = json!({"command": "list", "resource": "todo"});
    for (request, expected) in [
        (post_of("/execute", &execute.to_string()), "0010"),
        (post_of("/rpc", escaped), "0110"),
        (complete("hr"), "1010"),
        (complete("shop"), "0110"),
        ("GET /history HTTP/1.1".to_owned(), "0010"),
        ("GET /history/stream HTTP/1.1".to_owned(), "0010"),
        ("GET /logs HTTP/1.1".to_owned(), "0010"),
        ("GET /logs/stats HTTP/1.1".to_owned(), "0010"),
    ] {
        let found = callers.iter().map(|caller| {
            let (line, rest) =
                request.split_once("\r\n").unwrap_or((&request, "Host: localhost\r\n\r\n"));
            let reply = server.connect().ask(&format!("{line}\r\n{}\r\n{rest}", bearer(caller)));
            match reply.status {
                403 => '0',
                200 => '1',
                _ => panic!("{caller}: {request}: {reply:?}"),
            }
        });
        let found: String = found.collect();
        assert_eq!(found, expected, "{request}");
    }
    for (caller, count) in callers.into_iter().zip([3, 0, 3, 0]) {
        let list = post("/mcp", &[&bearer(caller)], &rpc("prompts/list", &json!({})));
        let reply = server.connect().ask(&list).json();
        assert_eq!(reply["result"]["prompts"].as_array().map(Vec::len), Some(count), "{reply}");
    }
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    for (caller, is_permitted) in callers.into_iter().zip([true, false, true, false]) {
        let ask = |session: &str, body: &Value| {
            const BOTH: &str = "Accept: application/json, text/event-stream";
            server.connect().ask(&post("/mcp", &[BOTH, &bearer(caller), session], body))
        };
        let opened = ask("X-None: 0", &rpc("initialize", &params));
        let session = format!("Mcp-Session-Id: {}", opened.header("mcp-session-id").unwrap());
        let subscribe = rpc("resources/subscribe", &json!({"uri": "db://hr/tables"}));
        let reply = ask(&session, &subscribe).json();
        assert_eq!(reply["result"].is_object(), is_permitted, "{caller}: {reply}");
    }
}

/// `agent.*` permits neither a reload of the folder of tools nor the names of other tools and files.
#[test]
fn the_folder_of_tools_has_its_own_permission() {
    let roles = "\
[roles.reader]
tokens = ['reader']
operations = ['agent.*', 'tool.one']
[roles.clerk]
tokens = ['clerk']
operations = ['agent.*', 'tool.*', 'tools.reload']
[roles.admin]
tokens = ['admin']
operations = ['*']
";
    let folder = folder(&format!("{TOKENS}{roles}{DATABASES}"));
    let tools = folder.path().join("tools");
    fs::create_dir(&tools).unwrap();
    for name in ["one", "two"] {
        let manifest = format!(
            "name = '{name}'\ndescription = 'A tool.'\ncommand = ['cat']\n[input_schema]\ntype = 'object'\n"
        );
        fs::write(tools.join(format!("{name}.toml")), manifest).unwrap();
    }
    fs::write(tools.join("bad.toml"), "name = 5").unwrap();
    let server = serve(folder.path(), &["--command-tools", "tools"]);
    let api = |caller: &str, method: &str| {
        server.connect().ask(&post("/api", &[&bearer(caller)], &rpc(method, &json!({}))))
    };
    let reload =
        |caller: &str| server.connect().ask(&post("/tools/reload", &[&bearer(caller)], &json!({})));
    let all = (&["one", "two"][..], &["bad.toml"][..]);
    for (caller, listed, reloads) in [
        ("reader", Some((&["one"][..], &[][..])), false),
        ("clerk", Some(all), true),
        ("admin", Some(all), true),
        ("nobody", None, false),
    ] {
        let check = |what: &str,
                     status: u16,
                     list: &Value,
                     expected: Option<(&[&str], &[&str])>| {
            let Some((tools, rejected)) = expected else {
                assert_eq!(status, 403, "{what} as {caller}: {list}");
                assert_eq!(list["error"]["code"], -32008, "{what} as {caller}: {list}");
                return;
            };
            let texts = |member: &str, key: &str| {
                let items = list[member].as_array().unwrap_or_else(|| panic!("{what}: {list}"));
                items.iter().map(|item| item[key].as_str().unwrap().to_owned()).collect::<Vec<_>>()
            };
            assert_eq!(texts("tools", "name"), tools, "{what} as {caller}");
            assert_eq!(texts("rejected", "file"), rejected, "{what} as {caller}");
        };
        let result = |reply: &Reply| match reply.json() {
            reply if reply["error"].is_null() => reply["result"].clone(),
            reply => reply,
        };
        let reply = get(&server, "/tools", &bearer(caller));
        check("GET /tools", reply.status, &reply.json(), listed);
        let reply = api(caller, "agent.list_tools");
        check("agent.list_tools", reply.status, &result(&reply), listed);
        let reloaded = listed.filter(|_| reloads);
        let reply = reload(caller);
        check("POST /tools/reload", reply.status, &reply.json(), reloaded);
        let reply = api(caller, "agent.reload_tools");
        check("agent.reload_tools", reply.status, &result(&reply), reloaded);
        let page = get(&server, "/console/tools", &bearer(caller)).body;
        let page = String::from_utf8(page).unwrap();
        for (text, is_shown) in
            [("tool.one", listed.is_some()), ("tool.two", reloads), ("bad.toml", reloads)]
        {
            assert_eq!(page.contains(text), is_shown, "{text} on the page of {caller}: {page}");
        }
    }
    // A refresh of the capabilities reads the folder only for those who may reload it.
    fs::remove_dir_all(&tools).unwrap();
    for (caller, code) in [("reader", Value::Null), ("clerk", json!(-32000))] {
        let reply = api(caller, "agent.refresh_capabilities").json();
        assert_eq!(reply["error"]["code"], code, "{caller}: {reply}");
    }
}

fn post_of(path: &str, body: &str) -> String {
    post(path, &[], &body)
}

#[test]
fn a_role_without_members_applies_to_all_callers() {
    let config = "[databases.hr]\nurl = 'hr.db'\nwritable = true\n[roles.all]\noperations = ['db.*']\nread_only = true\n";
    let folder = folder(config);
    let server = serve(folder.path(), &[]);
    let insert = json!({"table_name": "emp", "data": {"name": "a"}});
    for (method, params, expected) in [
        ("db.list_tables", json!({}), 200),
        ("db.insert_record", insert, 403),
        (
            "db.update_record",
            json!({"table_name": "emp", "data": {"name": "b"}, "filters": [], "dry_run": true}),
            200,
        ),
        ("tools/call", json!({"name": "create_table", "arguments": {}}), 403),
    ] {
        let reply = server.post(&rpc(method, &params));
        assert_eq!(reply.status, expected, "{method}: {reply:?}");
    }
    assert_eq!(server.connect().get("/history").status, 403);
}

/// Listed tokens have all scopes that methods require, but these do not give them roles.
#[test]
fn scopes_of_roles_are_those_of_signed_tokens() {
    let folder = folder(&format!(
        "[access]\njwks = 'jwks.json'\naudiences = ['*']\nread_scope = 'read'\n{TOKENS}\
         [roles.reader]\nclaims = ['scope:read']\noperations = ['db.*']\n{DATABASES}"
    ));
    let issuer = Issuer::new();
    issuer.publish(folder.path());
    let server = serve(folder.path(), &[]);
    let call = rpc("db.list_tables", &json!({}));
    for (header, status) in [(issuer.token(json!({"scope": "read"})), 200), (bearer("nobody"), 403)]
    {
        let reply = server.connect().ask(&post("/", &[&header], &call));
        assert_eq!(reply.status, status, "{header}: {}", reply.json());
    }
}

#[test]
fn rates_of_roles_apply_to_each_caller() {
    let roles = "\
[roles.slow]
tokens = ['reader', 'both']
operations = ['*']
rate_limit = 1
[roles.fast]
tokens = ['both']
operations = ['db.*']
rate_limit = 100000
[roles.others]
tokens = ['clerk']
operations = ['*']
";
    let folder = folder(&format!("{TOKENS}{roles}{DATABASES}"));
    let server = serve(folder.path(), &[]);
    let refused = |token: &str| {
        let mut connection = server.connect();
        let call = post("/", &[&bearer(token)], &rpc("db.list_databases", &json!({})));
        (0..40).any(|_| connection.ask(&call).status == 429)
    };
    assert!(refused("reader"), "one call per second");
    assert!(!refused("both"), "the highest rate counts");
    assert!(!refused("clerk"), "no limit");
}

#[track_caller]
fn check_mistakes(config: &str, expected: &[&str]) {
    let folder = folder(config);
    for arguments in [&["config", "check"][..], &["--listen", "127.0.0.1:0"]] {
        let Ended { code, stderr, .. } = run(trunkline(folder.path()).args(arguments));
        assert_eq!(code, Some(2), "{arguments:?}: {stderr}");
        let lines: Vec<_> =
            stderr.lines().filter_map(|line| line.strip_prefix("  trunkline.toml:")).collect();
        assert_eq!(lines, expected, "{arguments:?}: {stderr}");
    }
}

#[test]
fn mistakes_have_a_place_and_a_suggestion() {
    check_mistakes(
        "[access.tokens]\nreader = { file = 'reader' }\n'a b' = { file = 'clerk' }\n",
        &[
            "3:1: `access.tokens`: invalid name `a b`: a name has 1 to 64 letters, digits, `-` or `_`",
        ],
    );
    check_mistakes(
        "\
[access.tokens]
reader = { file = 'reader' }
[roles.one]
tokens = ['raeder', 'x']
claims = ['role']
operation = ['db.*']
[roles.two]
rate_limit = 0
operations = ['*']
",
        &[
            "3:8: `roles.one` requires `operations`, such as [\"db.*\"], or [\"*\"] for all",
            "4:11: `roles.one.tokens`: unknown token `raeder`; did you mean `reader`?",
            "4:21: `roles.one.tokens`: unknown token `x`; access.tokens has `reader`",
            "5:11: `roles.one.claims`: invalid claim `role`; the format is like role:reader",
            "6:1: unknown key `roles.one.operation`; did you mean `operations`?",
            "8:14: `roles.two.rate_limit`: 0 is not in 1..=1000000",
        ],
    );
    // Without members, the roles would be those of all callers.
    check_mistakes(
        "[roles.one]\ntokens = []\noperations = ['*']\n[roles.two]\nclaims = [ ]\noperations = ['*']\n",
        &[
            "2:10: `roles.one.tokens`: an empty list has no callers; remove the key for all callers, or the role",
            "5:10: `roles.two.claims`: an empty list has no callers; remove the key for all callers, or the role",
        ],
    );
    check_mistakes(
        "[databases.sales]\nurl = 'hr.db'\n[roles.one]\nclaims = ['role:a']\noperations = ['*']\ndatabases = ['sale']\n",
        &[
            "4:11: `roles.one.claims`: claims apply to signed tokens: set access.jwks, too",
            "6:14: `roles.one.databases`: unknown database `sale`; did you mean `sales`?",
        ],
    );
}

#[test]
fn the_doctor_checks_roles() {
    let role = "[databases.hr]\nurl = 'hr.db'\n[roles.one]\noperations = ['*']\ndatabases = ";
    for (databases, expected) in [
        ("['hr']", "ok       names: all names are known"),
        ("['rh']", "5:14: `roles.one.databases`: unknown database `rh`"),
    ] {
        let folder = folder(&format!("{role}{databases}\n"));
        let Ended { stdout, .. } = run(trunkline(folder.path()).args(["doctor", "--port", "0"]));
        assert!(stdout.contains(expected), "{stdout}");
    }
}

#[test]
fn unknown_operations_are_refused_at_the_start() {
    let folder = folder(
        "[databases.hr]\nurl = 'hr.db'\n[roles.one]\noperations = ['db.list_tabels', 'history', 'admin.reload']\ndeny = ['dbs.*', 'agent.chat']\n",
    );
    let ended = run(trunkline(folder.path()).args(["--listen", "127.0.0.1:0"]));
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    for line in [
        "trunkline.toml:4:15: `roles.one.operations`: no operation matches `db.list_tabels`; did you mean `db.list_tables`?",
        "trunkline.toml:5:9: `roles.one.deny`: no operation matches `dbs.*`; did you mean `db.*`?",
    ] {
        assert!(ended.stderr.contains(line), "{line}: {}", ended.stderr);
    }
    assert!(ended.stderr.contains("2 mistakes"), "{}", ended.stderr);
}

#[test]
fn the_same_token_cannot_have_two_names() {
    let folder = folder("[access.tokens]\none = { file = 'reader' }\ntwo = { file = 'reader' }\n");
    let ended = run(trunkline(folder.path()).args(["--listen", "127.0.0.1:0"]));
    assert!(ended.stderr.contains("the tokens `one` and `two` are the same"), "{}", ended.stderr);
}

/// The principal of a named token is its name. Calls that roles refuse have one entry, without a digest of the params, and
/// are refused before these are validated.
#[test]
fn the_audit_log_has_the_names_of_tokens_and_refusals() {
    let folder = folder(&format!("{TOKENS}{}{DATABASES}", listed_roles()));
    let server = serve(folder.path(), &["--audit-log", "audit.jsonl"]);
    let entries = || -> Vec<Value> {
        let log = fs::read_to_string(folder.path().join("audit.jsonl")).unwrap();
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let valid = json!({"database": "shop", "table_name": "item", "data": {"name": "a"}});
    let invalid = json!({"database": "shop", "table": 1});
    let tool =
        |params: &Value| rpc("tools/call", &json!({"name": "insert_record", "arguments": params}));
    let insert = |params: &Value| rpc("db.insert_record", params);
    let refused = &["refused"][..];
    for (path, token, body, outcomes) in [
        ("/", "clerk", insert(&valid), &["begin", "ok"][..]),
        ("/", "clerk", insert(&invalid), &["begin", "error"]),
        ("/", "nobody", insert(&valid), refused),
        ("/", "nobody", insert(&invalid), refused),
        ("/", "nobody", json!([insert(&valid), insert(&invalid)]), &["refused", "refused"]),
        ("/", "nobody", tool(&invalid), refused),
        ("/mcp", "nobody", tool(&valid), refused),
        ("/mcp", "nobody", tool(&invalid), refused),
        ("/", "reader", insert(&valid), refused),
        ("/", "nobody", rpc("db.list_tables", &json!({})), &[]),
        ("/", "nobody", rpc("db.nope", &json!({})), &[]),
    ] {
        let before = entries().len();
        let reply = server.connect().ask(&post(path, &[&bearer(token)], &body)).json().to_string();
        assert_eq!(reply.contains("-32008"), token != "clerk", "{token} {body}: {reply}");
        let found = entries().split_off(before);
        let outcome = |entry: &Value| entry["outcome"].as_str().unwrap_or("begin").to_owned();
        assert_eq!(found.iter().map(outcome).collect::<Vec<_>>(), outcomes, "{token} {body}");
        for entry in found {
            assert_eq!(entry["principal"], token, "{entry}");
            assert_eq!(entry["database"], "shop", "{entry}");
            assert_eq!(entry["params_sha256"].is_null(), entry["outcome"] == "refused", "{entry}");
        }
    }
}

/// Positions and duplicates may name another database for the operation than for the rules.
#[test]
fn roles_with_databases_refuse_calls_without_a_certain_database() {
    let folder = folder(&format!("{TOKENS}{}{DATABASES}", listed_roles()));
    let server = serve(folder.path(), &[]);
    for (token, params, status) in [
        ("reader", json!({"database": "hr"}), 200),
        ("reader", json!({}), 200),
        ("reader", json!([]), 200),
        ("reader", json!(["%"]), 403),
        ("admin", json!(["%"]), 200),
    ] {
        let body = rpc("db.list_tables", &params);
        let reply = server.connect().ask(&post("/", &[&bearer(token)], &body));
        assert_eq!(reply.status, status, "{token} {params}: {reply:?}");
        if status == 403 {
            assert!(reply.json().to_string().contains("send params by name"), "{reply:?}");
        }
    }
}
