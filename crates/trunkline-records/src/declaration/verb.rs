use std::fmt;

/// The commands of a record type. Exhaustive: every type has exactly these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Creates a record.
    Create,
    /// Returns one record.
    Read,
    /// Changes fields of a record.
    Update,
    /// Deletes a record.
    Delete,
    /// Returns all records, page by page.
    List,
    /// Returns the matching records, page by page.
    Filter,
    /// Returns the number of records, and the values of their fields.
    Status,
    /// Reverts a request.
    Revert,
}

impl Verb {
    /// All commands, in the order of listings.
    pub const ALL: [Self; 8] = [
        Self::Create,
        Self::Read,
        Self::Update,
        Self::Delete,
        Self::List,
        Self::Filter,
        Self::Status,
        Self::Revert,
    ];

    /// Returns the command with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.as_str() == name)
    }

    /// The name on the wire: `create`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Read => "read",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::List => "list",
            Self::Filter => "filter",
            Self::Status => "status",
            Self::Revert => "revert",
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
