//! Signed tokens: the endpoints that accept them, and the rules for their claims.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};

use crate::support::{Model, Server, post, run, tpch, trunkline};

/// An issuer with a new key.
pub(crate) struct Issuer(Ed25519KeyPair);

impl Issuer {
    pub(crate) fn new() -> Self {
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
        Self(Ed25519KeyPair::from_pkcs8_maybe_unchecked(key.serialized_der()).unwrap())
    }

    pub(crate) fn publish(&self, folder: &Path) {
        let x = encode(self.0.public_key().as_ref());
        let keys = [json!({"kty": "OKP", "crv": "Ed25519", "kid": "a", "x": x})];
        fs::write(folder.join("jwks.json"), json!({"keys": keys}).to_string()).unwrap();
    }

    /// A header line with a token. The claims override the default ones.
    pub(crate) fn token(&self, claims: Value) -> String {
        let expiry = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + 300;
        let mut all = json!({"iss": "issuer", "aud": "trunkline", "exp": expiry});
        for (name, value) in claims.as_object().unwrap() {
            all[name] = value.clone();
        }
        let header = encode(json!({"alg": "EdDSA", "kid": "a"}).to_string());
        let message = format!("{header}.{}", encode(all.to_string()));
        let signature = encode(self.0.sign(message.as_bytes()));
        format!("Authorization: Bearer {message}.{signature}")
    }
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

const SERVE: [&str; 6] = ["--db", "tpch.db", "--listen", "0.0.0.0:0", "--jwks", "jwks.json"];

fn serve(folder: &Path, arguments: &[&str]) -> Server {
    let mut command = trunkline(folder);
    command.args(SERVE).args(arguments);
    let mut server = Server::start(command);
    server.address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    server
}

fn status(server: &Server, path: &str, body: &Value, headers: &[&str]) -> u16 {
    server.connect().ask(&post(path, headers, body)).status
}

#[test]
fn all_endpoints_accept_signed_tokens() {
    let (folder, _) = tpch();
    let [issuer, other] = [Issuer::new(), Issuer::new()];
    issuer.publish(folder.path());
    let arguments = ["--audience", "other, trunkline", "--issuer", "issuer", "--bearer", "one"];
    let mut server = serve(folder.path(), &arguments);
    assert!(server.banner().contains("-H 'Authorization: Bearer TOKEN'"));
    let rows = [
        ("good", issuer.token(json!({})), 200),
        ("listed", "Authorization: Bearer one".to_owned(), 200),
        ("none", "X-None: 0".to_owned(), 401),
        ("another key", other.token(json!({})), 401),
        ("another audience", issuer.token(json!({"aud": "elsewhere"})), 401),
        ("another issuer", issuer.token(json!({"iss": "elsewhere"})), 401),
        ("expired", issuer.token(json!({"exp": 1})), 401),
    ];
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "db.list_tables"});
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    for (name, header, expected) in &rows {
        for (path, body) in [("/", &call), ("/rpc", &call), ("/jsonrpc", &call), ("/mcp", &ping)] {
            assert_eq!(status(&server, path, body, &[header]), *expected, "{name} at {path}");
        }
        let stream = post("/sse", &[header], &ping).replacen("POST", "GET", 1);
        assert_eq!(server.connect().ask(&stream).status, *expected, "{name} at /sse");
    }
    assert_eq!(server.connect().get("/health").status, 200, "health is open to all");
    let ended = server.stop();
    let output = ended.stdout + &ended.stderr;
    for (name, header, _) in &rows[3..] {
        assert!(!output.contains(header.rsplit('.').next().unwrap()), "{name} is in the log");
    }
}

