//! Results, and parts of results, that are the same for all requests.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::config::McpConfig;
use crate::era::Era;
use crate::protocol::{Legacy, MODERN, meta};
use crate::tool::{ListForm, Tool, write_list};

#[derive(Debug)]
pub(super) struct PrebuiltResults {
    pub(super) discover: Vec<u8>,
    /// The result of `initialize` without the revision.
    initialize: Value,
    /// The members that limit the caching of a list.
    cache_hints: String,
    legacy_tail: Bytes,
    modern_tail: Bytes,
    has_output_schemas: bool,
}

impl PrebuiltResults {
    pub(super) fn new(settings: &McpConfig) -> Self {
        let McpConfig { name, version, title, instructions, .. } = settings;
        let mut info = json!({ "name": name, "version": version });
        if let Some(title) = title {
            info["title"] = title.as_str().into();
        }
        let ttl = u64::try_from(settings.list_ttl.as_millis()).unwrap_or(u64::MAX);
        // Guards in front of this server decide who sees the list, so shared caches must not store it.
        let cache_hints = format!("\"ttlMs\":{ttl},\"cacheScope\":\"private\"");
        let modern_tail = format!(",\"_meta\":{}}}", json!({ meta::SERVER_INFO: info }));
        let mut discover = json!({
            "resultType": "complete",
            "supportedVersions": [MODERN],
            "capabilities": { "tools": {}, "logging": {} },
            "ttlMs": ttl,
            "cacheScope": "private",
            "_meta": { meta::SERVER_INFO: info },
        });
        let mut initialize = json!({
            "capabilities": { "tools": {}, "logging": {} },
            "serverInfo": info,
        });
        if let Some(instructions) = instructions {
            discover["instructions"] = instructions.as_str().into();
            initialize["instructions"] = instructions.as_str().into();
        }
        Self {
            discover: discover.to_string().into_bytes(),
            initialize,
            cache_hints,
            legacy_tail: Bytes::from_static(b"}"),
            modern_tail: Bytes::from(modern_tail),
            has_output_schemas: settings.output_schemas,
        }
    }

    /// The result of `tools/list`.
    pub(super) fn list<'a>(&self, era: Era, tools: impl Iterator<Item = &'a Tool>) -> Bytes {
        let mut json = match era {
            Era::Legacy => b"{\"tools\":".to_vec(),
            Era::Modern => b"{\"resultType\":\"complete\",\"tools\":".to_vec(),
        };
        write_list(&mut json, tools, self.form(era));
        if era == Era::Modern {
            json.push(b',');
            json.extend_from_slice(self.cache_hints.as_bytes());
        }
        json.extend_from_slice(&self.tail(era));
        json.into()
    }

    /// The result of `initialize`. `list_changed` is whether the client is notified of changed tools.
    pub(super) fn initialize(&self, version: Legacy, list_changed: bool) -> String {
        let mut result = self.initialize.clone();
        result["capabilities"]["tools"]["listChanged"] = list_changed.into();
        result["protocolVersion"] = version.as_str().into();
        result.to_string()
    }

    /// The form of lists and results.
    pub(super) fn form(&self, era: Era) -> ListForm {
        ListForm { era, has_output_schemas: self.has_output_schemas }
    }

    /// The closing part of a result.
    pub(super) fn tail(&self, era: Era) -> Bytes {
        match era {
            Era::Legacy => self.legacy_tail.clone(),
            Era::Modern => self.modern_tail.clone(),
        }
    }
}
