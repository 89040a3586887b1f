mod known;

use super::{About, Known, Passage, Redaction, Side};

/// Keeps a text whole, and compares all of it.
#[track_caller]
fn check(text: &str, expected: &str) {
    check_with(&Redaction::default(), text, 4_096, expected, false);
}

/// Expects only the beginning of a text to be kept.
#[track_caller]
fn check_cut(text: &str, limit: usize, expected: &str) {
    check_with(&Redaction::default(), text, limit, expected, true);
}

#[track_caller]
fn check_with(redaction: &Redaction, text: &str, limit: usize, expected: &str, is_cut: bool) {
    let side = Side::Request { params: Some(&["user", "password", "tokens"]) };
    let about = About { method: "auth.login", side };
    let passage = Passage::whole(text.as_bytes());
    let (kept, _) = redaction.keep(about, passage, limit, &Known::default());
    assert_eq!(kept.as_str(), expected, "{text}");
    assert_eq!((kept.bytes, kept.is_cut), (text.len(), is_cut), "{text}");
}

#[test]
fn names_that_look_secret() {
    let names = [
        "password",
        "Password",
        "PASSWORD",
        "userPassword",
        "old-password",
        "pass_word",
        "passwd",
        "pwd",
        "passphrase",
        "passcode",
        "secret",
        "client_secret",
        "secrets",
        "token",
        "tokens",
        "access_token",
        "refreshToken",
        "X-CSRF-Token",
        "authorization",
        "Proxy-Authorization",
        "api_key",
        "apiKey",
        "API-KEY",
        "apikey",
        "x-api-key",
        "credential",
        "credentials",
        "private_key",
        "privateKeyPem",
        "accessKeyId",
        "cookie",
        "Set-Cookie",
        "auth",
        "bearer",
        "jwt",
        "otp",
        "pin",
        "PIN",
        "sid",
        "session_id",
        "sessionId",
        "PHPSESSID",
        "user/pin",
        "a.b/Pins",
        "user.pin",
        "io.acme/auth",
        "JSESSIONID",
        "user_pwd",
        "userPwd",
        "pwd1",
        "pass",
        "db_pass",
        "DB_PASS",
        "smtpPass",
        "auth_header",
        "AuthHeader",
        "auth_code",
        "basic_auth",
        "token_value",
        "tokenId",
        "token2",
        "my_token_1",
        "accesstokens",
        "otp_code",
        "pin_code",
        "user_pin",
        "mfa_code",
        "2fa_code",
        "recovery_code",
        "recovery-codes",
        "code_verifier",
        "signing_key",
        "signingKeys",
        "encryption_key",
        "ssh_key",
        "SSHKey",
        "master_key",
        "passkey",
        "session_key",
        "session_token",
        "csrf",
        "X-CSRF",
        "cvv",
        "cvv2",
        "connection_string",
        "ConnectionString",
        "confirm",
        "a_very_long_name_that_has_more_than_sixty_four_letters_before_the_db_pass",
        "schlüssel_token",
    ];
    let long = format!("{}_password", "a".repeat(300));
    for name in names.into_iter().chain([&*long]) {
        check(&format!("{{\"{name}\":\"s\"}}"), &format!("{{\"{name}\":\"[redacted]\"}}"));
    }
}

#[test]
fn names_that_do_not() {
    let names = [
        "method",
        "id",
        "pass_rate",
        "passed",
        "bypass",
        "first_pass",
        "passenger",
        "author",
        "authority",
        "key",
        "keys",
        "tokenizer",
        "progressToken",
        "secure",
        "compass",
        "signature",
        "signatures",
        "pinned",
        "user/pinned",
        "pin/user",
        "auth.method",
        "user/",
        "side",
        "session",
        "sessions",
        "keyboard",
        "primary_key",
        "foreign_key",
        "public_key",
        "token_count",
        "token_type",
        "token_ids",
        "max_tokens",
        "prompt_tokens",
        "total_tokens",
        "status_code",
        "gpio_pin",
        "account_sid",
        "confirmed",
        "commit_hash",
        "string",
        "value",
        "12",
        "-_-",
        "",
    ];
    for name in names {
        check(&format!("{{\"{name}\":\"s\"}}"), &format!("{{\"{name}\":\"s\"}}"));
    }
}