#[test]
fn rules_require_claims() {
    let (folder, _) = tpch();
    let issuer = Issuer::new();
    issuer.publish(folder.path());
    let required = "db.execute_*=role:admin, db.list_tables=scope:read, \
                    db.describe_table=https://a.example:8080/roles:admin";
    let server = serve(folder.path(), &["--audience", "*", "--require", required]);
    let call = |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let list = call("db.list_tables", json!({}));
    let described = call("db.describe_table", json!({"table": "nation"}));
    let query = call("db.execute_raw_query", json!({"query": "SELECT 1"}));
    let tool = call("tools/call", json!({"name": "list_tables", "arguments": {}}));
    let namespaced = "https://a.example:8080/roles";
    for (claims, listed, queried, described_to) in [
        (json!({}), 403, 403, 403),
        (json!({"scope": "read write"}), 200, 403, 403),
        (json!({"role": ["user", "admin"], "aud": "any"}), 403, 200, 403),
        (json!({"scope": "reading", "role": "administrator"}), 403, 403, 403),
        (json!({namespaced: ["admin"]}), 403, 403, 200),
        (json!({namespaced: "user", "https": "//a.example:8080/roles:admin"}), 403, 403, 403),
    ] {
        let token = issuer.token(claims.clone());
        assert_eq!(status(&server, "/", &list, &[&token]), listed, "{claims}");
        assert_eq!(status(&server, "/", &query, &[&token]), queried, "{claims}");
        assert_eq!(status(&server, "/", &described, &[&token]), described_to, "{claims}");
        let reply = server.connect().ask(&post("/mcp", &[&token], &tool));
        assert_eq!(reply.status, listed, "as a tool: {claims}");
        let code = (listed == 403).then_some(-32008);
        assert_eq!(reply.json()["error"]["code"].as_i64(), code, "as a tool: {claims}");
    }
}

/// Equal subjects of two issuers are different callers.
#[test]
fn rules_for_subjects_require_exactly_one_issuer() {
    const PROBLEM: &str = "`sub` identifies a caller only among the tokens of one issuer";
    let folder = tempfile::tempdir().unwrap();
    let issuer = Issuer::new();
    issuer.publish(folder.path());
    let role = "[roles.one]\nclaims = ['role:a', 'sub:ada']\noperations = ['*']\n";
    let database = "[databases.shop]\nurl = 'postgres://db.example/shop'\n\
                    role = { claim = 'sub', map = { ada = 'tenant_a' } }\n";
    let at_role =
        format!("2:21: `roles.one.claims`: {PROBLEM}; set access.issuers to exactly one issuer");
    let at_database =
        format!("3:8: `databases.shop.role`: {PROBLEM}; set access.issuers to exactly one issuer");
    let places = [
        ("", &["--require", "db.*=sub:ada"][..], &format!("{PROBLEM}; give exactly one ")),
        (role, &[], &at_role),
        (database, &[], &at_database),
    ];
    let resource = ["--resource-url", "https://db.example/mcp", "--authorization-server"];
    let servers = "https://a.example,https://b.example";
    for (issuers, is_accepted) in [
        (&["--audience", "a"][..], false),
        (&["--audience", "a", "--issuer", "a"], true),
        (&["--audience", "a", "--issuer", "a,b"], false),
        (&["--audience", "a", "--issuer", "a, a"], true),
        (&[&resource[..], &["https://a.example"]].concat(), true),
        (&[&resource[..], &[servers]].concat(), false),
        (&[&resource[..], &[servers, "--issuer", "https://b.example"]].concat(), true),
    ] {
        for (config, rule, problem) in places {
            fs::write(folder.path().join("trunkline.toml"), config).unwrap();
            let arguments = [&["--jwks", "jwks.json"], issuers, rule].concat();
            let checked = run(trunkline(folder.path()).args(["config", "check"]).args(&arguments));
            let name = format!("{config}{arguments:?}");
            assert_eq!(checked.code, Some(if is_accepted { 0 } else { 2 }), "{name}: {checked:?}");
            if is_accepted {
                continue;
            }
            assert!(checked.stderr.contains(problem), "{name}: {checked:?}");
            let listen = ["serve", "--listen", "127.0.0.1:0"];
            let started = run(trunkline(folder.path()).args(listen).args(&arguments));
            assert_ne!(started.code, Some(0), "{name}");
            assert!(started.stderr.contains(problem), "{name}: {started:?}");
        }
    }
    // Listed tokens have no subject.
    fs::write(folder.path().join("trunkline.toml"), database).unwrap();
    let checked = run(trunkline(folder.path()).args(["config", "check", "--bearer", "one"]));
    let problem = "`databases.shop.role`: `sub` is a claim of signed tokens: set access.jwks and";
    assert!(checked.code == Some(2) && checked.stderr.contains(problem), "{checked:?}");
}

