//! Character classes, and the syntax of symbols and keywords. They follow Clojure's reader, which accepts more than
//! the EDN specification.

/// The class of each ASCII byte. Bytes of other characters are [`OTHER`].
pub(crate) const CLASSES: [u8; 256] = classes();

/// White space, including the comma.
pub(crate) const SPACE: u8 = 1;
/// Starts or ends a form by itself, and ends a number.
pub(crate) const MACRO: u8 = 2;
/// Ends a symbol or a keyword: all macro characters but `#`.
pub(crate) const END: u8 = 4;
/// Not part of any token.
pub(crate) const FORBIDDEN: u8 = 8;
/// Allowed anywhere in the name of a symbol; digits not at its beginning.
pub(crate) const PLAIN: u8 = 16;
pub(crate) const DIGIT: u8 = 32;
/// Part of a character that is not ASCII.
pub(crate) const OTHER: u8 = 64;

const fn classes() -> [u8; 256] {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'\t'..=b'\r' | 0x1c..=0x1f | b' ' | b',' => SPACE,
            b'"' | b';' | b'^' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'\\' => MACRO | END,
            b'#' => MACRO,
            b'@' | b'`' | b'~' => FORBIDDEN,
            b'0'..=b'9' => PLAIN | DIGIT,
            b'a'..=b'z' | b'A'..=b'Z' => PLAIN,
            b'.' | b'*' | b'+' | b'!' | b'-' | b'_' | b'?' | b'$' | b'%' | b'&' | b'=' | b'<'
            | b'>' => PLAIN,
            0x80.. => OTHER,
            _ => 0,
        };
        byte += 1;
    }
    classes
}

/// White space between forms: Java's `Character.isWhitespace`, and the comma.
pub(crate) fn is_space(c: char) -> bool {
    match c {
        c if c.is_ascii() => CLASSES[c as usize] & SPACE != 0,
        '\u{1680}' | '\u{2000}'..='\u{200a}' => c != '\u{2007}',
        '\u{2028}' | '\u{2029}' | '\u{205f}' | '\u{3000}' => true,
        _ => false,
    }
}

/// The zeros of the decimal digits in Unicode's first 16 bits. A token that begins with a digit of any script is a
/// number, and invalid unless the digit is ASCII.
const ZEROS: [u16; 37] = [
    0x0030, 0x0660, 0x06f0, 0x07c0, 0x0966, 0x09e6, 0x0a66, 0x0ae6, 0x0b66, 0x0be6, 0x0c66, 0x0ce6,
    0x0d66, 0x0de6, 0x0e50, 0x0ed0, 0x0f20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80,
    0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0,
    0xff10,
];

/// Whether a token with this first character is a number.
pub(crate) fn is_digit(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_digit();
    }
    let Ok(code) = u16::try_from(c as u32) else { return false };
    let after = ZEROS.partition_point(|zero| *zero <= code);
    after > 0 && code - ZEROS[after - 1] < 10
}

/// Whether the text after the digits of a number is a fraction, an exponent, or both.
pub(crate) fn is_fraction(rest: &str) -> bool {
    let after_digits = |bytes: &'_ [u8]| {
        let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
        (digits > 0, bytes.len() - digits)
    };
    let mut rest = rest.as_bytes();
    if let [b'.', fraction @ ..] = rest {
        rest = &fraction[fraction.len() - after_digits(fraction).1..];
    }
    match rest {
        [b'e' | b'E', b'-' | b'+', exponent @ ..] | [b'e' | b'E', exponent @ ..] => {
            after_digits(exponent) == (true, 0)
        }
        rest => rest.is_empty(),
    }
}

/// The characters with names.
const CHARACTER_NAMES: [(char, &str); 6] = [
    ('\n', "newline"),
    (' ', "space"),
    ('\t', "tab"),
    ('\r', "return"),
    ('\u{8}', "backspace"),
    ('\u{c}', "formfeed"),
];

/// The character with this name, such as `newline`.
pub(crate) fn named_character(name: &str) -> Option<char> {
    CHARACTER_NAMES.iter().find(|(_, known)| *known == name).map(|(c, _)| *c)
}

/// The name of a character.
pub(crate) fn character_name(c: char) -> Option<&'static str> {
    CHARACTER_NAMES.iter().find(|(known, _)| *known == c).map(|(_, name)| *name)
}

