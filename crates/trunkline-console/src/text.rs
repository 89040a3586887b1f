//! Text in URLs, shells and pages.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All bytes except the unreserved ones of RFC 3986, section 2.3.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A segment of a path or a value of a query.
pub(crate) fn encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// A query of a URL with these parameters, without those that are empty. It begins with `?` unless it is empty.
pub(crate) fn query(pairs: &[(&str, &str)]) -> String {
    let pairs: Vec<_> = pairs.iter().filter(|(_, value)| !value.is_empty()).copied().collect();
    exact_query(&pairs)
}

/// A query of a URL with all of these parameters.
pub(crate) fn exact_query(pairs: &[(&str, &str)]) -> String {
    let pairs = pairs.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value)));
    let pairs: Vec<String> = pairs.collect();
    if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
}

/// A word of a POSIX shell.
pub(crate) fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// The size in a unit that people read.
pub(crate) fn size(bytes: usize) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if bytes < 1_000 {
        return format!("{bytes} bytes");
    }
    let (mut amount, mut unit) = (bytes as f64 / 1_000.0, 0);
    while amount >= 999.5 && unit + 1 < UNITS.len() {
        amount /= 1_000.0;
        unit += 1;
    }
    if amount < 10.0 {
        format!("{amount:.1} {}", UNITS[unit])
    } else {
        format!("{amount:.0} {}", UNITS[unit])
    }
}

/// A number with groups of three digits.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A duration in a unit that people read.
pub(crate) fn millis(millis: f64) -> String {
    match millis {
        millis if millis < 1.0 => format!("{:.0} µs", millis * 1_000.0),
        millis if millis < 10.0 => format!("{millis:.1} ms"),
        millis if millis < 1_000.0 => format!("{millis:.0} ms"),
        millis => format!("{:.1} s", millis / 1_000.0),
    }
}

/// The beginning of a text, of at most this many characters, and whether it was truncated.
pub(crate) fn beginning(text: &str, characters: usize) -> (&str, bool) {
    match text.char_indices().nth(characters) {
        Some((end, _)) => (&text[..end], true),
        None => (text, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_for_people() {
        let sizes = [0, 999, 1_000, 12_345, 1_000_000, 999_999_999].map(size);
        assert_eq!(sizes, ["0 bytes", "999 bytes", "1.0 KB", "12 KB", "1.0 MB", "1.0 GB"]);
        let numbers = [0, 999, 1_000, 1_234_567].map(grouped);
        assert_eq!(numbers, ["0", "999", "1,000", "1,234,567"]);
        let times = [0.05, 1.26, 99.6, 2_500.0].map(millis);
        assert_eq!(times, ["50 µs", "1.3 ms", "100 ms", "2.5 s"]);
    }

    #[test]
    fn escapes_for_shells_and_urls() {
        assert_eq!(shell_word("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(encode("a/b?c=\"é\""), "a%2Fb%3Fc%3D%22%C3%A9%22");
        assert_eq!(query(&[("a", "1 2"), ("b", ""), ("c", "&")]), "?a=1%202&c=%26");
        assert_eq!(beginning("añb", 2), ("añ", true));
        assert_eq!(beginning("añ", 2), ("añ", false));
    }
}
