//! What characters mean to the reader: as Clojure's, which takes more than the EDN text says.

/// How a byte of ASCII can stand in a token. Bytes of other characters are [`OTHER`].
pub(crate) const CLASSES: [u8; 256] = classes();

/// White space, of which a comma is part.
pub(crate) const SPACE: u8 = 1;
/// Begins or ends a form by itself, and so ends a number.
pub(crate) const MACRO: u8 = 2;
/// Ends a symbol or a keyword: all of those but `#`.
pub(crate) const END: u8 = 4;
/// Stands in no token.
pub(crate) const FORBIDDEN: u8 = 8;
/// Stands anywhere in the name of a symbol, except that a digit is not its first.
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

/// White space between forms, as `Character.isWhitespace` tells it, and the comma.
pub(crate) fn is_space(c: char) -> bool {
    match c {
        c if c.is_ascii() => CLASSES[c as usize] & SPACE != 0,
        '\u{1680}' | '\u{2000}'..='\u{200a}' => c != '\u{2007}',
        '\u{2028}' | '\u{2029}' | '\u{205f}' | '\u{3000}' => true,
        _ => false,
    }
}

/// The zeros of Unicode's decimal digits that fit in 16 bits: what begins with a digit is read as a
/// number, in whatever script, and is none if it is not ASCII.
const ZEROS: [u16; 37] = [
    0x0030, 0x0660, 0x06f0, 0x07c0, 0x0966, 0x09e6, 0x0a66, 0x0ae6, 0x0b66, 0x0be6, 0x0c66, 0x0ce6,
    0x0d66, 0x0de6, 0x0e50, 0x0ed0, 0x0f20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80,
    0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0,
    0xff10,
];

/// Whether a token that begins so is a number.
pub(crate) fn is_digit(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_digit();
    }
    let Ok(code) = u16::try_from(c as u32) else { return false };
    let after = ZEROS.partition_point(|zero| *zero <= code);
    after > 0 && code - ZEROS[after - 1] < 10
}

/// The characters that have names.
const NAMES: [(char, &str); 6] = [
    ('\n', "newline"),
    (' ', "space"),
    ('\t', "tab"),
    ('\r', "return"),
    ('\u{8}', "backspace"),
    ('\u{c}', "formfeed"),
];

/// The character of this name.
pub(crate) fn named(name: &str) -> Option<char> {
    NAMES.iter().find(|(_, known)| *known == name).map(|(c, _)| *c)
}

/// The name that a character has.
pub(crate) fn name(c: char) -> Option<&'static str> {
    NAMES.iter().find(|(known, _)| *known == c).map(|(_, name)| *name)
}
