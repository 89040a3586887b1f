//! Messages in EDN, and replies in EDN and JSON.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};
use trunkline::edn::{Edn, FORMAT, Inst, Keyword, Value};
use trunkline::layers::{Next, from_fn};
use trunkline::protocol::{Format, Formats};
use trunkline::{Call, ErrorObject, Extensions, Id, Limits, RawParams, Router, Rpc};

use crate::support::add;

fn rpc() -> Rpc {
    Router::new()
        .method("add", add)
        .method("echo", |RawParams(params): RawParams| params)
        .method("same", |Edn(params): Edn<Value>| params)
        .method("job", |Edn(job): Edn<Job>| Edn(job))
        .method("hosts", |Edn(hosts): Edn<BTreeMap<IpAddr, SocketAddr>>| Edn(hosts))
        .method("fail", |Edn(data): Edn<Value>| -> Result<(), ErrorObject> {
            Err(ErrorObject::new(7, "failed").with_data(&data.to_string()))
        })
        .method("try", |Edn(params): Edn<Value>| Ok::<_, ErrorObject>(Edn(params)))
        .method("try-job", |Edn(job): Edn<Job>| Ok::<_, ErrorObject>(Edn(job)))
        .method("try-bad", |Edn(params): Edn<Value>| -> Result<Edn<Value>, ErrorObject> {
            Ok(Edn(params.as_sequence().unwrap()[0].as_str().unwrap().parse().unwrap()))
        })
        .method("bad", |Edn(params): Edn<Value>| {
            let text = params.as_sequence().and_then(|params| params[0].as_str()).unwrap();
            text.parse::<Value>().unwrap()
        })
        .method("passed", |Edn(params): Edn<Value>| params)
        .route_layer(
            "passed",
            from_fn(async |call: Call, next: Next| {
                let mut inner = Call::request(&Id::from(2), "passed", &[42]).unwrap();
                *inner.extensions_mut() = call.extensions().clone();
                next.run(inner).await
            }),
        )
        .limits(Limits { batch_requests: 6, depth: 16, ..Limits::default() })
        .build()
        .unwrap()
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Job {
    queue: Keyword,
    run_at: Option<Inst>,
    #[serde(default)]
    tags: Vec<Keyword>,
}

#[track_caller]
fn ask(request: Format, reply: Format, body: &str) -> Option<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let formats = Formats { request, reply };
    let reply =
        runtime.block_on(rpc().handle_in(formats, body.to_owned().into(), Extensions::new()));
    reply.into_text().map(|text| String::from_utf8(text).unwrap())
}

/// Sends a message in EDN and compares the reply in EDN. `""` means no reply.
#[track_caller]
fn check(body: &str, expected: &str) {
    let found = ask(FORMAT, FORMAT, body).unwrap_or_default();
    assert_eq!(found, expected, "{body}");
}

#[track_caller]
fn check_mixed(request: Format, reply: Format, body: &str, expected: &str) {
    assert_eq!(ask(request, reply, body).unwrap_or_default(), expected, "{body}");
}

#[test]
fn addresses_as_keys() {
    check(
        r#"{:jsonrpc "2.0" :method "hosts" :params {"127.0.0.1" "[::1]:80"} :id 1}"#,
        r#"{:jsonrpc "2.0", :result {"127.0.0.1" "[::1]:80"}, :id 1}"#,
    );
}

