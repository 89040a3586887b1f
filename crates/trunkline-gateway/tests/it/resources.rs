//! Resources and prompts of upstreams.

use std::time::Duration;

use serde_json::{Value, json};
use trunkline::{DynamicOperations, Operation, Router, Server};
use trunkline_gateway::{HttpTarget, Target, UpstreamConfig};
use trunkline_mcp::{Mcp, McpConfig};

use crate::support::{Scripted, Service, tools};

async fn upstream() -> Scripted {
    let upstream = Scripted::start(tools(&["a"])).await;
    upstream.change(|script| {
        let resource = json!({
            "uri": "docs://readme",
            "name": "readme",
            "title": "Read me",
            "mimeType": "text/markdown",
            "size": 3,
            "annotations": { "audience": ["user"], "priority": 0.5 },
            "_meta": { "x": 1 },
        });
        let second = json!({ "uri": "docs://readme", "name": "again" });
        let template = json!({ "uriTemplate": "docs://pages/{name}", "name": "page" });
        let prompt = json!({
            "name": "review",
            "description": "Reviews.",
            "arguments": [{ "name": "language", "required": true }],
        });
        script.others.insert("resources/list", json!({ "resources": [resource, second] }));
        let templates = json!({ "resourceTemplates": [template] });
        script.others.insert("resources/templates/list", templates);
        script.others.insert("prompts/list", json!({ "prompts": [prompt] }));
        script.others.insert("resources/read", contents());
        script.others.insert("prompts/get", json!({ "messages": messages() }));
    });
    upstream
}

fn contents() -> Value {
    json!({
        "contents": [
            { "uri": "docs://readme", "mimeType": "text/markdown", "text": "é" },
            { "uri": "docs://logo", "mimeType": "image/png", "blob": "AAAA", "_meta": { "y": 2 } },
        ],
        "_meta": { "example/z": 3 },
    })
}

fn messages() -> Value {
    json!([
        { "role": "user", "content": { "type": "text", "text": "Review." } },
        { "role": "assistant", "content": { "type": "image", "data": "AAAA", "mimeType": "image/png" } },
    ])
}

#[tokio::test]
async fn resources_and_templates() {
    let [one, other] = [upstream().await, upstream().await];
    let service = Service::start(vec![("one", one.config()), ("other", other.config())]).await;
    let list = service.call("resources/list", json!({})).await.unwrap();
    let expected = json!([{
        "uri": "docs://readme",
        "name": "one__readme",
        "title": "Read me",
        "mimeType": "text/markdown",
        "size": 3,
        "annotations": { "audience": ["user"], "priority": 0.5 },
        "_meta": { "x": 1 },
    }]);
    // The other upstream has the same URI.
    assert_eq!(list["resources"], expected);
    let list = service.call("resources/templates/list", json!({})).await.unwrap();
    let expected = json!([{ "uriTemplate": "docs://pages/{name}", "name": "one__page" }]);
    assert_eq!(list["resourceTemplates"], expected);

    for uri in ["docs://readme", "docs://pages/7"] {
        let found = service.call("resources/read", json!({ "uri": uri })).await;
        assert_eq!(found, Ok(contents()), "{uri}");
    }
    let status = service.status("one");
    assert_eq!((status.tools, status.resources, status.prompts), (1, 2, 1));
}

/// Templates of RFC 6570: a URI that belongs to each, and a variable.
const TEMPLATES: [(&str, &str, &str); 16] = [
    ("t1://{+path}", "t1://a/b", "path"),
    ("t2://a{#x}", "t2://a#1", "x"),
    ("t3://a{.x}", "t3://a.1", "x"),
    ("t4://a{/x}", "t4://a/1", "x"),
    ("t5://a{;x}", "t5://a;x=1", "x"),
    ("t6://a{?x,y}", "t6://a?x=1&y=2", "y"),
    ("t7://a?z=1{&x}", "t7://a?z=1&x=2", "x"),
    ("t8://{x*}", "t8://1,2", "x"),
    ("t9://{x:3}", "t9://123", "x"),
    ("u1://{x,y}", "u1://1,2", "y"),
    ("u2://{x}{y}", "u2://12", "y"),
    ("u3://a{/x*}", "u3://a/1/2/3", "x"),
    ("u4://a{?x*}", "u4://a?b=1&c=2", "x"),
    ("u5://{x}/{x}", "u5://1/1", "x"),
    ("u6://{?x}/b", "u6:///b", "x"),
    ("u7://{customer-id}", "u7://7", "customer-id"),
];

