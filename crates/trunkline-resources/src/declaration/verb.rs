use std::fmt;

/// The commands on the records of a resource. Exhaustive: every resource has these, and no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Make a record.
    Create,
    /// Answer one record.
    Read,
    /// Change some of a record's fields.
    Update,
    /// Remove a record.
    Delete,
    /// Answer all records, page by page.
    List,
    /// Answer the records that fit, page by page.
    Filter,
    /// Tell how many records there are, and what they hold.
    Status,
    /// Undo what a request did.
    Revert,
}

impl Verb {
    /// All of them, in the order of listings.
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

    /// The command of this name, if there is one.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.as_str() == name)
    }

    /// Its name on the wire: `create`.
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
