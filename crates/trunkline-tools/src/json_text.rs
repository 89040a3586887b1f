//! JSON as text, which keeps the order of members, and numbers of any length.

use std::borrow::Cow;

/// The most digits of a number that is written without an exponent.
const MOST_DIGITS: usize = 20;

/// The same JSON on one line, for programs that do not read all of JSON: without the white space between its
/// tokens, strings without needless escapes, and whole numbers as digits. `json` was read as JSON before.
pub(crate) fn normal(json: &str) -> String {
    let mut normal = String::with_capacity(json.len());
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
            '"' => normal.push_str(&string(token)),
            '-' | '0'..='9' => normal.push_str(&number(token)),
            _ => normal.push_str(token),
        }
        rest = after;
    }
    normal
}

/// With its quotes.
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

/// As digits if it is a whole number that has not too many of them; otherwise as it was written.
fn number(token: &str) -> Cow<'_, str> {
    if !token.contains(['.', 'e', 'E']) {
        return token.into();
    }
    whole(token).map_or(token.into(), Cow::from)
}

fn whole(token: &str) -> Option<String> {
    let (mantissa, exponent) = token.split_once(['e', 'E']).unwrap_or((token, "0"));
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let (before, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = before.to_owned() + behind;
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some("0".to_owned());
    }
    let significant = digits.trim_end_matches('0');
    let zeros = i64::try_from(digits.len() - significant.len()).ok()?;
    let behind = i64::try_from(behind.len()).ok()?;
    let zeros = exponent.parse::<i64>().ok()?.checked_sub(behind)?.checked_add(zeros)?;
    let zeros = usize::try_from(zeros).ok().filter(|zeros| *zeros <= MOST_DIGITS)?;
    let is_short = significant.len() + zeros <= MOST_DIGITS;
    is_short.then(|| format!("{sign}{significant}{}", "0".repeat(zeros)))
}

#[cfg(test)]
mod tests {
    #[track_caller]
    fn check(json: &str, expected: &str) {
        let read = |text| serde_json::from_str::<serde_json::Value>(text).unwrap();
        read(json);
        read(expected);
        assert_eq!(super::normal(json), expected);
    }

    #[test]
    fn one_way_to_write_it() {
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
