//! The web console: its pages without a browser. `cargo xtask console` uses a browser.

use serde_json::{Value, json};

use crate::access::Issuer;
use crate::support::{Connection, Reply, Server, post, tpch, trunkline, with_content};

/// The text of a page, with its status and headers.
pub(crate) struct Page {
    pub(crate) reply: Reply,
    pub(crate) text: String,
}

fn ask(server: &Server, request: &str) -> Page {
    let reply = server.connect().ask(request);
    let text = String::from_utf8_lossy(&reply.body).into_owned();
    Page { reply, text }
}

pub(crate) fn get(server: &Server, path: &str, headers: &[&str]) -> Page {
    let mut request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n");
    for header in headers {
        request += &format!("{header}\r\n");
    }
    ask(server, &(request + "\r\n"))
}

pub(crate) const ORIGIN: &str = "Origin: http://localhost";

pub(crate) fn send(server: &Server, path: &str, headers: &[&str], fields: &[(&str, &str)]) -> Page {
    let fields = fields.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value)));
    let body = fields.collect::<Vec<_>>().join("&");
    let mut request = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\n");
    for header in headers {
        request += &format!("{header}\r\n");
    }
    let length = body.len();
    let form = "Content-Type: application/x-www-form-urlencoded";
    ask(server, &format!("{request}{form}\r\nContent-Length: {length}\r\n\r\n{body}"))
}

fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let byte = |byte: u8| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

fn sample(arguments: &[&str]) -> (tempfile::TempDir, Server) {
    let (folder, _) = tpch();
    let mut command = trunkline(folder.path());
    command.args(["--db", "tpch.db", "--listen", "127.0.0.1:0", "--data-dir", "data"]);
    command.args(arguments);
    let server = Server::start(command);
    (folder, server)
}

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

#[test]
fn pages_have_a_strict_policy_and_no_inline_code() {
    let (_folder, server) = sample(&[]);
    for (path, title) in [
        ("/console", "Overview"),
        ("/console/operations", "Operations"),
        ("/console/operations?q=no+such+thing", "Operations"),
        ("/console/operations/db.query_records", "db.query_records"),
        ("/console/operations/db.query_records?params=%7B%22limit%22%3A1%7D", "db.query_records"),
        ("/console/operations/agent.list_tools", "Method not found"),
        ("/console/databases/main", "main"),
        ("/console/databases/none", "Not found"),
        ("/console/databases/main/relations", "Relations"),
        ("/console/databases/main/tables/lineitem", "lineitem"),
        ("/console/databases/main/tables/lineitem?sort=-l_tax&f=l_tax&op=gt&v=0", "lineitem"),
        ("/console/databases/main/tables/none", "Database error"),
        ("/console/databases/main/tables/lineitem/columns", "lineitem"),
        ("/console/databases/main/query", "Query"),
        ("/console/history", "History"),
        ("/console/history?status=bad", "History"),
        ("/console/history/999999", "Not found"),
        ("/console/records/todo", "todo"),
        ("/console/records/todo/new", "New todo"),
        ("/console/records/none", "Not found"),
        ("/console/tools", "Tools"),
        ("/console/agent", "Agent"),
    ] {
        let page = get(&server, path, &[]);
        let is_failure = ["Not found", "Method not found", "Database error"].contains(&title);
        assert_eq!(page.reply.status == 200, !is_failure, "{path}: {}", page.reply.status);
        assert!(
            page.text.contains("<title>") && page.text.contains(title),
            "{path}: {}",
            page.text
        );
        assert_eq!(page.reply.header("content-security-policy"), Some(POLICY), "{path}");
        assert_eq!(page.reply.header("referrer-policy"), Some("same-origin"), "{path}");
        assert_eq!(page.reply.header("x-content-type-options"), Some("nosniff"), "{path}");
        for inline in ["<style", " style=", "<script>", " onclick=", "javascript:", "http://www"] {
            assert!(!page.text.contains(inline), "{path}: {inline}");
        }
        assert_eq!(page.text.matches("<script").count(), 1, "{path}");
    }
    for (path, location) in [
        ("/console/databases", "/console/databases/main"),
        ("/console/records", "/console/records/todo"),
    ] {
        let page = get(&server, path, &[]);
        assert_eq!((page.reply.status, page.reply.header("location")), (303, Some(location)));
    }
}

