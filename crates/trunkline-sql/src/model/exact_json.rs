//! JSON of arguments without loss of digits. `serde_json` reads a number that is not an integer of 64 bits as a double,
//! so `0.1234567890123456789` would be rounded. Such a number is kept as its text, in an object with a key that names
//! of columns and operators cannot be.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json};
use trunkline::limits::DistinctKeys;

/// The key of an object that contains JSON text.
const KEY: &str = "\0json";

/// A value without duplicate keys and without loss of digits.
pub(crate) struct ExactJson(pub(crate) Json);

impl<'de> Deserialize<'de> for ExactJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer).map(Self)
    }
}

/// Reads a list or an object of values without duplicate keys, at any depth. The values [keep their text](kept). A
/// string that begins like an object or array is read as JSON text.
pub(super) fn read_values<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    let values = |text: &str| parse(text).and_then(|_| parse_values(text));
    match parse_values(raw.get()).map_err(D::Error::custom)? {
        Json::String(text) if text.trim_start().starts_with(['{', '[']) => values(&text)
            .map_err(|error| D::Error::custom(format!("invalid JSON in a string: {error}"))),
        _ => values(raw.get()).map_err(D::Error::custom),
    }
}

/// Reads a value without duplicate keys and without loss of digits.
pub(super) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    parse(raw.get()).map_err(D::Error::custom)
}

/// Parses a value without duplicate keys and without loss of digits.
pub(crate) fn parse(text: &str) -> serde_json::Result<Json> {
    serde_json::from_str::<DistinctKeys>(&marked(text)?).map(|value| value.0)
}

/// Parses the JSON text of an [`ImportRecord`](super::import::ImportRecord) without duplicate keys and without loss of
/// digits. Members that are objects, lists, numbers such as 1.50 or strings such as `"\u00e9"` keep their text, which is
/// stored in columns of documents.
///
/// # Errors
///
/// The text is not valid JSON.
pub fn read_json(text: &[u8]) -> serde_json::Result<Json> {
    parse_values(std::str::from_utf8(text).map_err(serde_json::Error::custom)?)
}

/// Parses a list or an object whose values [keep their text](kept), or a scalar.
fn parse_values(text: &str) -> serde_json::Result<Json> {
    match text.trim_start().bytes().next() {
        Some(b'{') => Ok(Json::Object(serde_json::from_str::<Members>(text)?.0)),
        Some(b'[') => serde_json::from_str::<Vec<&RawValue>>(text)?
            .into_iter()
            .map(|one| kept(one.get()))
            .collect(),
        _ => parse(text),
    }
}

/// The members of an object.
struct Members(Map<String, Json>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
        let mut members = Map::new();
        while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
            let value = kept(value.get()).map_err(A::Error::custom)?;
            if name == KEY {
                return Err(A::Error::custom("the key \"\\u0000json\" is not allowed"));
            }
            if members.contains_key(&name) {
                return Err(A::Error::custom(format_args!("duplicate key {name:?}")));
            }
            members.insert(name, value);
        }
        Ok(Members(members))
    }
}

/// A value that keeps its text if it is an object, a list, or a number or a string with another text than that of
/// `serde_json`, such as 1.50 and `"\u00e9"`.
fn kept(value: &str) -> serde_json::Result<Json> {
    if value.starts_with(['{', '[']) {
        return Ok(raw(value));
    }
    let parsed = parse(value)?;
    if !parsed.is_f64() && !value.contains('\\') {
        return Ok(parsed);
    }
    let written = parsed.to_string();
    Ok(if written == value { parsed } else { raw(value) })
}

/// A value that is [kept as its text](kept), unless it is a number. The values of an object or a list are parsed in the
/// same way. A text that cannot be parsed, such as that of an object with duplicate keys, is a string.
pub(crate) fn member(json: &Json) -> Cow<'_, Json> {
    match kept_text(json) {
        Some(text) => Cow::Owned(parse_values(text).unwrap_or_else(|_| text.into())),
        None => Cow::Borrowed(json),
    }
}

/// The text of a value that is [kept](kept), unless it is a number.
pub(crate) fn kept_text(json: &Json) -> Option<&str> {
    raw_text(json.as_object()?).filter(|text| !is_number(text))
}