#[test]
fn rules_require_subjects() {
    let (folder, _) = tpch();
    let issuer = Issuer::new();
    issuer.publish(folder.path());
    fs::write(folder.path().join("ada"), "one").unwrap();
    let config = "[access.tokens]\nada = { file = 'ada' }\n\
                  [roles.one]\nclaims = ['sub:ada', 'sub:bob']\noperations = ['*']\n";
    fs::write(folder.path().join("trunkline.toml"), config).unwrap();
    let arguments = ["--audience", "*", "--issuer", "issuer", "--require", "db.list_*=sub:ada"];
    let server = serve(folder.path(), &arguments);
    let call = |(method, params): (&str, Value)| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let calls =
        || [("db.list_tables", json!({})), ("db.execute_raw_query", json!({"query": "SELECT 1"}))];
    for (name, token, expected) in [
        ("ada", issuer.token(json!({"sub": "ada"})), [200, 200]),
        ("bob", issuer.token(json!({"sub": "bob"})), [403, 200]),
        ("eve", issuer.token(json!({"sub": "eve"})), [403, 403]),
        ("no subject", issuer.token(json!({"jti": "ada"})), [403, 403]),
        ("a listed token", "Authorization: Bearer one".to_owned(), [403, 403]),
    ] {
        let found = calls().map(|one| status(&server, "/", &call(one), &[&token]));
        assert_eq!(found, expected, "{name}");
    }
}