#[test]
fn requests() {
    let sum = r#"{:jsonrpc "2.0", :result 42, :id 1}"#;
    check(r#"{:jsonrpc "2.0" :method "add" :params [40 2] :id 1}"#, sum);
    check(r#"{:jsonrpc "2.0" :method :add :params (40N 2) :id 1}"#, sum);
    check(r#"{"jsonrpc" "2.0" method add "params" {:a 40, "b" 2} :id 1}"#, sum);
    check(r#"{:jsonrpc "2.0" :method "add" :params [40 2]}"#, "");
    check(
        r#"{:jsonrpc "2.0" :method "echo" :id nil}"#,
        r#"{:jsonrpc "2.0", :result nil, :id nil}"#,
    );
    check(
        r##"{:jsonrpc "2.0" :method "echo" :params [:a/b #{1} \c 1/4 1.50M nil #inst "2024"] :id 1}"##,
        r#"{:jsonrpc "2.0", :result ["a/b" [1] "c" 0.25 1.5 nil "2024-01-01T00:00:00Z"], :id 1}"#,
    );
    check(
        r#"{:jsonrpc "2.0" :method "echo" :params {:io.x/key {"a b" 1}} :id 1}"#,
        r#"{:jsonrpc "2.0", :result {:io.x/key {"a b" 1}}, :id 1}"#,
    );
}

#[test]
fn sends_ids_back_unchanged() {
    for id in [
        "1",
        "1.0",
        "-0",
        "99999999999999999999N",
        ":a/b",
        "sym",
        "\\c",
        "\"text\"",
        "nil",
        "1.5M",
        "#uuid \"f81d4fae-7dec-11d0-a765-00a0c91e6bf6\"",
    ] {
        let expected: Value = id.parse().unwrap();
        let body = format!("{{:jsonrpc \"2.0\" :method \"add\" :params [1 2] :id {id}}}");
        check(&body, &format!("{{:jsonrpc \"2.0\", :result 3, :id {expected}}}"));
    }
}

#[test]
fn edn_handlers() {
    let params = r##"[:a #{:b} #inst "2024-01-01T00:00:00Z" 1/3 (x) \c]"##;
    check(
        &format!(r#"{{:jsonrpc "2.0" :method "same" :params {params} :id 1}}"#),
        &format!(r#"{{:jsonrpc "2.0", :result {params}, :id 1}}"#),
    );
    check(
        r#"{:jsonrpc "2.0" :method "job" :params {:queue :mail, :run-at #inst "2024"} :id 1}"#,
        r#"{:jsonrpc "2.0", :result {:queue :mail, :run-at #inst "2024-01-01T00:00:00Z", :tags []}, :id 1}"#,
    );
    check(
        r#"{:jsonrpc "2.0" :method "job" :params [:mail nil [:a :b/c]] :id 1}"#,
        r#"{:jsonrpc "2.0", :result {:queue :mail, :run-at nil, :tags [:a :b/c]}, :id 1}"#,
    );
    check(
        r#"{:jsonrpc "2.0" :method "job" :params {:queue :mail, :urgent true} :id 1}"#,
        r#"{:jsonrpc "2.0", :error {:code -32602, :message "Invalid params", :data {:reason "unknown param", :params ["urgent"], :declared ["queue" "run-at" "tags"]}}, :id 1}"#,
    );
    check(
        r#"{:jsonrpc "2.0" :method "job" :params [:mail nil [] 4] :id 1}"#,
        r#"{:jsonrpc "2.0", :error {:code -32602, :message "Invalid params", :data {:reason "too many params: 4 given, at most 3 expected", :declared ["queue" "run-at" "tags"]}}, :id 1}"#,
    );
    check(
        r#"{:jsonrpc "2.0" :method "fail" :params [:a] :id 1}"#,
        r#"{:jsonrpc "2.0", :error {:code 7, :message "failed", :data "[:a]"}, :id 1}"#,
    );
}

#[test]
fn fallible_edn_handlers() {
    let params = r##"[:a #{:b} #inst "2024-01-01T00:00:00Z"]"##;
    check(
        &format!(r#"{{:jsonrpc "2.0" :method "try" :params {params} :id 1}}"#),
        &format!(r#"{{:jsonrpc "2.0", :result {params}, :id 1}}"#),
    );
    check(
        r#"{:jsonrpc "2.0" :method "try-job" :params [:mail nil] :id 1}"#,
        r#"{:jsonrpc "2.0", :result {:queue :mail, :run-at nil, :tags []}, :id 1}"#,
    );
    check(
        r###"{:jsonrpc "2.0" :method "try-bad" :params ["##Inf"] :id 1}"###,
        r###"{:jsonrpc "2.0", :error {:code -32603, :message "JSON conversion error", :data {:path "/result", :reason "JSON cannot represent ##Inf"}}, :id 1}"###,
    );
}

#[test]
fn edn_handlers_in_json() {
    let json = |body, expected| check_mixed(Format::Json, Format::Json, body, expected);
    json(
        r#"{"jsonrpc":"2.0","method":"job","params":{"queue":"mail","run-at":"2024-01-01T00:00:00Z"},"id":1}"#,
        r#"{"jsonrpc":"2.0","result":{"queue":"mail","run-at":"2024-01-01T00:00:00Z","tags":[]},"id":1}"#,
    );
    json(
        r#"{"jsonrpc":"2.0","method":"same","params":{"a b":[1e400,18446744073709551616]},"id":1}"#,
        r#"{"jsonrpc":"2.0","result":{"a b":[1E+400,18446744073709551616]},"id":1}"#,
    );
    json(
        r#"{"jsonrpc":"2.0","method":"same","params":{"a":1,"a":2},"id":1}"#,
        r#"{"jsonrpc":"2.0","error":{"code":-32603,"message":"JSON conversion error","data":{"path":"/params","reason":"duplicate key: \"a\""}},"id":1}"#,
    );
    json(
        r#"{"jsonrpc":"2.0","method":"bad","params":["{:a [##Inf]}"],"id":"x"}"#,
        r###"{"jsonrpc":"2.0","error":{"code":-32603,"message":"JSON conversion error","data":{"path":"/result/a/0","reason":"JSON cannot represent ##Inf"}},"id":"x"}"###,
    );
    check_mixed(
        Format::Json,
        FORMAT,
        r#"{"jsonrpc":"2.0","method":"same","params":{"a":[":b"]},"id":1e400}"#,
        r#"{:jsonrpc "2.0", :result {:a [":b"]}, :id 1e400}"#,
    );
    for id in ["1e2147483648", "1e-400", "9007199254740993.0", "-0", "\"\\u00e9\"", "null"] {
        let expected = if id.starts_with('"') { "\"é\"" } else { id }.replace("null", "nil");
        for method in ["add", "nothing"] {
            let body =
                format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":[1,2],"id":{id}}}"#);
            let single = ask(Format::Json, FORMAT, &body).unwrap();
            assert!(single.ends_with(&format!(":id {expected}}}")), "{id}: {single}");
            let batch = ask(Format::Json, FORMAT, &format!("[{body}]")).unwrap();
            assert_eq!(batch, format!("[{single}]"));
        }
    }
    check_mixed(
        FORMAT,
        Format::Json,
        r#"{:jsonrpc "2.0" :method "same" :params [:a] :id :b}"#,
        r#"{"jsonrpc":"2.0","result":["a"],"id":"b"}"#,
    );
}

#[test]
fn rejects_invalid_edn() {
    let error = |data: &str| {
        format!(
            r#"{{:jsonrpc "2.0", :error {{:code -32700, :message "Parse error", :data {data}}}, :id nil}}"#
        )
    };
    check(
        "{:jsonrpc \"2.0\"\n :method \"echo\" :params [1 08] :id 1}",
        &error(
            r#"{:reason "`08` is not a number", :path "/params/1", :line 2, :column 28, :offset 43}"#,
        ),
    );
    check(
        r#"{:jsonrpc "2.0" :method "echo" :params [#inst "2023-02-29"] :id 1}"#,
        &error(
            r#"{:reason "\"2023-02-29\" is not an instant", :path "/params/0", :line 1, :column 47, :offset 46}"#,
        ),
    );
    check(
        r#"{:jsonrpc "2.0" :method "echo" :params [{:a 1 :a 2} 1/0] :id 1}"#,
        &error(
            r#"{:reason "duplicate key: :a", :path "/params/0", :line 1, :column 47, :offset 46}"#,
        ),
    );
    check(
        "",
        &error(r#"{:reason "the text contains no form", :path "", :line 1, :column 1, :offset 0}"#),
    );
    check(
        "1 2",
        &error(
            r#"{:reason "unexpected text after the form", :path "", :line 1, :column 3, :offset 2}"#,
        ),
    );
    check("\u{feff}[]", &error(r#"{:reason "the body starts with a byte-order mark", :offset 0}"#));
    let deep = format!(r#"{{:method "echo" :params {}}}"#, "[".repeat(16));
    assert!(ask(FORMAT, FORMAT, &deep).unwrap().contains("nested deeper than 16 forms"));
}

#[test]
fn rejects_values_without_json() {
    for (params, path, reason) in [
        ("[[##Inf]]", "/params/0/0", "JSON cannot represent ##Inf"),
        ("[##NaN]", "/params/0", "JSON cannot represent ##NaN"),
        ("[#my/point [1 2]]", "/params/0", "JSON cannot represent the tag #my/point"),
        ("{:a {nil 1}}", "/params/a", "a nil cannot be a key in JSON"),
        ("{:a 1 \"a\" 2}", "/params", "two keys have the text \"a\" in JSON"),
    ] {
        for method in ["echo", "same", "nothing"] {
            let reason = Value::from(reason);
            check(
                &format!("{{:jsonrpc \"2.0\" :method {method} :params {params} :id :x}}"),
                &format!(
                    "{{:jsonrpc \"2.0\", :error {{:code -32603, :message \"JSON conversion error\", :data {{:path \"{path}\", :reason {reason}}}}}, :id :x}}"
                ),
            );
        }
        // An invalid notification has no reply, either.
        check(&format!("{{:jsonrpc \"2.0\" :method \"echo\" :params {params}}}"), "");
    }
    check(
        r#"{:jsonrpc "2.0" :method "echo" :id 1 "id" 2}"#,
        r#"{:jsonrpc "2.0", :error {:code -32603, :message "JSON conversion error", :data {:path "", :reason "two keys have the text \"id\" in JSON"}}, :id nil}"#,
    );
    check(
        "##Inf",
        r###"{:jsonrpc "2.0", :error {:code -32603, :message "JSON conversion error", :data {:path "", :reason "JSON cannot represent ##Inf"}}, :id nil}"###,
    );
}

#[test]
fn rejects_invalid_requests() {
    let invalid = |member: &str, reason: &str, id: &str| {
        let reason = Value::from(reason);
        format!(
            r#"{{:jsonrpc "2.0", :error {{:code -32600, :message "Invalid Request", :data {{:reason {reason}{member}}}}}, :id {id}}}"#
        )
    };
    check("1", &invalid("", "a request must be an object", "nil"));
    check(
        r#"{:jsonrpc 2.0 :method "echo" :id 7}"#,
        &invalid(", :member \"jsonrpc\"", "`jsonrpc` must be \"2.0\"", "7"),
    );
    for id in [":first", "1/3", "#uuid \"f81d4fae-7dec-11d0-a765-00a0c91e6bf6\""] {
        let body = format!("{{:jsonrpc \"2.0\" :id {id}}}");
        let expected = invalid(", :member \"method\"", "`method` is missing", id);
        check(&body, &expected);
        check(&format!("[{body}]"), &format!("[{expected}]"));
    }
    for id in ["{:a 1}", "[1]", "true"] {
        let body = format!("{{:jsonrpc \"2.0\" :method \"echo\" :id {id}}}");
        let expected =
            invalid(", :member \"id\"", "`id` must be a string, a number or null", "nil");
        check(&body, &expected);
        check(&format!("[{body}]"), &format!("[{expected}]"));
    }
    check("[]", &invalid("", "a batch must contain at least one request", "nil"));
    let many = format!("[{}]", "{:jsonrpc \"2.0\" :method \"echo\"}".repeat(7));
    check(
        &many,
        &invalid("", "a batch must contain at most 6 requests; no request was run", "nil"),
    );
}

#[test]
fn batches() {
    check(
        r#"({:jsonrpc "2.0" :method "add" :params [1 2] :id :a}
            {:jsonrpc "2.0" :method "add" :params [1 2]}
            {:jsonrpc "2.0" :method "echo" :params [##NaN] :id :b}
            {:jsonrpc "2.0" :method "same" :params [:k] :id 1/2}
            5)"#,
        r###"[{:jsonrpc "2.0", :result 3, :id :a} {:jsonrpc "2.0", :error {:code -32603, :message "JSON conversion error", :data {:path "/params/0", :reason "JSON cannot represent ##NaN"}}, :id :b} {:jsonrpc "2.0", :result [:k], :id 1/2} {:jsonrpc "2.0", :error {:code -32600, :message "Invalid Request", :data {:reason "a request must be an object"}}, :id nil}]"###,
    );
    check(r#"[{:jsonrpc "2.0" :method "add" :params [1 2]}]"#, "");
    check_mixed(
        Format::Json,
        FORMAT,
        r#"[{"jsonrpc":"2.0","method":"add","params":[1,2],"id":1},{"jsonrpc":"2.0","method":"no","id":2}]"#,
        r#"[{:jsonrpc "2.0", :result 3, :id 1} {:jsonrpc "2.0", :error {:code -32601, :message "Method not found", :data {:method "no"}}, :id 2}]"#,
    );
}

#[test]
fn params_do_not_leak_through_shared_extensions() {
    check(
        r#"{:jsonrpc "2.0", :method "passed", :params [:a], :id 1}"#,
        r#"{:jsonrpc "2.0", :result [42], :id 1}"#,
    );
}
