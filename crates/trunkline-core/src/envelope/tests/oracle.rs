//! Property tests that compare the scanner with `serde_json`, on random bytes and on mutated requests.
//!
//! The scanner accepts all that `Value` accepts, and `RawValue`, which checks only the grammar, accepts all that the
//! scanner accepts. Where the two differ:
//!
//! | text | `Value` | scanner | `RawValue` |
//! |---|---|---|---|
//! | a number out of range, `1e400` | no | yes | yes |
//! | nesting of exactly 128 | no | yes, by default | yes |
//! | nesting deeper than the limit | no | no | yes |
//! | a lone surrogate, `"\ud800"` | no | no | yes |
//!
//! None of them accepts a byte-order mark, and all of them accept duplicate members, which are rejected later, as
//! invalid requests.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::envelope::fault::ScanReason;
use crate::envelope::{BodyError, canonical, parse};

const DEPTH: usize = 128;

/// The error of the scanner, if any.
fn scan_error(text: &[u8]) -> Option<BodyError> {
    match parse(text, DEPTH, usize::MAX) {
        Ok(_) | Err(BodyError::EmptyBatch) => None,
        Err(error) => Some(error),
    }
}

/// The known differences: a text, and whether `Value`, the scanner and `RawValue` accept it.
#[test]
fn known_differences() {
    let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let rows = [
        ("1e400", (false, true, true)),
        ("{\"a\":-1e400}", (false, true, true)),
        (&nested(127), (true, true, true)),
        (&nested(128), (false, true, true)),
        (&nested(129), (false, false, true)),
        (r#""\ud800""#, (false, false, true)),
        (r#"{"\udc00":1}"#, (false, false, true)),
        (r#"{"a":1,"a":2}"#, (true, true, true)),
        ("\u{feff}{}", (false, false, false)),
        ("", (false, false, false)),
    ];
    for (text, expected) in rows {
        let value = serde_json::from_str::<Value>(text).is_ok();
        let raw = serde_json::from_str::<&RawValue>(text).is_ok();
        assert_eq!((value, scan_error(text.as_bytes()).is_none(), raw), expected, "{text}");
    }
}

fn check(text: &[u8]) -> Result<(), TestCaseError> {
    let value = serde_json::from_slice::<Value>(text);
    let raw = serde_json::from_slice::<&RawValue>(text);
    match scan_error(text) {
        None => {
            prop_assert!(raw.is_ok(), "the scanner accepts invalid JSON: {raw:?}");
            if let Err(error) = value {
                let error = error.to_string();
                let known = ["number out of range", "recursion limit exceeded"];
                prop_assert!(known.iter().any(|known| error.starts_with(known)), "{error}");
            }
        }
        Some(error) => {
            prop_assert!(value.is_err(), "the scanner rejects text that Value accepts: {error:?}");
            let known = matches!(
                &error,
                BodyError::Parse(error)
                    if matches!(error.reason, ScanReason::LoneSurrogate | ScanReason::TooDeep)
            );
            prop_assert!(known || raw.is_err(), "the scanner rejects valid JSON: {error:?}");
            let offset = error.offset().expect("no batch is empty or too large");
            prop_assert!(offset <= text.len());
        }
    }
    Ok(())
}

/// Fragments of JSON, valid and invalid.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "{\"a\":",
    "[1,",
    "\"b\"",
    "\"jsonrpc\":\"2.0\"",
    "\"id\":",
    "\"method\":",
    "\"params\":",
    "null",
    "true",
    "fals",
    "0",
    "-",
    "1",
    ".5",
    "e",
    "E+",
    "1e400",
    " ",
    "\n",
    "\\u",
    "d800",
    "\\udc00",
    "\\ud83d\\ude00",
    "00e9",
    "\u{7f}",
    "\u{feff}",
    "é",
    "😀",
    "\0",
    "\t",
    "\\n",
];

fn requests() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|b| b.to_string()),
        any::<f64>().prop_filter("JSON has no NaN", |f| f.is_finite()).prop_map(|f| f.to_string()),
        "-?[1-9][0-9]{0,30}(\\.[0-9]{1,3})?([eE][+-]?[0-9]{1,4})?",
        any::<String>().prop_map(|s| Value::from(s).to_string()),
        r#""(\\u[0-9a-fA-F]{4}|\\["\\/bfnrt]|[ -!#-Z])*""#,
    ];
    let value = value.prop_recursive(6, 24, 4, |inner| {
        let member = (any::<String>(), inner.clone());
        let member = member.prop_map(|(name, value)| format!("{}:{value}", Value::from(name)));
        prop_oneof![
            vec(inner, 0..4).prop_map(|values| format!("[{}]", values.join(","))),
            vec(member, 0..4).prop_map(|members| format!("{{{}}}", members.join(" , "))),
        ]
    });
    let request = (value.clone(), value).prop_map(|(params, id)| {
        format!(r#"{{"jsonrpc":"2.0","method":"m","params":{params},"id":{id}}}"#)
    });
    prop_oneof![
        3 => request.clone(),
        1 => vec(request, 0..3).prop_map(|requests| format!("[{}]", requests.join(","))),
    ]
}

