use super::{Passage, Redaction};

/// Checks a redacted text that is not truncated.
#[track_caller]
fn check(text: &str, expected: &str) {
    check_with(&Redaction::default(), text, 4_096, expected, false);
}

/// Checks a redacted text that is truncated.
#[track_caller]
fn check_cut(text: &str, limit: usize, expected: &str) {
    check_with(&Redaction::default(), text, limit, expected, true);
}

#[track_caller]
fn check_with(redaction: &Redaction, text: &str, limit: usize, expected: &str, is_cut: bool) {
    let params = &["user", "password", "limit"];
    let found = redaction.apply("auth.login", params, Passage::whole(text.as_bytes()), limit);
    assert_eq!(&*found.text, expected, "{text}");
    assert_eq!(found.is_cut, is_cut, "{text}");
}

#[test]
fn redacts_secret_names() {
    let names = [
        "password",
        "PASSWORD",
        "userPassword",
        "old-password",
        "pass_word",
        "password2",
        "password_confirmation",
        "passwd",
        "pwd",
        "DB_PASS",
        "passphrase",
        "passcode",
        "secret",
        "client_secret",
        "secrets",
        "token",
        "accesstoken",
        "refreshToken",
        "X-CSRF-Token",
        "my_token_1",
        "authorization",
        "Proxy-Authorization",
        "basic_auth",
        "api_key",
        "API-KEY",
        "x-api-key",
        "accessKey",
        "AWS_SECRET_ACCESS_KEY",
        "secret_key",
        "credential",
        "credentials",
        "privateKey",
        "Set-Cookie",
        "cookies",
        "bearer",
        "jwt",
        "otp",
        "totp",
        "PIN",
        "user/pin",
        "user.pin",
        "session_id",
        "JSESSIONID",
        "PHPSESSID",
        "code_verifier",
        "csrf",
        "X-XSRF",
        "cvv2",
        "connection_string",
        "schlüssel_token",
    ];
    let long = format!("{}_password", "a".repeat(300));
    for name in names.into_iter().chain([&*long]) {
        check(&format!("{{\"{name}\":\"s\"}}"), &format!("{{\"{name}\":\"[redacted]\"}}"));
    }
}

#[test]
fn keeps_public_names() {
    let names = [
        "method",
        "id",
        "progressToken",
        "progress_token",
        "workDoneToken",
        "partialResultToken",
        "pageToken",
        "nextPageToken",
        "nextToken",
        "continuationToken",
        "max_tokens",
        "token_type",
        "tokenizer",
        "password_hint",
        "author",
        "authority",
        "key",
        "primary_key",
        "public_key",
        "pinned",
        "passed",
        "session",
        "secure",
        "signature",
        "12",
        "-_-",
        "ключ",
        "",
    ];
    for name in names {
        check(&format!("{{\"{name}\":\"s\"}}"), &format!("{{\"{name}\":\"s\"}}"));
    }
}