#[tokio::test]
async fn templates_of_all_operators() {
    let upstream = upstream().await;
    let templates = |texts: &[&str]| {
        let entry = |text: &&str| json!({ "uriTemplate": text, "name": "n" });
        json!({ "resourceTemplates": texts.iter().map(entry).collect::<Vec<_>>() })
    };
    let invalid = ["{+url}", "v1://{x", "v2://{=x}", "v3://{x:0}", "v4://a b{x}"];
    let texts: Vec<_> = TEMPLATES.iter().map(|(text, ..)| *text).chain(invalid).collect();
    upstream.change(|script| {
        script.others.insert("resources/templates/list", templates(&texts));
        let resources =
            json!([{ "uri": "docs://a", "name": "a" }, { "uri": "docs://a b", "name": "b" }]);
        script.others.insert("resources/list", json!({ "resources": resources }));
        let completion = json!({ "completion": { "values": ["one"] } });
        script.others.insert("completion/complete", completion);
    });
    let service = Service::start(vec![("up", upstream.config())]).await;
    let list = service.call("resources/templates/list", json!({})).await.unwrap();
    let listed = list["resourceTemplates"].as_array().unwrap();
    let listed: Vec<_> =
        listed.iter().map(|entry| entry["uriTemplate"].as_str().unwrap()).collect();
    assert_eq!(listed, TEMPLATES.map(|(text, ..)| text));
    for (text, uri, variable) in TEMPLATES {
        let found = service.call("resources/read", json!({ "uri": uri })).await;
        assert_eq!(found, Ok(contents()), "{text}");
        let other = uri.replace("://", ":/other/");
        service.call("resources/read", json!({ "uri": other })).await.unwrap_err();
        let params = json!({
            "ref": { "type": "ref/resource", "uri": text },
            "argument": { "name": variable, "value": "o" },
        });
        let completed = service.call("completion/complete", params).await.unwrap();
        assert_eq!(completed["completion"]["values"], json!(["one"]), "{text}");
    }
    let status = service.status("up");
    let rejected: Vec<_> = status.rejected.iter().map(|item| item.name.as_str()).collect();
    assert_eq!(rejected, [&["docs://a b"][..], &invalid].concat());
    assert!(
        status.rejected.iter().all(|item| item.reason.starts_with("invalid URI")),
        "{status:?}"
    );
    assert_eq!(status.resources, TEMPLATES.len() + 1);
}

#[tokio::test]
async fn prompts() {
    let upstream = upstream().await;
    let service = Service::start(vec![("up", upstream.config())]).await;
    let list = service.call("prompts/list", json!({})).await.unwrap();
    let expected = json!([{
        "name": "up__review",
        "description": "Reviews.",
        "arguments": [{ "name": "language", "required": true }],
    }]);
    assert_eq!(list["prompts"], expected);
    let params = json!({ "name": "up__review", "arguments": { "language": "Rust" } });
    let found = service.call("prompts/get", params).await.unwrap();
    assert_eq!(found["messages"], messages());
    let sent = json!({ "name": "review", "arguments": { "language": "Rust" } });
    assert_eq!(found["_meta"]["params"], sent, "{found}");
    let found = service.call("up.prompts.review", json!({ "language": 1 })).await.unwrap_err();
    assert_eq!(found["code"], -32602, "{found}");
}

#[tokio::test]
async fn invalid_lists_do_not_affect_tools() {
    let upstream = upstream().await;
    upstream.change(|script| {
        script.others.insert("resources/list", json!({ "resources": "none" }));
        let large = json!({ "name": "large", "description": "x".repeat(256 << 10) });
        script.others.insert("prompts/list", json!({ "prompts": [{ "title": 1 }, large] }));
        script.others.remove("resources/templates/list");
    });
    let service = Service::start(vec![("up", upstream.config())]).await;
    assert_eq!(service.tools(), ["up__a"]);
    let status = service.status("up");
    let rejected: Vec<_> = status.rejected.iter().map(|rejected| rejected.name.as_str()).collect();
    // The list that cannot be read, the prompt without a name, and the large one.
    assert_eq!(rejected, ["resources/list", "prompts/list", "prompts/list"], "{status:?}");
}

#[tokio::test]
async fn changed_lists_are_refreshed() {
    let upstream = upstream().await;
    let service = Service::start(vec![("up", upstream.config())]).await;
    upstream.change(|script| {
        script.others.insert("resources/list", json!({ "resources": [] }));
        script.others.insert("prompts/list", json!({ "prompts": [] }));
    });
    service.until("up", |status| status.resources == 1 && status.prompts == 0).await;
    let error =
        service.call("resources/read", json!({ "uri": "docs://readme" })).await.unwrap_err();
    assert_eq!(error["code"], -32002, "{error}");
}

/// A server of this project, which notifies of changes. The lists are not refreshed otherwise.
#[tokio::test]
async fn notifications_of_changes() {
    let operation = |name: &'static str| {
        let operation = Operation::new(name, || "done").tool(name);
        operation.description("A tool.").input_schema(json!({ "type": "object" }))
    };
    let changing = DynamicOperations::new();
    changing.replace(Router::new().operation(operation("a"))).unwrap();
    let rpc = Router::new().dynamic("x", &changing).build().unwrap();
    let mcp = Mcp::new(rpc, McpConfig::new("upstream", "1")).unwrap();
    let server = Server::bind("127.0.0.1:0").serve(mcp.rpc().http().merge(mcp.routes()));
    let server = server.await.unwrap();
    let url = format!("http://{}/mcp", server.local_addr());
    let mut config = UpstreamConfig::new(Target::Http(HttpTarget::new(url.parse().unwrap())));
    config.refresh_interval = Duration::from_secs(3_600);
    let service = Service::start(vec![("up", config)]).await;
    assert_eq!(service.tools(), ["up__a"]);
    let added = Router::new().operation(operation("a")).operation(operation("b"));
    changing.replace(added).unwrap();
    service.until("up", |status| status.tools == 2).await;
    assert_eq!(service.tools(), ["up__a", "up__b"]);
    assert_eq!(service.call("up.b", json!({})).await.unwrap()["isError"], false);
}
