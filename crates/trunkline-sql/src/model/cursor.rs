//! Cursors: opaque positions at which a listing continues.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use serde::{Deserialize, Serialize};

use super::error::Error;
use super::value::Value;

/// The request that a cursor belongs to. A cursor sent with another request than the one that gave it is refused,
/// since its position would mean something else there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    /// FNV-1a over the parts and their ends. It distinguishes requests; it need not resist an attacker,
    /// who gains nothing from a position.
    pub(crate) fn of(parts: &[&str]) -> Self {
        const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
        const PRIME: u64 = 0x0000_0100_0000_01b3;
        // No UTF-8 text has this byte.
        let bytes = parts.iter().flat_map(|part| part.bytes().chain([0xff]));
        Self(bytes.fold(BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME)))
    }
}

/// Makes the cursor for a position in a request's results.
pub(crate) fn encode(request: Fingerprint, position: &str) -> String {
    let check = Fingerprint::of(&[position]).0;
    URL_SAFE_NO_PAD.encode(format!("{:016x}{check:016x}{position}", request.0))
}

/// Reads the position out of a cursor of the same request.
pub(crate) fn decode(request: Fingerprint, cursor: &str) -> Result<String, Error> {
    let text = URL_SAFE_NO_PAD
        .decode(cursor)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or(MALFORMED)?;
    let (hash, rest) = text.split_at_checked(16).ok_or(MALFORMED)?;
    let (check, position) = rest.split_at_checked(16).ok_or(MALFORMED)?;
    let number = |hex| u64::from_str_radix(hex, 16).map_err(|_| MALFORMED);
    if number(check)? != Fingerprint::of(&[position]).0 {
        return Err(MALFORMED);
    }
    if number(hash)? != request.0 {
        return Err(Error::BadCursor { reason: "it belongs to a request with other arguments" });
    }
    Ok(position.to_owned())
}

pub(crate) const MALFORMED: Error = Error::BadCursor { reason: "it was not issued by this server" };

/// The position at which a listing continues: after a number of rows, and after the row with this key.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Position {
    pub(crate) offset: u64,
    /// None if rows of the listing have no key: then `offset` alone is the position.
    pub(crate) key: Option<Vec<Value>>,
}

/// Longest text of a cursor's position, in bytes. Rows with longer keys are counted.
const MAX_LENGTH: usize = 2_048;

impl Position {
    pub(crate) fn after_rows(offset: u64) -> Self {
        Self { offset, key: None }
    }

    pub(crate) fn read(cursor: &str, request: Fingerprint) -> Result<Self, Error> {
        let text = decode(request, cursor)?;
        serde_json::from_str(&text).map_err(|_| MALFORMED)
    }

    /// The cursor of the position after `offset` rows, the last of which has this key.
    pub(crate) fn cursor(offset: u64, key: Option<Vec<Value>>, request: Fingerprint) -> String {
        let text = Self { offset, key }.text();
        let text = if text.len() > MAX_LENGTH { Self::after_rows(offset).text() } else { text };
        encode(request, &text)
    }

    fn text(&self) -> String {
        serde_json::to_string(self).expect("numbers and texts serialise into memory")
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;

    use super::{Fingerprint, URL_SAFE_NO_PAD, decode, encode};

    #[test]
    fn cursors_belong_to_their_request() {
        let request = Fingerprint::of(&["a", "b"]);
        let cursor = encode(request, "größe:7");
        assert_eq!(decode(request, &cursor).unwrap(), "größe:7");
        let changed = String::from_utf8(URL_SAFE_NO_PAD.decode(&cursor).unwrap()).unwrap();
        let changed = changed.replace('7', "8");
        for (name, other, text) in [
            ("other request", Fingerprint::of(&["ab"]), cursor.as_str()),
            ("not base64", request, "?"),
            ("too short", request, "AAAA"),
            ("not UTF-8", request, "_____________________w"),
            ("not a hash", request, "enp6enp6enp6enp6enp6enp6"),
            ("empty", request, ""),
            ("changed position", request, &URL_SAFE_NO_PAD.encode(changed)),
        ] {
            assert!(decode(other, text).is_err(), "{name}");
        }
    }
}