/// Whether a value is an object or a list that is [kept](kept) as its text.
pub(crate) fn is_document(json: &Json) -> bool {
    kept_text(json).is_some_and(|text| text.starts_with(['{', '[']))
}

/// A value with texts instead of numbers that would be rounded.
pub(crate) fn with_texts(json: &Json) -> Json {
    match json {
        Json::Array(elements) => elements.iter().map(with_texts).collect(),
        Json::Object(fields) => match raw_text(fields) {
            Some(text) if is_number(text) => match parse(text) {
                Ok(number @ Json::Number(_)) => number,
                _ => text.into(),
            },
            Some(_) => with_texts(&member(json)),
            None => fields.iter().map(|(name, value)| (name.clone(), with_texts(value))).collect(),
        },
        scalar => scalar.clone(),
    }
}

/// JSON text as a value.
pub(crate) fn raw(text: &str) -> Json {
    Json::Object(Map::from_iter([(KEY.to_owned(), text.into())]))
}

/// The JSON text of an object that contains it.
pub(crate) fn raw_text(fields: &Map<String, Json>) -> Option<&str> {
    fields.get(KEY)?.as_str()
}

/// The text of a number that a double would round.
pub(crate) fn number(json: &Json) -> Option<&str> {
    raw_text(json.as_object()?).filter(|text| is_number(text))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_number_byte)
}

/// Whether a text is a number of JSON. Numbers of several digits that begin with 0 are not.
pub(crate) fn is_number_text(text: &str) -> bool {
    let is_start = |byte: u8| byte == b'-' || byte.is_ascii_digit();
    text.bytes().next().is_some_and(is_start) && is_number(text) && text != "-0" && is_valid(text)
}

/// Whether a text is valid JSON.
pub(crate) fn is_valid(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}

/// Whether a number is an integer, possibly of more than 64 bits.
pub(crate) fn is_integer(text: &str) -> bool {
    text.strip_prefix('-').unwrap_or(text).bytes().all(|byte| byte.is_ascii_digit())
}

/// The double with exactly this decimal text.
pub(crate) fn double(text: &str) -> Option<f64> {
    let value: f64 = text.parse().ok()?;
    (decimal(text)? == decimal(&format!("{value:e}"))?).then_some(value)
}

/// Whether a floating-point number of 32 bits has exactly this decimal text.
pub(crate) fn is_float(text: &str) -> bool {
    text.parse::<f32>().is_ok_and(|value| decimal(text) == decimal(&format!("{value:e}")))
}

/// The JSON text of a value without white space between its parts, as of the function `json` in SQLite.
pub(crate) fn compact(json: &Json) -> String {
    let mut text = text(json).into_bytes();
    let (mut in_string, mut is_escaped) = (false, false);
    text.retain(|byte| {
        let is_end = *byte == b'"' && !is_escaped;
        is_escaped = in_string && *byte == b'\\' && !is_escaped;
        in_string ^= is_end;
        in_string || !byte.is_ascii_whitespace()
    });
    // Only ASCII characters are missing.
    String::from_utf8(text).unwrap_or_default()
}

/// The JSON text of a value, with all digits.
pub(crate) fn text(json: &Json) -> String {
    let mut text = String::new();
    write(json, &mut text);
    text
}

