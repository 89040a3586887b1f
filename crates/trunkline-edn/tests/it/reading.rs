//! Valid and invalid texts. The data file agrees with Clojure 1.11, except for the differences in the documentation
//! of the reader.

use serde::Deserialize;
use trunkline_edn::{Limits, Reader, Value, read_with};

/// A text, and its value written again or its error.
#[derive(Deserialize)]
struct Row {
    group: String,
    text: String,
    written: Option<String>,
    error: Option<String>,
}

#[test]
fn texts() {
    let rows = include_str!("../data/reading.jsonl").lines();
    let rows: Vec<Row> = rows.map(|row| serde_json::from_str(row).expect("a row")).collect();
    assert!(!rows.is_empty());
    let failures: Vec<String> = rows.iter().filter_map(|row| row.check().err()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

impl Row {
    fn check(&self) -> Result<(), String> {
        let read = self.text.parse::<Value>();
        let found = read.map(|value| value.to_string()).map_err(|error| error.to_string());
        let expected = match (&self.written, &self.error) {
            (Some(written), None) => Ok(written),
            (None, Some(error)) => Err(error),
            _ => return Err(format!("{:?} has to be either", self.text)),
        };
        if found.as_ref() == expected {
            return Ok(());
        }
        Err(format!("{}: {:?}: {found:?}, not {expected:?}", self.group, self.text))
    }
}

/// Checks the forms of a text with their spans, and the error at the end, if any.
#[track_caller]
fn check_forms(text: &str, forms: &[(&str, &str)], error: Option<&str>) {
    let mut reader = Reader::new(text);
    for (form, span) in forms {
        let read = reader.next().expect("a form").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((read.to_string().as_str(), &text[reader.span()]), (*form, *span), "{text:?}");
    }
    let last = reader.next().map(|read| read.map_err(|error| error.to_string()));
    assert_eq!(last, error.map(|error| Err(error.to_owned())), "{text:?}");
    assert!(reader.next().is_none(), "the reader has ended");
}

#[test]
fn many_forms() {
    check_forms("", &[], None);
    check_forms(" ; none\n, #_ :none", &[], None);
    check_forms("1 2", &[("1", "1"), ("2", "2")], None);
    check_forms("[1][2]3", &[("[1]", "[1]"), ("[2]", "[2]"), ("3", "3")], None);
    check_forms("é #_1 ^:a [ 猫 ] ;", &[("é", "é"), ("[猫]", "^:a [ 猫 ]")], None);
    check_forms(
        "a #inst \"2024\"",
        &[("a", "a"), ("#inst \"2024-01-01T00:00:00Z\"", "#inst \"2024\"")],
        None,
    );
    check_forms("1 ) 2", &[("1", "1")], Some("line 1, column 3: unmatched `)`"));
    check_forms(
        "1 #_",
        &[("1", "1")],
        Some("line 1, column 5: the text ends within a discarded form"),
    );
    check_forms("[1 [2 08] 3] 4", &[], Some("line 1, column 7, in /1/1: `08` is not a number"));
}

#[track_caller]
fn check_within(limits: Limits, text: &str, expected: Result<&str, &str>) {
    let read = read_with(text, &limits);
    let found = read.map(|value| value.to_string()).map_err(|error| error.to_string());
    assert_eq!(found.as_deref().map_err(String::as_str), expected, "{text:?}");
}

#[test]
fn limits() {
    let depth = |depth| Limits { depth, ..Limits::default() };
    check_within(depth(0), "a", Ok("a"));
    check_within(depth(0), "[]", Err("line 1, column 1: nested deeper than 0 forms"));
    check_within(depth(2), "[[] #{} () {}]", Ok("[[] #{} () {}]"));
    check_within(depth(2), "[[1 []]]", {
        Err("line 1, column 5, in /0/1: nested deeper than 2 forms")
    });
    check_within(
        depth(2),
        "{:a {:b {}}}",
        Err("line 1, column 9, in /a/b: nested deeper than 2 forms"),
    );
    check_within(depth(2), "#a #b 1", Ok("#a #b 1"));
    check_within(depth(2), "#a #b #c 1", Err("line 1, column 7: nested deeper than 2 forms"));
    check_within(depth(2), "#_ #_ 1 2 3", Ok("3"));
    check_within(depth(2), "#_ #_ #_ 1 2 3 4", Err("line 1, column 7: nested deeper than 2 forms"));
    check_within(
        depth(1),
        "#:a{:b #{}}",
        Err("line 1, column 8, in /a~1b: nested deeper than 1 forms"),
    );
    check_within(depth(1), "^:a ^:b []", Err("line 1, column 5: nested deeper than 1 forms"));
    check_within(depth(1), "^:a []", Err("line 1, column 5: nested deeper than 1 forms"));

    let namespaces = |namespaces| Limits { namespaces, ..Limits::default() };
    let long = "n".repeat(100);
    let error = "line 1, column 1: the namespaces of maps add more than 350 bytes to their keys";
    let map = |count: usize| {
        format!("#:{long}{{{}}}", (0..count).map(|at| format!(":k{at} 1 ")).collect::<String>())
    };
    let written = format!("{{:{long}/b 1, :{long}/c 2, :{long}/d 3}}");
    check_within(namespaces(350), &format!("#:{long}{{:b 1 :c 2 :d 3}}"), Ok(&written));
    check_within(namespaces(350), &map(20), Err(error));
    let large = map(5).repeat(100);
    assert_eq!(Reader::with_limits(&large, namespaces(500)).filter(Result::is_ok).count(), 100);
    // Longer text may have more.
    let text = format!("[{}]", "#:com.example.user{:id 1 :name 2}\n".repeat(600_000));
    assert!(read_with(&text, &Limits::default()).is_ok());
    check_within(namespaces(0), "#:a{:b 1}", Ok("{:a/b 1}"));

    let digits = |digits| Limits { digits, ..Limits::default() };
    let message = "a ratio or a non-decimal integer must have at most 20 digits";
    let error = format!("line 1, column 1: {message}");
    check_within(digits(20), "0xfffffffffffffffffffff", Err(&error));
    check_within(digits(20), "0x00000ffffffffffffffff", Ok("18446744073709551615N"));
    check_within(digits(20), "01777777777777777777777", Err(&error));
    check_within(digits(20), "2r11111111111111111111111", Ok("8388607"));
    check_within(digits(20), "1/111111111111111111111", Err(&error));
    check_within(digits(20), "111111111111111111111/3", Err(&error));
    check_within(digits(20), "3/00000000000000000000006", Ok("1/2"));
    check_within(
        digits(0),
        "123456789012345678901234567890",
        Ok("123456789012345678901234567890N"),
    );
    check_within(digits(0), "1234567890.1234567890M", Ok("1234567890.1234567890M"));
}
