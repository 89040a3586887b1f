//! A scripted endpoint of a model, with the streams of the OpenAI API.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use serde_json::{Value, json};

use crate::call_peer::read;

/// An endpoint on a free port.
pub(crate) struct Model {
    /// For `--agent-url`.
    pub(crate) url: String,
}

/// A request.
pub(crate) struct Question(Value);

/// The reply to a request.
pub(crate) struct Speech {
    stream: TcpStream,
    is_begun: bool,
}

impl Model {
    /// Starts an endpoint. `answer` is called for each request, on a separate thread.
    pub(crate) fn new(answer: impl Fn(&Question, &mut Speech) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let answer = Arc::new(answer);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let answer = Arc::clone(&answer);
                thread::spawn(move || {
                    let Some(asked) = read(&mut stream) else { return };
                    let mut speech = Speech { stream, is_begun: false };
                    answer(&Question(asked.json()), &mut speech);
                    speech.end();
                });
            }
        });
        Self { url }
    }

    /// Calls `list_tables` for "list the tables" and answers with the result; repeats any other message.
    pub(crate) fn listing() -> Self {
        Self::new(|question, speech| match (question.message(), &*question.results()) {
            ("list the tables", []) => speech.calls(&[("list_tables", json!({}))]),
            (_, [result, ..]) => speech.sends(result),
            (message, []) => speech.sends(message),
        })
    }

    /// The flags of a server with this model.
    pub(crate) fn flags(&self) -> [&str; 4] {
        ["--agent-model", "tiny", "--agent-url", &self.url]
    }
}

impl Question {
    /// The names of the tools, sorted.
    pub(crate) fn tools(&self) -> Vec<String> {
        let tools = self.0["tools"].as_array().into_iter().flatten();
        let mut names: Vec<_> =
            tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    }

    /// The tools, with their descriptions and schemas.
    pub(crate) fn definitions(&self) -> Vec<Value> {
        let tools = self.0["tools"].as_array().into_iter().flatten();
        tools.map(|tool| tool["function"].clone()).collect()
    }

    /// The number of the user's messages in the conversation.
    pub(crate) fn turns(&self) -> usize {
        self.messages().filter(|message| message["role"] == "user").count()
    }

    /// The last message of the user.
    pub(crate) fn message(&self) -> &str {
        let message = self.messages().rfind(|message| message["role"] == "user").unwrap();
        message["content"].as_str().unwrap()
    }

    /// The results of the calls of this turn.
    pub(crate) fn results(&self) -> Vec<&str> {
        let of_turn = self.messages().rev().take_while(|message| message["role"] != "user");
        let results = of_turn.filter(|message| message["role"] == "tool");
        results.map(|message| message["content"].as_str().unwrap()).collect()
    }

    fn messages(&self) -> impl DoubleEndedIterator<Item = &Value> {
        self.0["messages"].as_array().unwrap().iter()
    }
}

impl Speech {
    /// Sends a part of the answer.
    pub(crate) fn sends(&mut self, text: &str) {
        self.delta(&json!({ "content": text }));
    }

    /// Requests calls.
    pub(crate) fn calls(&mut self, calls: &[(&str, Value)]) {
        let one = |(index, (tool, arguments)): (usize, &(&str, Value))| {
            let function = json!({ "name": tool, "arguments": arguments.to_string() });
            json!({ "index": index, "id": index.to_string(), "function": function })
        };
        let calls: Vec<Value> = calls.iter().enumerate().map(one).collect();
        self.delta(&json!({ "tool_calls": calls }));
    }

    /// Replies with an error, and nothing else.
    pub(crate) fn refuses(&mut self, status: u16, reason: &str) {
        let body = json!({ "error": { "message": reason } }).to_string();
        self.write(&format!("HTTP/1.1 {status} -\r\nConnection: close\r\n\r\n{body}"));
        self.is_begun = true;
    }

    /// Sends nothing more until the connection is closed.
    pub(crate) fn stalls(&mut self) {
        while self.stream.read(&mut [0; 64]).is_ok_and(|bytes| bytes > 0) {}
    }

    fn delta(&mut self, delta: &Value) {
        if !std::mem::replace(&mut self.is_begun, true) {
            let kind = "Content-Type: text/event-stream";
            self.write(&format!("HTTP/1.1 200 OK\r\n{kind}\r\nConnection: close\r\n\r\n"));
        }
        let chunk = json!({ "choices": [{ "index": 0, "delta": delta }] });
        self.write(&format!("data: {chunk}\n\n"));
    }

    fn end(&mut self) {
        self.write("data: [DONE]\n\n");
    }

    fn write(&mut self, text: &str) {
        // The client may have closed the connection.
        drop(self.stream.write_all(text.as_bytes()));
    }
}
