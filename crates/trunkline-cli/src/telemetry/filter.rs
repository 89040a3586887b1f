//! The levels of log messages.

use std::env;

use anyhow::anyhow;
use tracing_subscriber::EnvFilter;

const VARIABLE: &str = "RUST_LOG";
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// The levels of `RUST_LOG`, or INFO.
///
/// # Errors
/// When the variable is invalid.
pub(super) fn from_environment() -> anyhow::Result<EnvFilter> {
    let text = env::var_os(VARIABLE).unwrap_or_default();
    match text.to_string_lossy().trim() {
        "" => Ok(EnvFilter::new("info")),
        text => parse(text),
    }
}

fn parse(text: &str) -> anyhow::Result<EnvFilter> {
    let invalid = |reason: String| {
        let levels = LEVELS.join(", ");
        anyhow!(
            "invalid {VARIABLE}: {reason}; use one of {levels}, or TARGET=LEVEL, as in info,hyper=warn"
        )
    };
    // `EnvFilter` would take another word as the name of a target, and log nothing of others.
    let is_level = |word: &str| LEVELS.iter().any(|level| level.eq_ignore_ascii_case(word));
    let words: Vec<&str> = text.split(',').map(str::trim).collect();
    for word in words.iter().filter(|word| !word.is_empty()) {
        // A directive with fields of spans is left to `EnvFilter`.
        let has_fields = word.contains(['[', ']', '{', '}']);
        let level = word.rsplit('=').next().filter(|_| !has_fields);
        if let Some(level) = level.filter(|level| !is_level(level)) {
            return Err(invalid(format!("`{level}` is not a log level")));
        }
    }
    EnvFilter::try_new(words.join(",")).map_err(|error| invalid(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn refuses_words_that_are_no_levels() {
        for (text, is_valid) in [
            ("info", true),
            ("WARN", true),
            ("off", true),
            ("trunkline=debug", true),
            ("warn, trunkline_mcp=trace", true),
            ("trunkline_mcp[call{method=\"add\"}]=debug", true),
            ("trunkline_mcp", false),
            ("inf", false),
            ("verbose", false),
            ("7", false),
            ("trunkline=verbose", false),
        ] {
            assert_eq!(parse(text).is_ok(), is_valid, "{text}");
        }
    }
}
