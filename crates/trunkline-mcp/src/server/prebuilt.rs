//! Results, and parts of results, that are the same for all requests.

use bytes::Bytes;
use serde_json::{Value, json};
use trunkline::Call;

use super::context::Context;
use crate::config::McpConfig;
use crate::era::Era;
use crate::model::{Caching, Implementation};
use crate::protocol::{Legacy, MODERN, extension, meta, method};
use crate::tool::{Form, Representations, Tool, list_entry};

#[derive(Debug)]
pub(super) struct PrebuiltResults {
    settings: McpConfig,
    /// The name and version of the server.
    info: Value,
    /// The members that limit the caching of a list.
    cache_hints: String,
    modern_tail: Bytes,
    representations: Representations,
    list_caching: Caching,
    notified: Notified,
}

/// The lists of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    Tools,
    Resources,
    Templates,
    Prompts,
}

/// The kinds of operations whose capabilities a server declares.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Declared {
    pub(super) resources: bool,
    pub(super) prompts: bool,
    pub(super) completions: bool,
    /// In the stateless era only.
    pub(super) tasks: bool,
}

/// The changes of which a client can be notified.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Notified {
    /// Changes of all lists.
    pub(super) lists: bool,
    /// Changes of the list of resources.
    pub(super) resource_list: bool,
    /// Changes of resources.
    pub(super) resources: bool,
}

impl List {
    pub(super) const ALL: [Self; 4] =
        [Self::Tools, Self::Resources, Self::Templates, Self::Prompts];

    /// The list that a method returns.
    pub(super) fn of_method(method: &str) -> Option<Self> {
        Some(match method {
            method::TOOLS_LIST => Self::Tools,
            method::RESOURCES_LIST => Self::Resources,
            method::TEMPLATES_LIST => Self::Templates,
            method::PROMPTS_LIST => Self::Prompts,
            _ => return None,
        })
    }

    /// Whether the server has the list.
    pub(super) fn is_declared(self, declared: Declared) -> bool {
        match self {
            Self::Tools => true,
            Self::Resources | Self::Templates => declared.resources,
            Self::Prompts => declared.prompts,
        }
    }

    /// The member of the result.
    fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    /// The cursor of a page after the first one.
    pub(super) fn cursor(self, page: usize) -> String {
        format!("{}-{page}", self.member())
    }

    /// The page of a cursor, from 1 on.
    pub(super) fn page_of(self, cursor: &str) -> Option<usize> {
        let digits = cursor.strip_prefix(self.member())?.strip_prefix('-')?;
        let page = digits.parse().ok().filter(|page| *page > 0)?;
        // Other forms of a number are not cursors of this server.
        (cursor == self.cursor(page)).then_some(page)
    }
}

impl PrebuiltResults {
    /// `lists_change` is whether clients are notified of changed lists.
    pub(super) fn new(settings: &McpConfig, lists_change: bool) -> Self {
        let McpConfig { name, version, title, website, icons, .. } = settings.clone();
        let info = json!(Implementation { name, version, title, website_url: website, icons });
        // Access rules decide who sees a list, so shared caches must not store it.
        let list_caching = Caching { ttl: settings.list_ttl, is_public: false };
        let modern_tail = format!(",\"_meta\":{}}}", json!({ meta::SERVER_INFO: info }));
        Self {
            settings: settings.clone(),
            info,
            cache_hints: cache_hints(list_caching),
            modern_tail: Bytes::from(modern_tail),
            representations: Representations::new(&settings.client_results),
            list_caching,
            notified: Notified {
                lists: lists_change,
                resource_list: lists_change || settings.resource_list_changes,
                resources: true,
            },
        }
    }

    /// The entry of a tool in `tools/list`.
    pub(super) fn tool_entry(&self, era: Era, tool: &Tool) -> Vec<u8> {
        list_entry(tool, self.form(era))
    }

    /// The maximum number of entries in a page.
    pub(super) fn page_entries(&self) -> usize {
        self.settings.page_entries.max(1)
    }

    /// The maximum length of the name of a tool or prompt in lists, in characters.
    pub(super) fn max_name(&self) -> usize {
        self.settings.max_tool_name
    }

    /// The results of a list, by page. There is at least one page.
    pub(super) fn pages(&self, list: List, era: Era, entries: &[impl AsRef<[u8]>]) -> Vec<Bytes> {
        let mut chunks: Vec<_> = entries.chunks(self.page_entries()).collect();
        if chunks.is_empty() {
            chunks.push(entries);
        }
        let count = chunks.len();
        let page = |(page, entries): (usize, &&[_])| {
            let next = (page + 1 < count).then(|| list.cursor(page + 1));
            self.page(list, era, entries, next.as_deref())
        };
        chunks.iter().enumerate().map(page).collect()
    }

