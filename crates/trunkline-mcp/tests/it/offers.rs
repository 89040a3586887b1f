//! Registration of resources, prompts and completions: errors, layers, pages and changes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use trunkline::layers::{Next, from_fn};
use trunkline::{
    Call, DynamicOperations, ErrorObject, Extensions, Json, Operation, Outcome, Params, Router,
    Rpc, code,
};
use trunkline_mcp::{
    Completion, Mcp, McpConfig, McpOperation, Prompt, PromptArgument, Resource, ResourcePage,
    ResourceTemplate,
};

use crate::support::{assert_fits, expanded, in_time, legacy, modern, offers};

fn operation(name: &str) -> Operation {
    Operation::new(name, || "text")
}

fn resource(uri: &str) -> Operation {
    operation(uri).resource(Resource::new(uri, "name"))
}

fn template(text: &str) -> Operation {
    operation(text).resource_template(ResourceTemplate::new(text, "name"))
}

fn prompt(name: &str) -> Operation {
    operation("p").prompt(Prompt::new(name))
}

fn router(operations: impl IntoIterator<Item = Operation>) -> Router {
    operations.into_iter().fold(Router::new(), Router::operation)
}

fn mcp(router: Router) -> Mcp {
    Mcp::new(router.build().unwrap(), McpConfig::new("test", "1")).unwrap()
}

/// The reply of the JSON-RPC endpoint to a body.
async fn ask(rpc: &Rpc, body: &Value) -> Value {
    let body = expanded(&body.to_string());
    let reply = in_time("a reply", rpc.handle(body.into(), Extensions::new())).await;
    reply.into_json().map_or(Value::Null, |json| serde_json::from_slice(&json).unwrap())
}

