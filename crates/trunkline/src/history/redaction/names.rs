//! Names that look as if a secret stood behind them.

/// Of these, any part of a name.
const PARTS: [&str; 13] = [
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
    "sessid",
    "sessionid",
];
/// Of these, the whole name.
const WHOLE: [&str; 7] = ["auth", "bearer", "jwt", "otp", "pin", "pwd", "sid"];
/// MCP's name for a number that a client chooses.
const PROGRESS: &str = "progresstoken";

pub(super) fn looks_secret(name: &str) -> bool {
    // Most names are short, and stand for nothing of this kind.
    name.len() >= SHORTEST && is_any(name, is_secret)
}

/// The bytes of the shortest secret's name.
const SHORTEST: usize = 3;

fn is_secret(name: &str) -> bool {
    let one = name.strip_suffix('s').unwrap_or(name);
    PARTS.iter().any(|part| name.len() >= part.len() && name.contains(part))
        || WHOLE.contains(&one)
        || (one.ends_with("token") && one != PROGRESS)
}

/// `more` are [plain](plain).
pub(super) fn is_one_of(name: &str, more: &[Box<str>]) -> bool {
    !more.is_empty() && is_any(name, |name| more.iter().any(|other| **other == *name))
}

/// Whether the [plain] name is so, or what it is without the namespace before it: `pin` of `user/pin`,
/// which is how EDN's keywords are named, and of `user.pin`.
fn is_any(name: &str, is_so: impl Fn(&str) -> bool) -> bool {
    let is_end = |byte: u8| matches!(byte, b'/' | b'.');
    let own = name.bytes().rposition(is_end).map(|end| &name[end + 1..]);
    with_plain(name, &is_so) || own.is_some_and(|own| with_plain(own, is_so))
}

/// Whether a number behind this name counts things.
pub(super) fn is_plural(name: &str) -> bool {
    name.ends_with(['s', 'S'])
}

/// Calls `function` with the [plain] name, which takes no allocation for usual ones.
fn with_plain<T>(name: &str, function: impl FnOnce(&str) -> T) -> T {
    let mut buffer = [0; 64];
    if name.len() > buffer.len() || !name.is_ascii() {
        return function(&plain(name));
    }
    let letters = name.bytes().filter(u8::is_ascii_alphanumeric);
    let count = letters.zip(&mut buffer).map(|(byte, to)| *to = byte.to_ascii_lowercase()).count();
    function(std::str::from_utf8(&buffer[..count]).unwrap_or_default())
}

/// A name without case, and without what divides words. No secret's name is long.
pub(super) fn plain(name: &str) -> String {
    let letters = name.chars().filter(|char| char.is_alphanumeric());
    letters.take(LONG).flat_map(char::to_lowercase).collect()
}

/// A client chooses how long a name is. What looks secret stands at the beginning or the end of it.
const LONG: usize = 256;
