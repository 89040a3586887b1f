//! Table tests of the JSON grammar (RFC 8259), and of requests and batches of JSON-RPC 2.0.

mod oracle;

use super::{BodyError, Entry, Message, parse};
use crate::limits::calls::Limits;

const DEPTH: usize = 4;
const BATCH: usize = 3;

/// Parses `body` and compares the result, in the notation of [`describe`].
#[track_caller]
fn check(body: &str, expected: &str) {
    check_bytes(body.as_bytes(), expected);
}

#[track_caller]
fn check_bytes(body: &[u8], expected: &str) {
    let found = describe(body, parse(body, DEPTH, BATCH));
    assert_eq!(found, expected, "{}", String::from_utf8_lossy(body));
}

/// Checks `value` as the value of an unused member. Offsets in `expected` are relative to the value.
#[track_caller]
fn check_value(value: &str, expected: &str) {
    let before = "{\"x\":";
    let body = format!("{before}{value}}}");
    let found = match parse(body.as_bytes(), DEPTH, BATCH) {
        Err(BodyError::Parse(error)) => {
            format!("{:?} at {}", error.reason, error.offset as usize - before.len())
        }
        Ok(_) => "ok".to_owned(),
        other => format!("{other:?}"),
    };
    assert_eq!(found, expected, "{value}");
}

/// `method params #id` for a request, `Reason #id` for an invalid one, `Reason at offset` for a
/// body that is not JSON. Members of a batch are joined by ` | `.
fn describe(body: &[u8], message: Result<Message, BodyError>) -> String {
    match message {
        Ok(Message::Single(entry)) => describe_entry(body, &entry),
        Ok(Message::Batch(entries)) => {
            let entries: Vec<_> = entries.iter().map(|entry| describe_entry(body, entry)).collect();
            format!("[{}]", entries.join(" | "))
        }
        Err(BodyError::Parse(error)) => format!("{:?} at {}", error.reason, error.offset),
        Err(BodyError::NotUtf8 { offset }) => format!("NotUtf8 at {offset}"),
        Err(other) => format!("{other:?}"),
    }
}

fn describe_entry(body: &[u8], entry: &Entry) -> String {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let (mut words, id) = match entry {
        Ok(request) => {
            let name = request.method.unescape(body);
            assert!(request.method.is(body, &name), "`is` compares unescaped names");
            let params = request.params.map(|span| text(span.of(body)));
            ([name].into_iter().chain(params).collect(), request.id)
        }
        Err(invalid) => (vec![format!("{:?}", invalid.reason)], invalid.id),
    };
    words.extend(id.map(|span| format!("#{}", text(span.of(body)))));
    words.join(" ")
}

