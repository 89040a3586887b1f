//! Conversion to and from JSON, with options and errors.

use trunkline_edn::json::{self, FromJson, Keys, Reader, ToJson};
use trunkline_edn::{Error, Step, Value, read};

const PLAIN: ToJson = ToJson { names: false, unwrap_tags: false };
const NAMES: ToJson = ToJson { names: true, ..PLAIN };
const UNWRAPPED: ToJson = ToJson { unwrap_tags: true, ..PLAIN };

#[track_caller]
fn check(edn: &str, options: &ToJson, expected: Result<&str, &str>) {
    let value: Value = read(edn).unwrap();
    let mut out = String::from("before ");
    let written = json::write(&value, options, &mut out);
    let found = written.map(|()| &out["before ".len()..]);
    let found = found.map_err(|error| error.located_in(edn).to_string());
    assert_eq!(found.as_deref(), expected.map_err(str::to_owned).as_deref(), "{edn}");
    if expected.is_err() {
        assert_eq!(out, "before ", "{edn}: nothing is written");
    }
}

#[track_caller]
fn check_back(text: &str, expected: Result<&str, &str>) {
    same(text, json::from_str(text), expected);
}

#[track_caller]
fn same(text: &str, found: Result<Value, Error>, expected: Result<&str, &str>) {
    let found = found.map(|value| value.to_string()).map_err(|error| error.to_string());
    let expected = expected.map(str::to_owned).map_err(str::to_owned);
    assert_eq!(found, expected, "{text}");
}

