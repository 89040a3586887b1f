//! The server as an OAuth resource: metadata, challenges, scopes of methods.

use std::fs;

use serde_json::{Value, json};

use crate::access::Issuer;
use crate::records::{create, place, rpc};
use crate::support::{Model, Server, post, run, tpch, trunkline};

const URL: &str = "https://db.example.com/mcp";
const METADATA: &str =
    r#"resource_metadata="https://db.example.com/.well-known/oauth-protected-resource/mcp""#;

/// The flags of a resource whose tokens `issuer` issues, but not those of scopes.
const RESOURCE: [&str; 6] = [
    "--jwks",
    "jwks.json",
    "--resource-url",
    URL,
    "--authorization-server",
    "https://login.example",
];
const SCOPES: [&str; 4] = ["--read-scope", "trunkline:read", "--write-scope", "trunkline:write"];

fn token(issuer: &Issuer, scope: &str) -> String {
    issuer.token(json!({"iss": "https://login.example", "aud": URL, "scope": scope}))
}

#[test]
fn scopes_apply_over_all_protocols() {
    let folder = place();
    let issuer = Issuer::new();
    issuer.publish(folder.path());
    let model = Model::listing();
    let arguments =
        [&RESOURCE[..], &SCOPES, &["--bearer", "operator", "--expose", "todo"], &model.flags()]
            .concat();
    let server = crate::records::serve(folder.path(), &arguments);
    let tool = |name: &str| rpc("tools/call", &json!({"name": name, "arguments": {}}));
    let read = json!({"command": "list", "resource": "todo"});
    // A path, a request, and whether it changes data.
    let rows = [
        ("/", rpc("db.list_tables", &json!({})), false),
        ("/rpc", rpc("todo.delete", &json!({"id": "none"})), true),
        ("/mcp", tool("list_tables"), false),
        ("/mcp", tool("todo_create"), true),
        ("/execute", read, false),
        ("/execute", create("a"), true),
        ("/api", rpc("agent.list_conversations", &json!({})), false),
        ("/api", rpc("agent.refresh_capabilities", &json!({})), true),
    ];
    let callers = [
        ("no token", "X-None: 0".to_owned(), [Some("401 read"); 2]),
        ("no scope", token(&issuer, "other"), [Some("403 read"), Some("403 write")]),
        ("reader", token(&issuer, "trunkline:read"), [None, Some("403 write")]),
        ("writer", token(&issuer, "trunkline:write"), [None, None]),
        ("both", token(&issuer, "trunkline:read trunkline:write"), [None, None]),
        ("operator", "Authorization: Bearer operator".to_owned(), [None, None]),
    ];
    for (path, body, changes) in &rows {
        for (name, header, expected) in &callers {
            let reply = server.connect().ask(&post(path, &[header], body));
            let challenge = reply.header("www-authenticate");
            let expected = expected[usize::from(*changes)].map(|expected| {
                let (status, scope) = expected.split_once(' ').unwrap();
                match status {
                    "401" => (401, format!("Bearer {METADATA}, scope=\"trunkline:{scope}\"")),
                    _ => (403, format!("Bearer error=\"insufficient_scope\", scope=\"trunkline:{scope}\", {METADATA}")),
                }
            });
            match expected {
                Some((status, expected)) => {
                    assert_eq!(reply.status, status, "{name}: {path} {body}");
                    assert_eq!(challenge, Some(expected.as_str()), "{name}: {path} {body}");
                }
                None => {
                    assert!(
                        ![401, 403].contains(&reply.status),
                        "{name}: {path} {body}: {reply:?}"
                    );
                }
            }
        }
    }
    let reader = token(&issuer, "trunkline:read");
    let batch = json!([rpc("db.list_tables", &json!({})), rpc("todo.delete", &json!({"id": "a"}))]);
    let replies = server.connect().ask(&post("/", &[&reader], &batch)).json();
    assert_eq!(replies[0]["error"], Value::Null, "{replies}");
    assert_eq!(replies[1]["error"]["data"]["scopes"], json!(["trunkline:write"]));
}

#[test]
fn metadata_names_the_authorization_servers() {
    let (folder, _) = tpch();
    let issuer = Issuer::new();
    issuer.publish(folder.path());
    let no_scopes: &[&str] = &[];
    let supported = json!(["trunkline:read", "trunkline:write"]);
    let rows = [
        ("scopes", &SCOPES[..], supported, 403),
        ("no scopes", no_scopes, Value::Null, 200),
        ("one scope", &SCOPES[2..], json!(["trunkline:write"]), 200),
    ];
    for (name, scopes, supported, status) in rows {
        let mut command = trunkline(folder.path());
        command.args(["--db", "tpch.db", "--listen", "127.0.0.1:0"]).args(RESOURCE).args(scopes);
        let server = Server::start(command);
        let paths = [
            "/.well-known/oauth-protected-resource/mcp",
            "/.well-known/oauth-protected-resource/mcp/",
            "/.well-known/oauth-protected-resource",
            "/.well-known/oauth-protected-resource/",
        ];
        for path in paths {
            // The host of the resource is an accepted one.
            let request = format!("GET {path} HTTP/1.1\r\nHost: db.example.com\r\n\r\n");
            let reply = server.connect().ask(&request);
            assert_eq!(reply.status, 200, "{name}: {reply:?}");
            assert_eq!(reply.header("cache-control"), Some("max-age=3600"), "{name}");
            let metadata = reply.json();
            assert_eq!(metadata["resource"], URL, "{name}");
            assert_eq!(metadata["authorization_servers"], json!(["https://login.example"]));
            assert_eq!(metadata["scopes_supported"], supported, "{name}");
        }
        let call = rpc("db.list_tables", &json!({}));
        let issuer_name = "https://login.example";
        for (claims, expected) in [
            (json!({"iss": issuer_name, "aud": URL}), status),
            (json!({"iss": issuer_name, "aud": ["a", "https://DB.example.com:443/mcp"]}), status),
            (json!({"iss": issuer_name, "aud": "https://db.example.com/mcp/"}), status),
            (json!({"iss": "https://login.example/", "aud": URL}), status),
            (json!({"iss": issuer_name, "aud": "https://db.example.com/mcp?x=1"}), 401),
            (json!({"iss": "https://login.example.evil", "aud": URL}), 401),
            (json!({"iss": issuer_name, "aud": "trunkline"}), 401),
            (json!({"iss": issuer_name, "aud": "https://db.example.com"}), 401),
            (json!({"aud": URL}), 401),
        ] {
            let header = issuer.token(claims.clone());
            let found = server.connect().ask(&post("/", &[&header], &call)).status;
            assert_eq!(found, expected, "{name}: {claims}");
        }
    }
}

