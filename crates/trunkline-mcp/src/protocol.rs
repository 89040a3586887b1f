//! Revisions of the protocol, and its names: methods, headers, `_meta` keys and error codes.

use std::fmt;

use bytes::Bytes;
use trunkline::protocol::excerpt;

/// Methods and notifications.
pub(crate) mod method {
    pub(crate) const COMPLETE: &str = "completion/complete";
    pub(crate) const DISCOVER: &str = "server/discover";
    pub(crate) const INITIALIZE: &str = "initialize";
    pub(crate) const PING: &str = "ping";
    pub(crate) const PROMPTS_GET: &str = "prompts/get";
    pub(crate) const PROMPTS_LIST: &str = "prompts/list";
    pub(crate) const RESOURCES_LIST: &str = "resources/list";
    pub(crate) const RESOURCES_READ: &str = "resources/read";
    pub(crate) const SET_LEVEL: &str = "logging/setLevel";
    pub(crate) const TASKS_CANCEL: &str = "tasks/cancel";
    pub(crate) const TASKS_GET: &str = "tasks/get";
    pub(crate) const TASKS_UPDATE: &str = "tasks/update";
    pub(crate) const TEMPLATES_LIST: &str = "resources/templates/list";
    pub(crate) const TOOLS_CALL: &str = "tools/call";
    pub(crate) const TOOLS_LIST: &str = "tools/list";

    pub(crate) const LISTEN: &str = "subscriptions/listen";
    pub(crate) const SUBSCRIBE: &str = "resources/subscribe";
    pub(crate) const UNSUBSCRIBE: &str = "resources/unsubscribe";

    // Requests to clients.
    pub(crate) const ELICIT: &str = "elicitation/create";
    pub(crate) const ROOTS: &str = "roots/list";
    pub(crate) const SAMPLE: &str = "sampling/createMessage";

    pub(crate) const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
    pub(crate) const CANCELLED: &str = "notifications/cancelled";
    pub(crate) const INITIALIZED: &str = "notifications/initialized";
    pub(crate) const MESSAGE: &str = "notifications/message";
    pub(crate) const PROGRESS: &str = "notifications/progress";
    pub(crate) const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
    pub(crate) const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
    pub(crate) const RESOURCE_UPDATED: &str = "notifications/resources/updated";
    pub(crate) const TASK_CHANGED: &str = "notifications/tasks";
    pub(crate) const TOOLS_CHANGED: &str = "notifications/tools/list_changed";

    /// The constant of a method that clients call.
    pub(crate) fn known(method: &str) -> Option<&'static str> {
        const METHODS: [&str; 20] = [
            TOOLS_CALL,
            TOOLS_LIST,
            RESOURCES_READ,
            RESOURCES_LIST,
            TEMPLATES_LIST,
            PROMPTS_GET,
            PROMPTS_LIST,
            COMPLETE,
            DISCOVER,
            INITIALIZE,
            PING,
            SET_LEVEL,
            LISTEN,
            SUBSCRIBE,
            UNSUBSCRIBE,
            TASKS_GET,
            TASKS_UPDATE,
            TASKS_CANCEL,
            INITIALIZED,
            CANCELLED,
        ];
        METHODS.into_iter().find(|known| *known == method)
    }
}

/// Headers of Streamable HTTP.
pub(crate) mod header {
    use http::HeaderName;

    pub(crate) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
    /// From 2025-03-26 to 2025-11-25.
    pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
    pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
    /// Since 2026-07-28.
    pub(crate) const METHOD: HeaderName = HeaderName::from_static("mcp-method");
    /// Since 2026-07-28.
    pub(crate) const NAME: HeaderName = HeaderName::from_static("mcp-name");
}

/// Keys of `_meta` in requests and results of the stateless era, and of traces in both eras.
pub(crate) mod meta {
    pub(crate) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    pub(crate) const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    pub(crate) const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    pub(crate) const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    pub(crate) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
    pub(crate) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    /// The trace of the client, without a prefix (SEP-414).
    pub(crate) const TRACEPARENT: &str = "traceparent";
    /// Vendor data of the trace.
    pub(crate) const TRACESTATE: &str = "tracestate";
}

/// Extensions of the stateless era.
pub(crate) mod extension {
    pub(crate) const TASKS: &str = "io.modelcontextprotocol/tasks";
}

/// Error codes of the protocol.
pub(crate) mod error_code {
    /// A resource does not exist. Up to 2025-11-25.
    pub(crate) const RESOURCE_NOT_FOUND: i64 = -32002;
    /// A header is missing, malformed, or differs from the body. This and the following: since 2026-07-28.
    pub(crate) const HEADER_MISMATCH: i64 = -32020;
    /// The client has not declared a capability that a tool needs.
    pub(crate) const MISSING_CAPABILITY: i64 = -32021;
    /// The server does not support the revision of the request.
    pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;
}

/// A revision that opens with `initialize`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Legacy {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
}

/// The supported revision of the stateless era.
pub(crate) const MODERN: &str = "2026-07-28";

impl Legacy {
    /// The revision that a client requests, and that a server offers in place of an unknown one.
    pub(crate) const LATEST: Self = Self::V2025_11_25;

    /// The revision of an HTTP request without a version header (2025-06-18, "Protocol Version Header").
    pub(crate) const ASSUMED: Self = Self::V2025_03_26;

    const ALL: [Self; 4] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25];

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.as_str() == text)
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
        }
    }

    /// The number of the revision in ids of sessions.
    pub(crate) fn number(self) -> u8 {
        self as u8
    }

    /// The revision of this number.
    pub(crate) fn of_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.number() == number)
    }

    /// Only one revision had batches.
    pub(crate) fn has_batches(self) -> bool {
        self == Self::V2025_03_26
    }

    /// Whether streams begin with an event without data, which clients of earlier revisions may not expect.
    pub(crate) fn has_priming_events(self) -> bool {
        self >= Self::V2025_11_25
    }

    pub(crate) fn names() -> [&'static str; 4] {
        Self::ALL.map(Self::as_str)
    }
}

impl fmt::Display for Legacy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether a text is a revision of the stateless era, known or not: revisions are dates.
pub(crate) fn is_modern(text: &str) -> bool {
    is_date(text) && text >= MODERN
}

fn is_date(text: &str) -> bool {
    let is_part = |(index, byte): (usize, u8)| match index {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    text.len() == 10 && text.bytes().enumerate().all(is_part)
}

/// The beginning of a text of the other side, for messages.
pub(crate) fn shortened(text: &str) -> String {
    const MAX_CHARS: usize = 200;
    excerpt(text, MAX_CHARS).into_owned()
}

/// A message without the byte-order mark that some programs write first (RFC 8259, section 8.1).
pub(crate) fn without_mark(message: Bytes) -> Bytes {
    const MARK: &[u8] = b"\xEF\xBB\xBF";
    match message.strip_prefix(MARK) {
        Some(rest) => message.slice_ref(rest.trim_ascii()),
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use super::{Legacy, is_modern};

    #[test]
    fn revisions_of_the_stateless_era_are_dates_from_its_first_on() {
        let rows = [
            ("2026-07-28", true),
            ("2027-01-01", true),
            ("2026-07-27", false),
            ("2025-11-25", false),
            ("v999.0.0", false),
            ("2026-07-28x", false),
            ("9999", false),
            ("", false),
        ];
        for (text, modern) in rows {
            assert_eq!(is_modern(text), modern, "{text}");
        }
        for name in Legacy::names() {
            assert_eq!(Legacy::parse(name).map(Legacy::as_str), Some(name));
        }
    }
}
