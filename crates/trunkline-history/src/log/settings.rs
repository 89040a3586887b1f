/// What a [`Log`](super::Log) may take of a disk, and of memory.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How many bytes a file may have; one more part of the log is begun behind them. Default 8 MiB.
    pub file_bytes: u64,
    /// How many bytes the files of all sessions may have together. Default 64 MiB. The oldest files make
    /// room. The one that is written to is always kept.
    pub total_bytes: u64,
    /// How many files there may be. Default 100.
    pub files: usize,
    /// How many bytes of entries may wait to be written. Default 16 MiB. What comes while there is no
    /// room is counted, and missing in the files. One entry always has room.
    pub queue_bytes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { file_bytes: 8 << 20, total_bytes: 64 << 20, files: 100, queue_bytes: 16 << 20 }
    }
}
