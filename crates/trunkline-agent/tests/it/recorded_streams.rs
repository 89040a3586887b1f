//! Replies of model servers in public reports, in `recorded/streams.txt`.

use serde_json::{Value, json};

use crate::model_server::{Answer, ModelServer};
use crate::support::{TestConfig, includes, to_json};

/// A reply, and the turn that follows from it.
struct Row {
    name: &'static str,
    status: u16,
    media_type: &'static str,
    body: String,
    expected: Value,
}

const ROWS: &str = include_str!("recorded/streams.txt");

fn rows() -> Vec<Row> {
    ROWS.split("\n=== ").skip(1).map(Row::read).collect()
}

impl Row {
    fn read(text: &'static str) -> Self {
        let (head, body) = text.split_once("\n---\n").unwrap();
        let mut lines = head.lines();
        let name = lines.next().unwrap();
        let fields: Vec<_> = lines.map(|line| line.split_once(": ").unwrap()).collect();
        let find = |name: &str| fields.iter().find(|field| field.0 == name).map(|field| field.1);
        assert!(
            find("source").is_some_and(|url| url == "none" || url.starts_with("https://")),
            "{name}"
        );
        let body = format!("{}\n\n", body.trim_end());
        Self {
            name,
            status: find("status").map_or(200, |status| status.parse().unwrap()),
            media_type: find("type").unwrap_or("text/event-stream"),
            body: if find("lines") == Some("crlf") { body.replace('\n', "\r\n") } else { body },
            expected: serde_json::from_str(find("expect").unwrap()).unwrap(),
        }
    }

    /// The reply in pieces of this many characters.
    fn answer(&self, piece: usize) -> Answer {
        let characters: Vec<_> = self.body.chars().collect();
        let pieces = characters.chunks(piece).map(|piece| piece.iter().collect()).collect();
        Answer::stream(pieces).typed(self.media_type).with_status(self.status)
    }

    async fn check(&self, piece: usize) {
        let name = format!("{} in pieces of {piece}", self.name);
        let model = ModelServer::rows(vec![self.answer(piece), Answer::text("Done.")]).await;
        let server = TestConfig::with_model(&model.url).build().await;
        let found = to_json(server.chat(&json!({ "message": "What is 40 + 2?" })).await);
        let expected = &self.expected;
        if let Some(error) = expected.get("error") {
            includes(&name, &found["error"]["data"], error);
            return;
        }
        let calls = expected["calls"].as_array().cloned().unwrap_or_default();
        let steps: Vec<_> =
            calls.iter().map(|call| json!({ "tool": call[0], "arguments": call[1] })).collect();
        includes(&name, &found["steps"], &json!(steps));
        if let Some(tool) = expected.get("pending") {
            return includes(&name, &found["pending"]["tool"], tool);
        }
        let response = expected.get("response").cloned().unwrap_or(json!("Done."));
        includes(&name, &found["response"], &response);
        if let Some(total) = expected.get("usage") {
            includes(&name, &found["usage"]["total_tokens"], total);
        }
        let requests = model.requests();
        let count = expected["requests"].as_u64().unwrap_or(if calls.is_empty() { 1 } else { 2 });
        assert_eq!(requests.len() as u64, count, "{name}");
        if let Some(sent) = expected.get("sent") {
            includes(&name, &requests[1]["messages"][2], sent);
        }
    }
}

#[tokio::test]
async fn reads_recorded_replies() {
    let mut failed = Vec::new();
    for row in rows() {
        let name = row.name;
        let checked = tokio::spawn(async move {
            row.check(usize::MAX).await;
            row.check(7).await;
        });
        if checked.await.is_err() {
            failed.push(name);
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}