    /// A page of a list, and the cursor of the next one.
    pub(super) fn page(
        &self,
        list: List,
        era: Era,
        entries: &[impl AsRef<[u8]>],
        next: Option<&str>,
    ) -> Bytes {
        let mut json = format!("{}\"{}\":[", era.start_of_result(), list.member()).into_bytes();
        for (index, entry) in entries.iter().enumerate() {
            if index > 0 {
                json.push(b',');
            }
            json.extend_from_slice(entry.as_ref());
        }
        json.push(b']');
        if let Some(next) = next {
            json.extend_from_slice(format!(",\"nextCursor\":\"{next}\"").as_bytes());
        }
        if era == Era::Modern {
            json.extend_from_slice(self.cache_hints.as_bytes());
        }
        json.extend_from_slice(&self.tail(era));
        json.into()
    }

    /// The result of `server/discover`.
    pub(super) fn discover(&self, declared: Declared) -> Bytes {
        let mut capabilities = capabilities(declared, self.notified);
        if declared.tasks {
            capabilities["extensions"] = json!({ extension::TASKS: {} });
        }
        let mut result = json!({
            "resultType": "complete",
            "supportedVersions": [MODERN],
            "capabilities": capabilities,
            "ttlMs": milliseconds(self.list_caching),
            "cacheScope": "private",
            "_meta": { meta::SERVER_INFO: self.info },
        });
        if let Some(instructions) = &self.settings.instructions {
            result["instructions"] = instructions.as_str().into();
        }
        result.to_string().into()
    }

    /// The result of `initialize`.
    pub(super) fn initialize(
        &self,
        version: Legacy,
        declared: Declared,
        notified: Notified,
    ) -> String {
        let mut result = json!({
            "protocolVersion": version.as_str(),
            "capabilities": capabilities(declared, notified),
            "serverInfo": self.info,
        });
        if let Some(instructions) = &self.settings.instructions {
            result["instructions"] = instructions.as_str().into();
        }
        result.to_string()
    }

    /// The form of lists.
    pub(super) fn form(&self, era: Era) -> Form {
        let McpConfig { output_schemas: has_output_schemas, results, .. } = self.settings;
        Form { era, revision: Legacy::LATEST, has_output_schemas, results, client: None }
    }

    /// The form of the result of a request.
    pub(super) fn result_form(&self, call: &Call, context: Context<'_>) -> Form {
        let form = Form { revision: context.revision(), ..self.form(context.era) };
        if self.representations.is_empty() {
            return form;
        }
        let client = context.client_info(call);
        Form { client: client.and_then(|client| self.representations.of(client.name())), ..form }
    }

    /// The closing part of a result.
    pub(super) fn tail(&self, era: Era) -> Bytes {
        match era {
            Era::Legacy => Bytes::from_static(b"}"),
            Era::Modern => self.modern_tail.clone(),
        }
    }
}

/// The capabilities of the server.
fn capabilities(declared: Declared, notified: Notified) -> Value {
    let list = json!({ "listChanged": notified.lists });
    let mut capabilities = json!({ "tools": list, "logging": {} });
    if declared.resources {
        capabilities["resources"] = json!({ "listChanged": notified.resource_list });
        if notified.resources {
            capabilities["resources"]["subscribe"] = true.into();
        }
    }
    if declared.prompts {
        capabilities["prompts"] = list;
    }
    if declared.completions {
        capabilities["completions"] = json!({});
    }
    capabilities
}

/// The members that limit the caching of a result, after other members.
pub(super) fn cache_hints(caching: Caching) -> String {
    let scope = if caching.is_public { "public" } else { "private" };
    format!(",\"ttlMs\":{},\"cacheScope\":\"{scope}\"", milliseconds(caching))
}

fn milliseconds(caching: Caching) -> u64 {
    u64::try_from(caching.ttl.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::List;

    #[test]
    fn only_cursors_of_the_list_have_a_page() {
        for (cursor, page) in [
            ("tools-1", Some(1)),
            ("tools-12", Some(12)),
            ("tools-0", None),
            ("tools-01", None),
            ("tools-+1", None),
            ("tools--1", None),
            ("tools-", None),
            ("tools", None),
            ("", None),
            ("prompts-1", None),
            ("tools-99999999999999999999999", None),
        ] {
            assert_eq!(List::Tools.page_of(cursor), page, "{cursor}");
        }
    }
}
