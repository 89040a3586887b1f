//! Formatting of values, on one line and indented.

use trunkline_edn::{
    Decimal, Error, Inst, Integer, Keyword, List, Map, Ratio, Reason, Set, Symbol, Tagged, Uuid,
    Value, Vector, read,
};

/// Checks the text of a value, and that it is read back as an equal value.
#[track_caller]
fn check(value: impl Into<Value>, expected: &str) {
    let value = value.into();
    assert_eq!(value.to_string(), expected);
    assert_eq!(read(expected).expect("it was written"), value);
}

#[test]
fn atoms() {
    check((), "nil");
    check(None::<i64>, "nil");
    check(true, "true");
    check("", "\"\"");
    check("a\"b\\c\n\t\r\u{8}\u{c}", r#""a\"b\\c\n\t\r\b\f""#);
    check("é猫😀\u{0}\u{7f}\u{2028}", "\"é猫😀\u{0}\u{7f}\u{2028}\"");
    check('a', r"\a");
    check('"', r#"\""#);
    check('\\', r"\\");
    check(';', r"\;");
    check(',', r"\,");
    check('猫', r"\猫");
    check('\n', r"\newline");
    check(' ', r"\space");
    check('\u{8}', r"\backspace");
    check('\0', r"\u0000");
    check('\u{a0}', r"\u00a0");
    check('\u{2028}', r"\u2028");
    check('\u{ffff}', "\\\u{ffff}");
}

/// Characters of EDN have 16 bits.
#[test]
fn writes_characters_over_16_bits_as_strings() {
    assert_eq!(Value::from('😀').to_string(), "\"😀\"");
    assert_eq!(Value::from(vec!['\u{10000}', 'a']).to_string(), "[\"\u{10000}\" \\a]");
}

#[test]
fn numbers() {
    check(0, "0");
    check(i64::MIN, "-9223372036854775808");
    check(u64::MAX, "18446744073709551615N");
    check(i128::MIN, "-170141183460469231731687303715884105728N");
    check(integer("-00012345678901234567890"), "-12345678901234567890N");
    check(1.0, "1.0");
    check(-0.0, "-0.0");
    check(0.1 + 0.2, "0.30000000000000004");
    check(5e-324, "5e-324");
    check(f64::MAX, "1.7976931348623157e+308");
    check(f64::INFINITY, "##Inf");
    check(f64::NEG_INFINITY, "##-Inf");
    check(f64::NAN, "##NaN");
    check(-f64::NAN, "##NaN");
    check(1.5_f32, "1.5");
    check(decimal("1.50"), "1.50M");
    check(decimal("-0.0"), "0.0M");
    check(decimal("1e-6"), "0.000001M");
    check(decimal("1e-7"), "1E-7M");
    check(decimal("12e-8"), "1.2E-7M");
    check(decimal("100"), "100M");
    check(decimal("1e2"), "1E+2M");
    check(decimal("123e2147483645"), "1.23E+2147483647M");
    check(decimal("1e-2147483647"), "1E-2147483647M");
    check(decimal("0e2147483647"), "0E+2147483647M");
    check(decimal(&"9".repeat(5_000)), &format!("{}M", "9".repeat(5_000)));
    check(ratio(1, 3), "1/3");
    check(ratio(6, -4), "-3/2");
    check(ratio(i64::MIN, i64::MAX), "-9223372036854775808/9223372036854775807");
    check(ratio(4, 2), "2");
}

fn integer(text: &str) -> Integer {
    text.parse().expect("an integer")
}

fn decimal(text: &str) -> Decimal {
    text.parse().expect("a decimal")
}

fn ratio(upper: i64, lower: i64) -> Value {
    Ratio::of(&upper.into(), &lower.into()).expect("no zero")
}

#[test]
fn names_and_tags() {
    check(Symbol::new("a/b").expect("a symbol"), "a/b");
    check(Keyword::new("a/b").expect("a keyword"), ":a/b");
    check(Keyword::new("1").expect("a keyword"), ":1");
    check(Inst::new(-1, 500_000_000).expect("in range"), "#inst \"1969-12-31T23:59:59.500Z\"");
    check(Inst::new(0, 1).expect("in range"), "#inst \"1970-01-01T00:00:00.000000001Z\"");
    let uuid = Uuid::from_bytes([0xab; 16]);
    check(uuid, "#uuid \"abababab-abab-abab-abab-abababababab\"");
    check(tagged("a/b", 1), "#a/b 1");
    check(tagged("a", tagged("b", Vector::new())), "#a #b []");
}

fn tagged(tag: &str, value: impl Into<Value>) -> Tagged {
    Tagged::new(Symbol::new(tag).expect("a symbol"), value)
}

#[test]
fn collections() {
    check(List::new(), "()");
    check(Vector::new(), "[]");
    check(Map::new(), "{}");
    check(Set::new(), "#{}");
    check(List::from(vec![1, 2]), "(1 2)");
    check(vec![Some("a"), None], "[\"a\" nil]");
    check(Map::from_iter([("b", vec![1]), ("a", vec![])]), "{\"b\" [1], \"a\" []}");
    check(Set::from_iter([3, 1, 2, 1]), "#{3 1 2}");
    check(Map::from_iter([(vec![1], 1), (vec![], 2)]), "{[1] 1, [] 2}");
}

/// Names that would be read as another form are invalid.
#[test]
fn rejects_invalid_names() {
    let symbols = [
        "",
        " ",
        "a b",
        "a,b",
        "nil",
        "true",
        "false",
        "1",
        "-1",
        "+1a",
        "٣",
        ":a",
        "#a",
        "a/",
        "/a",
        "a:",
        "a::b",
        "a(",
        "a\"",
        "a\\",
        "a;b",
        "a@b",
        "a`",
        "~a",
        "^a",
        "a\u{2003}b",
        "a/1",
    ];
    for text in symbols {
        let error = Symbol::new(text).expect_err(text);
        assert_eq!(error.reason(), &Reason::Symbol { text: text.into() });
    }
    let keywords = [
        "",
        " ",
        ":a",
        "a b",
        "a,b",
        "a/",
        "a:",
        "a::b",
        "a(",
        "a\"",
        "a\\",
        "a;b",
        "a@b",
        "a`",
        "~a",
        "^a",
        "a\u{2003}b",
        "a/1",
    ];
    for text in keywords {
        let error = Keyword::new(text).expect_err(text);
        assert_eq!(error.reason(), &Reason::Keyword { text: text.into() });
    }
}

#[test]
fn rejects_invalid_numbers() {
    let no_number = |text: &str| Error::from(Reason::Number { text: text.into() });
    for text in ["", "-", "1.0", "1N", "0x1", " 1", "٣"] {
        assert_eq!(text.parse::<Integer>(), Err(no_number(text)));
    }
    for text in ["", ".5", "1e", "1MM", "NaN"] {
        assert_eq!(text.parse::<Decimal>(), Err(no_number(text)), "{text:?}");
    }
    for text in ["1e2147483648", "12e2147483647", "1e-2147483648", "1e99999999999999999999"] {
        let no_exponent = Error::from(Reason::Exponent { text: text.into() });
        assert_eq!(text.parse::<Decimal>(), Err(no_exponent), "{text:?}");
    }
    let zero = Ratio::of(&1.into(), &0.into());
    assert_eq!(zero, Err(Error::from(Reason::DivisionByZero)));
    assert_eq!("4/2".parse::<Ratio>(), Err(no_number("4/2")));
}

/// Checks the lines of an indented form.
#[track_caller]
fn check_pretty(text: &str, lines: &[&str]) {
    let value = read(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
    let pretty = format!("{value:#}");
    assert_eq!(pretty.lines().collect::<Vec<_>>(), lines);
    let again = read(&pretty).expect("it was written");
    assert_eq!(again.to_string(), value.to_string());
}

#[test]
fn writes_short_forms_on_one_line() {
    check_pretty("[]", &["[]"]);
    check_pretty("{:a   1 :b [ 2 #{3} ]}", &["{:a 1, :b [2 #{3}]}"]);
    let wide = |count| format!("[{}]", "é".repeat(count));
    check_pretty(&wide(78), &[&wide(78)]);
    check_pretty(&wide(79), &[&wide(79)]);
    let two = format!("[{} b]", "é".repeat(76));
    check_pretty(&two, &[&two]);
    check_pretty(&format!("[{} b]", "é".repeat(77)), &[&format!("[{}", "é".repeat(77)), " b]"]);
}

#[test]
fn writes_a_line_for_each_part() {
    let long = "x".repeat(60);
    check_pretty(&format!("({long} 1 [2 3])"), &[&format!("({long} 1 [2 3])")]);
    check_pretty(
        &format!("({long} 1 [2 3] {long})"),
        &[&format!("({long}"), " 1", " [2 3]", &format!(" {long})")],
    );
    check_pretty(
        &format!("#{{{long} {{:a {long}}}}}"),
        &[&format!("#{{{long}"), &format!("  {{:a {long}}}}}")],
    );
    check_pretty(
        &format!("{{:a {long} :b {{:c 1 :d {long} :e 2}}}}"),
        &[&format!("{{:a {long},"), " :b {:c 1,", &format!("     :d {long},"), "     :e 2}}"],
    );
    check_pretty(
        &format!("#my/tag [{long} #b {{1 2, 3 {long}}}]"),
        &[&format!("#my/tag [{long}"), "         #b {1 2,", &format!("             3 {long}}}]")],
    );
    check_pretty(
        &format!("{{[{long} {long}] [1 2] 3 4}}"),
        &[&format!("{{[{long}"), &format!("  {long}] [1 2],"), " 3 4}"],
    );
}

/// The brackets and commas after the last part count.
#[test]
fn closing_brackets_fit_on_the_line() {
    let wide = |count| "x".repeat(count);
    check_pretty(&format!("[[[{} a]]]", wide(72)), &[&format!("[[[{} a]]]", wide(72))]);
    check_pretty(&format!("[[[{} a]]]", wide(73)), &[&format!("[[[{}", wide(73)), "   a]]]"]);
    let (fits, wider) = (wide(74), wide(75));
    check_pretty(&format!("{{1 [{fits} a] 2 3}}"), &[&format!("{{1 [{fits}"), "    a],", " 2 3}"]);
    check_pretty(
        &format!("{{1 [{} a] 2 3}}", wide(72)),
        &[&format!("{{1 [{} a],", wide(72)), " 2 3}"],
    );
    check_pretty(&format!("{{1 2 3 [{wider}]}}"), &["{1 2,", &format!(" 3 [{wider}]}}")]);
}

/// Indentation does not exceed the 80th column.
#[test]
fn indentation_is_limited() {
    let key = |depth: usize| format!(":{}", depth.to_string().repeat(30));
    let mut text = "[1 2]".to_owned();
    for depth in (0..6).rev() {
        text = format!("{{:x 1 {} {text}}}", key(depth));
    }
    check_pretty(
        &text,
        &[
            "{:x 1,",
            &format!(" {} {{:x 1,", key(0)),
            &format!("{:34}{} {{:x 1,", "", key(1)),
            &format!("{:67}{} {{:x 1,", "", key(2)),
            &format!("{:80}{} {{:x 1,", "", key(3)),
            &format!("{:80}{} {{:x 1,", "", key(4)),
            &format!("{:80}{} [1", "", key(5)),
            &format!("{:80}2]}}}}}}}}}}}}", ""),
        ],
    );
}
