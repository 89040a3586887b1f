//! Names that look as if a secret stood behind them.

mod words;

use words::Words;

/// Of these, any part of a name, wherever its words begin and end.
const PARTS: [&str; 14] = [
    "accesskey",
    "apikey",
    "authorization",
    "cookie",
    "credential",
    "passcode",
    "passkey",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "secret",
    "sessid",
    "sessionid",
];

pub(super) fn looks_secret(name: &str) -> bool {
    // Most names are short, and stand for nothing of this kind.
    name.len() >= SHORTEST && !is_of_protocols(name) && is_any(name, is_secret)
}

/// The bytes of the shortest secret's name.
const SHORTEST: usize = 3;

/// The names that nearly every message has.
fn is_of_protocols(name: &str) -> bool {
    matches!(
        name,
        "jsonrpc" | "method" | "params" | "result" | "error" | "code" | "message" | "data" | "name"
    )
}

fn is_secret(plain: &str, words: &Words<'_>) -> bool {
    PARTS.iter().any(|part| plain.len() >= part.len() && plain.contains(part))
        || words.tell_of_secret()
}

/// `more` are [plain](plain).
pub(super) fn is_one_of(name: &str, more: &[Box<str>]) -> bool {
    !more.is_empty() && is_any(name, |plain, _| more.iter().any(|other| **other == *plain))
}

/// Whether the [plain] name is so, or what it is without the namespace before it: `pin` of `user/pin`,
/// which is how EDN's keywords are named, and of `user.pin`.
fn is_any(name: &str, is_so: impl Fn(&str, &Words<'_>) -> bool) -> bool {
    let is_end = |byte: u8| matches!(byte, b'/' | b'.');
    let own = name.bytes().rposition(is_end).map(|end| &name[end + 1..]);
    with_plain(name, &is_so) || own.is_some_and(|own| with_plain(own, is_so))
}

/// Whether a number behind this name counts things.
pub(super) fn is_plural(name: &str) -> bool {
    name.ends_with(['s', 'S'])
}

/// Calls `function` with the [plain] name, and its words, which takes no allocation for usual ones.
fn with_plain<T>(name: &str, function: impl FnOnce(&str, &Words<'_>) -> T) -> T {
    let mut buffer = [0; words::LONGEST];
    let words = Words::of(name, &mut buffer);
    if words.are_all() {
        return function(words.plain(), &words);
    }
    function(&plain(name), &words)
}

/// A name without case, and without what divides words. Of names, no more is looked at than is kept.
pub(super) fn plain(name: &str) -> String {
    let letters = name.chars().filter(|char| char.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}