fn write(json: &Json, text: &mut String) {
    let mut separator = "";
    match json {
        Json::Array(elements) => {
            text.push('[');
            for element in elements {
                text.push_str(std::mem::replace(&mut separator, ","));
                write(element, text);
            }
            text.push(']');
        }
        Json::Object(fields) => {
            if let Some(raw) = raw_text(fields) {
                return text.push_str(raw);
            }
            text.push('{');
            for (name, value) in fields {
                text.push_str(std::mem::replace(&mut separator, ","));
                text.push_str(&Json::from(name.as_str()).to_string());
                text.push(':');
                write(value, text);
            }
            text.push('}');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}

/// Valid JSON text, in which each number that would be rounded is an object with its text. Only those have the key.
fn marked(json: &str) -> serde_json::Result<Cow<'_, str>> {
    let mut marked = String::new();
    let (mut copied, mut at) = (0, 0);
    let bytes = json.as_bytes();
    while let Some(byte) = bytes.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'"' => {
                at += string_length(&bytes[at..]);
                if is_key(&json[start..at]) && json[at..].trim_start().starts_with(':') {
                    return Err(Error::custom("the key \"\\u0000json\" is not allowed"));
                }
            }
            b'-' | b'0'..=b'9' => {
                at += bytes[at..].iter().take_while(|byte| is_number_byte(**byte)).count();
                let number = &json[start..at];
                if is_rounded(number) {
                    marked.push_str(&json[copied..start]);
                    marked.push_str(&format!("{{\"\\u0000json\":\"{number}\"}}"));
                    copied = at;
                }
            }
            _ => {}
        }
    }
    if copied == 0 {
        return Ok(Cow::Borrowed(json));
    }
    marked.push_str(&json[copied..]);
    Ok(Cow::Owned(marked))
}

/// Whether a string in JSON text, which may have escapes, is [`KEY`]. NUL has one escape.
fn is_key(string: &str) -> bool {
    string.starts_with("\"\\u0000")
        && serde_json::from_str::<Cow<'_, str>>(string).is_ok_and(|text| text == KEY)
}

