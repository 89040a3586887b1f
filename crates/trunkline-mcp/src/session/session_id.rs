//! The ids of sessions. An id carries what is needed to open its session again after the server has lost it.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::digest::{Context, SHA256};
use serde_json::{Map, Value};

use crate::capabilities::ClientCapabilities;
use crate::client_info::ClientInfo;
use crate::protocol::Legacy;

/// The state of a session that its id carries. The client could have changed it: it permits nothing that `initialize` does
/// not permit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CarriedState {
    /// The revision in the answer to `initialize`. Ids carry the latest one if it is missing.
    pub(crate) version: Option<Legacy>,
    pub(crate) capabilities: ClientCapabilities,
    /// `None` before `initialize`, and if the client gives no name.
    pub(crate) client: Option<ClientInfo>,
}

/// The first byte of an id, followed by the revision, random bytes, the digest of the owner, the name and the version of
/// the client with their lengths, and the capabilities as JSON.
const FORMAT: u8 = 1;
const RANDOM_BYTES: usize = 16;
const OWNER_BYTES: usize = 8;
const MAX_NAME_BYTES: usize = 64;
const MAX_CAPABILITY_BYTES: usize = 384;
/// The maximum length of an id in characters.
const MAX_LENGTH: usize =
    (2 + RANDOM_BYTES + OWNER_BYTES + 2 * (1 + MAX_NAME_BYTES) + MAX_CAPABILITY_BYTES).div_ceil(3)
        * 4;

