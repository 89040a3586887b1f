//! The names of members with secret values.

/// The [normalized](normalized) endings of secret names, by their last byte.
fn secret_endings(last: u8) -> &'static [&'static str] {
    match last {
        b'c' => &["cvc"],
        b'd' => &["passwd", "password", "pwd", "sessid", "sessionid"],
        b'e' => &["cookie", "passcode", "passphrase"],
        b'f' => &["csrf", "xsrf"],
        b'g' => &["connectionstring"],
        b'h' => &["auth"],
        b'l' => &["credential"],
        b'n' => &["authorization", "passwordconfirmation", "pin", "token"],
        b'p' => &["otp"],
        b'r' => &["bearer", "codeverifier"],
        b's' => &["cookies", "credentials", "pass", "passwords", "secrets"],
        b't' => &["jwt", "secret"],
        b'v' => &["cvv"],
        b'y' => &["accesskey", "apikey", "encryptionkey", "privatekey", "secretkey", "signingkey"],
        _ => &[],
    }
}

/// Normalized names that are not secret despite their ending: those of MCP, LSP and pagination.
const PUBLIC: [&str; 7] = [
    "continuationtoken",
    "nextpagetoken",
    "nexttoken",
    "pagetoken",
    "partialresulttoken",
    "progresstoken",
    "workdonetoken",
];

/// Whether the value of a member is secret. `more` are additional names.
pub(super) fn is_secret(name: &str, more: &[Box<str>]) -> bool {
    let backwards = normalized(name).rev().skip_while(u8::is_ascii_digit);
    let endings = backwards.clone().next().map(secret_endings).unwrap_or_default();
    let ends_with = |ending: &&str| backwards.clone().take(ending.len()).eq(ending.bytes().rev());
    let is_public = || PUBLIC.iter().any(|public| backwards.clone().eq(public.bytes().rev()));
    endings.iter().any(ends_with) && !is_public()
        || more.iter().any(|other| normalized(other).eq(normalized(name)))
}

/// The letters and digits of a name, ASCII letters in lower case.
fn normalized(name: &str) -> impl DoubleEndedIterator<Item = u8> + Clone {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    name.bytes().filter(is_part).map(|byte| byte.to_ascii_lowercase())
}
