//! Property tests of JSON, compared with `serde_json`.

use proptest::prelude::*;
use serde_json::Value as Other;
use trunkline_edn::json::{self, FromJson, Keys};
use trunkline_edn::{Reason, Value};

/// Texts that are JSON or nearly JSON.
fn text() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        Just("[".to_owned()),
        Just("]".to_owned()),
        Just("{".to_owned()),
        Just("}".to_owned()),
        Just(",".to_owned()),
        Just(":".to_owned()),
        "(null|true|false|nul|[ \\n\\t\\r])",
        "-?[0-9]{0,3}(\\.[0-9]{0,3})?([eE][+-]?[0-9]?)?",
        "\"([a-c/é\"]|\\\\[\"\\\\/bfnrtux]|\\\\u(00|d8|dc)[0-9a-f]{2}|[\\x00\\n])?\"",
    ];
    prop::collection::vec(token, 1..8).prop_map(|tokens| tokens.concat())
}

/// Random JSON.
fn document() -> impl Strategy<Value = Other> {
    let leaf = prop_oneof![
        Just(Other::Null),
        any::<bool>().prop_map(Other::from),
        any::<i64>().prop_map(Other::from),
        any::<u64>().prop_map(Other::from),
        any::<f64>().prop_map(Other::from),
        any::<String>().prop_map(Other::from),
    ];
    leaf.prop_recursive(4, 32, 8, |inner| {
        let key = prop_oneof!["[a-z/.:#-]{1,4}", any::<String>()];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Other::from),
            prop::collection::vec((key, inner), 0..8)
                .prop_map(|entries| Other::Object(entries.into_iter().collect())),
        ]
    })
}

/// Compares both readers for a text.
fn check(text: &str) {
    for keys in [Keys::Keyword, Keys::String] {
        let options = FromJson { keys, ..FromJson::default() };
        let through_values = json::from_str_with(text, &options).map(|value| value.to_string());
        assert_eq!(json::to_edn(text, &options), through_values, "{text:?}");
    }
    match (json::from_str(text), serde_json::from_str::<Other>(text)) {
        (Ok(ours), Ok(other)) => {
            let again = json::to_string(&ours).unwrap();
            // Integers have no negative zero.
            if !text.contains("-0") {
                assert_eq!(serde_json::from_str::<Other>(&again).unwrap(), other, "{text:?}");
            }
        }
        (Err(_), Err(_)) => {}
        // `serde_json` has no decimals.
        (Ok(_), Err(error)) if error.to_string().starts_with("number out of range") => {}
        (Ok(value), Err(error)) => panic!("{text:?} is read as {value}, not so: {error}"),
        (Err(error), Ok(_)) => {
            assert!(matches!(error.reason(), Reason::DuplicateKey { .. }), "{text:?}: {error}");
            assert!(error.position().is_some(), "{text:?}: {error}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_serde_json(text in text()) {
        check(&text);
    }

    #[test]
    fn json_round_trips(document in document(), strings in any::<bool>(), pretty in any::<bool>()) {
        let text = match pretty {
            true => serde_json::to_string_pretty(&document).unwrap(),
            false => document.to_string(),
        };
        let keys = if strings { Keys::String } else { Keys::Keyword };
        let value = json::from_str_with(&text, &FromJson { keys, ..FromJson::default() }).unwrap();
        // `serde_json` rounds floats, but the same text in the same way.
        let read = |text: &str| serde_json::from_str::<Other>(text).unwrap();
        prop_assert_eq!(read(&json::to_string(&value).unwrap()), read(&text));
        // Through EDN text as well.
        let edn: Value = value.to_string().parse().unwrap();
        prop_assert_eq!(edn, value);
    }
}
