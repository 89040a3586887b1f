use std::fmt;

use serde::de::{Deserializer as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::command::Protocol;

/// Detects the protocol of a body: JSON-RPC if it is an array or has a member `jsonrpc`, native otherwise. For
/// truncated or invalid JSON, the valid beginning decides.
///
/// ```
/// use trunkline_records::{Protocol, adapter};
///
/// let native = br#"{"command": "read", "resource": "todo", "id": "a"}"#;
/// assert_eq!(adapter::protocol(native), Protocol::Native);
/// let json_rpc = br#"{"jsonrpc": "2.0", "method": "todo.read", "params": ["a"], "id": 1}"#;
/// assert_eq!(adapter::protocol(json_rpc), Protocol::JsonRpc);
/// ```
#[must_use]
pub fn protocol(body: &[u8]) -> Protocol {
    let mut detector = JsonRpcDetector { found: false };
    let mut json = serde_json::Deserializer::from_slice(body);
    // Invalid JSON is reported when the message is read.
    let _read = json.deserialize_any(&mut detector);
    if detector.found { Protocol::JsonRpc } else { Protocol::Native }
}

/// Looks for a member `jsonrpc` or an array.
struct JsonRpcDetector {
    found: bool,
}

impl<'de> Visitor<'de> for &mut JsonRpcDetector {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            if name == "jsonrpc" {
                self.found = true;
                break;
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _seq: A) -> Result<(), A::Error> {
        self.found = true;
        Ok(())
    }
}
