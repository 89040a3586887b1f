//! Many concurrent chats with event streams.

use std::time::Duration;

use futures_util::future::join_all;
use http::HeaderMap;
use serde_json::{Value, json};
use tokio::time::timeout;
use trunkline::client::Http;
use trunkline::{Operation, Params, Router, Server};
use trunkline_agent::conversation::Conversations;
use trunkline_agent::model::{self, Model};
use trunkline_agent::{Agent, operations, routes};

use crate::model_server::{Answer, ModelServer};

const CHATS: usize = 100;

/// The machine may be slow.
const DEADLINE: Duration = Duration::from_secs(60);

#[derive(serde::Deserialize, trunkline::JsonSchema)]
struct Message {
    text: String,
}

/// A model that calls `echo` with the user's message, and then streams the message.
async fn echo_model() -> ModelServer {
    let script = |_, request: &Value| {
        let messages = request["messages"].as_array().unwrap();
        let of_user = messages.iter().rfind(|message| message["role"] == "user").unwrap();
        let text = of_user["content"].as_str().unwrap();
        match messages.last().unwrap()["role"].as_str() {
            Some("tool") => {
                let pieces: Vec<_> = text.chars().map(|one| json!({ "content": one })).collect();
                Answer::deltas(&pieces)
            }
            _ => Answer::calls(&[("", "echo", &json!({ "text": text }).to_string())]),
        }
    };
    ModelServer::serve(script).await
}

/// Name and data of each event of a chat.
async fn events(api: &Http, message: &str) -> Vec<(String, Value)> {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", "application/json".parse().unwrap());
    headers.insert("accept", "text/event-stream".parse().unwrap());
    let params = json!({ "message": message });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "agent.chat", "params": params });
    let mut reply = api.post(headers, body.to_string().into()).await.unwrap();
    let mut text = Vec::new();
    while let Some(chunk) = reply.chunk().await.unwrap() {
        text.extend_from_slice(&chunk);
    }
    let text = String::from_utf8(text).unwrap();
    let event = |event: &str| {
        let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
        let (name, data) = (field("event: ")?, field("data: ")?);
        Some((name.to_owned(), serde_json::from_str(data).unwrap()))
    };
    text.split("\n\n").filter_map(event).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn isolates_events_of_concurrent_chats() {
    let echo = Operation::new("echo", |Params(Message { text }): Params<Message>| text);
    let rpc = Router::new().operation(echo.input::<Message>().read_only().tool("echo"));
    let rpc = rpc.build().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let conversations = Conversations::open(directory.path(), Default::default()).unwrap();
    let model_server = echo_model().await;
    let model = Model::new(model::ModelConfig::new(&model_server.url, "tiny")).unwrap();
    let agent = Agent::new(rpc.clone(), Some(model), conversations, Default::default());
    let api = Router::new().merge(operations(&agent)).build().unwrap();
    let server = Server::bind("127.0.0.1:0").serve(rpc.http().merge(routes(&api))).await.unwrap();
    let api = Http::connect(&format!("http://{}/api", server.local_addr())).unwrap();

    let messages: Vec<_> = (0..CHATS).map(|number| format!("chat {number}.")).collect();
    let chats = join_all(messages.iter().map(|message| events(&api, message)));
    let chats = timeout(DEADLINE, chats).await.expect("all of them, in time");
    for (message, events) in messages.iter().zip(chats) {
        let of = |name: &'static str| {
            let named = events.iter().filter(move |(one, _)| one == name);
            named.map(|(_, data)| data)
        };
        let tokens: String = of("token").map(|token| token["text"].as_str().unwrap()).collect();
        assert_eq!(tokens, *message);
        let called: Vec<_> = of("tool_call").map(|call| &call["arguments"]["text"]).collect();
        let results: Vec<_> = of("tool_result").map(|result| &result["result"]).collect();
        assert_eq!((called, results), (vec![&json!(message)], vec![&json!(message)]));
        let answers: Vec<_> = of("response").map(|reply| &reply["result"]["response"]).collect();
        assert_eq!(answers, [message], "{events:?}");
    }
}
