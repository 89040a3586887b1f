//! Search for the end of a string, eight bytes at a time.

/// The offset of the next quote, backslash or control character at or after `at`.
pub(super) fn plain(text: &[u8], mut at: usize) -> usize {
    while let Some(word) = text.get(at..).and_then(<[u8]>::first_chunk) {
        let special = special(u64::from_le_bytes(*word));
        if special != 0 {
            return at + special.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().position(special).unwrap_or(rest.len())
}

/// Sets the high bit of each byte that is `"`, `\`, or below 0x20.
///
/// Only the lowest match is reliable: a subtraction borrows from the byte above a match.
pub(super) const fn special(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let quote = word ^ (ONES * b'"' as u64);
    let escape = word ^ (ONES * b'\\' as u64);
    let quote = quote.wrapping_sub(ONES) & !quote;
    let escape = escape.wrapping_sub(ONES) & !escape;
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (quote | escape | control) & HIGH
}
