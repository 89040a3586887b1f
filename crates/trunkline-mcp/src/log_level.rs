use serde::Serialize;

/// How grave a log message is (RFC 5424).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// For those who look for faults.
    Debug,
    /// What happens.
    Info,
    /// What happens and is worth a look.
    Notice,
    /// What may go wrong.
    Warning,
    /// What went wrong.
    Error,
    /// What went wrong and takes more with it.
    Critical,
    /// What has to be mended at once.
    Alert,
    /// The system cannot be used.
    Emergency,
}

impl LogLevel {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "debug" => Self::Debug,
            "info" => Self::Info,
            "notice" => Self::Notice,
            "warning" => Self::Warning,
            "error" => Self::Error,
            "critical" => Self::Critical,
            "alert" => Self::Alert,
            "emergency" => Self::Emergency,
            _ => return None,
        })
    }
}