#[track_caller]
fn refused<const N: usize>(operations: [Operation; N], expected: &str) {
    let rpc = router(operations).build().unwrap();
    let error = Mcp::new(rpc, McpConfig::new("test", "1")).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn invalid_operations_are_refused() {
    let twice =
        |one: Operation, uri: &str| [one, operation("other").resource(Resource::new(uri, "n"))];
    refused(twice(resource("a:b"), "a:b"), "resource `a:b`: another operation has the same URI");
    refused([resource("b")], "resource `b`: it does not begin with a scheme");
    refused([resource("a:b c")], "a space");
    refused([resource(&format!("a:{}", "x".repeat(3_000)))], "longer");
    refused([template("a:{b}{c}")], "resource template `a:{b}{c}`: two variables are adjacent");
    refused(
        [
            template("a:{b}"),
            operation("other").resource_template(ResourceTemplate::new("a:{b}", "n")),
        ],
        "another operation has the same template",
    );
    refused([template("a:{b}").input_schema(json!({ "type": 7 }))], "resource template `a:{b}`: ");
    refused([prompt("")], "prompt ``: a name has 1 to 128 bytes");
    refused([prompt(&"x".repeat(200))], "1 to 128");
    refused(
        [prompt("a"), operation("other").prompt(Prompt::new("a"))],
        "prompt `a`: another operation",
    );
    refused([prompt("a").input_schema(json!({ "type": 7 }))], "prompt `a`: ");
    let completes = |completion| operation("c").completes([completion]);
    refused([completes(Completion::prompt("a", "b"))], "no operation has this prompt");
    refused([completes(Completion::template("a:{b}", "b"))], "no operation has this template");
    refused(
        [prompt("a"), completes(Completion::prompt("a", "b"))],
        "completion of `b` of `a`: it does not exist",
    );
    refused(
        [template("a:{b}"), completes(Completion::template("a:{b}", "c"))],
        "completion of `c` of `a:{b}`: it does not exist",
    );
    let argument = Prompt::new("a").argument(PromptArgument::new("b"));
    refused(
        [
            operation("p").prompt(argument),
            operation("c").completes([Completion::prompt("a", "b"), Completion::prompt("a", "b")]),
        ],
        "another operation completes it",
    );
}

#[tokio::test]
async fn a_server_has_the_methods_of_its_operations_only() {
    let kinds = [
        (vec!["resources/list", "resources/templates/list", "resources/read"], "resources"),
        (vec!["prompts/list", "prompts/get"], "prompts"),
        (vec!["completion/complete"], "completions"),
    ];
    let completing = router([
        prompt("a").prompt(Prompt::new("a").argument(PromptArgument::new("b"))),
        operation("c").completes([Completion::prompt("a", "b")]),
    ]);
    let servers = [
        (router([operation("a")]), vec![]),
        (router([resource("a:b")]), vec!["resources"]),
        (router([template("a:{b}")]), vec!["resources"]),
        (router([operation("a").resource_list()]), vec!["resources"]),
        (router([prompt("a")]), vec!["prompts"]),
        (completing, vec!["prompts", "completions"]),
    ];
    for (router, capabilities) in servers {
        let rpc = mcp(router).rpc();
        for request in [legacy, modern] {
            let open = if request("", json!({})) == legacy("", json!({})) {
                legacy("initialize", json!({ "protocolVersion": "2025-11-25" }))
            } else {
                modern("server/discover", json!({}))
            };
            let opened = ask(&rpc, &open).await;
            for (methods, capability) in &kinds {
                let has = capabilities.contains(capability);
                let declared = &opened["result"]["capabilities"][capability];
                assert_eq!(declared.is_object(), has, "{capability} in {opened}");
                for method in methods {
                    let reply = ask(&rpc, &request(method, json!({}))).await;
                    let is_unknown = reply["error"]["code"] == code::METHOD_NOT_FOUND;
                    assert_eq!(is_unknown, !has, "{method}: {reply}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_uri_itself_takes_precedence_over_templates() {
    let names = |reply: &Value| reply["result"]["contents"][0]["text"].clone();
    let text = |name: &'static str| Operation::new(name, move |_: trunkline::RawParams| name);
    let rpc = mcp(router([
        text("first").resource_template(ResourceTemplate::new("a:{x}/{y}", "n")),
        text("second").resource_template(ResourceTemplate::new("a:{+x}", "n")),
        Operation::new("exact", || "exact").resource(Resource::new("a:1/2", "n")),
    ]))
    .rpc();
    for (uri, expected) in [("a:1/2", "exact"), ("a:1/3", "first"), ("a:1/2/3", "second")] {
        let reply = ask(&rpc, &legacy("resources/read", json!({ "uri": uri }))).await;
        assert_eq!(names(&reply), expected, "{uri}");
    }
}

#[tokio::test]
async fn layers_see_the_operation_once() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let names = Arc::clone(&seen);
    let layer = from_fn(move |call: Call, next: Next| {
        let params = String::from_utf8_lossy(call.params().unwrap_or_default()).into_owned();
        names.lock().unwrap().push(format!("{} {params}", call.method()).trim_end().to_owned());
        next.run(call)
    });
    let rpc = mcp(offers().layer(layer)).rpc();
    let complete = json!({
        "ref": { "type": "ref/prompt", "name": "declared" }, "argument": { "name": "must", "value": "a" },
    });
    for (method, params, expected) in [
        ("resources/read", json!({ "uri": "r://text" }), vec!["r.text"]),
        ("resources/read", json!({ "uri": "r://pages/a%20b" }), vec![r#"r.page {"name":"a b"}"#]),
        (
            "resources/read",
            json!({ "uri": "r://items/7?part=x" }),
            vec![r#"r.item {"id":7,"part":"x"}"#],
        ),
        ("resources/read", json!({ "uri": "r://nope" }), vec!["resources/read"]),
        ("prompts/get", json!({ "name": "nope" }), vec!["nope"]),
        ("resources/list", json!({}), vec!["r.listed"]),
        ("resources/templates/list", json!({}), vec![]),
        ("prompts/list", json!({}), vec![]),
        ("prompts/get", json!({ "name": "text" }), vec!["p.text"]),
        (
            "prompts/get",
            json!({ "name": "declared", "arguments": { "must": "x" } }),
            vec![r#"p.declared {"must":"x"}"#],
        ),
        // Its arguments are invalid, and only the handler is skipped.
        ("prompts/get", json!({ "name": "declared" }), vec!["p.declared"]),
        (
            "prompts/get",
            json!({ "name": "typed", "arguments": { "count": "1" } }),
            vec![r#"p.typed {"count":1}"#],
        ),
        (
            "completion/complete",
            complete,
            vec![r#"c.names {"argument":"must","value":"a","context":{}}"#],
        ),
    ] {
        for request in [legacy, modern] {
            ask(&rpc, &request(method, params.clone())).await;
            assert_eq!(*seen.lock().unwrap(), expected, "{method} {params}");
            seen.lock().unwrap().clear();
        }
    }
}

#[tokio::test]
async fn refused_operations_are_not_listed_and_cannot_be_read() {
    let forbidden = |name: &'static str| {
        from_fn(move |call: Call, next: Next| async move {
            if *call.method() == *name {
                return Outcome::error(ErrorObject::new(code::FORBIDDEN, "Forbidden"));
            }
            next.run(call).await
        })
    };
    let rpc = mcp(offers().layer(forbidden("r.listed"))).rpc();
    let reply = ask(&rpc, &legacy("resources/list", json!({}))).await;
    assert_eq!(reply["result"]["resources"].as_array().unwrap().len(), 9, "{reply}");
    let rpc = mcp(offers().layer(forbidden("r.text"))).rpc();
    let reply = ask(&rpc, &legacy("resources/read", json!({ "uri": "r://text" }))).await;
    assert_fits("read", &json!({ "error": { "code": code::FORBIDDEN } }), &reply);
    // A list that fails is not a list without these resources.
    let failing = Operation::new("l", || Err::<Value, _>(ErrorObject::new(7, "it broke")));
    let wrong = Operation::new("l", || 7);
    for (list, expected) in [(failing, 7), (wrong, code::INTERNAL_ERROR)] {
        let rpc = mcp(router([list.resource_list()])).rpc();
        let reply = ask(&rpc, &legacy("resources/list", json!({}))).await;
        assert_fits("list", &json!({ "error": { "code": expected } }), &reply);
    }
}

/// All entries of a list, and the number of its pages.
async fn all_pages(rpc: &Rpc, method: &str, member: &str) -> (Vec<String>, usize) {
    let (mut names, mut cursor, mut pages) = (Vec::new(), Value::Null, 0);
    loop {
        let reply = ask(rpc, &modern(method, json!({ "cursor": cursor }))).await;
        let result = &reply["result"];
        assert_eq!(result["cacheScope"], "private", "{reply}");
        let entries = result[member].as_array().unwrap();
        names.extend(entries.iter().map(|entry| entry["name"].as_str().unwrap().to_owned()));
        pages += 1;
        cursor = result["nextCursor"].clone();
        if cursor.is_null() {
            return (names, pages);
        }
    }
}

#[tokio::test]
async fn lists_have_pages() {
    let name = |n: usize| format!("n{n}");
    for (count, expected_pages) in [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3)] {
        for is_listed in [false, true] {
            let mut operations: Vec<Operation> = Vec::new();
            for n in 0..count {
                let tool = operation(&format!("t{n}")).tool(name(n)).read_only();
                operations.push(tool.prompt(Prompt::new(name(n))));
                if !is_listed {
                    let uri = format!("a:{n}");
                    operations.push(operation(&uri).resource(Resource::new(uri, name(n))));
                }
                let text = format!("t{n}:{{x}}");
                operations
                    .push(operation(&text).resource_template(ResourceTemplate::new(text, name(n))));
            }
            if is_listed {
                let list = move || {
                    let resource = |n| Resource::new(format!("a:{n}"), name(n));
                    Json((0..count).map(resource).collect::<Vec<_>>())
                };
                operations.push(Operation::new("list", list).resource_list());
            }
            let settings = McpConfig { page_entries: 2, ..McpConfig::new("test", "1") };
            let rpc = Mcp::new(router(operations).build().unwrap(), settings).unwrap().rpc();
            let expected: Vec<String> = (0..count).map(name).collect();
            for (method, member) in [
                ("tools/list", "tools"),
                ("prompts/list", "prompts"),
                ("resources/list", "resources"),
                ("resources/templates/list", "resourceTemplates"),
            ] {
                let (names, pages) = all_pages(&rpc, method, member).await;
                assert_eq!((&names, pages), (&expected, expected_pages), "{method} {is_listed}");
                let beyond = format!("{member}-{expected_pages}");
                let reply = ask(&rpc, &modern(method, json!({ "cursor": beyond }))).await;
                assert_eq!(reply["error"]["code"], code::INVALID_PARAMS, "{method}: {reply}");
            }
        }
    }
}

#[tokio::test]
async fn a_page_calls_only_the_operations_that_it_lists() {
    /// The numbers from `from` on, two at a time.
    #[derive(Deserialize)]
    struct From {
        from: Option<u64>,
    }
    fn page(result: &[u8]) -> ResourcePage {
        let numbers: Vec<u64> = serde_json::from_slice(result).unwrap();
        let resource = |n: &u64| Resource::new(format!("n:{n}"), n.to_string());
        let page = ResourcePage::new(numbers.iter().map(resource));
        match numbers.last() {
            Some(last) if *last < 9 => {
                page.next(Map::from_iter([("from".to_owned(), (last + 1).into())]))
            }
            _ => page,
        }
    }
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = |calls: &Arc<AtomicUsize>| {
        let calls = Arc::clone(calls);
        move |Params(From { from }): Params<From>| {
            calls.fetch_add(1, Ordering::SeqCst);
            let from = from.unwrap_or_default();
            Json((from..from + 2).collect::<Vec<_>>())
        }
    };
    let many = || Json((0..5).map(|n| Resource::new(format!("m:{n}"), format!("m{n}"))).collect());
    let operations = || {
        [
            operation("static").resource(Resource::new("s:1", "static")),
            Operation::new("counted", counted(&calls)).resource_list_by(page),
            Operation::new("many", many as fn() -> Json<Vec<Resource>>).resource_list(),
        ]
    };
    for (page_entries, expected_calls) in [(100, 5), (2, 10), (3, 6)] {
        calls.store(0, Ordering::SeqCst);
        let settings = McpConfig { page_entries, ..McpConfig::new("test", "1") };
        let rpc = Mcp::new(router(operations()).build().unwrap(), settings).unwrap().rpc();
        let (names, pages) = all_pages(&rpc, "resources/list", "resources").await;
        let numbers = (0..10).map(|n: u64| n.to_string());
        let expected = ["static".to_owned()].into_iter().chain(numbers);
        let expected: Vec<_> = expected.chain((0..5).map(|n| format!("m{n}"))).collect();
        assert_eq!((names, pages), (expected, 16_usize.div_ceil(page_entries)));
        assert_eq!(calls.load(Ordering::SeqCst), expected_calls, "{page_entries}");
    }
    let rpc = mcp(router(operations())).rpc();
    for cursor in ["resources.", "resources.!", "resources.e30", "resources.bnVsbA", "resources-1"]
    {
        let reply = ask(&rpc, &modern("resources/list", json!({ "cursor": cursor }))).await;
        assert_eq!(reply["error"]["code"], code::INVALID_PARAMS, "{cursor}: {reply}");
    }
}

#[tokio::test]
async fn dynamic_operations_are_added_and_removed() {
    let dynamic = DynamicOperations::new();
    let page = Operation::new("page", |_: trunkline::RawParams| "page");
    let page = page.resource_template(ResourceTemplate::new("f:{x}", "n"));
    let rpc = router([resource("a:fixed"), page]).dynamic("d", &dynamic).build().unwrap();
    let rpc = Mcp::new(rpc, McpConfig::new("test", "1")).unwrap().rpc();
    let names = async |method: &str, member: &str, field: &str| -> Vec<String> {
        let reply = ask(&rpc, &modern(method, json!({}))).await;
        let entries = reply["result"][member].as_array().cloned().unwrap_or_default();
        entries.iter().map(|entry| entry[field].as_str().unwrap().to_owned()).collect()
    };
    let text = async |uri: &str| -> Value {
        let reply = ask(&rpc, &legacy("resources/read", json!({ "uri": uri }))).await;
        reply["result"]["contents"][0]["text"].clone()
    };
    assert_eq!(names("prompts/list", "prompts", "name").await, [""; 0]);

    let own = |uri: &str| Operation::new("own", || "own").resource(Resource::new(uri, "n"));
    let echo = Operation::new("echo", |_: trunkline::RawParams| "echo");
    dynamic
        .replace(router([
            own("a:own"),
            // Left out, since the URI is taken.
            Operation::new("taken", || "taken").resource(Resource::new("a:fixed", "n")),
            // The same by a template, which could be that of a table.
            Operation::new("taken_by_template", || "taken").resource(Resource::new("f:1", "n")),
            echo.resource_template(ResourceTemplate::new("t:{x}", "n")),
            Operation::new("bad", || "bad").resource_template(ResourceTemplate::new("{x", "n")),
            prompt("dynamic"),
        ]))
        .unwrap();
    assert_eq!(names("resources/list", "resources", "uri").await, ["a:fixed", "a:own"]);
    assert_eq!(
        names("resources/templates/list", "resourceTemplates", "uriTemplate").await,
        ["f:{x}", "t:{x}"]
    );
    assert_eq!(names("prompts/list", "prompts", "name").await, ["dynamic"]);
    assert_eq!(text("a:own").await, "own");
    assert_eq!(text("a:fixed").await, "text");
    assert_eq!(text("t:1").await, "echo");
    assert_eq!(text("f:1").await, "page");

    dynamic.replace(router([])).unwrap();
    assert_eq!(names("resources/list", "resources", "uri").await, ["a:fixed"]);
    assert_eq!(text("a:own").await, Value::Null);
    // The capability was declared, so the list is empty, not unknown.
    let reply = ask(&rpc, &modern("prompts/list", json!({}))).await;
    assert_eq!(reply["result"]["prompts"], json!([]));
    let reply = ask(&rpc, &modern("server/discover", json!({}))).await;
    assert!(reply["result"]["capabilities"]["prompts"].is_object(), "{reply}");
}