/// Permissions in other claims: Entra ID for applications, Auth0, Keycloak.
#[test]
fn scopes_of_other_claims() {
    let (folder, _) = tpch();
    let issuer = Issuer::new();
    issuer.publish(folder.path());
    let claim = ["--scope-claim", "roles,permissions,realm_access.roles"];
    let call = rpc("db.list_tables", &json!({}));
    for (arguments, status) in [(&claim[..], 200), (&[], 403)] {
        let mut command = trunkline(folder.path());
        command.args(["--db", "tpch.db", "--listen", "127.0.0.1:0"]).args(RESOURCE).args(SCOPES);
        command.args(arguments);
        let server = Server::start(command);
        for claims in [
            json!({"roles": ["trunkline:read"]}),
            json!({"permissions": ["trunkline:write"]}),
            json!({"permissions": "other trunkline:read"}),
            json!({"realm_access": {"roles": ["trunkline:read"]}}),
        ] {
            let mut all = json!({"iss": "https://login.example", "aud": URL});
            all.as_object_mut().unwrap().extend(claims.as_object().unwrap().clone());
            let header = issuer.token(all);
            let reply = server.connect().ask(&post("/", &[&header], &call));
            assert_eq!(reply.status, status, "{arguments:?} {claims}");
        }
    }
}

/// A server whose clients could not be authorized, or too many of them, does not start.
#[test]
fn contradictory_settings_prevent_the_start() {
    let (folder, _) = tpch();
    Issuer::new().publish(folder.path());
    let jwks = ["--jwks", "jwks.json"];
    let [_, _, url_flag, url, server_flag, server] = RESOURCE;
    let rows: [(&str, Vec<&str>, &str); 14] = [
        ("no keys", vec![url_flag, url, server_flag, server], "give --jwks"),
        ("a scope without keys", vec!["--read-scope", "a"], "give --jwks"),
        (
            "no server",
            [&jwks[..], &[url_flag, url]].concat(),
            "--resource-url requires --authorization-server",
        ),
        (
            "no URL",
            [&jwks[..], &["--audience", "a", server_flag, server]].concat(),
            "--authorization-server requires --resource-url",
        ),
        (
            "any audience",
            [&RESOURCE[..], &["--audience", "*"]].concat(),
            "--audience * contradicts --resource-url",
        ),
        (
            "an empty URL",
            [&jwks[..], &[url_flag, "", server_flag, server]].concat(),
            "must begin with https://",
        ),
        (
            "two slashes",
            [&jwks[..], &[url_flag, "https://h/mcp//", server_flag, server]].concat(),
            "invalid resource URL",
        ),
        ("a claim without keys", vec!["--scope-claim", "roles"], "give --jwks"),
        (
            "a fragment",
            [&jwks[..], &[url_flag, "https://h/mcp#a", server_flag, server]].concat(),
            "use `https://h/mcp`",
        ),
        (
            "no TLS",
            [&jwks[..], &[url_flag, "http://h/mcp", server_flag, server]].concat(),
            "invalid --resource-url http://h/mcp: use https",
        ),
        (
            "a server without TLS",
            [&jwks[..], &[url_flag, url, server_flag, "http://login.example"]].concat(),
            "invalid --authorization-server http://login.example: use https",
        ),
        (
            "an invalid server",
            [&jwks[..], &[url_flag, url, server_flag, "login"]].concat(),
            "invalid --authorization-server login",
        ),
        (
            "two scopes in one",
            [&RESOURCE[..], &["--read-scope", "a b"]].concat(),
            "--read-scope is not a scope",
        ),
        (
            "an empty scope",
            [&RESOURCE[..], &["--write-scope", ""]].concat(),
            "--write-scope is not a scope",
        ),
    ];
    let files = fs::read_dir(folder.path()).unwrap().count();
    for (name, arguments, expected) in rows {
        let mut command = trunkline(folder.path());
        let ended =
            run(command.args(["--db", "tpch.db", "--listen", "127.0.0.1:0"]).args(arguments));
        assert_eq!(ended.code, Some(1), "{name}: {ended:?}");
        assert!(ended.stderr.contains(expected), "{name}: no {expected:?} in {}", ended.stderr);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), files);
}