#[test]
fn redacts_values_of_all_types() {
    check(r#"{"token":"a\"b\\"}"#, r#"{"token":"[redacted]"}"#);
    check(r#"{"token":17}"#, r#"{"token":"[redacted]"}"#);
    check(r#"{"secrets":["a","b"]}"#, r#"{"secrets":"[redacted]"}"#);
    check(r#"{"secret":{"a":[1,{"b":2}]},"c":3}"#, r#"{"secret":"[redacted]","c":3}"#);
    check(
        r#"{"secret":null,"cookies":true,"pin":false}"#,
        r#"{"secret":null,"cookies":true,"pin":false}"#,
    );
    check(r#"[{"a":[{"token":"x"},1]},2]"#, r#"[{"a":[{"token":"[redacted]"},1]},2]"#);
    check(" { \"a\" : [ 1 , 2 ] ,\n\"pwd\" : \"x\" } ", r#"{"a":[1,2],"pwd":"[redacted]"}"#);
}

#[test]
fn redacts_escaped_names() {
    check(r#"{"pass\u0077ord":"x"}"#, r#"{"pass\u0077ord":"[redacted]"}"#);
    check(r#"{"api\/key":"x"}"#, r#"{"api\/key":"[redacted]"}"#);
}

#[test]
fn redacts_positional_params() {
    check(
        r#"{"method":"auth.login","params":["bob","hunter2",[1]],"id":1}"#,
        r#"{"method":"auth.login","params":["bob","[redacted]",[1]],"id":1}"#,
    );
    check(r#"{"params":["bob",null,2,3]}"#, r#"{"params":["bob",null,2,3]}"#);
    check(r#"{"a":{"params":["bob","hunter2"]}}"#, r#"{"a":{"params":["bob","hunter2"]}}"#);
    check(r#"[{"params":["bob","hunter2"]}]"#, r#"[{"params":["bob","hunter2"]}]"#);
}

#[test]
fn redacts_passwords_of_urls() {
    check(r#"["postgres://u:hunter2@db/x"]"#, r#"["postgres://u:[redacted]@db/x"]"#);
    check(
        r#"["a://u:p@h, b://:p@q@h and c://h:80/@"]"#,
        r#"["a://u:[redacted]@h, b://:[redacted]@h and c://h:80/@"]"#,
    );
    check(
        r#"["ssh://git@host/x:y@z","http://[::1]:80"]"#,
        r#"["ssh://git@host/x:y@z","http://[::1]:80"]"#,
    );
    check(r#"["a:\/\/u:p@h"]"#, r#"["a://u:[redacted]@h"]"#);
    check(r#"["a://u:p@h\n\"é"]"#, r#"["a://u:[redacted]@h\n\"é"]"#);
}

#[test]
fn redacts_credentials_after_a_scheme() {
    check(r#"["sent Bearer abc.d-e~f+/= there"]"#, r#"["sent Bearer [redacted] there"]"#);
    check(r#"["bearer abc","BASIC  dTpw"]"#, r#"["bearer [redacted]","BASIC  [redacted]"]"#);
    check(r#"["Basic dTpw, Bearer xyz"]"#, r#"["Basic [redacted], Bearer [redacted]"]"#);
    check(r#"["Basic A\u002Bb"]"#, r#"["Basic [redacted]"]"#);
    check(r#"["Basic rules. Basic"]"#, r#"["Basic rules. Basic"]"#);
    check(
        r#"["the basic idea.","forbearer abc","Bearer","Bearer "]"#,
        r#"["the basic idea.","forbearer abc","Bearer","Bearer "]"#,
    );
}

/// Checks the documented limits of the rules.
#[test]
fn keeps_other_secrets() {
    for text in [
        r#"["token=x","--password","x"]"#,
        r#"{"text":"{\"text\":\"{\\\"token\\\":1}\"}"}"#,
        r#"{"text":"{\"token\":\"x\""}"#,
        r#"["https://h/?token=x"]"#,
        r#"{"columns":["password"],"rows":[["x"]]}"#,
        r#"{"name":"password","value":"x"}"#,
        r#"{"query":"SELECT 'x' AS password"}"#,
    ] {
        check(text, text);
    }
}

#[test]
fn truncates_long_texts() {
    check_cut(r#"{"a":"0123456789"}"#, 10, r#"{"a":"0123"#);
    check_cut(r#"{"a":"ééé"}"#, 9, r#"{"a":"é"#);
    check_cut(r#"[1,2,3]"#, 4, "[1,2");
    // The name is within the limit, and the secret is not.
    check_cut(r#"{"password":"0123456789"}"#, 16, r#"{"password":"[re"#);
    check_cut(r#"{"past":1,"password":"x"}"#, 15, r#"{"past":1,"pass"#);
    // The limit is inside a secret of a string.
    check_cut(r#"["a://u:hunter2@h"]"#, 13, r#"["a://u:[reda"#);
    check_cut(r#"["Bearer 0123456789abcdef"]"#, 12, r#"["Bearer [re"#);
    // The limit counts the redacted text.
    let long = format!(r#"["Bearer {} Bearer b"]"#, "a".repeat(100));
    check(&long, r#"["Bearer [redacted] Bearer [redacted]"]"#);
    check_cut(&long, 32, r#"["Bearer [redacted] Bearer [reda"#);
    check_cut("1", 0, "");
    check("", "");
}

#[test]
fn truncates_texts_that_are_not_json() {
    check_cut(
        r#"{"method": "a", "params": "bar", "baz]"#,
        4_096,
        r#"{"method":"a","params":"bar""#,
    );
    check_cut(r#"{"password": "hunter2"#, 4_096, r#"{"password":"[redacted]""#);
    check_cut(r#"{"password" "hunter2"}"#, 4_096, "{");
    check_cut(r#"["Bearer hunter2"#, 4_096, "[");
    check_cut(r#"{"a":1} {"password":"x"}"#, 4_096, r#"{"a":1}"#);
    check_cut("password=hunter2", 4_096, "");
    check_cut("{'password':'hunter2'}", 4_096, "{");
    let deep = "[".repeat(200) + r#""x""# + &"]".repeat(200);
    check_cut(&deep, 4_096, &"[".repeat(129));
}

#[test]
fn truncates_at_invalid_utf8() {
    let passage = Passage::whole(b"{\"a\":1,\"token\":\"\xff\"}");
    let found = Redaction::default().apply("", &[], passage, 100);
    assert_eq!((&*found.text, found.is_cut), (r#"{"a":1,"token":"[redacted]""#, true));
}

#[test]
fn applies_additional_names_and_hooks() {
    let text = r#"{"SSN": "x", "token": "y"}"#;
    let named = Redaction::default().name("s.s.n");
    check_with(&named, text, 99, r#"{"SSN":"[redacted]","token":"[redacted]"}"#, false);
    let other = r#"{"user/ssn":"x","ssn.count":1}"#;
    check_with(&named, other, 99, other, false);
    let other = r#"{"ключ":"x","замок":"x"}"#;
    let expected = r#"{"ключ":"[redacted]","замок":"x"}"#;
    check_with(&Redaction::default().name("ключ"), other, 99, expected, false);
    check_with(&Redaction::none(), text, 99, text, false);
    check_with(&Redaction::none(), text, 9, &text[..9], true);
    check_with(&Redaction::none(), "no {JSON", 99, "no {JSON", false);

    let hook = |method: &str, text: &mut String| text.insert_str(0, method);
    check_with(&Redaction::none().then(hook), "{}", 99, "auth.login{}", false);
    // The limit also applies to text that a hook adds.
    check_with(&Redaction::none().then(hook), "{}", 6, "auth.l", true);
    let after = Redaction::default().then(|_, text| *text = text.replace("[redacted]", "-"));
    check_with(&after, text, 99, r#"{"SSN":"x","token":"-"}"#, false);
    let panicking = Redaction::default().then(|_, _| panic!("a hook that fails"));
    check_with(&panicking, text, 99, "", false);
}

#[test]
fn redacts_json_in_strings() {
    let rows = [
        (r#"{"text":"{\"token\":\"x\"}"}"#, r#"{"text":"{\"token\":\"[redacted]\"}"}"#),
        (r#"["[{\"a\": 1, \"pin\": 2}]"]"#, r#"["[{\"a\":1,\"pin\":\"[redacted]\"}]"]"#),
        (r#"["{\"a\": 1}"]"#, r#"["{\"a\": 1}"]"#),
    ];
    for (text, expected) in rows {
        check(text, expected);
    }
}