/// A name, the claims of two tokens, and whether they identify one caller.
type Pair = (&'static str, [Value; 2], bool);

#[test]
fn tokens_without_a_subject_are_separate_callers() {
    let folder = crate::records::place();
    let issuer = Issuer::new();
    issuer.publish(folder.path());
    let model = Model::listing();
    let arguments = [&["--jwks", "jwks.json", "--audience", "*"], &model.flags()[..]].concat();
    let server = crate::records::serve(folder.path(), &arguments);
    let pairs: [Pair; 8] = [
        ("one subject", [json!({"sub": "a", "n": 1}), json!({"sub": "a", "n": 2})], true),
        ("two subjects", [json!({"sub": "b"}), json!({"sub": "c"})], false),
        ("no subject", [json!({"n": 1}), json!({"n": 2})], false),
        ("an empty subject", [json!({"sub": "", "n": 1}), json!({"sub": "", "n": 2})], false),
        ("one token", [json!({"n": 3}), json!({"n": 3})], true),
        ("one `jti`", [json!({"jti": "d", "n": 1}), json!({"jti": "d", "n": 2})], true),
        ("two `jti`", [json!({"jti": "e"}), json!({"jti": "f"})], false),
        ("a subject like a `jti`", [json!({"jti": "g"}), json!({"sub": "jti:g"})], false),
    ];
    let expiry = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + 300;
    for (index, (name, claims, is_one)) in pairs.into_iter().enumerate() {
        let tokens = claims.map(|mut claims| {
            claims["exp"] = expiry.into();
            issuer.token(claims)
        });
        check_callers(&server, &format!("{name} ({index})"), &tokens, is_one);
    }
}

/// The first token makes a request and begins a conversation. The second can revert and read them only if both belong
/// to one caller.
#[track_caller]
fn check_callers(server: &Server, name: &str, tokens: &[String; 2], is_one: bool) {
    let [first, second] = tokens;
    let ask = |path: &str, token: &str, body: &Value| {
        server.connect().ask(&post(path, &[token], body)).json()
    };
    let api = |token: &str, method: &str, params: Value| {
        ask("/api", token, &json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
    };
    let mut create = crate::records::create(name);
    create["metadata"] = json!({"requestId": name});
    assert!(ask("/execute", first, &create)["result"].is_object(), "{name}");
    let reply = api(first, "agent.chat", json!({"message": "hello"}));
    let id = &reply["result"]["conversation_id"];
    assert!(id.is_string(), "{name}: {reply}");

    let listed = api(second, "agent.list_conversations", json!({}));
    let conversations = listed["result"]["conversations"].as_array().unwrap();
    let is_listed = conversations.iter().any(|one| one["conversation_id"] == *id);
    assert_eq!(is_listed, is_one, "{name}: {listed}");
    let told = api(second, "agent.chat", json!({"message": "hello", "conversation_id": id}));
    assert_eq!(told["result"].is_object(), is_one, "{name}: {told}");
    let reverted = ask("/revert", second, &json!({"requestId": name}));
    assert_eq!(reverted["status"], if is_one { "reverted" } else { "noop" }, "{name}: {reverted}");
}

/// A server that would admit too many callers, or none, does not start.
#[test]
fn invalid_access_settings_prevent_the_start() {
    let (folder, _) = tpch();
    Issuer::new().publish(folder.path());
    fs::write(folder.path().join("text.json"), "text").unwrap();
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let unused = format!("http://{unused}/jwks");
    let audience = ["--audience", "trunkline"];
    let rows: [(&str, &[&str], &[&str]); 13] = [
        (
            "no audience",
            &["--jwks", "jwks.json"],
            &["--jwks requires --audience", "or * to accept any"],
        ),
        ("an empty audience", &["--jwks", "jwks.json", "--audience", ""], &["--audience is empty"]),
        ("no jwks", &audience, &["give --jwks"]),
        ("an issuer only", &["--issuer", "a"], &["give --jwks"]),
        ("a rule only", &["--require", "db.*=a:b"], &["give --jwks"]),
        (
            "no file",
            &["--jwks", "none.json", audience[0], "a"],
            &["cannot read none.json", "because"],
        ),
        (
            "not a set",
            &["--jwks", "text.json", audience[0], "a"],
            &["text.json", "JSON Web Key Set"],
        ),
        ("empty", &["--jwks", "", audience[0], "a"], &["--jwks is empty"]),
        (
            "no server",
            &["--jwks", &unused, audience[0], "a"],
            &["cannot fetch", &unused, "refused"],
        ),
        (
            "no such scheme",
            &["--jwks", "ftp://h/", audience[0], "a"],
            &["unsupported scheme ftp://"],
        ),
        (
            "half a rule",
            &["--jwks", "jwks.json", audience[0], "a", "--require", "db.*=admin"],
            &["invalid --require db.*=admin"],
        ),
        (
            "a rule without a value",
            &["--jwks", "jwks.json", audience[0], "a", "--require", "db.*=https://a.example/roles"],
            &["invalid --require db.*=https://a.example/roles"],
        ),
        (
            "a rule for nothing",
            &["--jwks", "jwks.json", audience[0], "a", "--require", "bd.*=a:b"],
            &["--require bd.*", "no method"],
        ),
    ];
    for (name, arguments, expected) in rows {
        let mut command = trunkline(folder.path());
        let ended =
            run(command.args(["--db", "tpch.db", "--listen", "127.0.0.1:0"]).args(arguments));
        assert_eq!(ended.code, Some(1), "{name}: {ended:?}");
        for part in expected {
            assert!(ended.stderr.contains(part), "{name}: no {part:?} in {}", ended.stderr);
        }
    }
}
