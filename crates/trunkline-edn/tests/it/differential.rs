//! Differential tests against clojure-reader, and the known differences.

use clojure_reader::edn::{self, Edn};
use proptest::collection::vec;
use proptest::prelude::*;
use trunkline_edn::{Keyword, List, Map, Ratio, Set, Symbol, Tagged, Value, Vector, read};

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_048, ..ProptestConfig::default() })]

    /// Random sequences of tokens that both support: both return the same value, or both reject the text.
    #[test]
    fn agrees_on_random_tokens(text in texts()) {
        prop_assert_eq!(ours(&text), theirs(&text), "{}", text);
    }
}

/// Returns `None` if the text is rejected.
fn ours(text: &str) -> Option<Value> {
    read(text).ok()
}

/// Returns `None` if the text is not exactly one form. clojure-reader stops after the first form.
fn theirs(text: &str) -> Option<Value> {
    let (form, rest) = edn::read(text).ok()?;
    if rest.trim().is_empty() { value(&form) } else { None }
}

/// Converts a form of clojure-reader, if there is an equivalent value.
fn value(form: &Edn<'_>) -> Option<Value> {
    let all = |parts: &[Edn<'_>]| parts.iter().map(value).collect::<Option<Vec<_>>>();
    Some(match form {
        Edn::Vector(parts) => Value::Vector(Vector::from(all(parts)?)),
        Edn::List(parts) => Value::List(List::from(all(parts)?)),
        Edn::Set(parts) => {
            let parts = parts.iter().map(value).collect::<Option<Vec<_>>>()?;
            Value::Set(Set::of_values(parts).ok()?)
        }
        Edn::Map(entries) => {
            let entries = entries.iter().map(|(key, of_key)| Some((value(key)?, value(of_key)?)));
            Value::Map(Map::of_entries(entries.collect::<Option<_>>()?).ok()?)
        }
        Edn::Key(name) => Value::Keyword(Keyword::new(name).ok()?),
        Edn::Symbol(name) => Value::Symbol(Symbol::new(name).ok()?),
        Edn::Str(text) => Value::from(&**text),
        Edn::Int(integer) => Value::from(*integer),
        Edn::Tagged(tag, tagged) => {
            Value::Tagged(Tagged::new(Symbol::new(tag).ok()?, value(tagged)?))
        }
        Edn::Double(float) => Value::from(float.0),
        Edn::Rational((upper, lower)) => Ratio::of(&(*upper).into(), &(*lower).into()).ok()?,
        Edn::Char(c) => Value::from(*c),
        Edn::Bool(bool) => Value::from(*bool),
        Edn::Nil => Value::Nil,
        _ => return None,
    })
}

fn texts() -> impl Strategy<Value = String> {
    let tokens = prop_oneof![
        4 => prop::sample::select(TOKENS).prop_map(str::to_owned),
        1 => any::<i64>().prop_map(|integer| integer.to_string()),
        1 => any::<f64>().prop_map(|float| Value::from(float).to_string()),
        1 => "[1-9][0-9]{0,9}/[1-9][0-9]{0,9}",
        1 => "\"[ a-zé😀;#{}()]{0,6}\"",
        1 => "[a-z][a-z0-9*!?<>=_-]{0,4}",
        1 => ":[a-z][a-z.-]{0,4}(/[a-z][a-z-]{0,4})?",
    ];
    let separator = prop::sample::select(&[" ", ",", "\n", "  ", " ; a comment ]\n"]);
    vec((tokens, separator), 0..12).prop_map(|parts| {
        let text: String =
            parts.into_iter().flat_map(|(token, space)| [token, space.to_owned()]).collect();
        format!("[{text}]")
    })
}

const TOKENS: &[&str] = &[
    "[1 2]",
    "()",
    "{}",
    "#{}",
    "{:a 1 :b 2}",
    "#{1 2}",
    "#{1 1}",
    "{:a 1 :a 2}",
    "{:a}",
    "{1 {2 {3 4}}}",
    "#_a",
    "#_[1 {:a 2}]",
    "#a/b",
    "nil",
    "true",
    "false",
    "a",
    "a/b",
    ":a",
    ":a/b",
    "+",
    "-",
    "\\a",
    "\\newline",
    "\\space",
    "0",
    "-1",
    "+7",
    "0x1F",
    "2r101",
    "36rz",
    "1.5",
    "-2.5e-7",
    "1e3",
    "1/3",
    "4/2",
    "1a",
    "\"\"",
    "\"a\\nb\"",
    "\"a\\qb\"",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "#{",
];

/// Checks the results of both for a text, as written by this crate.
#[track_caller]
fn check(text: &str, here: Option<&str>, there: Option<&str>) {
    let written = |value: Option<Value>| value.map(|value| value.to_string());
    assert_eq!(written(ours(text)).as_deref(), here, "{text:?} here");
    assert_eq!(written(theirs(text)).as_deref(), there, "{text:?} there");
    assert_ne!(here, there, "{text:?} is not a difference");
}

/// Texts where clojure-reader differs from this crate and from Clojure.
#[test]
fn known_differences() {
    // Escapes and characters that clojure-reader does not support.
    check(r#""\u00e9""#, Some("\"é\""), None);
    check(r#""\ud83d\ude00""#, Some("\"😀\""), None);
    check(r#""\b\f\101""#, Some(r#""\b\fA""#), None);
    check(r"\u03A9", Some(r"\Ω"), None);
    check(r"\o101", Some(r"\A"), None);
    check(r"\backspace", Some(r"\backspace"), None);
    // Numbers that its `no_std` core does not support, and octals.
    check("##Inf", Some("##Inf"), None);
    check("7N", Some("7"), None);
    check("9223372036854775808", Some("9223372036854775808N"), None);
    check("1.50M", Some("1.50M"), None);
    check("017", Some("15"), Some("17"));
    check("08", None, Some("8"));
    check("1#_2", Some("1"), None);
    // Additions of Clojure to EDN.
    check("^a []", Some("[]"), None);
    check("#:a{:b 1}", Some("{:a/b 1}"), None);
    // Duplicates in discarded forms.
    check("[#_#{1 1}]", None, Some("[]"));
    // Tags with a meaning.
    check("#inst \"2024\"", Some("#inst \"2024-01-01T00:00:00Z\""), Some("#inst \"2024\""));
    check("#uuid \"x\"", None, Some("#uuid \"x\""));
}

/// Names that clojure-reader accepts and this crate rejects.
#[test]
fn invalid_names() {
    for text in ["a/", "/a", "a:", "a::b", "::a", ":a:", ":a/", "a@b"] {
        assert!(edn::read(text).is_ok(), "{text}");
        assert_eq!(ours(text), None, "{text}");
    }
}

/// Lists and vectors with the same parts are equal in Clojure.
#[test]
fn equality_of_sequences() {
    assert!(edn::read("#{[1] (1)}").is_ok());
    assert_eq!(ours("#{[1] (1)}"), None);
}