#[derive(Debug, Clone)]
enum Change {
    Remove(Index),
    Replace(Index, u8),
    Insert(Index, &'static str),
    Truncate(Index),
    Swap(Index, Index),
}

fn changes() -> impl Strategy<Value = Change> {
    prop_oneof![
        any::<Index>().prop_map(Change::Remove),
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Replace(at, byte)),
        (any::<Index>(), select(PIECES)).prop_map(|(at, piece)| Change::Insert(at, piece)),
        any::<Index>().prop_map(Change::Truncate),
        (any::<Index>(), any::<Index>()).prop_map(|(a, b)| Change::Swap(a, b)),
    ]
}

fn change(text: &mut Vec<u8>, change: &Change) {
    if text.is_empty() {
        return;
    }
    let len = text.len();
    match change {
        Change::Remove(at) => drop(text.remove(at.index(len))),
        Change::Replace(at, byte) => text[at.index(len)] = *byte,
        Change::Insert(at, piece) => {
            let at = at.index(len);
            text.splice(at..at, piece.bytes()).for_each(drop);
        }
        Change::Truncate(at) => text.truncate(at.index(len)),
        Change::Swap(a, b) => text.swap(a.index(len), b.index(len)),
    }
}

/// Values that `serde_json` writes in their canonical form.
fn values() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    scalar.prop_recursive(8, 64, 6, |inner| {
        let member = (any::<String>(), inner.clone());
        prop_oneof![
            vec(inner, 0..6).prop_map(Value::from),
            vec(member, 0..6).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A text of a value with escapes, white space, and members in the opposite order.
fn scrambled(value: &Value) -> String {
    let escaped = |text: &str| {
        let units = text.encode_utf16().map(|unit| format!("\\u{unit:04X}"));
        format!("\"{}\"", units.collect::<String>())
    };
    match value {
        Value::String(text) => escaped(text),
        Value::Array(values) => {
            format!("[ {} ]", values.iter().map(scrambled).collect::<Vec<_>>().join("\n,"))
        }
        Value::Object(members) => {
            let members = members.iter().rev();
            let members =
                members.map(|(name, value)| format!("{}\t: {}", escaped(name), scrambled(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(" , "))
        }
        other => other.to_string(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn canonical_text_is_that_of_sorted_values(value in values()) {
        for text in [value.to_string(), scrambled(&value)] {
            let found = String::from_utf8(canonical(text.as_bytes())).unwrap();
            prop_assert_eq!(found, value.to_string(), "{}", text);
        }
    }

    #[test]
    fn canonical_text_of_invalid_text_does_not_panic(pieces in vec(select(PIECES), 0..24)) {
        let _ = canonical(pieces.concat().as_bytes());
    }

    #[test]
    fn agrees_with_serde_json_on_random_bytes(text in vec(any::<u8>(), 0..64)) {
        check(&text)?;
    }

    #[test]
    fn agrees_with_serde_json_on_random_fragments(pieces in vec(select(PIECES), 0..24)) {
        check(pieces.concat().as_bytes())?;
    }

    #[test]
    fn agrees_with_serde_json_on_requests(request in requests()) {
        check(request.as_bytes())?;
    }

    #[test]
    fn agrees_with_serde_json_on_mutated_requests(
        request in requests(),
        changes in vec(changes(), 1..4),
    ) {
        let mut text = request.into_bytes();
        for each in &changes {
            change(&mut text, each);
        }
        check(&text)?;
    }
}
