//! The SDKs, with the protocol versions and transports that each supports.

use self::Suite::{Database, Features, Restart};
use self::Transport::{Http, Sse, Stdio};

pub(super) struct Client {
    pub(super) name: &'static str,
    pub(super) language: Language,
    /// The script, in the folder of its language, or the package.
    pub(super) script: &'static str,
    /// Requested protocol versions (`auto` negotiates) and transports.
    sessions: &'static [(&'static str, &'static [Transport])],
}

pub(super) enum Language {
    Python {
        lock: &'static str,
    },
    TypeScript,
    /// A package of the workspace `bench`. It has only the suite of features.
    Rust,
}

#[derive(Clone, Copy)]
pub(super) enum Transport {
    Http,
    /// HTTP+SSE of 2024-11-05.
    Sse,
    Stdio,
}

/// The checks of a session.
#[derive(Clone, Copy)]
pub(super) enum Suite {
    /// All tools of the `trunkline` binary.
    Database,
    /// All features of the protocol, with the example `conformance_server`.
    Features,
    /// Restarts of the `trunkline` binary during the session.
    Restart { has_data_dir: bool },
}

/// The versions with all features, one for each era. `auto` results in the second.
const COMPLETE: [&str; 2] = ["2025-11-25", "2026-07-28"];

pub(super) const CLIENTS: [Client; 6] = [
    Client {
        name: "python-1",
        language: Language::Python { lock: "requirements-1.txt" },
        script: "client_1.py",
        sessions: &[
            ("2024-11-05", &[Http, Sse]),
            ("2025-03-26", &[Http]),
            ("2025-06-18", &[Http]),
            ("2025-11-25", &[Http, Sse, Stdio]),
        ],
    },
    Client {
        name: "python-2",
        language: Language::Python { lock: "requirements-2.txt" },
        script: "client_2.py",
        sessions: &[
            ("2025-11-25", &[Http, Sse, Stdio]),
            ("2026-07-28", &[Http, Stdio]),
            ("auto", &[Http, Stdio]),
        ],
    },
    Client {
        name: "fastmcp",
        language: Language::Python { lock: "requirements-fastmcp.txt" },
        script: "client_fastmcp.py",
        sessions: &[
            ("2025-11-25", &[Http, Sse, Stdio]),
            ("2026-07-28", &[Http, Stdio]),
            ("auto", &[Http, Stdio]),
        ],
    },
    Client {
        name: "typescript-1",
        language: Language::TypeScript,
        script: "client_1.mjs",
        sessions: &[("2025-11-25", &[Http, Sse, Stdio])],
    },
    Client {
        name: "typescript-2",
        language: Language::TypeScript,
        script: "client_2.mjs",
        sessions: &[
            ("2025-11-25", &[Http, Sse, Stdio]),
            ("2026-07-28", &[Http, Stdio]),
            ("auto", &[Http, Stdio]),
        ],
    },
    Client {
        name: "rmcp",
        language: Language::Rust,
        script: "rmcp-client",
        sessions: &[("2025-11-25", &[Http, Stdio]), ("2026-07-28", &[Http, Stdio])],
    },
];

/// The version with sessions whose server is restarted.
const SESSIONS: &str = "2025-11-25";

impl Client {
    pub(super) fn sessions(&self) -> impl Iterator<Item = (Suite, &'static str, Transport)> {
        self.sessions.iter().flat_map(|(version, transports)| {
            let suites: &[Suite] = match self.language {
                Language::Rust => &[Features],
                _ if COMPLETE.contains(version) => &[
                    Features,
                    Database,
                    Restart { has_data_dir: true },
                    Restart { has_data_dir: false },
                ],
                _ => &[Database],
            };
            let is_used = |suite: Suite, transport| match (suite, transport) {
                // Other transports have no sessions that outlive a connection.
                (Restart { .. }, transport) => *version == SESSIONS && matches!(transport, Http),
                (Database | Features, _) => true,
            };
            suites.iter().flat_map(move |suite| {
                let transports = transports.iter().filter(move |of| is_used(*suite, **of));
                transports.map(move |transport| (*suite, *version, *transport))
            })
        })
    }
}

impl Suite {
    pub(super) fn name(self) -> &'static str {
        match self {
            Database => "database",
            Features => "features",
            Restart { .. } => "restart",
        }
    }

    /// The name of its output.
    pub(super) fn output(self) -> &'static str {
        match self {
            Restart { has_data_dir: false } => "restart-without-data",
            suite => suite.name(),
        }
    }
}

impl Transport {
    pub(super) fn name(self) -> &'static str {
        match self {
            Http => "http",
            Sse => "sse",
            Stdio => "stdio",
        }
    }

    /// The path on the server; `None` for stdio.
    pub(super) fn path(self) -> Option<&'static str> {
        match self {
            Http => Some("/mcp"),
            Sse => Some("/sse"),
            Stdio => None,
        }
    }
}
