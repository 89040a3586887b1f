/// A record as it is stored.
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

/// A request with an id, that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// The name of the resource.
    pub(crate) resource: String,
    /// The name of the command.
    pub(crate) command: String,
    /// The record's id.
    pub(crate) id: String,
    /// What was asked, for comparing.
    pub(crate) asked: String,
    /// The record before, unless there was none.
    pub(crate) before: Option<Row>,
    /// The state that it left; none if it deleted the record.
    pub(crate) after: Option<u64>,
    /// What was answered.
    pub(crate) reply: String,
    /// Whether it was undone.
    pub(crate) reverted: bool,
    /// Milliseconds since 1970.
    pub(crate) at: i64,
}
