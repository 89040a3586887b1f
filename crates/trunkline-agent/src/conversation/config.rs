use std::time::Duration;

/// The limits of stored conversations.
#[derive(Debug, Clone)]
pub struct ConversationConfig {
    /// Maximum messages of a conversation. Beyond that, the oldest turns are deleted as a whole; the last turn is
    /// always kept. Default 200.
    pub max_messages: usize,
    /// Maximum size of the texts of a conversation in bytes. If the last turn alone exceeds it, its longest texts are
    /// truncated, beginning with the results of tools. Default 256 KiB.
    pub max_bytes: usize,
    /// Maximum conversations of a caller. Beyond that, the least recently updated are deleted, even during a turn,
    /// which is then not saved. Callers without a name count as one caller. Default 200.
    pub max_conversations: usize,
    /// Maximum conversations of all callers together. Default 10,000.
    pub max_total: usize,
    /// Maximum time since the last turn of a conversation; after that, it is deleted. Default 30 days.
    pub max_age: Duration,
    /// Lifetime of a confirmation token. Default 10 min.
    pub pending_age: Duration,
    /// Maximum duration of a read or a write, including the time in the queue. Default 5 s.
    pub timeout: Duration,
    /// Maximum queued reads, and maximum queued writes; further ones are rejected. Default 1,024.
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
