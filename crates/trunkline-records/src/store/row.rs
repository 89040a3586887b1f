use jiff::Timestamp;

/// A stored record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// The text of a JSON object.
    pub(crate) fields: String,
    /// Increases with each change.
    pub(crate) version: u64,
    /// The first version with this content. Reverting stores an old state under a new version.
    pub(crate) state: u64,
    /// Milliseconds since 1970.
    pub(crate) created_at: i64,
    /// Milliseconds since 1970.
    pub(crate) updated_at: i64,
}

/// The state of an id: a record, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum IdState {
    /// A record.
    Record(Row),
    /// No record: deleted, or never created.
    Absent {
        /// The last version of the deleted record; 0 if it was never created.
        version: u64,
        /// The deleted version, which identifies the deletion. Reverting restores an old state.
        state: u64,
    },
}

impl IdState {
    /// The record.
    pub(crate) fn record(&self) -> Option<&Row> {
        match self {
            Self::Record(row) => Some(row),
            Self::Absent { .. } => None,
        }
    }

    /// The last version.
    pub(crate) fn version(&self) -> u64 {
        match self {
            Self::Record(Row { version, .. }) | Self::Absent { version, .. } => *version,
        }
    }

    pub(crate) fn state_id(&self) -> StateId {
        match self {
            Self::Record(row) => StateId::Record(row.state),
            Self::Absent { state, .. } => StateId::Absent(*state),
        }
    }
}

/// Identifies a state of an id among all its states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateId {
    /// A record, by its state.
    Record(u64),
    /// No record, by its state.
    Absent(u64),
}

/// An executed request with an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// The name of the record type.
    pub(crate) resource: String,
    /// The name of the command.
    pub(crate) command: String,
    /// The record's id.
    pub(crate) id: String,
    /// The content, for comparison with repetitions.
    pub(crate) content: String,
    /// The state before it.
    pub(crate) before: IdState,
    /// The state after it.
    pub(crate) after: StateId,
    /// The reply.
    pub(crate) reply: String,
    /// Whether the request was reverted.
    pub(crate) reverted: bool,
    /// Milliseconds since 1970.
    pub(crate) at: i64,
}

/// Milliseconds since 1970.
pub(crate) fn now() -> i64 {
    Timestamp::now().as_millisecond()
}
