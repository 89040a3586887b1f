use jiff::Timestamp;

/// A stored record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// The text of a JSON object.
    pub(crate) fields: String,
    /// Goes up with each change.
    pub(crate) version: u64,
    /// The version that had this content first: reverting puts an old state under a new version.
    pub(crate) state: u64,
    /// Milliseconds since 1970.
    pub(crate) created_at: i64,
    /// Milliseconds since 1970.
    pub(crate) updated_at: i64,
}

/// The state of an id: a record or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// A record.
    Record(Row),
    /// Nothing, any more or yet.
    Nothing {
        /// The last version of the deleted record; 0 if there was no record.
        version: u64,
        /// Which deletion left it so, by the version that it deleted: reverting brings an old state back.
        state: u64,
    },
}

impl Standing {
    /// The record.
    pub(crate) fn record(&self) -> Option<&Row> {
        match self {
            Self::Record(row) => Some(row),
            Self::Nothing { .. } => None,
        }
    }

    /// The last version that there was.
    pub(crate) fn version(&self) -> u64 {
        match self {
            Self::Record(Row { version, .. }) | Self::Nothing { version, .. } => *version,
        }
    }

    pub(crate) fn mark(&self) -> Mark {
        match self {
            Self::Record(row) => Mark::Record(row.state),
            Self::Nothing { state, .. } => Mark::Nothing(*state),
        }
    }
}

/// Identifies a state of an id among all its states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A record, by its state.
    Record(u64),
    /// Nothing, by its state.
    Nothing(u64),
}

/// A request with an id, that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// The name of the resource.
    pub(crate) resource: String,
    /// The name of the command.
    pub(crate) command: String,
    /// The record's id.
    pub(crate) id: String,
    /// The request, for comparison.
    pub(crate) asked: String,
    /// The state before it.
    pub(crate) before: Standing,
    /// The state after it.
    pub(crate) after: Mark,
    /// The reply.
    pub(crate) reply: String,
    /// Whether it was undone.
    pub(crate) reverted: bool,
    /// Milliseconds since 1970.
    pub(crate) at: i64,
}

/// Milliseconds since 1970.
pub(crate) fn now() -> i64 {
    Timestamp::now().as_millisecond()
}
