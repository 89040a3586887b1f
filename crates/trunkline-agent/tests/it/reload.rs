//! Turns that call tools of a folder while it is reloaded.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use http::HeaderMap;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::timeout;
use trunkline::client::{Client, Http};
use trunkline::layers::authorize::SharedRules;
use trunkline::{DynamicOperations, Router, Server, ServerHandle};
use trunkline_agent::conversation::Conversations;
use trunkline_agent::model::{self, Model};
use trunkline_agent::{Agent, operations, routes};
use trunkline_command_tools::{ToolConfig, ToolFolder};

use crate::model_server::{Answer, ModelServer};

const CHATS: usize = 20;

/// The minimum number of reloads during the chats.
const RELOADS: usize = 100;
/// The minimum number of turns of each chat.
const TURNS: usize = 3;

/// The machine may be slow.
const DEADLINE: Duration = Duration::from_secs(120);

/// A model that calls `echo` with the user's message, and returns its result.
async fn echo_model() -> ModelServer {
    let script = |_, request: &Value| {
        let last = request["messages"].as_array().unwrap().last().unwrap();
        let text = last["content"].as_str().unwrap();
        match last["role"].as_str() {
            Some("tool") => Answer::text(&format!("Echo: {text}")),
            _ => Answer::calls(&[("1", "echo", &json!({ "text": text }).to_string())]),
        }
    };
    ModelServer::serve(script).await
}

/// `POST /api` and `POST /tools/reload`, over the tools of a folder.
async fn serve(tools: &Path, conversations: &Path, model_url: &str) -> ServerHandle {
    let folder = ToolFolder::open(tools, ToolConfig::default()).unwrap();
    let changing = DynamicOperations::new();
    changing.replace(trunkline_command_tools::operations(&folder)).unwrap();
    let rpc = Router::new().dynamic("tool", &changing).build().unwrap();
    folder.on_change(move |folder, _| {
        changing.replace(trunkline_command_tools::operations(folder)).unwrap();
    });
    let conversations = Conversations::open(conversations, Default::default()).unwrap();
    let model = Model::new(model::ModelConfig::new(model_url, "tiny")).unwrap();
    let agent = Agent::new(rpc.clone(), Some(model), conversations, Default::default());
    let management = trunkline_command_tools::management(&folder, &rpc, &SharedRules::default());
    let api = Router::new().merge(operations(&agent)).merge(management).build().unwrap();
    let service = rpc.http().merge(routes(&api)).merge(trunkline_command_tools::routes(&api));
    Server::bind("127.0.0.1:0").serve(service).await.unwrap()
}

/// A manifest with a description and a timeout of its version.
fn manifest(name: &str, version: usize) -> String {
    let timeout_ms = 60_000 + version;
    format!(
        "name = '{name}'\ndescription = 'Version {version}.'\ncommand = ['cat']\n\
         read_only = true\ntimeout_ms = {timeout_ms}\n[input_schema]\ntype = 'object'\n"
    )
}

/// Runs turns of one conversation until there were enough reloads, and reports each.
async fn chat(
    client: Client,
    number: usize,
    reloads: Arc<AtomicUsize>,
    ended: UnboundedSender<()>,
) {
    let mut conversation = None;
    let mut turns = 0;
    while turns < TURNS || reloads.load(Ordering::Relaxed) < RELOADS {
        let text = format!("{number}: {turns}");
        let mut params = json!({ "message": text });
        if let Some(id) = conversation {
            params["conversation_id"] = id;
        }
        let mut reply: Value = client.call("agent.chat", &params).await.unwrap();
        let arguments = json!({ "text": text });
        let steps = reply["steps"].as_array_mut().unwrap();
        assert_eq!(steps.len(), 1, "{steps:?}");
        steps[0].as_object_mut().unwrap().remove("ms");
        let step = json!({ "tool": "echo", "arguments": arguments, "result": arguments });
        assert_eq!(steps[0], step);
        assert_eq!(reply["response"], format!("Echo: {arguments}"));
        conversation = Some(reply["conversation_id"].take());
        turns += 1;
        ended.send(()).unwrap();
    }
}

/// Changes `echo`, replaces the other tool by a new one, and reloads the folder.
async fn reload(tools: &Path, reloading: &Http, version: usize) {
    let (other, earlier) = (format!("other_{version}"), format!("other_{}", version - 1));
    fs::write(tools.join("echo.toml"), manifest("echo", version)).unwrap();
    fs::write(tools.join(format!("{other}.toml")), manifest(&other, version)).unwrap();
    fs::remove_file(tools.join(format!("{earlier}.toml"))).unwrap();
    let mut headers = HeaderMap::new();
    headers.insert("content-type", "application/json".parse().unwrap());
    let reply = reloading.post(headers, "{}".into()).await.unwrap().json().await.unwrap();
    let report: Value = serde_json::from_slice(&reply.unwrap()).unwrap();
    let differences =
        json!([report["added"], report["changed"], report["removed"], report["rejected"]]);
    assert_eq!(differences, json!([[other], ["echo"], [earlier], []]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reloads_do_not_disturb_turns() {
    let (tools, conversations) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for name in ["echo", "other_0"] {
        fs::write(tools.path().join(format!("{name}.toml")), manifest(name, 0)).unwrap();
    }
    let model_server = echo_model().await;
    let server = serve(tools.path(), conversations.path(), &model_server.url).await;
    let url = format!("http://{}", server.local_addr());
    let reloading = Http::connect(&format!("{url}/tools/reload")).unwrap();
    let client = Client::new(Http::connect(&format!("{url}/api")).unwrap());

    let reloads = Arc::new(AtomicUsize::new(0));
    let (ended, mut turns) = unbounded_channel();
    let chat = |number| chat(client.clone(), number, Arc::clone(&reloads), ended.clone());
    let chats = tokio::spawn(join_all((0..CHATS).map(chat)));
    drop(ended);
    let all = async {
        // Reload after each turn, while others are running.
        while turns.recv().await.is_some() {
            let version = reloads.load(Ordering::Relaxed) + 1;
            reload(tools.path(), &reloading, version).await;
            reloads.store(version, Ordering::Relaxed);
        }
        chats.await.unwrap();
    };
    timeout(DEADLINE, all).await.expect("enough turns and reloads, in time");
    assert!(reloads.load(Ordering::Relaxed) >= RELOADS);

    // Each request contains the current tools.
    let requests = model_server.requests();
    let tools = requests.iter().flat_map(|request| request["tools"].as_array().unwrap());
    let functions = tools.map(|tool| &tool["function"]);
    let echoes = functions.filter(|function| function["name"] == "echo");
    let versions: HashSet<_> = echoes.map(|echo| echo["description"].to_string()).collect();
    assert!(versions.len() > 5, "{versions:?}");
}
