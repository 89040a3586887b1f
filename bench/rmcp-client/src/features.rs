//! The checks, which are those of the other SDKs.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use futures_util::future::try_join_all;
use rmcp::model::{ServerNotification, SubscriptionFilter};
use rmcp::service::{ServiceError, Subscription};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::Session;
use crate::user::User;

const WATCHED: &str = "test://watched-resource";
/// The deadline of a condition.
const SOON: Duration = Duration::from_secs(10);

pub struct Features<'s> {
    session: &'s Session,
    user: User,
    version: &'s str,
    is_stateless: bool,
}

impl<'s> Features<'s> {
    pub fn new(session: &'s Session, user: User, version: &'s str) -> Self {
        Self { session, user, version, is_stateless: version == "2026-07-28" }
    }

    pub async fn run(&self) -> Result<()> {
        self.negotiation().context("negotiation")?;
        self.tools().await.context("tools")?;
        self.errors().await.context("errors")?;
        self.progress().await.context("progress")?;
        self.logging().await.context("logging")?;
        self.resources().await.context("resources")?;
        self.prompts().await.context("prompts")?;
        self.completion().await.context("completion")?;
        self.requests().await.context("requests to the client")?;
        self.concurrency().await.context("concurrency")?;
        self.cancellation().await.context("cancellation")?;
        self.changes().await.context("changes")?;
        self.prints("The reply after the reconnection.", "test_reconnection", json!({}))
            .await
            .context("reconnection")
    }

    fn negotiation(&self) -> Result<()> {
        let server = json!(self.session.peer_info());
        let version = server["protocolVersion"].as_str().unwrap_or(self.version);
        ensure!(version == self.version, "expected {}, got {server}", self.version);
        passed(self.version)
    }

    async fn tools(&self) -> Result<()> {
        let tools = self.session.list_all_tools().await?;
        ensure!(tools.len() > 20, "expected more than 20 tools, got {}", tools.len());
        for (name, kinds) in [
            ("test_simple_text", vec!["text"]),
            ("test_image_content", vec!["image"]),
            ("test_audio_content", vec!["audio"]),
            ("test_embedded_resource", vec!["resource"]),
            ("test_multiple_content_types", vec!["text", "image", "resource"]),
        ] {
            let result = self.call(name, json!({})).await?;
            let content = result["content"].as_array().into_iter().flatten();
            let found: Vec<&str> = content.filter_map(|block| block["type"].as_str()).collect();
            ensure!(found == kinds, "{name}: expected {kinds:?}, got {result}");
        }
        for region in ["eu-west", "Ærøskøbing 東京"] {
            self.prints(region, "test_mirrored_param", json!({ "region": region })).await?;
        }
        passed("tools")
    }

    async fn errors(&self) -> Result<()> {
        let failed = self.call("test_error_handling", json!({})).await?;
        ensure!(failed["isError"] == true, "expected an error, got {failed}");
        let unknown = self.session.call_tool(parse(json!({ "name": "no_such_tool" }))?).await;
        check_code(unknown, -32602)?;
        let uri = json!({ "uri": "test://no-such-resource" });
        let unknown = self.session.read_resource(parse(uri)?).await;
        check_code(unknown, if self.is_stateless { -32602 } else { -32002 })?;
        passed("errors")
    }

    async fn progress(&self) -> Result<()> {
        self.user.received().progress.clear();
        self.call("test_tool_with_progress", json!({})).await?;
        self.until("progress", |user| user.received().progress == [0.0, 50.0, 100.0]).await?;
        passed("progress")
    }

    async fn logging(&self) -> Result<()> {
        for (level, count) in [("error", 0), ("info", 3)] {
            self.user.received().logs.clear();
            let mut call = json!({ "name": "test_tool_with_logging" });
            if self.is_stateless {
                call["_meta"] = json!({ "io.modelcontextprotocol/logLevel": level });
            } else {
                #[expect(deprecated, reason = "a method of the legacy era")]
                self.session.set_level(parse(json!({ "level": level }))?).await?;
            }
            self.session.call_tool(parse(call)?).await?;
            self.until("log messages", |user| user.received().logs.len() >= count).await?;
            let logs = self.user.received().logs.clone();
            ensure!(logs.len() == count, "expected {count} messages, got {logs:?}");
        }
        passed("log messages")
    }

