//! Forms as they are read, written again on one line; what is refused, where and why.

use trunkline_edn::{Error, Value};

#[track_caller]
fn check(text: &str, expected: Result<&str, &str>) {
    let read: Result<Value, Error> = text.parse();
    let found = read.map(|value| value.to_string()).map_err(|error| error.to_string());
    match (&found, expected) {
        (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{text:?}"),
        (Err(found), Err(expected)) => assert_eq!(found, expected, "{text:?}"),
        _ => panic!("{text:?}: {found:?}, not {expected:?}"),
    }
}

#[test]
fn atoms() {
    check("nil", Ok("nil"));
    check(" true,", Ok("true"));
    check("\u{feff}a", Ok("\u{feff}a"));
    check("a\u{2003}", Ok("a"));
    check("\"a\\u00e9\\ud83d\\ude00\\101\"", Ok("\"aé😀A\""));
    check("[\\a \\newline \\u03A9 \\o101 \\( \\u]", Ok("[\\a \\newline \\Ω \\A \\( \\u]"));
    check("[:a :a/b :1a :a/b/c :/ :a// :a:b]", Ok("[:a :a/b :1a :a/b/c :/ :a// :a:b]"));
    check("[+ - -a .b a#b a' / a/b]", Ok("[+ - -a .b a#b a' / a/b]"));
    check("#inst \"2024-02\"", Ok("#inst \"2024-02-01T00:00:00Z\""));
    check("#inst \"2024-01:30\"", Ok("#inst \"2024-01-01T01:30:00Z\""));
    check("#inst \"1985-04-12T23:20:50.52-07:00\"", Ok("#inst \"1985-04-13T06:20:50.520Z\""));
}

#[test]
fn numbers() {
    check("[0 -0 +7 7N -9223372036854775808 9223372036854775808]", {
        Ok("[0 0 7 7 -9223372036854775808 9223372036854775808N]")
    });
    check("[0x1F -0Xff 017 2r101 36rZ 0xffffffffffffffffN]", {
        Ok("[31 -255 15 5 35 18446744073709551615N]")
    });
    check("[1. 1e3 -2.5e-7 -0.0 1e400 ##-Inf ## NaN]", {
        Ok("[1.0 1000.0 -2.5e-7 -0.0 ##Inf ##-Inf ##NaN]")
    });
    check("[1.50M 1M 1e3M 1e-9M -0.0M .5]", Ok("[1.50M 1M 1E+3M 1E-9M 0.0M .5]"));
    check("[1/3 4/2 -6/4 0/5]", Ok("[1/3 2 -3/2 0]"));
}

#[test]
fn collections() {
    check("(1 #{2} [3 {:a 1,:b 2}])", Ok("(1 #{2} [3 {:a 1, :b 2}])"));
    check("#:a{:b 1 :c/d 2 :_/e 3 \"s\" 4 f 5}", Ok("{:a/b 1, :c/d 2, :e 3, \"s\" 4, a/f 5}"));
    check("[1 #_ #_ 2 3 #_#my/tag 4 ; 5\n 6]", Ok("[1 6]"));
    check("^{:a 1} #^:b [^c d]", Ok("[d]"));
    check("#my/point [1 2]", Ok("#my/point [1 2]"));
}

#[test]
fn errors() {
    check("", Err("line 1, column 1: there is no form"));
    check("1 2", Err("line 1, column 3: there is more text behind the form"));
    check("[1\n {:a/b (2 08)}]", Err("line 2, column 11, in /1/a~1b/1: `08` is not a number"));
    check("{:a 1 :a 2}", Err("line 1, column 1: duplicate key: :a"));
    check("#{[1 1N] (1 1)}", Err("line 1, column 1: duplicate key: (1 1)"));
    check("{:a \"b", Err("line 1, column 7, in /a: the text ends within a string"));
    check("#::a{:b 1}", Err("line 1, column 1: `#:` is followed by a namespace and a map"));
    check("#:a{:1b 2}", Err("line 1, column 1: `:a/1b` is not a keyword"));
    check("[#:a{_/nil 2}]", Err("line 1, column 2, in /0: `nil` is not a symbol"));
    check("[1)", Err("line 1, column 3, in /1: unmatched `)`"));
    check(
        "[\"\\ud83d\"]",
        Err("line 1, column 3, in /0: a \\u escape is half of a surrogate pair"),
    );
}

#[test]
fn namespaces_add_so_much() {
    let text = |count| {
        format!(
            "#:{}{{{}}}",
            "n".repeat(2 << 20),
            ["a 1 ", "b 1 ", "c 1 ", "d 1 ", "e 1 ", "f 1 ", "g 1 ", "h 1 ", "i 1 "][..count]
                .concat()
        )
    };
    assert!(text(8).parse::<Value>().is_ok());
    let error = text(9).parse::<Value>().unwrap_err();
    let expected =
        "line 1, column 1: the namespaces of maps add more than 16777216 bytes to their keys";
    assert_eq!(error.to_string(), expected);
}