#[test]
fn features_that_are_off_explain_how_to_turn_them_on() {
    let (_folder, path) = with_content("CREATE TABLE t(a)");
    let mut command = trunkline(path.parent().unwrap());
    command.args(["--port", "0", "--no-history", "--upstream", "none=http://127.0.0.1:9/mcp"]);
    let server = Server::start_without_data_directory(command);
    for (path, remedy) in [
        ("/console/databases", "--db"),
        ("/console/records", "--data-dir"),
        ("/console/records/todo", "--data-dir"),
        ("/console/history", "--no-history"),
        ("/console/tools", "--command-tools"),
        ("/console/agent", "--agent-model"),
    ] {
        let page = get(&server, path, &[]);
        assert!(page.reply.status == 200 && page.text.contains(remedy), "{path}: {}", page.text);
    }
    // The upstream that cannot be reached.
    assert!(get(&server, "/console/tools", &[]).text.contains("Last error"));
    let reconnect = [("action", "reconnect"), ("upstream", "none")];
    let page = send(&server, "/console/tools", &[ORIGIN], &reconnect);
    assert_eq!(page.reply.header("location"), Some("/console/tools?done=reconnected"));
    let unknown = [("action", "reconnect"), ("upstream", "other")];
    let page = send(&server, "/console/tools", &[ORIGIN], &unknown);
    assert!(page.text.contains("role=\"alert\""), "{}", page.text);
}

#[test]
fn the_console_is_served_on_loopback_addresses_by_default() {
    for (arguments, status) in [
        (&["--port", "0"][..], 200),
        (&["--port", "0", "--no-console"], 404),
        (&["--port", "0", "--console=false"], 404),
        (&["--listen", "0.0.0.0:0", "--bearer", "t"], 404),
        (&["--listen", "0.0.0.0:0", "--bearer", "t", "--console"], 401),
    ] {
        let (folder, _path) = with_content("CREATE TABLE t(a)");
        let mut command = trunkline(folder.path());
        command.args(["--db", "a.db"]).args(arguments);
        let mut server = Server::start(command);
        server.address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
        assert_eq!(get(&server, "/console", &[]).reply.status, status, "{arguments:?}");
    }
}

