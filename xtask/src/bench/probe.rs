//! Checks the reply of a server before it is measured.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::contender::Case;
use super::server::Server;
use crate::workspace::Workspace;

const DEADLINE: Duration = Duration::from_secs(5);

pub(super) fn check(workspace: &Workspace, server: &Server, case: Case) -> Result<()> {
    let body = workspace.read(case.body_file().as_ref())?;
    let expected: Value = serde_json::from_str(&workspace.read(case.reply_file().as_ref())?)?;
    let reply = exchange(&server.address, case.path(), case.headers(), &body)?;
    let reply: Value = serde_json::from_str(content(&reply)?)
        .with_context(|| format!("the reply is not JSON: {reply:?}"))?;
    let right = match case {
        // The replies of a batch come in any order (JSON-RPC 2.0, section 6).
        Case::Single | Case::Batch => in_order(reply.clone()) == in_order(expected),
        Case::LegacyTool | Case::ModernTool => matches_expected(&reply, &expected),
        Case::LegacyList | Case::ModernList => {
            let count = reply["result"]["tools"].as_array().map_or(0, Vec::len);
            matches_expected(&reply, &expected) && count == 100
        }
    };
    if !right {
        bail!("unexpected reply to the {}: {reply}", case.about());
    }
    Ok(())
}

/// Posts JSON over a new connection, and reads the whole reply.
pub(super) fn exchange(address: &str, path: &str, headers: &[&str], body: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(DEADLINE))?;
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n{headers}\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    Ok(reply)
}

/// The content of a reply that is not chunked.
fn content(reply: &str) -> Result<&str> {
    let (head, content) = reply
        .split_once("\r\n\r\n")
        .with_context(|| format!("the reply is not HTTP: {reply:?}"))?;
    let head = head.to_ascii_lowercase();
    if !head.starts_with("http/1.1 200 ") {
        bail!("the reply is {reply:?}");
    }
    if head.contains("transfer-encoding") {
        bail!("the reply is chunked: {reply:?}");
    }
    Ok(content)
}

/// Whether a reply has all expected members. Results of MCP may have additional ones.
fn matches_expected(reply: &Value, expected: &Value) -> bool {
    match (reply, expected) {
        (Value::Object(reply), Value::Object(expected)) => {
            expected.iter().all(|(name, expected)| {
                reply.get(name).is_some_and(|value| matches_expected(value, expected))
            })
        }
        (reply, expected) => reply == expected,
    }
}

fn in_order(mut reply: Value) -> Value {
    if let Value::Array(replies) = &mut reply {
        replies.sort_by_key(|reply| reply["id"].as_u64());
    }
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_content(reply: &str, expected: Option<&str>) {
        assert_eq!(content(reply).ok(), expected, "{reply:?}");
    }

    #[test]
    fn content_of_successful_replies() {
        check_content("HTTP/1.1 200 OK\r\na: b\r\n\r\n{}", Some("{}"));
        check_content("HTTP/1.1 400 Bad Request\r\na: b\r\n\r\n{}", None);
        check_content(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
            None,
        );
        check_content("", None);
    }

    #[track_caller]
    fn check_matches(reply: &str, expected: bool) {
        let [reply, wanted] = [reply, r#"{"id":1,"result":{"sum":42}}"#]
            .map(|text| serde_json::from_str(text).unwrap());
        assert_eq!(matches_expected(&reply, &wanted), expected, "{reply}");
    }

    #[test]
    fn results_may_have_additional_members() {
        check_matches(r#"{"id":1,"result":{"sum":42}}"#, true);
        check_matches(r#"{"id":1,"result":{"sum":42,"resultType":"complete"}}"#, true);
        check_matches(r#"{"id":1,"result":{"sum":41}}"#, false);
        check_matches(r#"{"id":1,"result":{}}"#, false);
        check_matches(r#"{"id":1,"error":{"sum":42}}"#, false);
        check_matches("[]", false);
    }

    #[test]
    fn a_batch_is_compared_by_id() {
        let one = serde_json::json!([{"id": 2}, {"id": 1}]);
        let other = serde_json::json!([{"id": 1}, {"id": 2}]);
        assert_eq!(in_order(one), in_order(other));
    }
}
