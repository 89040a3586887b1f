//! Results that never change, written once.

use bytes::Bytes;
use serde_json::{Value, json};

use super::Era;
use crate::settings::Settings;
use crate::tool::{Tools, write_list};
use crate::version::{Legacy, MODERN};

#[derive(Debug)]
pub(super) struct Texts {
    pub(super) legacy_list: Vec<u8>,
    pub(super) modern_list: Vec<u8>,
    pub(super) discover: Vec<u8>,
    /// Of `initialize`, all but the revision.
    greeting: Value,
    legacy_tail: Bytes,
    modern_tail: Bytes,
}

const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

impl Texts {
    pub(super) fn new(settings: &Settings, tools: &Tools) -> Self {
        let Settings { name, version, title, instructions, .. } = settings;
        let mut info = json!({ "name": name, "version": version });
        if let Some(title) = title {
            info["title"] = title.as_str().into();
        }
        let ttl = u64::try_from(settings.list_ttl.as_millis()).unwrap_or(u64::MAX);
        // Who may see the list is up to the guards before this server, so caches must not share it.
        let hints = format!("\"ttlMs\":{ttl},\"cacheScope\":\"private\"");
        let modern_tail = format!(",\"_meta\":{}}}", json!({ SERVER_INFO: info }));
        let mut discover = json!({
            "resultType": "complete",
            "supportedVersions": [MODERN],
            "capabilities": { "tools": {}, "logging": {} },
            "ttlMs": ttl,
            "cacheScope": "private",
            "_meta": { SERVER_INFO: info },
        });
        let mut greeting = json!({
            "capabilities": { "tools": { "listChanged": false }, "logging": {} },
            "serverInfo": info,
        });
        if let Some(instructions) = instructions {
            discover["instructions"] = instructions.as_str().into();
            greeting["instructions"] = instructions.as_str().into();
        }
        let mut legacy_list = b"{\"tools\":".to_vec();
        write_list(&mut legacy_list, tools.iter(), false);
        legacy_list.push(b'}');
        let mut modern_list = b"{\"resultType\":\"complete\",\"tools\":".to_vec();
        write_list(&mut modern_list, tools.iter(), true);
        modern_list.push(b',');
        modern_list.extend_from_slice(hints.as_bytes());
        modern_list.extend_from_slice(modern_tail.as_bytes());
        Self {
            legacy_list,
            modern_list,
            discover: discover.to_string().into_bytes(),
            greeting,
            legacy_tail: Bytes::from_static(b"}"),
            modern_tail: Bytes::from(modern_tail),
        }
    }

    /// The result of `initialize`.
    pub(super) fn initialize(&self, version: Legacy) -> String {
        let mut result = self.greeting.clone();
        result["protocolVersion"] = version.as_str().into();
        result.to_string()
    }

    /// What closes a result.
    pub(super) fn tail(&self, era: Era) -> Bytes {
        match era {
            Era::Legacy => self.legacy_tail.clone(),
            Era::Modern => self.modern_tail.clone(),
        }
    }
}