/// The page of a table and the query box link to CSV whose texts are not formulas.
#[test]
fn pages_link_to_exports_for_spreadsheets() {
    let (folder, _path) =
        with_content("CREATE TABLE f (a TEXT); INSERT INTO f VALUES ('=cmd|x'), ('y')");
    let mut command = trunkline(folder.path());
    command.args(["--db", "a.db", "--port", "0", "--data-dir", "data"]);
    let server = Server::start(command);
    let query = [("sql", "SELECT a FROM f")];
    for page in [
        get(&server, "/console/databases/main/tables/f", &[]),
        send(&server, "/console/databases/main/query", &[ORIGIN], &query),
    ] {
        let (before, _) = page.text.split_once(">CSV for spreadsheets</a>").expect(&page.text);
        let link = before.rsplit_once("<a href=\"").unwrap().1.split('"').next().unwrap();
        let link = link.replace("&#38;", "&").replace("&amp;", "&");
        let mut connection = server.connect();
        let request = format!("GET {link} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let mut body = connection.ask(&request).body;
        connection.chunks(|chunk| body.extend_from_slice(chunk));
        assert_eq!(String::from_utf8_lossy(&body), "a\n'=cmd|x\ny\n", "{link}");
    }
}

/// Names and values that would be code if they were not escaped.
const HOSTILE: &str = r#"
    CREATE TABLE "<img src=x onerror=alert(1)>""'&" (id INTEGER PRIMARY KEY, "<b>""'&" TEXT, u TEXT);
    INSERT INTO "<img src=x onerror=alert(1)>""'&" VALUES
        (1, '</script><script>alert(1)</script>', 'javascript:alert(1)'), (2, '" onmouseover="alert(1)', 'data:text/html,x');
"#;

#[test]
fn hostile_names_and_values_are_escaped() {
    let (folder, _path) = with_content(HOSTILE);
    let mut command = trunkline(folder.path());
    command.args(["--db", "a.db", "--port", "0", "--data-dir", "data"]);
    let server = Server::start(command);
    let name = "<img src=x onerror=alert(1)>\"'&";
    let table = format!("/console/databases/main/tables/{}", encoded(name));
    let value = "</script><script>alert(1)</script>";
    let query = encoded(value);
    let created = json!({"id": name, "title": value});
    assert_eq!(server.call("todo.create", &created)["result"]["title"], value);
    server.call("db.query_records", &json!({"table_name": value}));
    let mut pages = vec![
        get(&server, "/console/databases/main", &[]),
        get(&server, "/console/databases/main/relations", &[]),
        get(&server, &table, &[]),
        get(&server, &format!("{table}?f=id&op=eq&v=1"), &[]),
        get(&server, &format!("{table}?f={query}&op={query}&v={query}"), &[]),
        get(&server, &format!("{table}/columns"), &[]),
        get(&server, &format!("/console/databases/{query}"), &[]),
        get(&server, &format!("/console/databases/main?q={query}"), &[]),
        get(&server, &format!("/console/databases/main/query?sql={query}"), &[]),
        get(&server, &format!("/console/operations?q={query}"), &[]),
        get(&server, &format!("/console/operations/{query}"), &[]),
        get(&server, &format!("/console/operations/db.query_records?params={query}"), &[]),
        get(&server, &format!("/console/history?method={query}&principal={query}"), &[]),
        get(&server, "/console/history", &[]),
        get(&server, "/console/history/2", &[]),
        get(&server, "/console/records/todo", &[]),
        get(&server, &format!("/console/records/todo/item/{}", encoded(name)), &[]),
        get(&server, &format!("/console/records/todo?request={query}&done=created"), &[]),
    ];
    let sql = format!("SELECT * FROM \"{}\"", name.replace('"', "\"\""));
    for fields in [
        &[("sql", &*sql), ("action", "run"), ("chart", "bar")][..],
        &[("sql", &*sql), ("action", "plan")],
        &[("sql", value)],
    ] {
        pages.push(send(&server, "/console/databases/main/query", &[ORIGIN], fields));
    }
    let path = "/console/operations/db.query_records";
    let json = json!({"table_name": name}).to_string();
    for fields in [
        &[("p.table_name", name)][..],
        &[("p.table_name", value), ("p.filters", value)],
        &[("mode", "json"), ("json", &json)],
        &[("mode", "json"), ("json", value)],
    ] {
        pages.push(send(&server, path, &[ORIGIN], fields));
    }
    for page in pages {
        let text = &page.text;
        assert!(text.starts_with("<!doctype html>"), "{text}");
        for code in [
            "<img src=x",
            "<script>",
            "<b>",
            "\" onmouseover",
            "href=\"javascript:",
            "href=\"data:",
        ] {
            assert!(!text.contains(code), "{code} in {text}");
        }
    }
}

#[test]
fn forms_are_accepted_from_own_pages_only() {
    let (_folder, server) = sample(&["--writable"]);
    let path = "/console/operations/db.list_tables";
    for (headers, status) in [
        (&[ORIGIN][..], 200),
        (&[], 403),
        (&["Origin: null"], 403),
        (&["Origin: http://localhost:1"], 403),
        (&["Origin: https://evil.example"], 403),
        (&[ORIGIN, ORIGIN], 400),
    ] {
        let page = send(&server, path, headers, &[("p.pattern", "n%")]);
        assert_eq!(page.reply.status, status, "{headers:?}: {}", page.text);
    }
    let json = server.connect().ask(&post(path, &[ORIGIN], &json!({})));
    assert_eq!(json.status, 415);
    let method = ask(&server, &format!("DELETE {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    assert_eq!(method.reply.status, 405);
}

#[test]
fn calls_are_validated_confirmed_and_recorded() {
    // A confirmed form needs no confirmation code.
    let (_folder, server) = sample(&["--writable", "--confirm-destructive"]);
    let call = |name: &str, fields: &[(&str, &str)]| {
        send(&server, &format!("/console/operations/{name}"), &[ORIGIN], fields)
    };
    let page = call("db.query_records", &[("p.table_name", "region"), ("p.limit", "2")]);
    assert!(page.text.contains("AFRICA") && page.text.contains("r_regionkey"), "{}", page.text);
    let curl = "&quot;params&quot;:{&quot;limit&quot;:2,&quot;table_name&quot;:&quot;region&quot;}";
    let curl = curl.replace("&quot;", "&#34;");
    assert!(page.text.contains(&curl), "{}", page.text);
    let page = call("db.query_records", &[("p.table_name", "region"), ("p.limit", "x")]);
    assert_eq!(page.reply.status, 422);
    assert!(page.text.contains("expected a number"));
    let page = call("db.query_records", &[("p.table_name", "none")]);
    assert!(page.reply.status == 200 && page.text.contains("unknown table"), "{}", page.text);

    let delete = [("p.table_name", "lineitem"), ("p.filters", r#"{"l_orderkey": 1}"#)];
    let count =
        || server.sql(&json!({"query": "SELECT count(*) FROM lineitem WHERE l_orderkey = 1"}));
    let before = count();
    let page = call("db.delete_record", &delete);
    assert!(page.text.contains("Confirm and call"), "{}", page.text);
    assert_eq!(count(), before);
    let mut confirmed = delete.to_vec();
    confirmed.push(("confirm", "yes"));
    let page = call("db.delete_record", &confirmed);
    assert!(page.text.contains("rows_affected"), "{}", page.text);
    assert_eq!(count(), Ok(json!([[0]])));

    let history = server.connect().get("/history?endpoint=console&limit=10").json();
    let entries = history["entries"].as_array().unwrap();
    let outcome = |entry: &Value| format!("{} {}", entry["method"], entry["status"]);
    let outcomes: Vec<String> = entries.iter().map(outcome).collect();
    let expected = [
        "\"db.delete_record\" \"result\"",
        "\"db.query_records\" \"error\"",
        "\"db.query_records\" \"result\"",
    ];
    assert_eq!(outcomes, expected);

    // A read can be repeated, a change only opened in its form.
    let sequence = |index: usize| entries[index]["sequence"].as_u64().unwrap();
    let read = get(&server, &format!("/console/history/{}", sequence(2)), &[]);
    assert!(read.text.contains("Repeat the call") && read.text.contains("AFRICA"), "{}", read.text);
    let change = get(&server, &format!("/console/history/{}", sequence(0)), &[]);
    assert!(!change.text.contains("Repeat the call") && change.text.contains("Open in the form"));
}

/// With and without `--confirm-destructive`, and each time: the box for changes is not ticked afterwards.
#[test]
fn statements_that_change_data_are_confirmed() {
    for flags in [&["--writable"][..], &["--writable", "--confirm-destructive"]] {
        let (_folder, server) = sample(flags);
        let path = "/console/databases/main/query";
        let sql = "DELETE FROM lineitem WHERE l_orderkey = 1";
        let count =
            || server.sql(&json!({"query": "SELECT count(*) FROM lineitem WHERE l_orderkey = 1"}));
        let before = count();
        let run = |fields: &[(&str, &str)]| {
            let page = send(&server, path, &[ORIGIN], &[&[("action", "run")], fields].concat());
            assert!(!page.text.contains(r#"value="yes" checked"#), "{fields:?}: {}", page.text);
            page.text
        };
        let refused = run(&[("sql", sql)]);
        assert!(refused.contains("allow changes") || refused.contains("read_only"), "{refused}");
        let question = run(&[("sql", sql), ("changes", "yes")]);
        assert!(question.contains("Confirm and run") && question.contains(sql), "{question}");
        assert_eq!(count(), before, "{flags:?}");
        let done = run(&[("sql", sql), ("changes", "yes"), ("confirm", "yes")]);
        assert!(done.contains("rows_affected"), "{done}");
        assert_eq!(count(), Ok(json!([[0]])), "{flags:?}");
        let linked = get(&server, &format!("{path}?changes=yes&confirm=yes&sql=DELETE"), &[]);
        assert!(!linked.text.contains(r#"value="yes" checked"#), "{}", linked.text);
        let read = run(&[("sql", "SELECT 41 + 1"), ("changes", "")]);
        assert!(read.contains(">42<") && !read.contains("Confirm and run"), "{read}");
    }
}

#[test]
fn tables_have_pages_filters_and_whole_values() {
    let (folder, _path) = with_content(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
         WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n LIMIT 10000)
         INSERT INTO t SELECT i, 'row ' || i FROM n;
         CREATE TABLE big(id INTEGER PRIMARY KEY, v TEXT);
         INSERT INTO big VALUES (1, replace(hex(zeroblob(500000)), '00', 'é'));",
    );
    let mut command = trunkline(folder.path());
    command.args(["--db", "a.db", "--port", "0"]);
    let server = Server::start(command);
    let table = "/console/databases/main/tables/t";
    let rows = |page: &Page| page.text.matches("<td class=\"number\">").count();
    let first = get(&server, table, &[]);
    assert_eq!(rows(&first), 50);
    let next = first.text.split("rel=\"next\"").next().unwrap().rsplit("href=\"").next().unwrap();
    let second = get(&server, &next.split('"').next().unwrap().replace("&#38;", "&"), &[]);
    assert!(
        second.text.contains(">row 51<") && second.text.contains("First page"),
        "{}",
        second.text
    );
    let filtered = get(&server, &format!("{table}?f=id&op=gt&v=9998&f=v&op=like&v=row%25"), &[]);
    assert_eq!(rows(&filtered), 2, "{}", filtered.text);
    let sorted = get(&server, &format!("{table}?sort=-id&limit=1"), &[]);
    assert!(
        sorted.text.contains(">row 10000<") && sorted.text.contains("aria-sort=\"descending\"")
    );

    let page = get(&server, "/console/databases/main/tables/big", &[]);
    assert!(page.text.len() < 20_000 && page.text.contains("1.0 MB"), "{}", page.text.len());
    let href =
        page.text.split("class=\"whole\" href=\"").nth(1).unwrap().split('"').next().unwrap();
    let whole = get(&server, &href.replace("&#38;", "&"), &[]);
    assert_eq!(whole.reply.header("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(whole.text, "é".repeat(500_000));
}

#[test]
fn records_are_created_changed_and_reverted() {
    let (_folder, server) = sample(&[]);
    let path = "/console/records/todo";
    let create = [("p.title", "tea"), ("p.priority", "\"high\""), ("p.id", "a/b c")];
    let created = send(&server, path, &[ORIGIN], &create);
    let location = created.reply.header("location").unwrap().to_owned();
    assert!(location.starts_with("/console/records/todo/item/a%2Fb%20c?done=created&request="));
    let item = location.split('?').next().unwrap();
    let record = || server.call("todo.read", &json!({"id": "a/b c"}));
    assert_eq!(record()["result"]["priority"], "high");
    let page = get(&server, &location, &[]);
    assert!(page.text.contains("The record was created.") && page.text.contains("Undo"));

    let update = [("p.title", "coffee"), ("p.priority", ""), ("p.done", "true"), ("version", "1")];
    let updated = send(&server, item, &[ORIGIN], &update);
    assert_eq!(updated.reply.status, 303, "{}", updated.text);
    let changed = record();
    let result = &changed["result"];
    assert_eq!(result["title"], "coffee");
    assert_eq!((&result["done"], &result["priority"]), (&json!(true), &json!("normal")));
    // The version of the form is older.
    let conflict = send(&server, item, &[ORIGIN], &update);
    assert_eq!(conflict.reply.status, 409, "{}", conflict.text);
    assert!(conflict.text.contains("role=\"alert\""), "{}", conflict.text);

    let page = get(&server, item, &[]);
    assert_eq!(page.text.matches(">Undo</button>").count(), 2, "{}", page.text);
    let request = updated.reply.header("location").unwrap().split("request=").nth(1).unwrap();
    let undone = send(&server, item, &[ORIGIN], &[("revert", request), ("id", "a/b c")]);
    assert!(undone.reply.header("location").unwrap().ends_with("?done=reverted"));
    assert_eq!(record()["result"]["title"], "tea");

    let deleted = send(&server, item, &[ORIGIN], &[("action", "delete"), ("version", "3")]);
    assert!(
        deleted.reply.header("location").unwrap().starts_with("/console/records/todo?done=deleted")
    );
    assert_eq!(record()["error"]["code"], -32011);
    let request = deleted.reply.header("location").unwrap().split("request=").nth(1).unwrap();
    send(&server, path, &[ORIGIN], &[("revert", request)]);
    assert_eq!(record()["result"]["title"], "tea");
}

/// The value of the session's cookie.
fn cookie(page: &Page) -> String {
    let cookie = page.reply.header("set-cookie").unwrap();
    assert!(cookie.ends_with("; Path=/console; HttpOnly; SameSite=Strict"), "{cookie}");
    assert!(cookie.starts_with("trunkline_session_0="), "with the port of --listen: {cookie}");
    format!("Cookie: {}", cookie.split(';').next().unwrap())
}

#[test]
fn sessions_replace_tokens_in_browsers() {
    let (_folder, server) = sample(&["--bearer", "good-token"]);
    let page = get(&server, "/console/history?method=a", &[]);
    assert_eq!(page.reply.status, 401);
    assert_eq!(page.reply.header("content-security-policy"), Some(POLICY));
    assert!(page.text.contains("value=\"/console/history?method=a\""), "{}", page.text);
    let asset = page.text.split("stylesheet\" href=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(get(&server, asset, &[]).reply.status, 200);

    let form = |token| [("token", token), ("next", "/console/history?method=a")];
    let path = "/console/sign-in";
    assert_eq!(send(&server, path, &[], &form("good-token")).reply.status, 403);
    let wrong = send(&server, path, &[ORIGIN], &form("wrong"));
    assert_eq!((wrong.reply.status, wrong.reply.header("set-cookie")), (401, None));
    let right = send(&server, path, &[ORIGIN], &form("good-token"));
    assert_eq!(right.reply.status, 303);
    assert_eq!(right.reply.header("location"), Some("/console/history?method=a"));
    let session = cookie(&right);
    let other =
        send(&server, path, &[ORIGIN], &[("token", "good-token"), ("next", "//evil.example")]);
    assert_eq!(other.reply.header("location"), Some("/console"));

    // Endpoints accept the session under the path that the cookie is sent to.
    let export = "/db/main/query?sql=SELECT+1";
    for (path, status) in [
        ("/console", 200),
        ("/console/databases/main", 200),
        ("/console/data/history", 200),
        (&format!("/console/data{export}"), 200),
        ("/history", 401),
        (export, 401),
    ] {
        assert_eq!(get(&server, path, &[&session]).reply.status, status, "{path}");
        assert_eq!(get(&server, path, &[]).reply.status, 401, "{path}");
        let token = "Authorization: Bearer good-token";
        assert_eq!(get(&server, path, &[token]).reply.status, 200, "{path}");
        assert_eq!(get(&server, path, &[&session, "Authorization: Bearer x"]).reply.status, 401);
    }
    // Other endpoints, and requests of other origins, need a token.
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "agent.list_conversations"});
    for (path, headers, status) in [
        ("/rpc", &[&*session, ORIGIN][..], 401),
        ("/mcp", &[&session, ORIGIN], 401),
        ("/api", &[&session, ORIGIN], 401),
        ("/console/data/api", &[&session, ORIGIN], 200),
        ("/console/data/api", &[&session], 403),
        ("/console/data/api", &[&session, "Origin: http://localhost:1"], 403),
    ] {
        let reply = server.connect().ask(&post(path, headers, &list));
        assert_eq!(reply.status, status, "{path} {headers:?}");
    }
    let signed_out = send(&server, "/console/sign-out", &[ORIGIN, &session], &[]);
    assert!(signed_out.reply.header("set-cookie").unwrap().ends_with("; Max-Age=0"));
    assert_eq!(get(&server, "/console", &[&session]).reply.status, 401);
}

/// The pages link to the endpoints that accept the cookie.
#[test]
fn pages_use_paths_of_the_console() {
    let (_folder, server) = sample(&[]);
    let sql = [("sql", "SELECT 1")];
    let query = send(&server, "/console/databases/main/query", &[ORIGIN], &sql);
    let history = get(&server, "/console/history", &[]);
    let script = history.text.split("src=\"").nth(1).unwrap().split('"').next().unwrap();
    let script = get(&server, script, &[]);
    for (page, path) in [
        (&query, "/console/data/db/main/query?sql="),
        (&history, "/console/data/history/stream"),
        (&script, "/console/data/api"),
    ] {
        assert!(page.text.contains(&format!("\"{path}")), "{path}: {}", page.text);
    }
}

#[test]
fn failed_sign_ins_are_limited_for_each_address() {
    let (_folder, server) = sample(&["--bearer", "good-token"]);
    let sign_in = |from: &str, token: &str| {
        let body = format!("token={token}");
        let mut connection = Connection::open_from(from.parse().unwrap(), server.address);
        let reply = connection.ask(&format!(
            "POST /console/sign-in HTTP/1.1\r\nHost: localhost\r\n{ORIGIN}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        let text = String::from_utf8_lossy(&reply.body).into_owned();
        Page { reply, text }
    };
    // The limit holds for concurrent guesses, too.
    let statuses = std::thread::scope(|scope| {
        let guess = || sign_in("127.0.0.1", "guess").reply.status;
        let guesses: Vec<_> = (0..20).map(|_| scope.spawn(guess)).collect();
        guesses.into_iter().map(|one| one.join().unwrap()).collect::<Vec<_>>()
    });
    let verified = statuses.iter().filter(|status| **status == 401).count();
    // Another one is allowed every 6 s.
    assert!((10..15).contains(&verified), "{statuses:?}");
    assert!(statuses.iter().all(|status| [401, 429].contains(status)), "{statuses:?}");
    let refused = sign_in("127.0.0.1", "good-token");
    assert_eq!(refused.reply.status, 429, "{}", refused.text);
    let seconds: u64 = refused.reply.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=7).contains(&seconds), "{seconds}");
    assert!(refused.text.contains("Too many sign-ins from this address"), "{}", refused.text);
    for _ in 0..15 {
        assert_eq!(sign_in("127.0.0.2", "good-token").reply.status, 303, "another address");
    }
    // Requests with a token are not concerned.
    let page = get(&server, "/console", &["Authorization: Bearer good-token"]);
    assert_eq!(page.reply.status, 200);
}

#[test]
fn access_rules_apply_to_pages() {
    let (folder, _) = tpch();
    let issuer = Issuer::new();
    issuer.publish(folder.path());
    let mut command = trunkline(folder.path());
    command.args([
        "--db",
        "tpch.db",
        "--port",
        "0",
        "--jwks",
        "jwks.json",
        "--audience",
        "trunkline",
    ]);
    command.args(["--require", "db.*=role:reader", "--require", "history=role:admin"]);
    let server = Server::start(command);
    let signed_in = |claims: Value| {
        let token = issuer.token(claims);
        let token = token.strip_prefix("Authorization: Bearer ").unwrap().to_owned();
        cookie(&send(&server, "/console/sign-in", &[ORIGIN], &[("token", &token)]))
    };
    let sessions = [json!({"sub": "a"}), json!({"sub": "b", "role": ["reader", "admin"]})];
    let [stranger, admin] = sessions.map(signed_in);
    for (path, expected) in [
        ("/console", [200, 200]),
        ("/console/operations/db.list_tables", [404, 200]),
        ("/console/databases/main", [403, 200]),
        ("/console/databases/main/tables/region", [403, 200]),
        ("/console/history", [403, 200]),
        ("/console/data/history", [403, 200]),
    ] {
        let found = [&stranger, &admin].map(|session| get(&server, path, &[session]).reply.status);
        assert_eq!(found, expected, "{path}");
    }
    assert!(!get(&server, "/console/operations", &[&stranger]).text.contains("db.list_tables"));
    assert!(get(&server, "/console/operations", &[&admin]).text.contains("db.list_tables"));
    let sql = [("sql", "SELECT 1")];
    let page = send(&server, "/console/databases/main/query", &[ORIGIN, &stranger], &sql);
    assert!(page.text.contains("Forbidden"), "{}", page.text);
}

/// The browser behind a proxy uses https, which the server does not see.
#[test]
fn the_cookie_is_secure_if_the_browser_uses_https() {
    const PROXY: &str = "X-Forwarded-Proto: https";
    let (_folder, server) = sample(&["--bearer", "t"]);
    for (headers, expected) in [
        (&[ORIGIN][..], false),
        (&["Origin: https://localhost"], true),
        (&[ORIGIN, PROXY], true),
        (&[ORIGIN, "X-Forwarded-Proto: http"], false),
    ] {
        for (path, fields) in [("sign-in", &[("token", "t")][..]), ("sign-out", &[])] {
            let page = send(&server, &format!("/console/{path}"), headers, fields);
            let cookie = page.reply.header("set-cookie").unwrap();
            assert_eq!(cookie.contains("; Secure"), expected, "{path} {headers:?}: {cookie}");
        }
    }
    let page =
        get(&server, "/console/operations/db.list_tables", &["Authorization: Bearer t", PROXY]);
    assert!(page.text.contains("https://localhost/"), "{}", page.text);

    let (folder, _) = tpch();
    Issuer::new().publish(folder.path());
    let mut command = trunkline(folder.path());
    command.args([
        "--db",
        "tpch.db",
        "--listen",
        "127.0.0.1:0",
        "--bearer",
        "t",
        "--jwks",
        "jwks.json",
    ]);
    command.args([
        "--resource-url",
        "https://db.example.com/mcp",
        "--authorization-server",
        "https://a.example",
    ]);
    let server = Server::start(command);
    let page = send(&server, "/console/sign-in", &[ORIGIN], &[("token", "t")]);
    assert!(page.reply.header("set-cookie").unwrap().contains("; Secure"));
}