    async fn resources(&self) -> Result<()> {
        let listed = json!(self.session.list_all_resources().await?);
        ensure!(listed[0]["uri"] == "test://static-text", "unexpected resources {listed}");
        let listed = json!(self.session.list_all_resource_templates().await?);
        let template = "test://template/{id}/data";
        ensure!(listed[0]["uriTemplate"] == template, "unexpected templates {listed}");
        for (uri, member, part) in [
            ("test://static-text", "text", "static text"),
            ("test://static-binary", "blob", "iVBORw0KGgo"),
            ("test://template/4%202/data", "text", "Data for ID: 4 2"),
        ] {
            let read = json!(self.session.read_resource(parse(json!({ "uri": uri }))?).await?);
            let found = read["contents"][0][member].as_str().unwrap_or_default();
            ensure!(found.contains(part), "expected {part} in {uri}, got {read}");
        }
        passed("resources and templates")
    }

    async fn prompts(&self) -> Result<()> {
        let listed = json!(self.session.list_all_prompts().await?);
        ensure!(listed[0]["name"] == "test_simple_prompt", "unexpected prompts {listed}");
        for (name, arguments, part) in [
            ("test_prompt_with_arguments", json!({ "arg1": "a", "arg2": "ü" }), "arg2='ü'"),
            ("test_prompt_with_image", json!({}), "image/png"),
            ("test_input_required_result_prompt", json!({}), "tests"),
        ] {
            let request = parse(json!({ "name": name, "arguments": arguments }))?;
            let prompt = json!(self.session.get_prompt(request).await?).to_string();
            ensure!(prompt.contains(part), "expected {part} in {name}, got {prompt}");
        }
        passed("prompts")
    }

    async fn completion(&self) -> Result<()> {
        let prompt = "test_prompt_with_arguments";
        let values = self.session.complete_prompt_simple(prompt, "arg1", "par").await?;
        ensure!(values == ["paris", "park", "party"], "unexpected values {values:?}");
        passed("completion")
    }

