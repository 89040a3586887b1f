//! Reads any text as EDN: nothing panics, values round-trip, errors have a position, and JSON output is valid.
//!
//! ```text
//! cargo run --manifest-path fuzz/Cargo.toml --example seeds
//! RUSTC_BOOTSTRAP=1 cargo fuzz run edn -- -max_total_time=600 -dict=fuzz/edn.dict
//! ```

#![no_main]

use libfuzzer_sys::fuzz_target;
use trunkline_edn::{Error, Reader, Value, json, read};

fuzz_target!(|text: &str| {
    match read(text) {
        Ok(value) => check(&value),
        Err(error) => check_error(text, &error),
    }
    check_forms(text);
});

/// Checks that a value is equal after writing and reading.
fn check(value: &Value) {
    let compact = value.to_string();
    for written in [compact.as_str(), &format!("{value:#}")] {
        let again = read(written).unwrap_or_else(|error| panic!("{written:?}: {error}"));
        assert_eq!(again, *value, "{written:?}");
        // Values of different types can be equal.
        assert_eq!(again.to_string(), compact);
    }
    assert!(!compact.contains('\n'));
    check_json(value);
}

/// Checks that `serde_json` reads the JSON, within its limits on numbers and depth.
fn check_json(value: &Value) {
    let Ok(json) = json::to_string(value) else { return };
    if let Err(error) = serde_json::from_str::<serde_json::Value>(&json) {
        let message = error.to_string();
        let is_limit = ["number out of range", "recursion limit exceeded"];
        assert!(is_limit.iter().any(|limit| message.starts_with(limit)), "{json:?}: {message}");
    }
    // Digits of a fraction may differ, since it is read as a float.
    let again = json::from_str(&json).unwrap_or_else(|error| panic!("{json:?}: {error}"));
    let same = json::to_string(&again).unwrap_or_else(|error| panic!("{json:?}: {error}"));
    let same = json::from_str(&same).unwrap_or_else(|error| panic!("{json:?}: {error}"));
    assert_eq!(same, again, "{json:?}");
}

fn check_error(text: &str, error: &Error) {
    let position = error.position().expect("a position");
    assert!(text.is_char_boundary(position.offset), "{error}");
    assert!(error.to_string().starts_with(&position.to_string()));
}

/// Checks that each form equals the text of its span, and that spans are in order.
fn check_forms(text: &str) {
    let (mut reader, mut end) = (Reader::new(text), 0);
    while let Some(form) = reader.next() {
        let Ok(form) = form else {
            assert!(reader.next().is_none(), "nothing follows an error");
            return;
        };
        let span = reader.span();
        assert!(end <= span.start && span.start < span.end);
        end = span.end;
        let alone = read(&text[span]).expect("a valid form");
        assert_eq!(alone, form);
    }
}
