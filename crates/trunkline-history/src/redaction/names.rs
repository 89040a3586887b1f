//! The names of members whose values are secret.

/// The endings of secret names, [normalized](normalized).
const SECRET: [&str; 35] = [
    "accesskey",
    "apikey",
    "auth",
    "authorization",
    "bearer",
    "codeverifier",
    "connectionstring",
    "cookie",
    "cookies",
    "credential",
    "credentials",
    "csrf",
    "cvc",
    "cvv",
    "encryptionkey",
    "jwt",
    "otp",
    "pass",
    "passcode",
    "passphrase",
    "passwd",
    "password",
    "passwordconfirmation",
    "passwords",
    "pin",
    "privatekey",
    "pwd",
    "secret",
    "secretkey",
    "secrets",
    "sessid",
    "sessionid",
    "signingkey",
    "token",
    "xsrf",
];

/// Normalized names of protocols that end like a secret's name: of MCP, LSP and paged results.
const PUBLIC: [&str; 7] = [
    "continuationtoken",
    "nextpagetoken",
    "nexttoken",
    "pagetoken",
    "partialresulttoken",
    "progresstoken",
    "workdonetoken",
];

/// At least the bytes of the longest constant.
const LONGEST: usize = 32;

/// Whether the value of a member is secret. `more` are additional names.
pub(super) fn is_secret(name: &str, more: &[Box<str>]) -> bool {
    let mut buffer = [0; LONGEST];
    let mut start = LONGEST;
    let digits = |byte: &u8| byte.is_ascii_digit();
    for byte in normalized(name).rev().skip_while(digits).take(LONGEST) {
        start -= 1;
        buffer[start] = byte;
    }
    let end = &buffer[start..];
    let is_public = || PUBLIC.iter().any(|public| public.as_bytes() == end);
    // Most names differ in the last byte.
    let is_ending =
        |secret: &str| secret.as_bytes().last() == end.last() && end.ends_with(secret.as_bytes());
    SECRET.into_iter().any(is_ending) && !is_public()
        || more.iter().any(|other| normalized(other).eq(normalized(name)))
}

/// The letters and digits of a name, ASCII letters in lower case.
fn normalized(name: &str) -> impl DoubleEndedIterator<Item = u8> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    name.bytes().filter(is_part).map(|byte| byte.to_ascii_lowercase())
}
