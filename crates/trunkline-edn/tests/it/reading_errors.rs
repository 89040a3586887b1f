//! What is said of texts that are refused.

use trunkline_edn::{Path, Reason, Step, Value};

/// Texts with what is said of them, behind `line 1, `.
#[track_caller]
fn check(rows: &[(&str, &str)]) {
    for (text, expected) in rows {
        let Err(error) = text.parse::<Value>() else { panic!("{text:?} is read") };
        let found = error.to_string();
        assert_eq!(found.strip_prefix("line 1, ").unwrap_or(&found), *expected, "{text:?}");
    }
}

#[test]
fn places() {
    check(&[
        ("[1\n {:a/b (2 08)}]", "line 2, column 11, in /1/a~1b/1: `08` is not a number"),
        ("\n\n  08", "line 3, column 3: `08` is not a number"),
        ("[1\r\n08]", "line 2, column 1, in /1: `08` is not a number"),
        // Characters are counted, not bytes.
        ("[é 猫 😀 08]", "column 8, in /3: `08` is not a number"),
        ("[\"é\n猫\" 08]", "line 2, column 4, in /1: `08` is not a number"),
        ("{\"é~/\" [08]}", "column 9, in /é~0~1/0: `08` is not a number"),
        ("{[1 2] 08}", "column 8, in /[1 2]: `08` is not a number"),
        ("{nil 08}", "column 6, in /nil: `08` is not a number"),
        ("#:a{:b [08]}", "column 9, in /a~1b/0: `08` is not a number"),
        ("{1.50M {#uuid \"F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6\" 08}}", {
            "column 54, in /1.50M/f81d4fae-7dec-11d0-a765-00a0c91e6bf6: `08` is not a number"
        }),
        // What is discarded, and metadata, is no part of the value.
        ("{:a #_1 08}", "column 9, in /a: `08` is not a number"),
        ("[1 #_2 #_3 08]", "column 12, in /1: `08` is not a number"),
        ("[1 #my/tag [2 08]]", "column 15, in /1/1: `08` is not a number"),
        ("[\"ab\\q\"]", "column 5, in /0: `\\q` is not an escape sequence"),
        ("{:a [1 2", "column 9, in /a/2: the text ends within a vector"),
        ("{:b {:a 1 :a 2}}", "column 5, in /b: duplicate key: :a"),
    ]);
}

#[test]
fn long_texts_are_cut() {
    let long = "1a".repeat(50);
    let cut = "1a".repeat(32);
    check(&[
        (&long, &format!("column 1: `{cut}…` is not a number")),
        (&format!("\\{long}"), &format!("column 1: `\\{cut}…` is not a character")),
        (&format!("a/{long}"), &format!("column 1: `a/{}…` is not a symbol", &cut[..62])),
        (&format!(":a/{long}"), &format!("column 1: `:a/{}…` is not a keyword", &cut[..62])),
        (&format!("##x{long}"), &format!("column 3: `##x{}…` is not a symbolic value", &cut[..63])),
        (
            &format!("#{{\"{long}\" \"{long}\"}}"),
            &format!("column 1: duplicate key: \"{}…", &cut[..63]),
        ),
        (&format!("{{\"{long}\" 08}}"), &format!("column 105, in /{cut}…: `08` is not a number")),
    ]);
}

#[test]
fn the_parts_of_an_error() {
    let error = "{:a [1 08]}".parse::<Value>().expect_err("no number");
    assert_eq!(error.reason(), &Reason::Number { text: "08".into() });
    let steps = [Step::Key("a".to_owned()), Step::Index(1)];
    assert_eq!(error.path(), &Path::from_iter(steps));
    let position = error.position().expect("it was in a text");
    assert_eq!((position.offset, position.line, position.column), (7, 1, 8));
}
