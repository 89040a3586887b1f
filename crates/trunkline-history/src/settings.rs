use super::Redaction;

/// What a [`History`](super::History) keeps.
///
/// What is refused before it is read, as HTTP does with 401 and 413, has a quarter of the entries and
/// of the bytes at most: beyond that, a refusal takes the place of the oldest refusal, so that a flood
/// of them pushes out no call.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How many entries are kept, at least 1. Default 1,000. One more takes the place of the oldest.
    pub entries: usize,
    /// How many bytes all entries may have together. Default 8 MiB. The oldest make room. The newest
    /// is always kept: its texts are cut where they would not fit, and without them it has less than
    /// 1 KiB.
    pub bytes: usize,
    /// How many bytes the texts of one entry may have together. Default 16 KiB. A request has at most
    /// half of them, the response what is left.
    pub entry_bytes: usize,
    /// What is taken out of texts before they are kept.
    pub redact: Redaction,
}

impl Default for Settings {
    fn default() -> Self {
        let redact = Redaction::default();
        Self { entries: 1_000, bytes: 8 << 20, entry_bytes: 16 << 10, redact }
    }
}
