//! Names that look as if a secret stood behind them.

/// Of these, any part of a name.
const PARTS: [&str; 11] = [
    "accesskey",
    "apikey",
    "authorization",
    "cookie",
    "credential",
    "passcode",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "secret",
];
/// Of these, the whole name.
const WHOLE: [&str; 5] = ["auth", "bearer", "jwt", "otp", "pwd"];
/// MCP's name for a number that a client chooses.
const PROGRESS: &str = "progresstoken";

pub(super) fn looks_secret(name: &str) -> bool {
    let name = plain(name);
    let one = name.strip_suffix('s').unwrap_or(&name);
    PARTS.iter().any(|part| name.contains(part))
        || WHOLE.contains(&one)
        || (one.ends_with("token") && one != PROGRESS)
}

/// `more` are [plain](plain).
pub(super) fn is_one_of(name: &str, more: &[Box<str>]) -> bool {
    !more.is_empty() && more.contains(&plain(name).into_boxed_str())
}

/// Whether a number behind this name counts things.
pub(super) fn is_plural(name: &str) -> bool {
    name.ends_with(['s', 'S'])
}

/// A name without case, and without what divides words. No secret's name is long.
pub(super) fn plain(name: &str) -> String {
    let letters = name.chars().filter(|char| char.is_alphanumeric());
    letters.take(LONG).flat_map(char::to_lowercase).collect()
}

/// A client chooses how long a name is. What looks secret stands at the beginning or the end of it.
const LONG: usize = 256;
