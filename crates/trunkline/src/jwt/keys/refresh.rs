use std::time::Duration;

/// When keys are fetched, and how long they are kept.
#[derive(Debug, Clone)]
pub struct Refresh {
    /// How old keys may be before they are fetched anew, while tokens are still checked with them.
    /// Default 10 min.
    pub after: Duration,
    /// How old keys may be before tokens wait until they have been fetched anew, or that has failed.
    /// It bounds for how long a key that was taken away opens the door after a pause. At least
    /// [`after`](Self::after). Default 20 min.
    pub wait_after: Duration,
    /// The least time from one fetch to the next, whatever tokens come: one that names an unknown key,
    /// or names none and is signed with none at hand, has the keys fetched, since they may have been rotated. Default 10 s.
    pub interval: Duration,
    /// How old keys may be before they are not used any more, because they cannot be fetched.
    /// Default 24 h.
    pub max_age: Duration,
    /// How long fetching may take. Default 5 s.
    pub timeout: Duration,
    /// How many bytes the set may have. Default 256 KiB.
    pub max_bytes: usize,
}

impl Default for Refresh {
    fn default() -> Self {
        Self {
            after: Duration::from_secs(10 * 60),
            wait_after: Duration::from_secs(20 * 60),
            interval: Duration::from_secs(10),
            max_age: Duration::from_secs(24 * 60 * 60),
            timeout: Duration::from_secs(5),
            max_bytes: 256 << 10,
        }
    }
}

impl Refresh {
    /// Files are near, and their keys are the operator's until there are others.
    pub(super) fn of_files() -> Self {
        Self {
            after: Duration::from_secs(4),
            wait_after: Duration::ZERO,
            interval: Duration::from_secs(1),
            max_age: Duration::MAX,
            ..Self::default()
        }
    }
}
