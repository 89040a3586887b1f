//! The representation of results that clients receive.

use std::collections::BTreeMap;

/// The representation of a tool's result. Hosts differ in what they show to their models: some only the text, others only
/// the structured content, if there is any, and some both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Results {
    /// Text.
    Text,
    /// Structured content, and text for errors and for values that structured content cannot have.
    Structured,
    /// Both.
    Both,
}

/// The representation for a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientResults {
    /// The representation.
    pub results: Results,
    /// Whether structured content is [abbreviated](trunkline::tool::ToolOperation::abbreviate) like the text. Programs
    /// need it unchanged.
    pub abbreviate: bool,
}

/// The representations for the clients of a server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Representations {
    /// By the name of the client in lower case.
    clients: BTreeMap<String, ClientResults>,
}

impl ClientResults {
    /// A representation for a language model.
    #[must_use]
    pub fn new(results: Results) -> Self {
        Self { results, abbreviate: true }
    }
}

impl Representations {
    pub(crate) fn new(clients: &BTreeMap<String, ClientResults>) -> Self {
        let lower =
            |(name, results): (&String, &ClientResults)| (name.to_ascii_lowercase(), *results);
        Self { clients: clients.iter().map(lower).collect() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    /// The representation for the client of this name, if it is configured.
    pub(crate) fn of(&self, client: &str) -> Option<ClientResults> {
        self.clients.get(&client.to_ascii_lowercase()).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::{ClientResults, Representations, Results};

    #[test]
    fn clients_are_found_by_name() {
        let whole = ClientResults { results: Results::Both, abbreviate: false };
        let clients = [("Claude-Code".to_owned(), whole)].into();
        let representations = Representations::new(&clients);
        for (client, expected) in [
            ("claude-code", Some(whole)),
            ("CLAUDE-CODE", Some(whole)),
            ("claude", None),
            ("", None),
        ] {
            assert_eq!(representations.of(client), expected, "{client}");
        }
    }
}
