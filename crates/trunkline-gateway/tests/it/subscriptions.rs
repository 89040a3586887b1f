//! Subscriptions to resources of upstreams, and completions.

use std::time::Duration;

use serde_json::json;
use trunkline_mcp::CompletionTarget;
use trunkline_mcp::client::{CallOptions, Client, Error};

use crate::caller::{ERAS, User, call, connect};
use crate::support::{Scripted, Service, tools};
use crate::upstream::{Transport, UPSTREAMS, Upstream};

async fn text(client: &Client, tool: &str) -> String {
    call(client, tool, CallOptions::default()).await.1
}

/// Waits until the upstream has subscribers, or none.
async fn until_subscribed(client: &Client, expected: bool) {
    let found = async {
        while text(client, "up__subscribed").await != expected.to_string() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), found).await.unwrap();
}

#[tokio::test]
async fn changes_of_resources_are_passed_on() {
    for (transport, upstream_era) in UPSTREAMS {
        let upstream = Upstream::start(transport, upstream_era).await;
        let service = Service::start(vec![("up", upstream.config.clone())]).await;
        for era in ERAS {
            println!("{transport:?} {upstream_era:?} {era:?}");
            let [user, other] = [User::new("Ada"), User::new("Bob")];
            let (client, second) =
                (connect(&service, era, &user).await, connect(&service, era, &other).await);
            until_subscribed(&client, false).await;
            client.subscribe("test://note").await.unwrap();
            client.subscribe("test://items/7").await.unwrap();
            second.subscribe("test://note").await.unwrap();
            until_subscribed(&client, true).await;
            text(&client, "up__touch").await;
            user.changed(&["test://note", "test://items/7"]).await;
            other.changed(&["test://note"]).await;

            second.unsubscribe("test://note").await.unwrap();
            text(&client, "up__touch").await;
            user.changed(&["test://note"]).await;
            if transport == Transport::Stdio {
                // The process ends, and is started again.
                text(&client, "up__end").await;
                user.changed(&["test://note"]).await;
                until_subscribed(&client, true).await;
                text(&client, "up__touch").await;
                user.changed(&["test://note"]).await;
            }
            client.close().await;
            second.close().await;
        }
        service.gateway.stop(Duration::from_secs(10)).await;
    }
}

#[tokio::test]
async fn upstreams_without_subscriptions() {
    let upstream = Scripted::start(tools(&["a"])).await;
    upstream.change(|script| {
        let list = json!({ "resources": [{ "uri": "docs://readme", "name": "readme" }] });
        script.others.insert("resources/list", list);
    });
    let service = Service::start(vec![("up", upstream.config())]).await;
    for era in ERAS {
        let client = connect(&service, era, &User::new("Ada")).await;
        let error = client.subscribe("docs://readme").await.unwrap_err();
        match error {
            Error::NoSubscription(uri) => assert_eq!(uri, "docs://readme", "{era:?}"),
            error => assert!(error.to_string().contains("Invalid params"), "{era:?}: {error}"),
        }
    }
}

#[tokio::test]
async fn completions() {
    let none = std::collections::BTreeMap::new();
    for (transport, upstream_era) in UPSTREAMS {
        let upstream = Upstream::start(transport, upstream_era).await;
        let service = Service::start(vec![("up", upstream.config.clone())]).await;
        for era in ERAS {
            let row = format!("{transport:?} {upstream_era:?} {era:?}");
            let client = connect(&service, era, &User::new("Ada")).await;
            let prompts = client.list_prompts().await.unwrap().items;
            let name = prompts[0].name.as_str();
            assert!(name.starts_with("up__re_view_"), "{row}: {name}");
            let context = [("language".to_owned(), "Rust".to_owned())].into();
            for (target, argument, context, expected) in [
                (CompletionTarget::Prompt(name.to_owned()), "language", &none, "language=x"),
                (CompletionTarget::Prompt(name.to_owned()), "style", &context, "style=xRust"),
                (CompletionTarget::Resource("test://items/{id}".to_owned()), "id", &none, "id=x"),
            ] {
                let found = client.complete(&target, (argument, "x"), context).await.unwrap();
                assert_eq!(found.values, [expected], "{row}");
            }
            let unknown = CompletionTarget::Prompt("re.view".to_owned());
            let unknown = client.complete(&unknown, ("a", "x"), &none);
            unknown.await.unwrap_err();
        }
        service.gateway.stop(Duration::from_secs(10)).await;
    }
}
