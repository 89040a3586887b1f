//! Framing of messages.

use serde_json::Value;
use trunkline::stream::Framing;

/// A framed message.
pub(super) fn framed(framing: Framing, json: &str) -> Vec<u8> {
    match framing {
        Framing::Headers => format!("Content-Length: {}\r\n\r\n{json}", json.len()).into_bytes(),
        _ => format!("{json}\n").into_bytes(),
    }
}

/// Parses all received messages.
#[track_caller]
pub(super) fn messages(framing: Framing, bytes: &[u8]) -> Vec<Value> {
    let mut text = std::str::from_utf8(bytes).unwrap();
    if framing == Framing::Lines {
        assert!(text.is_empty() || text.ends_with('\n'), "{text:?}");
        return text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    }
    let mut found = Vec::new();
    while !text.is_empty() {
        let (head, rest) = text.split_once("\r\n\r\n").unwrap();
        let length = head.strip_prefix("Content-Length: ").unwrap().parse().unwrap();
        found.push(serde_json::from_str(&rest[..length]).unwrap());
        text = &rest[length..];
    }
    found
}
