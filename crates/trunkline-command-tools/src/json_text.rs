//! Normalization of JSON text, which preserves the order of members and numbers of any length.

use std::borrow::Cow;

/// The maximum number of digits of a number that is written without an exponent.
const MAX_DIGITS: usize = 20;

/// Normalizes valid JSON, for programs with an incomplete parser: one line without white space between tokens, strings
/// without unnecessary escapes, and integers as digits.
pub(crate) fn normalize(json: &str) -> String {
    let mut normalized = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => string_length(rest),
            '-' | '0'..='9' => number_length(rest),
            _ => first.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        match first {
            ' ' | '\t' | '\r' | '\n' => {}
            '"' => normalized.push_str(&string(token)),
            '-' | '0'..='9' => normalized.push_str(&number(token)),
            _ => normalized.push_str(token),
        }
        rest = after;
    }
    normalized
}

/// The length of a string token, including its quotes.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(text.len(), |end| end + 2)
}

fn number_length(text: &str) -> usize {
    let is_part = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    text.bytes().position(|byte| !is_part(byte)).unwrap_or(text.len())
}

fn string(token: &str) -> Cow<'_, str> {
    if !token.contains('\\') {
        return token.into();
    }
    let text = serde_json::from_str::<String>(token).and_then(|text| serde_json::to_string(&text));
    text.map_or(token.into(), Cow::from)
}

/// Writes an integer with a limited number of digits as digits, and any other number unchanged.
fn number(token: &str) -> Cow<'_, str> {
    if !token.contains(['.', 'e', 'E']) {
        return token.into();
    }
    integer_digits(token).map_or(token.into(), Cow::from)
}

fn integer_digits(token: &str) -> Option<String> {
    let (mantissa, exponent) = token.split_once(['e', 'E']).unwrap_or((token, "0"));
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = integer.to_owned() + fraction;
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some("0".to_owned());
    }
    let significant = digits.trim_end_matches('0');
    let zeros = i64::try_from(digits.len() - significant.len()).ok()?;
    let fraction = i64::try_from(fraction.len()).ok()?;
    let zeros = exponent.parse::<i64>().ok()?.checked_sub(fraction)?.checked_add(zeros)?;
    let zeros = usize::try_from(zeros).ok().filter(|zeros| *zeros <= MAX_DIGITS)?;
    let is_short = significant.len() + zeros <= MAX_DIGITS;
    is_short.then(|| format!("{sign}{significant}{}", "0".repeat(zeros)))
}

#[cfg(test)]
mod tests {
    #[track_caller]
    fn check(json: &str, expected: &str) {
        let read = |text| serde_json::from_str::<serde_json::Value>(text).unwrap();
        read(json);
        read(expected);
        assert_eq!(super::normalize(json), expected);
    }

    #[test]
    fn normalizes_strings_and_numbers() {
        check(r#"{"zone": "Asia\/Kolkata"}"#, r#"{"zone":"Asia/Kolkata"}"#);
        check(r#"{"zon\u0065" : "\u00e9\ud83d\ude00"}"#, r#"{"zone":"é😀"}"#);
        check(r#"["\\", "\"", "\u000a", "a b"]"#, r#"["\\","\"","\n","a b"]"#);
        check(r#"["\\\"]", "\u0022"]"#, r#"["\\\"]","\""]"#);
        check("[1e3, 1.0, -25e-1, 1.5e1, 0e9, -0.0]", "[1000,1,-25e-1,15,0,0]");
        check("[1200e-2, 1E+2, 100e-3]", "[12,100,100e-3]");
        check("[12345678901234567890123, 0.1, 1e30]", "[12345678901234567890123,0.1,1e30]");
        check("[true, null, {}]", "[true,null,{}]");
    }
}