#[test]
fn values() {
    check("[nil true false]", &PLAIN, Ok("[null,true,false]"));
    check("\"\\\" \\\\ / \\b\\f\\n\\r\\t \\u0000\\u001f\\u007f\\u2028é😀\"", &PLAIN, {
        Ok("\"\\\" \\\\ / \\b\\f\\n\\r\\t \\u0000\\u001f\u{7f}\u{2028}é😀\"")
    });
    check("[\\a \\\" \\\\ \\newline \\u0001]", &PLAIN, Ok(r#"["a","\"","\\","\n","\u0001"]"#));
    check("[:a :a/b b a/b / :é]", &PLAIN, Ok(r#"["a","a/b","b","a/b","/","é"]"#));
    check("[#inst \"2024\" #inst \"2024-02-29T23:59:00.5+01:00\"]", &PLAIN, {
        Ok(r#"["2024-01-01T00:00:00Z","2024-02-29T22:59:00.500Z"]"#)
    });
    check("#uuid \"F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6\"", &PLAIN, {
        Ok("\"f81d4fae-7dec-11d0-a765-00a0c91e6bf6\"")
    });
    check("[() [] #{} {}]", &PLAIN, Ok("[[],[],[],{}]"));
    check("[(3 [#{2 1}]) {:b {:c ()} :a 1}]", &PLAIN, Ok(r#"[[3,[[2,1]]],{"b":{"c":[]},"a":1}]"#));
}

#[test]
fn numbers() {
    check("[0 -0 7N 0xff 9223372036854775808 -123456789012345678901234567890N]", &PLAIN, {
        Ok("[0,0,7,255,9223372036854775808,-123456789012345678901234567890]")
    });
    check("[1.0 1. -0.0 0.1 1e3 1e16 1e300 5e-324 1.7976931348623157e308]", &PLAIN, {
        Ok("[1.0,1.0,-0.0,0.1,1000.0,1e+16,1e+300,5e-324,1.7976931348623157e+308]")
    });
    check("[1.50M 1M -0.00M 1e400M 1e-9M 12345678901234567890.12M]", &PLAIN, {
        Ok("[1.50,1,0.00,1E+400,1E-9,12345678901234567890.12]")
    });
    check("[1/2 -1/3 4/2]", &PLAIN, Ok("[0.5,-0.3333333333333333,2]"));
    check("[1 ##Inf]", &PLAIN, Err("line 1, column 4, in /1: JSON cannot represent ##Inf"));
    check("##-Inf", &PLAIN, Err("line 1, column 1: JSON cannot represent ##-Inf"));
    check("{:a 1e400}", &PLAIN, Err("line 1, column 5, in /a: JSON cannot represent ##Inf"));
    let huge = format!("(1{}/3)", "0".repeat(400));
    let reason = format!("line 1, column 2, in /0: JSON cannot represent 1{}…", "0".repeat(63));
    check(&huge, &PLAIN, Err(&reason));
}

#[test]
fn keys() {
    check("{\"a b\" 1, :b 2, c 3, :d/e 4, f/g 5}", &PLAIN, {
        Ok(r#"{"a b":1,"b":2,"c":3,"d/e":4,"f/g":5}"#)
    });
    check("{1 1, -2N 2, true 3, false 4, \\c 5, \"\\n\" 6}", &PLAIN, {
        Ok(r#"{"1":1,"-2":2,"true":3,"false":4,"c":5,"\n":6}"#)
    });
    check("{#inst \"2024\" 1 #uuid \"f81d4fae-7dec-11d0-a765-00a0c91e6bf6\" 2}", &PLAIN, {
        Ok(r#"{"2024-01-01T00:00:00Z":1,"f81d4fae-7dec-11d0-a765-00a0c91e6bf6":2}"#)
    });
    for (key, name) in [
        ("nil", "nil"),
        ("1.5", "float"),
        ("1.5M", "decimal"),
        ("1/3", "ratio"),
        ("(1)", "list"),
        ("[1]", "vector"),
        ("#{1}", "set"),
        ("{1 2}", "map"),
    ] {
        let reason = format!("a {name} cannot be a key in JSON");
        check(&format!("{{{key} 1}}"), &PLAIN, Err(&format!("line 1, column 2: {reason}")));
        let inner = format!("line 2, column 6, in /1/b: {reason}");
        check(&format!("[0 {{:b {{:c 1\n #_d {key} 2}}}}]"), &PLAIN, Err(&inner));
    }
    check("{:a 1 [2] #_3 4}", &UNWRAPPED, {
        Err("line 1, column 7: a vector cannot be a key in JSON")
    });
}

#[test]
fn keys_with_the_same_text() {
    let same = |text: &str| format!("two keys have the text \"{text}\" in JSON");
    check("{:a 1 \"a\" 2}", &PLAIN, Err(&format!("line 1, column 7: {}", same("a"))));
    let inner = format!("line 2, column 4, in /x: {}", same("1"));
    check("{:x {1 1 :b 2\n   \"1\" 3}}", &PLAIN, Err(&inner));
    check("#:n{:a 1 n/b 2 :b 3}", &PLAIN, Err(&format!("line 1, column 16: {}", same("n/b"))));
    check("{:a/x 1 :b/x 2}", &PLAIN, Ok(r#"{"a/x":1,"b/x":2}"#));
    check("{:a/x 1 :b/x 2}", &NAMES, Err(&format!("line 1, column 9: {}", same("x"))));
    check("{#a 1 2 #b 1 3}", &UNWRAPPED, Err(&format!("line 1, column 9: {}", same("1"))));
    let long = "x".repeat(100);
    let cut = format!("line 1, column 106: {}", same(&format!("{}…", &long[..64])));
    check(&format!("{{:{long} 1 {long} 2}}"), &PLAIN, Err(&cut));
}

#[test]
fn options() {
    check("{:a/b :c/d, e/f g/h, :/ /, \"i/j\" \"k/l\"}", &NAMES, {
        Ok(r#"{"b":"d","f":"h","/":"/","i/j":"k/l"}"#)
    });
    let tagged = "[#my/point [1 #x #y 2] {#k :a #v 3}]";
    check(tagged, &PLAIN, {
        Err("line 1, column 2, in /0: JSON cannot represent the tag #my/point")
    });
    check(tagged, &UNWRAPPED, Ok(r#"[[1,2],{"a":3}]"#));
    check("[1 {#k :a 3}]", &PLAIN, {
        Err("line 1, column 5, in /1: JSON cannot represent the tag #k")
    });
    check("[#my/point [1 #x {:a ##NaN}]]", &UNWRAPPED, {
        Err("line 1, column 22, in /0/1/a: JSON cannot represent ##NaN")
    });
}

/// Errors are located after comments, discarded forms and metadata.
#[test]
fn positions() {
    check("; c\n#_{:a 1} {:a [0 #_(1 ##NaN) ^:m [] ,\n #_#_1 2 ##NaN]}", &PLAIN, {
        Err("line 3, column 10, in /a/2: JSON cannot represent ##NaN")
    });
    check(
        "#:n{:b [\\é ##NaN]}",
        &PLAIN,
        Err("line 1, column 12, in /n~1b/1: JSON cannot represent ##NaN"),
    );
    check("{:a {:a 1} :b {:b {:a ##NaN}}}", &PLAIN, {
        Err("line 1, column 23, in /b/b/a: JSON cannot represent ##NaN")
    });
    check("[#{1 (2 {:c [##Inf]})}]", &PLAIN, {
        Err("line 1, column 14, in /0/1/1/c/0: JSON cannot represent ##Inf")
    });
    check("^{[1] 2} {[1] 3}", &PLAIN, {
        Err("line 1, column 11: a vector cannot be a key in JSON")
    });
    // Two keys with the same truncated text, or the same text.
    let long = "x".repeat(64);
    let reason = format!("line 2, column 69, in /{long}…: JSON cannot represent ##NaN");
    check(&format!("{{\"{long}a\" 1\n\"{long}b\" ##NaN}}"), &PLAIN, Err(&reason));
    check("{:a {:x 1 x 2}}", &PLAIN, {
        Err("line 1, column 11, in /a: two keys have the text \"x\" in JSON")
    });
    check("[#_1 {#_:k 1 #_1 #t [##NaN]}]", &UNWRAPPED, {
        Err("line 1, column 22, in /0/1/0: JSON cannot represent ##NaN")
    });
    // An error of a part, located in the whole text.
    let part = json::to_string(&read("[1 ##NaN]").unwrap()).unwrap_err();
    let error = part.within(Step::key("b")).within(Step::Index(1));
    let error = error.located_in("[{:b [1 2]} {:a {:b [1 2]} #_b b #_0 [1 #_1 #t 2]}]");
    assert_eq!(error.to_string(), "line 1, column 45, in /1/b/1: JSON cannot represent ##NaN");
    let error = json::to_string(&read("[1 ##NaN]").unwrap()).unwrap_err();
    assert_eq!(error.located_in("[1]").position(), None, "the path does not exist");

    let error = json::to_string(&read("[##NaN]").unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "in /0: JSON cannot represent ##NaN", "without the text");
    assert_eq!(error.clone().located_in("1").position(), None, "another text");
    let located = error.located_in("[ ##NaN]");
    assert_eq!(located.clone().located_in("[##NaN]"), located, "a position stays");
}

#[test]
fn from_json() {
    check_back(" [null, true,\tfalse]\r\n", Ok("[nil true false]"));
    check_back(r#"{"a":{},"b":[[]],"":0}"#, Ok(r#"{:a {}, :b [[]], "" 0}"#));
    check_back(r#"{ "a/b" : 1 , "a b" : 2 }"#, Ok(r#"{:a/b 1, "a b" 2}"#));
    check_back(r#""\"\\\/\b\f\n\r\t\u00e9\u0000\ud83d\ude00\uFFFF é😀""#, {
        Ok("\"\\\"\\\\/\\b\\f\\n\\r\\té\0😀\u{ffff} é😀\"")
    });
    check_back(r#"{"\u0061":1}"#, Ok("{:a 1}"));
    check_back("\"2024-01-01T00:00:00Z\"", Ok("\"2024-01-01T00:00:00Z\""));
    check_back("\u{7f}", Err("line 1, column 1: invalid JSON: expected a value"));
}

#[test]
fn numbers_from_json() {
    check_back("[0,-0,-1,9223372036854775807,-9223372036854775809]", {
        Ok("[0 0 -1 9223372036854775807 -9223372036854775809N]")
    });
    check_back(
        "[1.0,-0.0,0.10,1E5,1e+2,2e-7,1e22]",
        Ok("[1.0 -0.0 0.1 100000.0 100.0 2e-7 1e+22]"),
    );
    check_back("[1e400,-1.50E+400,1e-400,-0e9,0.00]", Ok("[1E+400M -1.50E+400M 1E-400M -0.0 0.0]"));
    let digits = "9".repeat(1_000);
    check_back(&digits, Ok(&format!("{digits}N")));
    for wrong in ["01", "-", "+1", ".5", "1.", "1.e5", "1e", "1e+", "0x1", "1_0", "--1", "-a", "1a"]
    {
        let reason = match wrong.starts_with(['+', '.']) {
            true => "invalid JSON: expected a value".to_owned(),
            false => format!("`{wrong}` is not a number"),
        };
        check_back(&format!("[{wrong}]"), Err(&format!("line 1, column 2, in /0: {reason}")));
    }
    check_back("1e2147483647", Ok("1E+2147483647M"));
    for large in ["1e2147483648", "-1.5e99999999999999999999", "10.0E+2147483647"] {
        let reason = format!("`{large}` has an exponent of more than 32 bits");
        check_back(&format!("[{large}]"), Err(&format!("line 1, column 2, in /0: {reason}")));
    }
}

#[test]
fn no_json() {
    check_back("", Err("line 1, column 1: invalid JSON: expected a value"));
    check_back("1 \n2", Err("line 2, column 1: invalid JSON: unexpected text after the value"));
    check_back("[1", Err("line 1, column 3, in /1: the text ends within an array"));
    check_back("[1,", Err("line 1, column 4, in /1: the text ends within an array"));
    check_back("{\"a\"", Err("line 1, column 5, in /a: the text ends within an object"));
    check_back("{\"a\":\"b", Err("line 1, column 8, in /a: the text ends within a string"));
    check_back("{\"a\\", Err("line 1, column 5: the text ends within a string"));
    check_back("[1,]", Err("line 1, column 4, in /1: invalid JSON: expected a value"));
    check_back("[1 2]", Err("line 1, column 4, in /1: invalid JSON: expected `,` or `]`"));
    check_back("[{\"a\":1]", Err("line 1, column 8, in /0: invalid JSON: expected `,` or `}`"));
    check_back("{\"a\":1,}", Err("line 1, column 8: invalid JSON: expected a key in quotes"));
    check_back("{a:1}", Err("line 1, column 2: invalid JSON: expected a key in quotes"));
    check_back("{\"a\" 1}", Err("line 1, column 6, in /a: invalid JSON: expected `:`"));
    check_back("]", Err("line 1, column 1: invalid JSON: expected a value"));
    check_back("nul", Err("line 1, column 1: invalid JSON: expected a value"));
    check_back("[True]", Err("line 1, column 2, in /0: invalid JSON: expected a value"));
    check_back("\u{feff}1", Err("line 1, column 1: invalid JSON: expected a value"));
    check_back("// c\n1", Err("line 1, column 1: invalid JSON: expected a value"));
    check_back("[\"é\n\"]", {
        Err("line 1, column 4, in /0: invalid JSON: unescaped control character in a string")
    });
    for lone in [r"\ud83d", r"\ude00", r"\ud83d\u0041", r"\ud83dx", r"\ude00\ud83d"] {
        check_back(&format!("[\"{lone}\"]"), {
            Err("line 1, column 3, in /0: lone surrogate in a \\u escape")
        });
    }
    check_back(r#""\x41""#, Err(r"line 1, column 2: `\x41` is not an escape sequence"));
    check_back(r#""a\u12""#, Err(r"line 1, column 3: `\u12` is not an escape sequence"));
    check_back(r#""\u+123 ""#, Err(r"line 1, column 2: `\u+123 ` is not an escape sequence"));
}

#[test]
fn duplicate_keys() {
    check_back(r#"{"a":1,"b":2,"a":3}"#, Err("line 1, column 14: duplicate key: \"a\""));
    check_back("[{\"x\": {\"a b\": [{}, 1],\n \"\\u0061 b\": 2}}]", {
        Err("line 2, column 2, in /0/x: duplicate key: \"a b\"")
    });
    let many: String = (0..1_000).map(|key| format!("\"{key}\":{key},")).collect();
    check_back(&format!("{{{many}\n\"7\":0}}"), Err("line 2, column 1: duplicate key: \"7\""));
    let options = FromJson { keys: Keys::String, ..FromJson::default() };
    same("strings", json::from_str_with(r#"{"a":1,"a":1}"#, &options), {
        Err("line 1, column 8: duplicate key: \"a\"")
    });
}

#[test]
fn many_documents() {
    let text = " {\"a\":1}[2]\n\"b\" 3 null\n";
    let mut reader = Reader::new(text);
    let mut found = Vec::new();
    while let Some(value) = reader.next() {
        found.push((value.unwrap().to_string(), &text[reader.span()]));
    }
    let found: Vec<(&str, &str)> = found.iter().map(|(edn, json)| (&**edn, *json)).collect();
    let expected =
        [("{:a 1}", "{\"a\":1}"), ("[2]", "[2]"), ("\"b\"", "\"b\""), ("3", "3"), ("nil", "null")];
    assert_eq!(found, expected);
    assert_eq!(&text[reader.span()], "null", "the last one stays");

    let mut reader = Reader::new("1 [2,x] 3");
    assert!(reader.next().unwrap().is_ok());
    let error = reader.next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "line 1, column 6, in /1: invalid JSON: expected a value");
    assert!(reader.next().is_none(), "an error ends it");
}

#[test]
fn depth() {
    const DEEP: usize = 1_000_000;
    let text = "[".repeat(DEEP) + &"]".repeat(DEEP);
    for found in [read(&text), json::from_str(&text)] {
        let error = found.unwrap_err();
        assert!(error.to_string().ends_with("nested deeper than 1024 forms"));
        assert_eq!(error.position().unwrap().offset, 1_024);
    }
    let limit = "[".repeat(1_024) + &"]".repeat(1_024);
    assert_eq!(json::to_string(&json::from_str(&limit).unwrap()).unwrap(), limit);
    assert_eq!(json::to_edn(&limit, &FromJson::default()).unwrap(), limit);
    let error = json::to_edn(&text, &FromJson::default()).unwrap_err();
    assert_eq!(error.position().unwrap().offset, 1_024);
}
