//! Errors of invalid texts.

use trunkline_edn::{Inst, Keyword, Path, Reason, Step, Symbol, Uuid, Value};

/// Checks the error of each text, without `line 1, `.
#[track_caller]
fn check(rows: &[(&str, &str)]) {
    for (text, expected) in rows {
        let Err(error) = text.parse::<Value>() else { panic!("{text:?} is read") };
        let found = error.to_string();
        assert_eq!(found.strip_prefix("line 1, ").unwrap_or(&found), *expected, "{text:?}");
    }
}

#[test]
fn positions() {
    check(&[
        ("[1\n {:a/b (2 08)}]", "line 2, column 11, in /1/a~1b/1: `08` is not a number"),
        ("\n\n  08", "line 3, column 3: `08` is not a number"),
        ("[1\r\n08]", "line 2, column 1, in /1: `08` is not a number"),
        // Columns count characters, not bytes.
        ("[é 猫 😀 08]", "column 8, in /3: `08` is not a number"),
        ("[\"é\n猫\" 08]", "line 2, column 4, in /1: `08` is not a number"),
        ("{\"é~/\" [08]}", "column 9, in /é~0~1/0: `08` is not a number"),
        ("{[1 2] 08}", "column 8, in /[1 2]: `08` is not a number"),
        ("{nil 08}", "column 6, in /nil: `08` is not a number"),
        ("#:a{:b [08]}", "column 9, in /a~1b/0: `08` is not a number"),
        ("{1.50M {#uuid \"F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6\" 08}}", {
            "column 54, in /1.50M/f81d4fae-7dec-11d0-a765-00a0c91e6bf6: `08` is not a number"
        }),
        // Discarded forms and metadata are not part of the value.
        ("{:a #_1 08}", "column 9, in /a: `08` is not a number"),
        ("[1 #_2 #_3 08]", "column 12, in /1: `08` is not a number"),
        ("[1 #my/tag [2 08]]", "column 15, in /1/1: `08` is not a number"),
        ("[\"ab\\q\"]", "column 5, in /0: `\\q` is not an escape sequence"),
        ("{:a [1 2", "column 9, in /a/2: the text ends within a vector"),
    ]);
}

#[test]
fn duplicate_keys() {
    check(&[
        ("{:b {:a 1 :a 2}}", "column 11, in /b: duplicate key: :a"),
        ("{:a 1\n :b 2\n :a 3}", "line 3, column 2: duplicate key: :a"),
        ("[#{1 #_1 #t 1\n #_#_2 3 ^:m [] 4 1 1}]", "line 2, column 19, in /0: duplicate key: 1"),
        ("#:n{:a 1 :_/a 2, n/a 3 #_:n/a :n/a 4}", "column 31: duplicate key: :n/a"),
        ("{{} {:a 1} [:a 1] {} #{} 1 {} 2}", "column 28: duplicate key: {}"),
        ("{:a #_{:b #inst \"\" ;}\n :b 2} 1}", "line 2, column 2, in /a: duplicate key: :b"),
        ("#{#inst \"2024\" #inst \"2024-01\"}", {
            "column 16: duplicate key: #inst \"2024-01-01T00:00:00Z\""
        }),
    ]);
}

#[test]
fn truncates_long_texts() {
    let long = "1a".repeat(50);
    let cut = "1a".repeat(32);
    let nines = "9".repeat(100);
    let too_large = format!("column 1: `1e{}…` has an exponent of more than 32 bits", &nines[..62]);
    check(&[
        (&long, &format!("column 1: `{cut}…` is not a number")),
        (&format!("\\{long}"), &format!("column 1: `\\{cut}…` is not a character")),
        (&format!("a/{long}"), &format!("column 1: `a/{}…` is not a symbol", &cut[..62])),
        (&format!(":a/{long}"), &format!("column 1: `:a/{}…` is not a keyword", &cut[..62])),
        (&format!("##x{long}"), &format!("column 3: `##x{}…` is not a symbolic value", &cut[..63])),
        (
            &format!("#{{\"{long}\" \"{long}\"}}"),
            &format!("column 106: duplicate key: \"{}…", &cut[..63]),
        ),
        (&format!("{{\"{long}\" 08}}"), &format!("column 105, in /{cut}…: `08` is not a number")),
        (&format!("#inst \"{long}\""), &format!("column 7: \"{cut}…\" is not an instant")),
        (&format!("#uuid \"{long}\""), &format!("column 7: \"{cut}…\" is not a UUID")),
        (&format!("1e{long}M"), &format!("column 1: `1e{}…` is not a number", &cut[..62])),
        (&format!("1e{nines}M"), &too_large),
    ]);
    let symbol = format!("({long}");
    for (error, expected) in [
        (Keyword::new(&symbol).unwrap_err(), format!("`:({}…` is not a keyword", &cut[..63])),
        (Symbol::new(&symbol).unwrap_err(), format!("`({}…` is not a symbol", &cut[..63])),
        (long.parse::<Inst>().unwrap_err(), format!("\"{cut}…\" is not an instant")),
        (long.parse::<Uuid>().unwrap_err(), format!("\"{cut}…\" is not a UUID")),
    ] {
        assert_eq!(error.to_string(), expected);
    }
}

/// The message has both ends of a long path, and the error has all of it.
#[test]
fn truncates_long_paths() {
    let cut = format!("{}…é{}", "/é".repeat(64), "/é".repeat(64));
    let reason = format!("column 521, in {cut}: `08` is not a number");
    check(&[(&format!("{}08", "{:é ".repeat(130)), &reason)]);
    let text = format!("{}08", "[".repeat(200));
    let error = text.parse::<Value>().expect_err("no number");
    assert!(error.to_string().len() < 400, "{error}");
    assert_eq!(error.path().to_string(), "/0".repeat(200));
}

/// A terminal would interpret control characters.
#[test]
fn escapes_control_characters() {
    check(&[
        (":a\x1bb:", "column 1: `:a\\u{1b}b:` is not a keyword"),
        ("\\\u{9b}1m", "column 1: `\\\\u{9b}1m` is not a character"),
        ("{\"\x1b[2J\n\" 08}", "line 2, column 3, in /\\u{1b}[2J\\n: `08` is not a number"),
    ]);
}

#[test]
fn errors_have_reason_path_and_position() {
    let error = "{:a [1 08]}".parse::<Value>().expect_err("no number");
    assert_eq!(error.reason(), &Reason::Number { text: "08".into() });
    let steps = [Step::Key("a".to_owned()), Step::Index(1)];
    assert_eq!(error.path(), &Path::from_iter(steps));
    let position = error.position().expect("it was in a text");
    assert_eq!((position.offset, position.line, position.column), (7, 1, 8));
}
