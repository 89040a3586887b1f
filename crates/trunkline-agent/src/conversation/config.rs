use std::time::Duration;

/// How much is kept of conversations. Every field bounds something.
#[derive(Debug, Clone)]
pub struct ConversationConfig {
    /// Most messages that are kept of a conversation: with each turn, the oldest turns beyond are forgotten,
    /// as wholes. The last turn is always kept. Default 200.
    pub max_messages: usize,
    /// Most bytes of their texts. Where the last turn alone has more, its longest texts are cut, the results of
    /// tools first. Default 256 KiB.
    pub max_bytes: usize,
    /// Most conversations of a caller: of more, those without a turn for the longest time are deleted, also
    /// when a turn of theirs runs, which then is not kept. Callers without a name are one caller. Default 200.
    pub max_conversations: usize,
    /// Most conversations of all callers. Default 10,000.
    pub max_total: usize,
    /// How long a conversation without a turn is kept. Default 30 days.
    pub max_age: Duration,
    /// How long a call waits to be confirmed. Default 10 min.
    pub pending_age: Duration,
    /// How long keeping and reading may take, waiting included. Default 5 s.
    pub timeout: Duration,
    /// How much may wait for the file; what is more is refused at once. Default 1,024.
    pub queue: usize,
}

impl Default for ConversationConfig {
    fn default() -> Self {
        Self {
            max_messages: 200,
            max_bytes: 256 << 10,
            max_conversations: 200,
            max_total: 10_000,
            max_age: Duration::from_secs(30 * 86_400),
            pending_age: Duration::from_secs(600),
            timeout: Duration::from_secs(5),
            queue: 1_024,
        }
    }
}