/// Splits a symbol or a keyword into namespace and name, at the first slash.
pub(crate) fn split_name(text: &str) -> (Option<&str>, &str) {
    match text.split_once('/') {
        Some((namespace, name)) if text != "/" => (Some(namespace), name),
        _ => (None, text),
    }
}

/// A cheap hash of a name.
pub(crate) fn fingerprint(text: &str) -> usize {
    let byte = |at: usize| text.as_bytes().get(at).copied().map_or(0, usize::from);
    let last = text.len().saturating_sub(1);
    byte(0) + 3 * byte(last / 2) + 7 * byte(last) + 11 * last
}

/// Whether the reader accepts a text as a symbol.
pub(crate) fn is_symbol(text: &str) -> bool {
    let mut chars = text.chars();
    let (first, second) = (chars.next(), chars.next());
    let is_number = match first {
        Some('+' | '-') => second.is_some_and(is_digit),
        Some(first) => is_digit(first),
        None => true,
    };
    let is_literal = matches!(text, "nil" | "true" | "false");
    let begins_other = matches!(first, Some(':' | '#'));
    !is_number && !is_literal && !begins_other && is_token(text) && is_symbol_token(text)
}

/// Whether the reader accepts a text, without its colon, as a keyword. Clojure's reader accepts more than
/// [`is_plain_keyword`]: `:1a`, `:a/b/c`.
pub(crate) fn is_keyword(text: &str) -> bool {
    !text.is_empty() && !text.starts_with(':') && is_token(text) && is_keyword_token(text)
}

/// [`is_keyword`] for the text of a token, whose characters are valid.
pub(crate) fn is_keyword_token(text: &str) -> bool {
    // Clojure matches the name with its colon, which then is a valid first character.
    is_symbol_token(text) || is_symbol_token(&format!(":{text}"))
}

/// [`is_symbol`] for the text of a token, whose characters are valid: checks namespace and name.
pub(crate) fn is_symbol_token(text: &str) -> bool {
    let begins = |part: &str| part.starts_with(|c: char| !c.is_ascii_digit() && c != '/');
    if text.ends_with(':') || text.contains("::") {
        return false;
    }
    if text == "/" {
        return true;
    }
    let Some(slash) = text.rfind('/') else { return begins(text) };
    let (namespace, name) = match text.strip_suffix("//") {
        // The name is a slash.
        Some(namespace) => (namespace, "/"),
        None => (&text[..slash], &text[slash + 1..]),
    };
    let is_name = name == "/" || begins(name);
    // In the reader's pattern, a line separator ends the namespace.
    let is_namespace = begins(namespace)
        && !namespace.ends_with(':')
        && !namespace.chars().skip(1).any(|c| c == '\u{85}');
    is_namespace && is_name
}

/// Whether all characters are allowed in one token.
fn is_token(text: &str) -> bool {
    text.chars()
        .all(|c| !is_space(c) && (!c.is_ascii() || CLASSES[c as usize] & (END | FORBIDDEN) == 0))
}

/// Whether every EDN reader accepts a text as a keyword: by the specification, with at most one slash and
/// letters of any script.
pub(crate) fn is_plain_keyword(text: &str) -> bool {
    // Most keywords are ASCII, without a namespace.
    let is_ascii_plain = |byte: u8| CLASSES[byte as usize] & PLAIN != 0;
    if text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.bytes().all(is_ascii_plain) {
        return true;
    }
    let is_part = |part: &str| {
        let mut chars = part.chars();
        let Some(first) = chars.next() else { return false };
        let second = chars.next();
        let begins = match first {
            '-' | '+' | '.' => !second.is_some_and(char::is_numeric),
            ':' | '#' => false,
            first => !first.is_numeric(),
        };
        begins && part.chars().all(is_plain) && !part.ends_with(':') && !part.contains("::")
    };
    match text.split_once('/') {
        Some((namespace, name)) => is_part(namespace) && is_part(name),
        None => is_part(text),
    }
}

fn is_plain(c: char) -> bool {
    if c.is_ascii() {
        CLASSES[c as usize] & PLAIN != 0 || matches!(c, ':' | '#')
    } else {
        c.is_alphanumeric()
    }
}
