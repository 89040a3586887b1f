//! Any text as EDN: nothing panics, what is read is written so that it reads back the same, what is
//! not has its place, and what has JSON has JSON that others read.
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
        Ok(value) => judge(&value),
        Err(error) => judge_error(text, &error),
    }
    judge_forms(text);
});

/// What was read means the same as what is written of it.
fn judge(value: &Value) {
    let compact = value.to_string();
    for written in [compact.as_str(), &format!("{value:#}")] {
        let again = read(written).unwrap_or_else(|error| panic!("{written:?}: {error}"));
        assert_eq!(again, *value, "{written:?}");
        // Equal are also values of different kinds.
        assert_eq!(again.to_string(), compact);
    }
    assert!(!compact.contains('\n'));
    judge_json(value);
}

/// JSON is read by others, but for numbers that are too large for them, and what is deeper.
fn judge_json(value: &Value) {
    let Ok(json) = json::to_string(value) else { return };
    if let Err(error) = serde_json::from_str::<serde_json::Value>(&json) {
        let message = error.to_string();
        let is_limit = ["number out of range", "recursion limit exceeded"];
        assert!(is_limit.iter().any(|limit| message.starts_with(limit)), "{json:?}: {message}");
    }
    // The digits of a fraction may be others: it is read as a float.
    let again = json::from_str(&json).unwrap_or_else(|error| panic!("{json:?}: {error}"));
    let same = json::to_string(&again).unwrap_or_else(|error| panic!("{json:?}: {error}"));
    let same = json::from_str(&same).unwrap_or_else(|error| panic!("{json:?}: {error}"));
    assert_eq!(same, again, "{json:?}");
}

fn judge_error(text: &str, error: &Error) {
    let position = error.position().expect("a place");
    assert!(text.is_char_boundary(position.offset), "{error}");
    assert!(error.to_string().starts_with(&position.to_string()));
}

/// Every form of a text is what its span is, and spans follow each other.
fn judge_forms(text: &str) {
    let (mut reader, mut end) = (Reader::new(text), 0);
    while let Some(form) = reader.next() {
        let Ok(form) = form else {
            assert!(reader.next().is_none(), "nothing follows an error");
            return;
        };
        let span = reader.span();
        assert!(end <= span.start && span.start < span.end);
        end = span.end;
        let alone = read(&text[span]).expect("what was read");
        assert_eq!(alone, form);
    }
}