    async fn requests(&self) -> Result<()> {
        for (message, part) in [
            ("Who are you?", "ada@example.org"),
            ("decline", "action=decline"),
            ("cancel", "action=cancel"),
        ] {
            let text = self.text("test_elicitation", json!({ "message": message })).await?;
            ensure!(text.contains(part), "expected {part} after {message}, got {text}");
        }
        let text = self.text("test_elicitation_sep1330_enums", json!({})).await?;
        ensure!(text.contains(r#""titledMulti":["value1"]"#), "unexpected choices: {text}");
        let question = json!({ "prompt": "What is the capital of France?" });
        self.prints("LLM response: Paris", "test_sampling", question).await?;
        for (name, expected) in [
            ("list_roots", "2 roots: file:///srv/one, file:///srv/two"),
            ("multi_round", "Ada likes blue."),
            ("multiple_inputs", "Good morning Ada, 2 roots"),
            ("request_state", "state-ok"),
        ] {
            let name = format!("test_input_required_result_{name}");
            self.prints(expected, &name, json!({})).await?;
        }
        passed("elicitation, sampling and roots")
    }

    async fn concurrency(&self) -> Result<()> {
        let one = async |number: usize| {
            let region = format!("region {number}");
            self.prints(&region, "test_mirrored_param", json!({ "region": region })).await
        };
        try_join_all((0..20).map(one)).await?;
        passed("20 concurrent calls")
    }

    async fn cancellation(&self) -> Result<()> {
        let peer = self.session.peer().clone();
        let wait = parse(json!({ "name": "test_wait" }))?;
        let call = tokio::spawn(async move { peer.call_tool(wait).await });
        self.until_text("test_count_waits", "1 running, 0 cancelled").await?;
        // The SDK cancels a request whose future is dropped.
        call.abort();
        self.until_text("test_count_waits", "0 running, 1 cancelled").await?;
        passed("cancellation")
    }

    async fn changes(&self) -> Result<()> {
        let mut subscription = self.subscribe().await?;
        for (tool, expected) in [
            ("test_trigger_tool_change", "tools"),
            ("test_trigger_prompt_change", "prompts"),
            ("test_trigger_resource_change", "resources"),
            ("test_trigger_resource_update", WATCHED),
        ] {
            self.text(tool, json!({})).await?;
            let found = match &mut subscription {
                Some(subscription) => change(timeout(SOON, subscription.next()).await??)?,
                None => {
                    self.until(expected, |user| !user.received().changes.is_empty()).await?;
                    self.user.received().changes.remove(0)
                }
            };
            ensure!(found == expected, "expected a change of {expected}, got {found}");
        }
        let tools = self.session.list_all_tools().await?;
        ensure!(tools.iter().any(|tool| tool.name == "test_added_tool"), "no added tool");
        passed("list_changed, and updates of a resource")
    }

    async fn subscribe(&self) -> Result<Option<Subscription>> {
        if self.is_stateless {
            let filter = SubscriptionFilter::builder()
                .tools_list_changed()
                .prompts_list_changed()
                .resources_list_changed()
                .resource_subscriptions([WATCHED]);
            return Ok(Some(self.session.listen(filter.build()).await?));
        }
        #[expect(deprecated, reason = "a method of the legacy era")]
        self.session.subscribe(parse(json!({ "uri": WATCHED }))?).await?;
        Ok(None)
    }

    async fn call(&self, name: &str, arguments: Value) -> Result<Value> {
        let call = parse(json!({ "name": name, "arguments": arguments }))?;
        Ok(json!(self.session.call_tool(call).await?))
    }

    async fn text(&self, name: &str, arguments: Value) -> Result<String> {
        let result = self.call(name, arguments).await?;
        ensure!(result["isError"] != true, "{name} failed: {result}");
        let text = result["content"][0]["text"].as_str().context("the text is missing")?;
        // A string result without blocks is JSON.
        Ok(serde_json::from_str(text).unwrap_or_else(|_| text.to_owned()))
    }

    async fn prints(&self, expected: &str, name: &str, arguments: Value) -> Result<()> {
        let text = self.text(name, arguments).await?;
        ensure!(text == expected, "expected {expected:?} from {name}, got {text:?}");
        Ok(())
    }

    async fn until_text(&self, name: &str, expected: &str) -> Result<()> {
        let deadline = Instant::now() + SOON;
        while self.text(name, json!({})).await? != expected {
            ensure!(Instant::now() < deadline, "{name} did not return {expected:?}");
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    async fn until(&self, name: &str, is_met: impl Fn(&User) -> bool) -> Result<()> {
        let deadline = Instant::now() + SOON;
        while !is_met(&self.user) {
            ensure!(Instant::now() < deadline, "{name}: not received");
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }
}

fn change(notification: Option<ServerNotification>) -> Result<String> {
    Ok(match notification.context("the subscription has ended")? {
        ServerNotification::ToolListChangedNotification(_) => "tools".to_owned(),
        ServerNotification::PromptListChangedNotification(_) => "prompts".to_owned(),
        ServerNotification::ResourceListChangedNotification(_) => "resources".to_owned(),
        ServerNotification::ResourceUpdatedNotification(updated) => updated.params.uri,
        other => bail!("unexpected notification {other:?}"),
    })
}

fn check_code<T>(result: Result<T, ServiceError>, expected: i32) -> Result<()> {
    match result {
        Err(ServiceError::McpError(error)) if error.code.0 == expected => Ok(()),
        Err(error) => bail!("expected error {expected}, got {error}"),
        Ok(_) => bail!("expected error {expected}, got a result"),
    }
}

fn parse<T: DeserializeOwned>(value: Value) -> Result<T> {
    Ok(serde_json::from_value(value)?)
}

fn passed(check: &str) -> Result<()> {
    println!("  ok: {check}");
    Ok(())
}
