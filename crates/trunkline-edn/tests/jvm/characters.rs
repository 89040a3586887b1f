//! Characters at all positions of tokens, and keys of JSON that might be keywords.

use std::collections::BTreeMap;

use trunkline_edn::{json, read};

/// All Latin characters, all digits and white space, and one of 61 others.
pub(crate) fn characters() -> impl Iterator<Item = char> {
    let is_wanted = |c: &char| {
        let code = u32::from(*c);
        code < 0x300 || c.is_numeric() || c.is_whitespace() || code.is_multiple_of(61)
    };
    let basic = (0..=0xffff).filter_map(char::from_u32).filter(is_wanted);
    basic.chain(['\u{feff}', '\u{10000}', '\u{1d7ce}', '\u{1f600}', '\u{10ffff}'])
}

/// Documents with a character at the start, in the middle and at the end of tokens.
pub(crate) fn documents(c: char) -> [String; 13] {
    [
        format!("{c}a"),
        format!("[a{c}b]"),
        format!("[:{c} a]"),
        format!("[:a/{c} b]"),
        format!("[1{c}]"),
        format!("[-{c}]"),
        format!("[\\{c}]"),
        format!("[\\{c}a]"),
        format!("\"\\1{c}\""),
        format!("\"{c}\""),
        format!("#{c} 1"),
        format!("#:{c}{{:a 1}}"),
        from_json(c),
    ]
}

/// A JSON object with the character in its keys, as EDN.
fn from_json(c: char) -> String {
    let keys = ["?", "a?", "?a", "a/?", "?/a", "-?"].map(|key| key.replace('?', &c.to_string()));
    let object: BTreeMap<_, _> = keys.into_iter().map(|key| (key, ())).collect();
    let object = serde_json::to_string(&object).expect("the keys are text");
    let value = json::from_str(&object).expect("it is JSON");
    let written = value.to_string();
    assert_eq!(read(&written).as_ref(), Ok(&value), "{written}");
    written
}