/// Creates the id of a session of this [owner](super::owner_key). `None` if the random number generator of the system fails.
pub(crate) fn create(state: &CarriedState, owner: Option<&str>) -> Option<String> {
    let CarriedState { version, capabilities, client } = state;
    let mut random = [0; RANDOM_BYTES];
    getrandom::fill(&mut random).ok()?;
    let mut bytes = vec![FORMAT, version.unwrap_or(Legacy::LATEST).number()];
    bytes.extend_from_slice(&random);
    bytes.extend_from_slice(&digest_of(&random, owner));
    let texts = client.as_ref().map_or(["", ""], |client| [client.name(), client.version()]);
    for text in texts {
        let text = &text[..text.floor_char_boundary(MAX_NAME_BYTES)];
        bytes.push(u8::try_from(text.len()).unwrap_or_default());
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes.extend_from_slice(&fitting(capabilities.as_map()));
    Some(BASE64.encode(bytes))
}

/// Reads an id that a request of this owner names. `None` if no server has given it to this owner.
pub(crate) fn read(id: &str, owner: Option<&str>) -> Option<CarriedState> {
    if id.len() > MAX_LENGTH {
        return None;
    }
    let bytes = BASE64.decode(id).ok()?;
    let (&[FORMAT, version], rest) = bytes.split_first_chunk()? else { return None };
    let (random, rest) = rest.split_first_chunk::<RANDOM_BYTES>()?;
    let (digest, rest) = rest.split_first_chunk::<OWNER_BYTES>()?;
    if *digest != digest_of(random, owner) {
        return None;
    }
    let (name, rest) = split_text(rest)?;
    let (client_version, capabilities) = split_text(rest)?;
    let is_short = capabilities.len() <= MAX_CAPABILITY_BYTES;
    let capabilities: Map<String, Value> =
        serde_json::from_slice(capabilities).ok().filter(|_| is_short)?;
    Some(CarriedState {
        version: Some(Legacy::of_number(version)?),
        capabilities: capabilities.into(),
        client: (!name.is_empty()).then(|| ClientInfo::new(name, client_version)),
    })
}

/// Whether ids carry all capabilities of a client.
pub(crate) fn carries_all(capabilities: &ClientCapabilities) -> bool {
    fits(capabilities.as_map())
}

/// Binds an id to its owner, so that another caller that has seen it cannot open a session with it.
fn digest_of(random: &[u8; RANDOM_BYTES], owner: Option<&str>) -> [u8; OWNER_BYTES] {
    let mut context = Context::new(&SHA256);
    context.update(random);
    // Anonymous callers differ from those with an empty key.
    context.update(&[u8::from(owner.is_some())]);
    context.update(owner.unwrap_or_default().as_bytes());
    let mut digest = [0; OWNER_BYTES];
    digest.copy_from_slice(&context.finish().as_ref()[..OWNER_BYTES]);
    digest
}

/// Capabilities as JSON: all of them, or as many as fit, beginning with those for which servers send requests.
fn fitting(capabilities: &Map<String, Value>) -> Vec<u8> {
    if fits(capabilities) {
        return json(capabilities);
    }
    let first = ["elicitation", "sampling", "roots"];
    let first = first.iter().filter_map(|name| capabilities.get_key_value(*name));
    let mut carried = Map::new();
    for (name, value) in first.chain(capabilities) {
        carried.insert(name.clone(), value.clone());
        if !fits(&carried) {
            carried.remove(name);
        }
    }
    json(&carried)
}

fn fits(capabilities: &Map<String, Value>) -> bool {
    json(capabilities).len() <= MAX_CAPABILITY_BYTES
}

fn json(capabilities: &Map<String, Value>) -> Vec<u8> {
    serde_json::to_vec(capabilities).unwrap_or_default()
}

/// A text after its length, and the rest.
fn split_text(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = bytes.split_first()?;
    let length = usize::from(*length);
    let (text, rest) = rest.split_at_checked(length).filter(|_| length <= MAX_NAME_BYTES)?;
    Some((std::str::from_utf8(text).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn state(client: Option<ClientInfo>, capabilities: &Value) -> CarriedState {
        let capabilities = ClientCapabilities::parse(capabilities.to_string().as_bytes()).unwrap();
        CarriedState { version: Some(Legacy::V2025_06_18), capabilities, client }
    }

    /// An id of `ada` carries `expected` of the declared capabilities.
    #[track_caller]
    fn check_carried(client: Option<(&str, &str)>, declared: &Value, expected: &Value) {
        let client = client.map(|(name, version)| ClientInfo::new(name, version));
        let state = state(client.clone(), declared);
        let id = create(&state, Some("ada")).unwrap();
        assert_ne!(create(&state, Some("ada")).unwrap(), id);
        assert!(id.len() <= MAX_LENGTH, "{} characters", id.len());
        assert!(id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
        let carried = read(&id, Some("ada")).unwrap();
        assert_eq!(carried.version, Some(Legacy::V2025_06_18));
        assert_eq!(Value::from(carried.capabilities.as_map().clone()), *expected);
        assert_eq!(carries_all(&state.capabilities), declared == expected);
        let shortened = |text: &str| text[..text.floor_char_boundary(MAX_NAME_BYTES)].to_owned();
        let client = client.map(|client| [client.name(), client.version()].map(shortened));
        let found =
            carried.client.map(|client| [client.name(), client.version()].map(str::to_owned));
        assert_eq!(found, client);
        for other in [Some("bob"), Some(""), None] {
            assert_eq!(read(&id, other), None, "{other:?}");
        }
    }

    #[test]
    fn ids_carry_the_state_of_their_session() {
        let usual =
            json!({ "roots": { "listChanged": true }, "elicitation": { "form": {}, "url": {} } });
        check_carried(None, &json!({}), &json!({}));
        check_carried(Some(("a", "")), &json!({}), &json!({}));
        check_carried(Some(("Claude Code", "2.0.1")), &usual, &usual);
        let long = "é".repeat(200);
        check_carried(Some((&long, &long)), &usual, &usual);
        let mut large = usual.clone();
        large["experimental"] = long.as_str().into();
        check_carried(Some((&long, &long)), &large, &usual);
        let mut sampling = json!({ "aa": long, "sampling": {}, "zz": {} });
        let declared = sampling.clone();
        sampling.as_object_mut().unwrap().remove("aa");
        check_carried(None, &declared, &sampling);
    }

    #[track_caller]
    fn check_invalid(name: &str, id: &str) {
        assert_eq!(read(id, None), None, "{name}: {id:?}");
    }

    #[test]
    fn other_ids_are_unknown() {
        let valid = create(&state(None, &json!({})), None).unwrap();
        assert!(read(&valid, None).is_some());
        let encoded = |change: fn(&mut Vec<u8>)| {
            let mut bytes = BASE64.decode(&valid).unwrap();
            change(&mut bytes);
            BASE64.encode(bytes)
        };
        check_invalid("empty", "");
        check_invalid("a number", "7");
        check_invalid("32 digits, as of an earlier version", &"0".repeat(32));
        check_invalid("a UUID", "6ba7b810-9dad-11d1-80b4-00c04fd430c8");
        check_invalid("padded", &format!("{valid}="));
        check_invalid("with a space", &format!("{valid} "));
        check_invalid("truncated", &valid[..valid.len() - 4]);
        // Another text of the same bytes: the last character has four bits that no byte uses.
        let named = create(&state(Some(ClientInfo::new("a", "")), &json!({})), None).unwrap();
        let same = |last: char| format!("{}{last}", &named[..named.len() - 1]);
        assert!(read(&same('Q'), None).is_some(), "`}}` ends with the bits 01");
        check_invalid("trailing bits", &same('R'));
        check_invalid("long", &"A".repeat(1 << 20));
        check_invalid("another format", &encoded(|bytes| bytes[0] = 2));
        check_invalid("an unknown revision", &encoded(|bytes| bytes[1] = 4));
        check_invalid("other random bytes", &encoded(|bytes| bytes[2] ^= 1));
        check_invalid("another owner", &encoded(|bytes| bytes[18] ^= 1));
        check_invalid("a name that is too long", &encoded(|bytes| bytes[26] = 255));
        check_invalid(
            "a name that is not UTF-8",
            &encoded(|bytes| {
                bytes.splice(26..27, [1, 0xff]);
            }),
        );
        check_invalid(
            "capabilities that are not an object",
            &encoded(|bytes| {
                bytes.truncate(28);
                bytes.extend_from_slice(b"[]");
            }),
        );
        check_invalid(
            "nested capabilities",
            &encoded(|bytes| {
                bytes.truncate(28);
                bytes.extend_from_slice("{\"a\":".repeat(70).as_bytes());
            }),
        );
        check_invalid(
            "large capabilities",
            &encoded(|bytes| {
                let spaces = [b' '; 500];
                bytes.extend_from_slice(&spaces);
            }),
        );
    }
}
