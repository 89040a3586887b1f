//! The words of a name, and which of them tell of a secret.

/// The words of a name, in small letters: `X-Auth_codeV2` has x, auth, code and v. Digits are no words.
pub(super) struct Words<'n> {
    /// The letters and digits, without what divides them.
    plain: &'n str,
    /// A bit for each byte with which a word begins.
    starts: u64,
    /// A bit for each byte that is a letter.
    letters: u64,
    are_all: bool,
}

/// The letters and digits that are looked at: of a longer name, the last ones.
pub(super) const LONGEST: usize = 64;

/// Secrets by themselves, and behind any other word. So are tokens.
const LAST: [&str; 10] =
    ["auth", "bearer", "csrf", "cvc", "cvv", "jwt", "otp", "pwd", "totp", "xsrf"];
/// Whose a `pass` or a `pin` is, where it is a secret: others are of compilers and of lamps.
const WHOSE: [&str; 29] = [
    "account", "admin", "auth", "bank", "card", "db", "database", "device", "email", "ftp", "http",
    "imap", "login", "mail", "my", "mysql", "new", "old", "pg", "postgres", "proxy", "redis",
    "root", "sim", "smtp", "ssh", "user", "wallet", "wifi",
];
/// Secrets if there is no other word.
const ALONE: [&str; 2] = ["sid", "confirm"];
/// What a `key` is secret for.
const KEYS: [&str; 21] = [
    "access",
    "aes",
    "api",
    "auth",
    "decryption",
    "deploy",
    "encryption",
    "gpg",
    "hmac",
    "master",
    "pgp",
    "private",
    "rsa",
    "secret",
    "session",
    "shared",
    "signing",
    "ssh",
    "ssl",
    "tls",
    "webhook",
];
/// What a `code` is secret for.
const CODES: [&str; 17] = [
    "access",
    "auth",
    "backup",
    "cvv",
    "device",
    "fa",
    "factor",
    "login",
    "mfa",
    "otp",
    "pairing",
    "pin",
    "recovery",
    "reset",
    "security",
    "sms",
    "verification",
];
/// What says of a secret how it is written, not what it is for.
const FORMS: [&str; 8] = ["b", "hash", "header", "hex", "pem", "raw", "text", "value"];
/// Tokens of language models, which are counted.
const COUNTED: [&str; 11] = [
    "cached",
    "completion",
    "input",
    "max",
    "min",
    "num",
    "output",
    "prompt",
    "reasoning",
    "total",
    "used",
];

impl<'n> Words<'n> {
    pub(super) fn of(name: &str, buffer: &'n mut [u8; LONGEST]) -> Self {
        let bytes = name.as_bytes();
        let end = &bytes[bytes.len().saturating_sub(LONGEST)..];
        let (mut starts, mut letters, mut count) = (0, 0, 0);
        let mut before = b' ';
        for (at, &byte) in end.iter().enumerate() {
            if byte.is_ascii_alphanumeric() {
                // `userPwd`, `APIKey`, `cvv2`.
                let begins = !before.is_ascii_alphanumeric()
                    || before.is_ascii_alphabetic() != byte.is_ascii_alphabetic()
                    || byte.is_ascii_uppercase()
                        && (before.is_ascii_lowercase()
                            || end.get(at + 1).is_some_and(u8::is_ascii_lowercase));
                starts |= u64::from(begins) << count;
                letters |= u64::from(byte.is_ascii_alphabetic()) << count;
                buffer[count] = byte.to_ascii_lowercase();
                count += 1;
            }
            before = byte;
        }
        let plain = std::str::from_utf8(&buffer[..count]).unwrap_or_default();
        let are_all = end.len() == bytes.len() && end.is_ascii();
        Self { plain, starts, letters, are_all }
    }

    /// The name without case, and without what divides words.
    pub(super) fn plain(&self) -> &'n str {
        self.plain
    }

    /// Whether nothing of the name was left out.
    pub(super) fn are_all(&self) -> bool {
        self.are_all
    }

    /// Whether the words tell of a secret.
    pub(super) fn tell_of_secret(&self) -> bool {
        let mut words = self.backwards();
        let Some(mut last) = words.next() else {
            return false;
        };
        let mut before = words.next();
        while let Some(word) = before.filter(|_| FORMS.contains(&last)) {
            (last, before) = (word, words.next());
        }
        let is_of = |whose: &[&str]| before.is_some_and(|before| whose.contains(&before));
        match one(last) {
            // MCP's is a number that a client chooses.
            "token" => !(is_of(&["progress"]) || last == "tokens" && is_of(&COUNTED)),
            "pas" | "pass" | "pin" => before.is_none() || is_of(&WHOSE),
            "key" => is_of(&KEYS),
            "code" => is_of(&CODES),
            "verifier" => is_of(&["code"]),
            // `token_ids` are what language models read.
            "id" => last == "id" && is_of(&["token"]),
            "str" | "string" => is_of(&["conn", "connection"]),
            word if before.is_none() && ALONE.contains(&word) => true,
            word => LAST.contains(&word) || is_token(word),
        }
    }

    /// The words, the last one first.
    fn backwards(&self) -> impl Iterator<Item = &'n str> {
        let mut end = self.plain.len();
        let (plain, starts, letters) = (self.plain, self.starts, self.letters);
        std::iter::from_fn(move || {
            loop {
                let before = starts & (u64::MAX.checked_shr(64 - end as u32).unwrap_or(0));
                let start = 63_u32.checked_sub(before.leading_zeros())? as usize;
                let word = &plain[start..end];
                end = start;
                if letters >> start & 1 == 1 {
                    return Some(word);
                }
            }
        })
    }
}

/// Whether it is one, where the words before it do not show: `accesstoken`.
fn is_token(word: &str) -> bool {
    word.ends_with("token") && word != "progresstoken"
}

/// A word without its plural.
fn one(word: &str) -> &str {
    word.strip_suffix('s').unwrap_or(word)
}
