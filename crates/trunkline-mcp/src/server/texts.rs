//! Results, and parts of them, that are always the same.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::config::McpConfig;
use crate::era::Era;
use crate::protocol::{Legacy, MODERN, meta};
use crate::tool::{Tool, write_list};

#[derive(Debug)]
pub(super) struct Texts {
    pub(super) discover: Vec<u8>,
    /// Of `initialize`, all but the revision.
    greeting: Value,
    /// How long a list may be kept, and by whom.
    hints: String,
    legacy_tail: Bytes,
    modern_tail: Bytes,
}

impl Texts {
    pub(super) fn new(settings: &McpConfig) -> Self {
        let McpConfig { name, version, title, instructions, .. } = settings;
        let mut info = json!({ "name": name, "version": version });
        if let Some(title) = title {
            info["title"] = title.as_str().into();
        }
        let ttl = u64::try_from(settings.list_ttl.as_millis()).unwrap_or(u64::MAX);
        // Who may see the list is up to the guards before this server, so caches must not share it.
        let hints = format!("\"ttlMs\":{ttl},\"cacheScope\":\"private\"");
        let modern_tail = format!(",\"_meta\":{}}}", json!({ meta::SERVER_INFO: info }));
        let mut discover = json!({
            "resultType": "complete",
            "supportedVersions": [MODERN],
            "capabilities": { "tools": {}, "logging": {} },
            "ttlMs": ttl,
            "cacheScope": "private",
            "_meta": { meta::SERVER_INFO: info },
        });
        let mut greeting = json!({
            "capabilities": { "tools": {}, "logging": {} },
            "serverInfo": info,
        });
        if let Some(instructions) = instructions {
            discover["instructions"] = instructions.as_str().into();
            greeting["instructions"] = instructions.as_str().into();
        }
        Self {
            discover: discover.to_string().into_bytes(),
            greeting,
            hints,
            legacy_tail: Bytes::from_static(b"}"),
            modern_tail: Bytes::from(modern_tail),
        }
    }

    /// The result of `tools/list`.
    pub(super) fn list<'a>(&self, era: Era, tools: impl Iterator<Item = &'a Tool>) -> Bytes {
        let mut json = match era {
            Era::Legacy => b"{\"tools\":".to_vec(),
            Era::Modern => b"{\"resultType\":\"complete\",\"tools\":".to_vec(),
        };
        write_list(&mut json, tools, era == Era::Modern);
        if era == Era::Modern {
            json.push(b',');
            json.extend_from_slice(self.hints.as_bytes());
        }
        json.extend_from_slice(&self.tail(era));
        json.into()
    }

    /// The result of `initialize`, for a client that is told when there are other tools, or not.
    pub(super) fn initialize(&self, version: Legacy, tells_of_tools: bool) -> String {
        let mut result = self.greeting.clone();
        result["capabilities"]["tools"]["listChanged"] = tells_of_tools.into();
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
