//! The HTTP cases of `tests/data/http.jsonl`: the exact bytes of one connection, and the replies.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::Value;
use trunkline::http::{Hosts, HttpConfig};

use crate::support::{Client, Reply, assert_replies, on_loopback, rows, serve};

/// Cases that hyper answers before the service, with the alternative status of their rows (`alt_status`). See
/// `docs/decisions/0001-what-hyper-answers-first.md`.
const HYPER_ANSWERS_FIRST: [&str; 1] = ["cl_same_twice"];

/// Cases of OPTIONS without CORS, which is an unsupported method. Their rows allow that (`alt_status`), with the
/// body of a refusal.
const OPTIONS_IS_NOT_SERVED: [&str; 2] = ["options_plain", "preflight_no_cors"];

/// Cases of unsupported protocols.
const WEBSOCKET: [&str; 1] = ["ws_bad_version"];

#[derive(Deserialize)]
struct Case {
    name: String,
    raw_b64: String,
    status: u16,
    #[serde(default)]
    alt_status: Vec<u16>,
    body: Value,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    replies: Vec<Value>,
    #[serde(default)]
    cfg: Cfg,
    proto: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Cfg {
    max_body: Option<usize>,
    body_timeout_ms: Option<u64>,
    bearer: Option<String>,
    cors: Option<String>,
    allow_hosts: Option<Vec<String>>,
    #[serde(default)]
    allow_origins: Vec<String>,
    #[serde(default)]
    ws: bool,
}

impl Cfg {
    fn settings(&self) -> HttpConfig {
        let mut settings = on_loopback();
        settings.max_body = self.max_body.unwrap_or(settings.max_body);
        settings.body_timeout =
            self.body_timeout_ms.map(Duration::from_millis).or(settings.body_timeout);
        self.bearer.iter().for_each(|token| settings.bearer.allow(token.as_str()));
        settings.cors_origins.extend(self.cors.clone());
        settings.allow_origins.clone_from(&self.allow_origins);
        if let Some(hosts) = &self.allow_hosts {
            settings.hosts = Hosts::Listed(hosts.clone());
        }
        settings
    }
}

impl Case {
    async fn check(&self) {
        let server = serve(self.cfg.settings()).await;
        let mut client = Client::connect(server.local_addr()).await;
        let raw = BASE64_STANDARD.decode(&self.raw_b64).unwrap();
        client.send(&raw).await;
        if self.proto.as_deref() == Some("h2") {
            const SETTINGS: u8 = 4;
            assert_eq!(client.bytes(9).await[3], SETTINGS, "{}: the type of frame", self.name);
            return;
        }
        let reply =
            if raw.starts_with(b"HEAD ") { client.head().await } else { client.reply().await };
        self.check_head(&reply);
        self.check_body(&reply);
        for expected in self.replies.iter().skip(1) {
            assert_replies(&self.name, Some(&client.reply().await.body), expected, None);
        }
    }

    fn check_head(&self, reply: &Reply) {
        let name = &self.name;
        if HYPER_ANSWERS_FIRST.contains(&name.as_str())
            || OPTIONS_IS_NOT_SERVED.contains(&name.as_str())
        {
            assert!(self.alt_status.contains(&reply.status), "{name}: {reply:?}");
        } else {
            assert_eq!(reply.status, self.status, "{name}");
        }
        for (header, expected) in &self.headers {
            let found = reply.header(header);
            let fits = found.is_some_and(|found| expected == "*" || found == expected);
            assert!(fits, "{name}: {header} is {found:?}");
        }
    }

    fn check_body(&self, reply: &Reply) {
        match self.body.as_str() {
            _ if OPTIONS_IS_NOT_SERVED.contains(&self.name.as_str()) => {
                assert_eq!(reply.json()["error"]["data"]["status"], reply.status, "{}", self.name);
            }
            Some("any") => {}
            Some("empty") => {
                assert_eq!(reply.body, b"", "{}", self.name);
                assert_eq!(reply.header("content-type"), None, "{}", self.name);
            }
            _ => assert_replies(&self.name, Some(&reply.body), &self.body, None),
        }
    }
}

#[tokio::test]
async fn every_case() {
    for case in rows::<Case>("http.jsonl") {
        assert_eq!(WEBSOCKET.contains(&case.name.as_str()), case.cfg.ws, "{}", case.name);
        if !case.cfg.ws {
            case.check().await;
        }
    }
}
