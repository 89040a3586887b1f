//! The state of a call between its rounds, which its client stores (2026-07-28, "Multi Round-Trip Requests").

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::digest::{Digest, SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The key that seals the state of calls between their rounds. Servers that share their clients need the same key.
#[derive(Clone, PartialEq, Eq)]
pub struct StateKey([u8; 32]);

/// The request to which a state belongs.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Binding {
    /// The authenticated caller.
    principal: Option<String>,
    /// The digest of the method and the params.
    request: String,
}

/// The state of a call: the responses of its client in the earlier rounds, and the requests of the last one.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RoundState {
    /// The number of rounds.
    pub(crate) round: u32,
    pub(crate) responses: BTreeMap<String, Value>,
    /// The keys of the requests to which the client may respond.
    pub(crate) requests: BTreeSet<String>,
}

/// The content of a sealed state.
#[derive(Serialize, Deserialize)]
struct Sealed {
    binding: Binding,
    /// Seconds since 1970.
    expires: u64,
    #[serde(flatten)]
    state: RoundState,
}

/// The reason why a state is refused. Clients learn only that it is.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StateError {
    #[error("the state was changed, or sealed with another key")]
    Seal,
    #[error("the state has expired")]
    Expired,
    #[error("the state belongs to another request or caller")]
    Binding,
}

/// Authenticated with each state, so that the key can have other uses.
const CONTEXT: &[u8] = b"trunkline-mcp request state 2";

impl StateKey {
    /// A key of 32 secret bytes.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// A random key. `None` if the random number generator of the system fails.
    pub(crate) fn random() -> Option<Self> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).ok()?;
        Some(Self(bytes))
    }

    /// Seals a state for `lifetime`. `None` if the random number generator of the system fails.
    pub(crate) fn seal(
        &self,
        state: RoundState,
        binding: Binding,
        lifetime: Duration,
    ) -> Option<String> {
        let expires = now().saturating_add(lifetime).as_secs();
        let text =
            serde_json::to_vec(&Sealed { binding, expires, state }).expect("JSON values serialise");
        self.seal_bytes(CONTEXT, text)
    }

    /// Opens a state that was sealed for this request.
    pub(crate) fn open(&self, text: &str, binding: &Binding) -> Result<RoundState, StateError> {
        let opened = self.open_bytes(CONTEXT, text).ok_or(StateError::Seal)?;
        let sealed: Sealed = serde_json::from_slice(&opened).map_err(|_| StateError::Seal)?;
        if sealed.expires <= now().as_secs() {
            return Err(StateError::Expired);
        }
        if sealed.binding != *binding {
            return Err(StateError::Binding);
        }
        Ok(sealed.state)
    }

    /// Seals bytes. They can be opened with the same key and context only. `None` if the random number generator of the
    /// system fails.
    pub(crate) fn seal_bytes(&self, context: &[u8], mut bytes: Vec<u8>) -> Option<String> {
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).ok()?;
        let at = Nonce::assume_unique_for_key(nonce);
        self.key().seal_in_place_append_tag(at, Aad::from(context), &mut bytes).ok()?;
        Some(BASE64.encode([&nonce, &*bytes].concat()))
    }

    /// Opens sealed bytes. `None` if they were changed, or sealed with another key or context.
    pub(crate) fn open_bytes(&self, context: &[u8], text: &str) -> Option<Vec<u8>> {
        let mut bytes = BASE64.decode(text).ok()?;
        let (nonce, sealed) = bytes.split_at_mut_checked(NONCE_LEN)?;
        let at = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let opened = self.key().open_in_place(at, Aad::from(context), sealed).ok()?;
        Some(opened.to_vec())
    }

    fn key(&self) -> LessSafeKey {
        let key = UnboundKey::new(&CHACHA20_POLY1305, &self.0);
        LessSafeKey::new(key.expect("a key of this algorithm has 32 bytes"))
    }
}

impl Binding {
    /// `request` are the parts of the request that must be the same in each round.
    pub(crate) fn new(principal: Option<String>, request: &[&[u8]]) -> Self {
        Self { principal, request: BASE64.encode(digest_of(request)) }
    }
}

/// The SHA-256 digest of several parts.
pub(crate) fn digest_of(parts: &[&[u8]]) -> Digest {
    let mut text = Vec::new();
    for part in parts {
        text.extend_from_slice(&part.len().to_be_bytes());
        text.extend_from_slice(part);
    }
    digest(&SHA256, &text)
}

/// The time since 1970.
pub(crate) fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

// Omits the key.
debug_fields!(StateKey:);

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::time::Duration;

    use serde_json::json;

    use super::{Binding, RoundState, StateError, StateKey};

    const KEY: [u8; 32] = [7; 32];
    const MINUTE: Duration = Duration::from_secs(60);

    fn state() -> RoundState {
        let responses = BTreeMap::from([("name".to_owned(), json!({ "action": "accept" }))]);
        RoundState { round: 2, responses, requests: BTreeSet::from(["place".to_owned()]) }
    }

    fn binding(principal: Option<&str>, request: &[&[u8]]) -> Binding {
        Binding::new(principal.map(str::to_owned), request)
    }

    /// Opens, as `ada` for the request `a`, the state that was sealed for `binding`, after `change`.
    #[track_caller]
    fn check(
        sealed_for: Binding,
        lifetime: Duration,
        change: impl Fn(String) -> String,
        expected: Result<RoundState, StateError>,
    ) {
        let text = StateKey::new(KEY).seal(state(), sealed_for, lifetime).unwrap();
        let opened = StateKey::new(KEY).open(&change(text), &binding(Some("ada"), &[b"a"]));
        assert_eq!(opened, expected);
    }

    #[test]
    fn opens_only_unchanged_states_of_the_same_request_and_caller() {
        let own = || binding(Some("ada"), &[b"a"]);
        let same = |text: String| text;
        check(own(), MINUTE, same, Ok(state()));
        check(own(), Duration::ZERO, same, Err(StateError::Expired));
        check(binding(Some("bob"), &[b"a"]), MINUTE, same, Err(StateError::Binding));
        check(binding(None, &[b"a"]), MINUTE, same, Err(StateError::Binding));
        check(binding(Some("ada"), &[b"b"]), MINUTE, same, Err(StateError::Binding));
        check(binding(Some("ada"), &[b"", b"a"]), MINUTE, same, Err(StateError::Binding));
        check(own(), MINUTE, |text| text + "-TAMPERED", Err(StateError::Seal));
        check(own(), MINUTE, |text| text + "AAAA", Err(StateError::Seal));
        check(own(), MINUTE, |text| text[4..].to_owned(), Err(StateError::Seal));
        check(own(), MINUTE, |_| String::new(), Err(StateError::Seal));
        check(own(), MINUTE, |_| "é".to_owned(), Err(StateError::Seal));
    }

    #[test]
    fn refuses_every_changed_character() {
        let binding = || binding(None, &[]);
        let text = StateKey::new(KEY).seal(state(), binding(), MINUTE).unwrap();
        for at in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            let opened = StateKey::new(KEY).open(&changed, &binding());
            assert_eq!(opened, Err(StateError::Seal), "character {at}");
        }
        let other = StateKey::new([8; 32]).open(&text, &binding());
        assert_eq!(other, Err(StateError::Seal));
    }
}