/// The length of the rest of a string, with its end.
fn string_length(bytes: &[u8]) -> usize {
    let mut is_escaped = false;
    let end = bytes.iter().position(|byte| {
        let is_end = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(bytes.len(), |end| end + 1)
}

fn is_number_byte(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')
}

/// Whether `serde_json` would read another number than this one. It does not read all doubles exactly.
fn is_rounded(number: &str) -> bool {
    // The decimal digits of a double.
    const ALWAYS_EXACT: usize = 15;
    let has_exponent = number.contains(['e', 'E']);
    if number.len() <= ALWAYS_EXACT && !has_exponent {
        return false;
    }
    if number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok() {
        return false;
    }
    let exact = double(number).map(f64::to_bits);
    let is_exact = exact.is_some() && serde_json::from_str(number).ok().map(f64::to_bits) == exact;
    // The parser refuses an invalid number.
    !is_exact && is_valid(number)
}

/// The significant digits and the exponent of a number.
fn decimal(number: &str) -> Option<(bool, String, i64)> {
    let (is_negative, number) = match number.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, number),
    };
    let (mantissa, exponent) = match number.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse().ok()?),
        None => (number, 0_i64),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return Some((is_negative, String::new(), 0));
    }
    let zeros = digits.len() - significant.len();
    let exponent = exponent.checked_sub(fraction.len() as i64)?.checked_add(zeros as i64)?;
    Some((is_negative, significant.to_owned(), exponent))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{
        compact, double, kept_text, member, number, parse, raw, read_json, text, with_texts,
    };

    #[track_caller]
    fn check(json: &str, is_kept: bool) {
        let value = parse(json).unwrap();
        assert_eq!(number(&value).is_some(), is_kept, "{json}");
        if is_kept {
            assert_eq!(text(&value), json);
        }
        let document = format!(r#"{{"a\"1":[{json},"{json}","\\",null]}}"#);
        let expected =
            if is_kept { document.clone() } else { parse(&document).unwrap().to_string() };
        assert_eq!(text(&parse(&document).unwrap()), expected);
    }

    #[test]
    fn invalid_numbers_are_refused() {
        for json in ["1e", "1.2.3.4.5.6.7.8.9", "2024-01-01-00-00-00", "-", "00000000000000000001"]
        {
            assert!(parse(json).is_err(), "{json}");
            assert!(parse(&format!("{{\"a\":[{json}]}}")).is_err(), "{json}");
        }
    }

    #[test]
    fn members_keep_their_text() {
        let record =
            read_json(br#" {"a": { "b" : 1, "b":2.50}, "c": [1 ,2], "d": 0.10, "e": "x"}"#);
        let record = record.unwrap();
        let text = |name: &str| text(&record[name]);
        assert_eq!(text("a"), r#"{ "b" : 1, "b":2.50}"#);
        assert_eq!(text("c"), "[1 ,2]");
        assert_eq!((text("d"), text("e")), ("0.10".to_owned(), "\"x\"".to_owned()));
        assert_eq!(number(&record["d"]), Some("0.10"));
        assert_eq!((&*member(&record["c"]), &*member(&record["e"])), (&json!([1, 2]), &json!("x")));
        assert_eq!(with_texts(&record["c"]), json!([1, 2]));
        assert_eq!(with_texts(&record["a"]), json!(r#"{ "b" : 1, "b":2.50}"#));
        assert_eq!(with_texts(&record["d"]), json!(0.1));
        for invalid in
            [r#"{"a": 1, "a": 2}"#, r#"{"a": {]}"#, r#"{"\u0000json": "1"}"#, "{} x", "{"]
        {
            assert!(read_json(invalid.as_bytes()).is_err(), "{invalid}");
        }
        assert_eq!(read_json(b"[1]").unwrap(), json!([1]));
    }

    #[test]
    fn numbers_keep_their_text() {
        for (json, is_kept) in [
            ("0", false),
            ("-7", false),
            ("1.5", false),
            ("1e+300", false),
            ("1e300", true),
            ("1.0", false),
            ("1.50", true),
            ("1e5", true),
            ("1E300", true),
            ("-0", true),
            ("1e400", true),
            ("18446744073709551616", true),
        ] {
            let record = read_json(format!("{{\"a\":{json}}}").as_bytes()).unwrap();
            assert_eq!(number(&record["a"]).is_some(), is_kept, "{json}");
            assert_eq!(text(&record["a"]), json);
        }
    }

    #[test]
    fn strings_keep_their_text() {
        for (json, is_kept) in [
            (r#""é""#, false),
            (r#""a\n\"\\""#, false),
            (r#""\u0001""#, false),
            (r#""\u00e9""#, true),
            (r#""\ud83d\ude00""#, true),
            (r#""a\/b""#, true),
        ] {
            let record = read_json(format!("{{\"a\":{json}}}").as_bytes()).unwrap();
            assert_eq!(kept_text(&record["a"]).is_some(), is_kept, "{json}");
            assert_eq!(text(&record["a"]), json);
            assert_eq!(*member(&record["a"]), serde_json::from_str::<Value>(json).unwrap());
            assert_eq!(with_texts(&record["a"]), serde_json::from_str::<Value>(json).unwrap());
        }
    }

    #[test]
    fn white_space_is_removed() {
        for (json, expected) in [
            ("{ \"b\" : 1,\n\t\"b\":2.50 }", r#"{"b":1,"b":2.50}"#),
            (r#"[ " a  b ", "\" \\", " " ]"#, r#"[" a  b ","\" \\"," "]"#),
            (r#"["\\" , "\\\" "]"#, r#"["\\","\\\" "]"#),
            ("[]", "[]"),
            ("[ \"é\u{a0}\" ]", "[\"é\u{a0}\"]"),
        ] {
            assert_eq!(compact(&raw(json)), expected);
        }
    }

    #[test]
    fn the_key_is_refused() {
        for key in [r"\u0000json", r"\u0000\u006ason", r"\u0000js\u006Fn"] {
            for text in
                [format!(r#"{{"a":{{"{key}" : "1,\"b\":2"}}}}"#), format!(r#"[{{"{key}":"1"}}]"#)]
            {
                assert!(parse(&text).is_err(), "{text}");
            }
            assert!(parse(&format!(r#"["{key}",0.1234567890123456789]"#)).is_ok());
        }
    }

    #[test]
    fn digits_are_kept() {
        for (json, is_kept) in [
            ("0", false),
            ("-0.1", false),
            ("9223372036854775807", false),
            ("18446744073709551615", false),
            ("18446744073709551616", true),
            ("12345678901234567890123", true),
            ("1e22", false),
            ("1.50", false),
            ("100000000000000000000.0", false),
            ("0.12345678901234568", false),
            ("0.1234567890123456789", true),
            ("-1.00000000000000000001", true),
            ("1E-400", true),
            ("1e-320", false),
            ("1.7976931348623157e308", false),
            ("2.2250738585072014E-308", false),
        ] {
            check(json, is_kept);
        }
        assert_eq!(double("0.30000000000000004"), Some(0.1 + 0.2));
    }
}