#[test]
fn secrets_of_any_shape() {
    check(r#"{"token":"a\"b\\"}"#, r#"{"token":"[redacted]"}"#);
    check(r#"{"token":17}"#, r#"{"token":"[redacted]"}"#);
    check(r#"{"tokens":17,"max_tokens":1e3}"#, r#"{"tokens":17,"max_tokens":1e3}"#);
    check(r#"{"tokens":["a","b"]}"#, r#"{"tokens":"[redacted]"}"#);
    check(r#"{"secret":{"a":[1,{"b":2}]},"c":3}"#, r#"{"secret":"[redacted]","c":3}"#);
    check(r#"{"secret":null,"cookies":true}"#, r#"{"secret":null,"cookies":true}"#);
    check(r#"[{"a":[{"token":"x"},1]},2]"#, r#"[{"a":[{"token":"[redacted]"},1]},2]"#);
    check(" { \"a\" : [ 1 , 2 ] ,\n\"pwd\" : \"x\" } ", r#"{"a":[1,2],"pwd":"[redacted]"}"#);
}

#[test]
fn escaped_names() {
    check(r#"{"pass\u0077ord":"x"}"#, r#"{"pass\u0077ord":"[redacted]"}"#);
    check(
        r#"{"\u0074\u006f\u006b\u0065\u006e":"x"}"#,
        r#"{"\u0074\u006f\u006b\u0065\u006e":"[redacted]"}"#,
    );
    check(r#"{"api\/key":"x"}"#, r#"{"api\/key":"[redacted]"}"#);
}

#[test]
fn params_by_position() {
    let request = r#"{"method":"auth.login","params":["bob","hunter2",[1]],"id":1}"#;
    let kept = r#"{"method":"auth.login","params":["bob","[redacted]","[redacted]"],"id":1}"#;
    check(request, kept);
    check(r#"{"a":{"params":["bob","hunter2"]}}"#, r#"{"a":{"params":["bob","hunter2"]}}"#);
}

#[test]
fn json_in_strings() {
    check(r#"{"text":"{\"token\": \"x\"}"}"#, r#"{"text":"{\"token\":\"[redacted]\"}"}"#);
    check(r#"["[{\"a\":{\"pwd\":1}}]"]"#, r#"["[{\"a\":{\"pwd\":\"[redacted]\"}}]"]"#);
    let twice = r#"["{\"a\":\"{\\\"jwt\\\":\\\"x\\\"}\"}"]"#;
    check(twice, r#"["{\"a\":\"{\\\"jwt\\\":\\\"[redacted]\\\"}\"}"]"#);
    // Without a secret, it stays as it is.
    check(r#"["{\"a\" :  1}"]"#, r#"["{\"a\" :  1}"]"#);
}

#[test]
fn secrets_in_prose() {
    check(r#"["Authorization: Bearer abc"]"#, r#"["Authorization:[redacted]"]"#);
    check(r#"["https://h/?a=1&token=abc"]"#, r#"["https://h/?a=1&token=[redacted]"]"#);
    check(r#"["found {\"token\": \"abc\"} there"]"#, r#"["found {\"token\":[redacted]"]"#);
    check(r#"["{'password': 'x'}"]"#, r#"["{'password':[redacted]"]"#);
    check(r#"["[{\"token\":\"x\"} and more"]"#, r#"["[{\"token\":\"[redacted]\"}"]"#);
    check(r#"["say: the token"]"#, r#"["say: the token"]"#);
    check(r#"["12:30, a=b"]"#, r#"["12:30, a=b"]"#);
}

#[test]
fn secrets_in_urls() {
    check(r#"["postgres://u:hunter2@db/x"]"#, r#"["postgres://u:[redacted]@db/x"]"#);
    check(
        r#"["a://u:p@h, b://:p@q@h and c://h:80/@"]"#,
        r#"["a://u:[redacted]@h, b://:[redacted]@h and c://h:80/@"]"#,
    );
    check(
        r#"["ssh://git@host/x:y@z","http://[::1]:80"]"#,
        r#"["ssh://git@host/x:y@z","http://[::1]:80"]"#,
    );
    check(r#"["a://u:p@h?token=x&b"]"#, r#"["a://u:[redacted]@h?token=[redacted]"]"#);
    check(r#"["https://h/?se=1&sig=abc"]"#, r#"["https://h/?se=1&sig=[redacted]"]"#);
    check(r#"["/x?X-Amz-Signature=abc"]"#, r#"["/x?X-Amz-Signature=[redacted]"]"#);
    check(r#"["h?design=1"]"#, r#"["h?design=1"]"#);
    check(r#"["signature = f(x)","signature: f(x)"]"#, r#"["signature = f(x)","signature: f(x)"]"#);
    check_cut(r#"["a://u:hunter2@h"]"#, 13, r#"["a://u:[reda"#);
}

#[test]
fn secrets_behind_a_scheme() {
    check(r#"["sent Bearer abc.d-e~f+/= there"]"#, r#"["sent Bearer [redacted] there"]"#);
    check(r#"["bearer abc","BASIC dTpw"]"#, r#"["bearer [redacted]","BASIC [redacted]"]"#);
    check(r#"["Basic dTpw, Bearer xyz"]"#, r#"["Basic [redacted], Bearer [redacted]"]"#);
    check(r#"["Basic rules. Basic"]"#, r#"["Basic rules. Basic"]"#);
    check(
        r#"["the basic idea.","forbearer abc","Bearer"]"#,
        r#"["the basic idea.","forbearer abc","Bearer"]"#,
    );
}

#[test]
fn secrets_behind_an_option() {
    check(r#"["--password","hunter2","x"]"#, r#"["--password","[redacted]","x"]"#);
    check(r#"{"args":["-v","--api-key" , "k"]}"#, r#"{"args":["-v","--api-key","[redacted]"]}"#);
    check(r#"["--password=hunter2","x"]"#, r#"["--password=[redacted]","x"]"#);
    check(
        r#"["- the token","x","--token: y","z"]"#,
        r#"["- the token","x","--token:[redacted]","z"]"#,
    );
    check(r#"["password","x","--token"]"#, r#"["password","x","--token"]"#);
    check(r#"["--token",["x"],"y"]"#, r#"["--token",["x"],"y"]"#);
}

#[test]
fn secrets_beside_their_name() {
    check(
        r#"[["X-Api-Key","k"],["Accept","*/*"]]"#,
        r#"[["X-Api-Key","[redacted]"],["Accept","*/*"]]"#,
    );
    check(r#"[["token","a\"b"]]"#, r#"[["token","[redacted]"]]"#);
    check(r#"["token","a","b"]"#, r#"["token","a","b"]"#);
    check(r#"["a","token","b"]"#, r#"["a","token","b"]"#);
    check(r#"["token",7]"#, r#"["token",7]"#);
    check_cut(r#"["token","ab"#, 4_096, r#"["token","[redacted]""#);
}

#[test]
fn secrets_in_columns() {
    let named = r#""columns":[{"name":"id","type":null},{"name":"password"},{"name":"n"},{"name":"api_key"}]"#;
    check(
        &format!(r#"{{{named},"rows":[[1,"x","b",null],[2,{{"$blob":"x"}},"c",["x"],3]],"n":1}}"#),
        &format!(
            r#"{{{named},"rows":[[1,"[redacted]","b",null],[2,"[redacted]","c","[redacted]",3]],"n":1}}"#
        ),
    );
    check(
        r#"{"columns":["user","pin"],"rows":[["a","x"],{"pin":"x"},[]]}"#,
        r#"{"columns":["user","pin"],"rows":[["a","[redacted]"],{"pin":"[redacted]"},[]]}"#,
    );
    check(
        r#"{"columns":["tokens","pin"],"rows":[[7,7]]}"#,
        r#"{"columns":["tokens","pin"],"rows":[[7,"[redacted]"]]}"#,
    );
    check(
        r#"["{\"columns\":[\"pin\"],\"rows\":[[\"x\"]]}"]"#,
        r#"["{\"columns\":[\"pin\"],\"rows\":[[\"[redacted]\"]]}"]"#,
    );
    // A text that was cut before it came here.
    check(
        r#"["{\"columns\":[\"pin\"],\"rows\":[[\"x\"],[\"hunt"]"#,
        r#"["{\"columns\":[\"pin\"],\"rows\":[[\"[redacted]\"],[\"[redacted]\""]"#,
    );
    check_cut(
        r#"{"columns":["a","pin"],"rows":[["b","x"],["c","hunter2"]]}"#,
        44,
        r#"{"columns":["a","pin"],"rows":[["b","[redact"#,
    );
    check(
        r#"{"columns":["pin"],"a":{"rows":[["x"]]},"rows":7}"#,
        r#"{"columns":["pin"],"a":{"rows":[["x"]]},"rows":7}"#,
    );
    check(r#"{"columns":["pin","a"]}"#, r#"{"columns":["pin","a"]}"#);
}

#[test]
fn secrets_behind_their_name_as_a_value() {
    check(r#"{"name":"password","value":"x"}"#, r#"{"name":"password","value":"[redacted]"}"#);
    check(
        r#"[{"key":"DB_PASSWORD","x":1,"value":7}]"#,
        r#"[{"key":"DB_PASSWORD","x":1,"value":"[redacted]"}]"#,
    );
    check(r#"{"name":"user","value":"x"}"#, r#"{"name":"user","value":"x"}"#);
    check(r#"[{"name":"token"},{"value":"x"}]"#, r#"[{"name":"token"},{"value":"x"}]"#);
    check(
        r#"{"name":"token","arguments":{"value":1}}"#,
        r#"{"name":"token","arguments":{"value":1}}"#,
    );
    // The outer name is none of the inner value.
    check(
        r#"{"name":"token","a":[{"name":"b","value":1}]}"#,
        r#"{"name":"token","a":[{"name":"b","value":1}]}"#,
    );
}

#[test]
fn texts_that_are_cut() {
    check_cut(r#"{"a":"0123456789"}"#, 10, r#"{"a":"0123"#);
    check_cut(r#"{"a":"ééé"}"#, 9, r#"{"a":"é"#);
    check_cut(r#"{"a":"0\n1\u00e9"}"#, 11, r#"{"a":"0\n1"#);
    check_cut(r#"[1,2,3]"#, 4, "[1,2");
    // The name is within the limit, and the secret is not.
    check_cut(r#"{"password":"0123456789"}"#, 16, r#"{"password":"[re"#);
    check_cut(r#"{"past":1,"password":"x"}"#, 15, r#"{"past":1,"pass"#);
    check_cut(r#"["token=0123456789"]"#, 12, r#"["token=[red"#);
    check_cut(r#"["{\"token\":\"0123456789\"}"]"#, 20, r#"["{\"token\":\"[reda"#);
    check_cut("1", 0, "");
    check("", "");
}

#[test]
fn texts_that_are_not_json() {
    check_cut(
        r#"{"method": "a", "params": "bar", "baz]"#,
        4_096,
        r#"{"method":"a","params":"bar""#,
    );
    check_cut(r#"{"password": "hunter2"#, 4_096, r#"{"password":"[redacted]""#);
    check_cut(r#"{"password" "hunter2"}"#, 4_096, "{");
    check_cut(r#"{"a":1} {"password":"x"}"#, 4_096, r#"{"a":1}"#);
    check_cut("password=hunter2", 4_096, "");
    check_cut("{'password':'hunter2'}", 4_096, "{");
    let deep = "[".repeat(200) + r#""x""# + &"]".repeat(200);
    check_cut(&deep, 4_096, &"[".repeat(129));
}

#[test]
fn bytes_that_are_not_text() {
    let about = About { method: "", side: Side::Response };
    let passage = Passage::whole(b"{\"a\":1,\"token\":\"\xff\"}");
    let (kept, _) = Redaction::default().keep(about, passage, 100, &Known::default());
    assert_eq!((kept.as_str(), kept.is_cut), (r#"{"a":1,"token":"[redacted]""#, true));
}

#[test]
fn redactions_of_ones_own() {
    let text = r#"{"SSN": "x", "token": "y"}"#;
    let named = Redaction::default().name("s.s.n");
    check_with(&named, text, 99, r#"{"SSN":"[redacted]","token":"[redacted]"}"#, false);
    let spaced = r#"{"user/ssn":"x","ssn.count":1}"#;
    check_with(&named, spaced, 99, r#"{"user/ssn":"[redacted]","ssn.count":1}"#, false);
    check_with(&Redaction::none(), text, 99, text, false);
    check_with(&Redaction::none(), text, 9, &text[..9], true);
    check_with(&Redaction::none(), "no {JSON", 99, "no {JSON", false);

    let hook = |method: &str, text: &mut String| text.insert_str(0, method);
    check_with(&Redaction::none().then(hook), "{}", 99, "auth.login{}", false);
    // What a hook adds is bounded, too.
    check_with(&Redaction::none().then(hook), "{}", 6, "auth.l", true);
    let after = Redaction::default().then(|_, text| *text = text.replace("[redacted]", "-"));
    check_with(&after, text, 99, r#"{"SSN":"x","token":"-"}"#, false);
    let panicking = Redaction::default().then(|_, _| panic!("a hook that fails"));
    check_with(&panicking, text, 99, "", false);
}
