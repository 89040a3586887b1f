//! Secrets that stand where no name tells of them.

use crate::history::redaction::{About, Known, Passage, Redaction, Side};

#[test]
fn secrets_that_come_back() {
    #[track_caller]
    fn check(request: &str, response: &str, expected: &str) {
        check_within(4_096, request, response, expected);
    }
    #[track_caller]
    fn check_within(limit: usize, request: &str, response: &str, expected: &str) {
        let redaction = Redaction::default();
        let keep = |side, text: &str, limit, known: &Known| {
            let about = About { method: "login", side };
            redaction.keep(about, Passage::whole(text.as_bytes()), limit, known)
        };
        let side = Side::Request { params: Some(&[]) };
        let (_, known) = keep(side, request, 4_096, &Known::default());
        let (kept, _) = keep(Side::Response, response, limit, &known);
        assert_eq!(kept.as_str(), expected, "{request}");
    }
    let password = r#"{"password":"hunter2x"}"#;
    check(password, r#"{"data":"with hunter2x: no"}"#, r#"{"data":"with [redacted]: no"}"#);
    check(password, r#"["hunter2xhunter2x","hunter2"]"#, r#"["[redacted][redacted]","hunter2"]"#);
    check(password, r#"["{\"a\":\"hunter2x\"}"]"#, r#"["{\"a\":\"[redacted]\"}"]"#);
    check(password, r#"["hunter\u0032x"]"#, r#"["[redacted]"]"#);
    check(r#"{"token":"a\"b\\c\n1"}"#, r#"["x a\"b\\c\n1"]"#, r#"["x [redacted]"]"#);
    check(r#"{"pin":"12345"}"#, r#"["12345"]"#, r#"["12345"]"#);
    check(r#"{"user":"hunter2x"}"#, r#"["hunter2x"]"#, r#"["hunter2x"]"#);
    check(r#"{"auth":{"a":["hunter2x"]}}"#, r#"["hunter2x"]"#, r#"["[redacted]"]"#);
    check(r#"{"header":"Authorization: Bearer abc.def"}"#, r#"["abc.def?"]"#, r#"["[redacted]?"]"#);
    check(r#"{"url":"a://u:hunter2x@h"}"#, r#"["hunter2x"]"#, r#"["[redacted]"]"#);
    check(r#"{"args":["--pin","hunter2x"]}"#, r#"["hunter2x"]"#, r#"["[redacted]"]"#);
    check(r#"{"a":"{\"pin\":\"hunter2x\"}"}"#, r#"["hunter2x"]"#, r#"["[redacted]"]"#);
    check(r#"{"pins":["hunter2","hunter2x"]}"#, r#"["hunter2x"]"#, r#"["[redacted]"]"#);
    // It begins where the text is cut.
    check_within(10, password, r#"["0123 hunter2x and more"]"#, r#"["0123 [re"#);
    let many: Vec<String> = (100_000..100_100).map(|n| n.to_string()).collect();
    let many = format!("{{\"tokens\":{many:?}}}");
    check(&many, r#"["100063","100064"]"#, r#"["[redacted]","100064"]"#);
    // A name, a number, and what overlaps.
    check(password, r#"{"a hunter2x":1}"#, r#"{"a [redacted]":1}"#);
    let pin = r#"{"pin":1234567,"cvv":12345}"#;
    check(
        pin,
        r#"[1234567,12345,"1234567",21234567]"#,
        r#"["[redacted]",12345,"[redacted]",21234567]"#,
    );
    check(r#"{"pin":"1234567"}"#, r#"[1234567]"#, r#"["[redacted]"]"#);
    let two = r#"{"pins":["abcdef","cdefgh","abcdefg"]}"#;
    check(two, r#"["abcdefgh abcdef abcdefx"]"#, r#"["[redacted] [redacted] [redacted]x"]"#);
    // The end of what is looked at.
    let long: String = (100..233).map(|n| n.to_string()).collect();
    let often = format!("[\"{}\"]", long.repeat(60));
    let kept = format!("[\"{}", "[redacted]".repeat(4));
    check_within(1_000, &format!("{{\"token\":\"{long}\"}}"), &often, &kept);
    // In prose, a word may be all of it.
    let said = r#"{"message":"login password=hunter2x user=bob"}"#;
    check(said, r#"["in with hunter2x"]"#, r#"["in with [redacted]"]"#);
    check(r#"{"m":"token: \"hunter2x\", ok"}"#, r#"["hunter2x"]"#, r#"["[redacted]"]"#);
}

#[test]
fn secrets_that_stand_twice() {
    #[track_caller]
    fn check(response: &str, expected: &str) {
        let about = About { method: "agent.chat", side: Side::Response };
        let passage = Passage::whole(response.as_bytes());
        let (kept, _) = Redaction::default().keep(about, passage, 4_096, &Known::default());
        assert_eq!(kept.as_str(), expected, "{response}");
    }
    check(
        r#"{"response":"in with hunter2x","steps":[{"password":"hunter2x"},"hunter2x"]}"#,
        r#"{"response":"in with [redacted]","steps":[{"password":"[redacted]"},"[redacted]"]}"#,
    );
    check(r#"{"a":["ab\"cdef"],"pin":"ab\"cdef"}"#, r#"{"a":["[redacted]"],"pin":"[redacted]"}"#);
    check(
        r#"{"columns":["pin"],"rows":[["hunter2x"]],"text":"pin hunter2x"}"#,
        r#"{"columns":["pin"],"rows":[["[redacted]"]],"text":"pin [redacted]"}"#,
    );
    // What only speaks of secrets.
    check(
        r#"{"token":{"type":"string"},"id":{"type":"string"},"pin":"string"}"#,
        r#"{"token":"[redacted]","id":{"type":"string"},"pin":"[redacted]"}"#,
    );
    check(r#"["password: required","required"]"#, r#"["password:[redacted]","required"]"#);
    // A tool's result says in words what it says as JSON.
    let result = |text: &str, name: &str, value: &str| {
        let rows = format!("{{\"columns\":[\"{name}\"],\"rows\":[[{value}]]}}");
        format!("{{\"content\":[{text}],\"structuredContent\":{rows},\"isError\":false}}")
    };
    check(
        &result("\"pin\\n1234\"", "pin", "1234"),
        &result("", "pin", "\"[redacted]\"").replace("[],", "\"[redacted]\","),
    );
    let innocent = result("\"n\\n1234\"", "n", "1234");
    check(&innocent, &innocent);
    check(r#"{"content":["pin"],"pin":"x"}"#, r#"{"content":["pin"],"pin":"[redacted]"}"#);
}