#[test]
fn parses_requests() {
    check(r#"{"jsonrpc":"2.0","method":"m","params":[1,2],"id":7}"#, "m [1,2] #7");
    check(r#"{"jsonrpc":"2.0","method":"m","params":{"a":1},"id":7}"#, r#"m {"a":1} #7"#);
    check(r#"{"jsonrpc":"2.0","method":"m","params":[ ],"id":7}"#, "m [ ] #7");
    check(r#"{"jsonrpc":"2.0","method":"m","id":7}"#, "m #7");
    check(r#"{"jsonrpc":"2.0","method":"m","params":[]}"#, "m []");
    check(r#"{"jsonrpc":"2.0","method":"m"}"#, "m");
    check(r#"{"id":7,"params":{},"method":"m","jsonrpc":"2.0"}"#, "m {} #7");
    check(r#"{"jsonrpc":"2.0","method":"","id":7}"#, " #7");
    check(r#"{"jsonrpc":"2.0","method":"m","id":7,"method2":[],"Method":1,"x":null}"#, "m #7");
    check(" \t\r\n{ \"jsonrpc\" : \"2.0\" , \"method\"\n:\r\"m\" } \t\r\n", "m");
}

#[test]
fn resolves_escapes_in_names_and_values() {
    check(r#"{"\u006asonrpc":"2.0","m\u0065thod":"m","\u0069d":7}"#, "m #7");
    check(r#"{"jsonrpc":"2\u002e0","method":"\u006D","id":7}"#, "m #7");
    check(
        r#"{"jsonrpc":"2.0","method":"a\"\\\/\b\f\n\r\t\u20aC","id":7}"#,
        "a\"\\/\u{8}\u{c}\n\r\t€ #7",
    );
    check(r#"{"jsonrpc":"2.0","method":"\ud83D\uDe00","id":7}"#, "😀 #7");
    check(r#"{"jsonrpc":"2.0","method":"😀é","id":7}"#, "😀é #7");
}

#[test]
fn keeps_the_text_of_valid_ids() {
    for id in [
        "0",
        "-0",
        "-1",
        "1.0",
        "1.50",
        "1e2",
        "1E+2",
        "1e400",
        "-1e-400",
        "18446744073709551616",
        "123456789012345678901234567890.5",
        "null",
        "\"\"",
        "\"7\"",
        r#""\u0041""#,
        r#""A\/""#,
        "\"é😀\"",
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","method":"m","id": {id} }}"#);
        check(&body, &format!("m #{id}"));
    }
    for id in ["true", "false", "[]", "[1]", "{}", r#"{"id":1}"#] {
        check(&format!(r#"{{"jsonrpc":"2.0","method":"m","id":{id}}}"#), "BadId");
    }
}

#[test]
fn reports_reason_and_id_of_invalid_requests() {
    check("1", "NotAnObject");
    check("\"m\"", "NotAnObject");
    check("null", "NotAnObject");
    check("true", "NotAnObject");
    check("{}", "NoVersion");
    check(r#"{"id":7}"#, "NoVersion #7");
    check(r#"{"method":"m","id":null}"#, "NoVersion #null");
    check(r#"{"jsonrpc":"1.0","method":"m","id":7}"#, "WrongVersion #7");
    check(r#"{"jsonrpc":2.0,"method":"m","id":7}"#, "WrongVersion #7");
    check(r#"{"jsonrpc":"2.0 ","method":"m","id":7}"#, "WrongVersion #7");
    check(r#"{"jsonrpc":["2.0"],"method":"m","id":7}"#, "WrongVersion #7");
    check(r#"{"jsonrpc":null,"method":"m","id":7}"#, "WrongVersion #7");
    check(r#"{"JSONRPC":"2.0","method":"m","id":7}"#, "NoVersion #7");
    check(r#"{"jsonrpc":"2.0","id":"a"}"#, "NoMethod #\"a\"");
    check(r#"{"jsonrpc":"2.0","Method":"m","id":7}"#, "NoMethod #7");
    check(r#"{"jsonrpc":"2.0","method":1,"id":7}"#, "MethodNotAString #7");
    check(r#"{"jsonrpc":"2.0","method":null}"#, "MethodNotAString");
    check(r#"{"jsonrpc":"2.0","method":["m"],"id":7}"#, "MethodNotAString #7");
    check(
        r#"{"jsonrpc":"2.0","method":"m","params":null,"id":7}"#,
        "NullParams(Text { span: Span { start: 26, end: 29 }, escaped: false }) #7",
    );
    for params in ["1", "\"[]\"", "true", "false"] {
        let body = format!(r#"{{"jsonrpc":"2.0","method":"m","params":{params},"id":7}}"#);
        check(&body, "ParamsNotStructured #7");
    }
    check(r#"{"jsonrpc":"2.0","method":"m","params":1}"#, "ParamsNotStructured");
    check(r#"{"jsonrpc":"2.0","method":1,"id":{}}"#, "BadId");
}

#[test]
fn recognises_responses() {
    check(r#"{"jsonrpc":"2.0","result":1,"id":7}"#, "Response #7");
    check(r#"{"jsonrpc":"2.0","error":{"code":1,"message":""},"id":null}"#, "Response #null");
    check(r#"{"jsonrpc":"2.0","r\u0065sult":1,"id":7}"#, "Response #7");
    check(r#"{"jsonrpc":"2.0","method":"m","result":1,"id":7}"#, "m #7");
}

#[test]
fn rejects_duplicate_protocol_members_in_every_spelling() {
    let rows = [
        (r#""jsonrpc":"2.0""#, r#"Duplicate("jsonrpc") #7"#),
        (r#""\u006asonrpc":"2.0""#, r#"Duplicate("jsonrpc") #7"#),
        (r#""method":"m""#, r#"Duplicate("method") #7"#),
        (r#""m\u0065thod":"n""#, r#"Duplicate("method") #7"#),
        (r#""m\u0065thod":1"#, r#"Duplicate("method") #7"#),
        (r#""params":[]"#, r#"Duplicate("params") #7"#),
        (r#""\u0070\u0061rams":1"#, r#"Duplicate("params") #7"#),
        (r#""id":7"#, r#"Duplicate("id")"#),
        (r#""\u0069\u0064":8"#, r#"Duplicate("id")"#),
        (r#""id":{}"#, r#"Duplicate("id")"#),
        (r#""x":1,"x":2"#, "m {} #7"),
        (r#""result":1,"result":2"#, "m {} #7"),
    ];
    for (more, expected) in rows {
        let request = r#""jsonrpc":"2.0","method":"m","params":{},"id":7"#;
        check(&format!("{{{request},{more}}}"), expected);
        if expected.starts_with("Duplicate") {
            check(&format!("{{{more},{request}}}"), expected);
        }
    }
    check(r#"{"jsonrpc":"2.0","method":"m","id":7,"id":8,"method":"m"}"#, r#"Duplicate("method")"#);
    check(r#"{"jsonrpc":"2.0","method":"m","params":{"id":1,"id":2}}"#, r#"m {"id":1,"id":2}"#);
}

#[test]
fn parses_batches() {
    check(r#"[{"jsonrpc":"2.0","method":"m","id":1}]"#, "[m #1]");
    check(
        r#" [ {"jsonrpc":"2.0","method":"a","id":1} , 1 ,{"jsonrpc":"2.0","method":"b"}] "#,
        "[a #1 | NotAnObject | b]",
    );
    check(
        r#"[[{"jsonrpc":"2.0","method":"m","id":1}],"x",null]"#,
        "[NotAnObject | NotAnObject | NotAnObject]",
    );
    check(r#"[{"id":1},{"id":1}]"#, "[NoVersion #1 | NoVersion #1]");
    check("[]", "EmptyBatch");
    check(" [ ] ", "EmptyBatch");
}

#[test]
fn rejects_batches_over_the_limit() {
    check("[1,2,3]", "[NotAnObject | NotAnObject | NotAnObject]");
    check("[1,2,3,4]", "BatchTooLong { limit: 3 }");
    // The rest is not parsed.
    check("[1,2,3,]", "BatchTooLong { limit: 3 }");
    check("[1,2,3,4", "BatchTooLong { limit: 3 }");
}

#[test]
fn rejects_batches_with_a_syntax_error() {
    check(
        r#"[{"jsonrpc":"2.0","method":"m","id":1},{"jsonrpc":"2.0","method"]"#,
        "ExpectedColon at 64",
    );
    check("[1,]", "ExpectedValue at 3");
    check("[,1]", "ExpectedValue at 1");
    check("[1 2]", "ExpectedCommaOrClose at 3");
    check("[1", "UnexpectedEnd at 2");
    check("[", "UnexpectedEnd at 1");
    check("[] x", "TrailingText at 3");
    check("[]]", "TrailingText at 2");
}

#[test]
fn reports_the_position_of_syntax_errors() {
    check("", "Empty");
    check(" \n", "Empty");
    check("{", "UnexpectedEnd at 1");
    check("{\"a", "UnexpectedEnd at 3");
    check("{\"a\"", "UnexpectedEnd at 4");
    check("{\"a\":", "UnexpectedEnd at 5");
    check("{\"a\":1", "UnexpectedEnd at 6");
    check("{\"a\":1,", "UnexpectedEnd at 7");
    check("{\"a\":1,}", "ExpectedMemberName at 7");
    check("{,}", "ExpectedMemberName at 1");
    check("{a:1}", "ExpectedMemberName at 1");
    check("{'a':1}", "ExpectedMemberName at 1");
    check("{1:1}", "ExpectedMemberName at 1");
    check("{\"a\" 1}", "ExpectedColon at 5");
    check("{\"a\"}", "ExpectedColon at 4");
    check("{\"a\":}", "ExpectedValue at 5");
    check("{\"a\":1 \"b\":2}", "ExpectedCommaOrClose at 7");
    check("{\"a\":1]", "ExpectedCommaOrClose at 6");
    check("{} {}", "TrailingText at 3");
    check("{}\0", "TrailingText at 2");
    check("/* */{}", "ExpectedValue at 0");
    check("\u{feff}{}", "ExpectedValue at 0");
    check("\u{a0}{}", "ExpectedValue at 0");
    check("\u{c}{}", "ExpectedValue at 0");
    check("]", "ExpectedValue at 0");
}

#[test]
fn reports_the_position_of_invalid_utf8() {
    check_bytes(b"\xff", "NotUtf8 at 0");
    check_bytes(b"{\"a\":\"\xc3\x28\"}", "NotUtf8 at 6");
    check_bytes(b"{\"a\":\"\xed\xa0\x80\"}", "NotUtf8 at 6");
    check_bytes(b"{\"a\":\"\xc0\xaf\"}", "NotUtf8 at 6");
    check_bytes(b"{} \xf0\x9f\x98", "NotUtf8 at 3");
    check_bytes(b"\xff\xfe{\0}\0", "NotUtf8 at 0");
    check_bytes(b"[1,2,3,4,\xff]", "NotUtf8 at 9");
}

#[test]
fn accepts_only_json_numbers() {
    for number in
        ["0", "-0", "7", "-7", "10", "0.0", "1.25", "1e1", "1E1", "1e+1", "1e-1", "0e0", "1e999"]
    {
        check_value(number, "ok");
    }
    let rows = [
        ("-", "InvalidNumber at 1"),
        ("-a", "InvalidNumber at 1"),
        ("+1", "ExpectedValue at 0"),
        (".5", "ExpectedValue at 0"),
        ("00", "InvalidNumber at 1"),
        ("042", "InvalidNumber at 1"),
        ("-01", "InvalidNumber at 2"),
        ("1.", "InvalidNumber at 2"),
        ("1.e1", "InvalidNumber at 2"),
        ("1.2.3", "InvalidNumber at 3"),
        ("1e", "InvalidNumber at 2"),
        ("1e+", "InvalidNumber at 3"),
        ("1e1.5", "InvalidNumber at 3"),
        ("0x1F", "InvalidNumber at 1"),
        ("1n", "InvalidNumber at 1"),
        ("--1", "InvalidNumber at 1"),
        ("1-2", "InvalidNumber at 1"),
        ("1_000", "ExpectedCommaOrClose at 1"),
        ("1 000", "ExpectedCommaOrClose at 2"),
        ("NaN", "ExpectedValue at 0"),
        ("Infinity", "ExpectedValue at 0"),
        ("-Infinity", "InvalidNumber at 1"),
        ("１", "ExpectedValue at 0"),
    ];
    for (number, expected) in rows {
        check_value(number, expected);
    }
    check("-", "UnexpectedEnd at 1");
    check("1.", "UnexpectedEnd at 2");
    check("1e", "UnexpectedEnd at 2");
    check("1e-", "UnexpectedEnd at 3");
}

#[test]
fn accepts_only_json_literals() {
    for literal in ["true", "false", "null"] {
        check_value(literal, "ok");
    }
    for literal in ["tru", "True", "TRUE", "nul", "None", "fals", "nil", "undefined"] {
        let reason =
            if literal.starts_with(['t', 'f', 'n']) { "InvalidLiteral" } else { "ExpectedValue" };
        check_value(literal, &format!("{reason} at 0"));
    }
    check_value("truefalse", "ExpectedCommaOrClose at 4");
    check_value("nullx", "ExpectedCommaOrClose at 4");
    check("nul", "InvalidLiteral at 0");
}

#[test]
fn accepts_only_json_strings_of_valid_unicode() {
    for string in [
        r#""""#,
        r#""a""#,
        r#""\"\\\/\b\f\n\r\t""#,
        r#""\u0000""#,
        r#""\uFFFF\ufeff""#,
        "\"\u{7f}\u{2028}\"",
        r#""\ud83d\ude00""#,
        r#""\uDBFF\uDFFF""#,
        r#""\uD800\uDC00x""#,
        r#""\ue000""#,
        r#""\\ud800""#,
    ] {
        check_value(string, "ok");
    }
    let rows = [
        ("\"\n\"", "ControlCharacter at 1"),
        ("\"a\tb\"", "ControlCharacter at 2"),
        ("\"\0\"", "ControlCharacter at 1"),
        ("\"\u{1f}\"", "ControlCharacter at 1"),
        (r#""\a""#, "InvalidEscape at 1"),
        (r#""ab\x41""#, "InvalidEscape at 3"),
        (r#""\'""#, "InvalidEscape at 1"),
        (r#""\U0041""#, "InvalidEscape at 1"),
        (r#""\é""#, "InvalidEscape at 1"),
        (r#""\u004""#, "InvalidEscape at 6"),
        (r#""\u00g1""#, "InvalidEscape at 5"),
        (r#""\u+041""#, "InvalidEscape at 3"),
        (r#""\ud800""#, "LoneSurrogate at 1"),
        (r#""a\ud800b""#, "LoneSurrogate at 2"),
        (r#""\udc00""#, "LoneSurrogate at 1"),
        (r#""\udfff\ud800""#, "LoneSurrogate at 1"),
        (r#""\ud800\ud800""#, "LoneSurrogate at 1"),
        (r#""\ud800\n""#, "LoneSurrogate at 1"),
        (r#""\ud800\\dc00""#, "LoneSurrogate at 1"),
        (r#""\ud800\u0041""#, "LoneSurrogate at 1"),
        (r#""\ud800\uzzzz""#, "InvalidEscape at 9"),
        (r#""\ud83d\ude00\ude00""#, "LoneSurrogate at 13"),
    ];
    for (string, expected) in rows {
        check_value(string, expected);
    }
    // Names are strings too.
    check(r#"{"\ud800":1}"#, "LoneSurrogate at 2");
    check("{\"\t\":1}", "ControlCharacter at 2");
    check("\"a", "UnexpectedEnd at 2");
    check("\"\\", "UnexpectedEnd at 2");
    check("\"\\u", "UnexpectedEnd at 3");
    check("\"\\u00", "UnexpectedEnd at 5");
    check("\"\\ud800", "LoneSurrogate at 1");
    check("\"\\ud800\\u", "UnexpectedEnd at 9");
}

#[test]
fn checks_every_byte_of_a_string_at_every_offset() {
    // Eight bytes are compared at once. The fillings are neighbours of the special bytes.
    for (filling, length) in ["a", "#", "]", "!", " ", "é", "\u{7f}"]
        .iter()
        .flat_map(|filling| (0..20).map(move |length| (*filling, length)))
    {
        for at in 0..=length {
            for byte in 0..0x80_u8 {
                let (before, after) = (filling.repeat(at), filling.repeat(length - at));
                let body = format!("\"{before}{}{after}\"", char::from(byte));
                let ours = parse(body.as_bytes(), DEPTH, BATCH).is_ok();
                let theirs = serde_json::from_str::<&serde_json::value::RawValue>(&body).is_ok();
                assert_eq!(ours, theirs, "{body:?}");
            }
        }
    }
}

#[test]
fn rejects_nesting_over_the_limit() {
    check(r#"{"jsonrpc":"2.0","method":"m","params":[[[]]]}"#, "m [[[]]]");
    check(r#"{"jsonrpc":"2.0","method":"m","params":[[[[]]]]}"#, "TooDeep at 42");
    check(r#"{"a":[[]],"b":{"c":{"d":{}}}}"#, "NoVersion");
    check(r#"{"a":[[]],"b":{"c":{"d":{"e":1,"f":[]}}}}"#, "TooDeep at 35");
    check(r#"[{"jsonrpc":"2.0","method":"m","params":[[]]}]"#, "[m [[]]]");
    check(r#"[{"jsonrpc":"2.0","method":"m","params":[[[]]]}]"#, "TooDeep at 42");
    check("[[[[]]],[[[]]]]", "[NotAnObject | NotAnObject]");
    check("[[[[[]]]]]", "TooDeep at 4");
    // The rest is not parsed.
    check("[[[[[", "TooDeep at 4");
}

#[test]
fn maximum_depth_fits_a_stack_of_two_mebibytes() {
    let deepest = |depth| {
        let body = format!("{}{}", "[".repeat(depth), "]".repeat(depth)).into_bytes();
        parse(&body, Limits::MAX_DEPTH, 1).is_ok()
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20);
    let thread = thread.spawn(move || (deepest(Limits::MAX_DEPTH), deepest(Limits::MAX_DEPTH + 1)));
    assert_eq!(thread.unwrap().join().unwrap(), (true, false));
}

#[track_caller]
fn check_canonical(json: &str, expected: &str) {
    let found = super::canonical(json.as_bytes());
    assert_eq!(String::from_utf8(found).unwrap(), expected, "{json}");
}

#[test]
fn canonical_text_depends_only_on_values() {
    check_canonical(
        r#" { "b" : [ 2 , {"d":1,"c":[]} ] , "a" : {} } "#,
        r#"{"a":{},"b":[2,{"c":[],"d":1}]}"#,
    );
    check_canonical(r#"{"\u0062":"\u0061\/\"","a":"é\n"}"#, r#"{"a":"é\n","b":"a/\""}"#);
    check_canonical(r#"{"b":0,"a":1,"a":2}"#, r#"{"a":1,"a":2,"b":0}"#);
    check_canonical(
        "[1.0,1,12345678901234567890.10,1E2,true,null]",
        "[1.0,1,12345678901234567890.10,1E2,true,null]",
    );
    check_canonical(r#"["a b","{ }"]"#, r#"["a b","{ }"]"#);
    check_canonical(
        r#"{"b":{"d":[{"z":"]","y":{}},[[]]],"c":"}"},"a":[[],{"b":{},"a":0}],"\\":1,"[":2}"#,
        r#"{"[":2,"\\":1,"a":[[],{"a":0,"b":{}}],"b":{"c":"}","d":[{"y":{},"z":"]"},[[]]]}}"#,
    );
    for scalar in ["1", "\"a\"", "null", ""] {
        check_canonical(scalar, scalar);
    }
}

#[track_caller]
fn check_compact(json: &str, expected: &str) {
    assert_eq!(super::compact(json), expected);
}

#[test]
fn compact_removes_space_between_tokens() {
    check_compact("{ \"a b\" : [ 1,\r\n\t2 ] }\n", "{\"a b\":[1,2]}");
    check_compact(r#"{"a\" b" : "\\" , "c" : " \\\" " }"#, r#"{"a\" b":"\\","c":" \\\" "}"#);
    check_compact("12345678901234567890.10", "12345678901234567890.10");
    check_compact("\" é 😀 \" ", "\" é 😀 \"");
}
