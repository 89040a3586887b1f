use std::collections::HashMap;
use std::time::Duration;

use crate::lock::Lock;
use crate::peer::{StateKey, digest_of, now};

/// The time for which a code is valid.
pub(super) const LIFETIME: Duration = Duration::from_secs(300);

/// The maximum number of used codes that have not expired.
const MAX_USED: usize = 10_000;

/// Authenticated with each code, so that a key can have other uses.
const CONTEXT: &[u8] = b"trunkline-mcp confirmation code 1";

/// The length of a digest in a code, in bytes. Codes are short, since language models repeat them.
const DIGEST: usize = 16;

/// Issues and accepts confirmation codes: the sealed expiry, caller and request of a call. Only used codes are stored.
#[derive(Debug)]
pub(super) struct Codes {
    /// None if the random number generator of the system fails.
    key: Option<StateKey>,
    /// The expiry of used codes in seconds since 1970, by their content.
    used: Lock<HashMap<Vec<u8>, u64>>,
}

/// The request that a code confirms.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestDigest([u8; DIGEST]);

/// The reason why a code is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum CodeError {
    #[error("the confirmation code is not valid, or of an earlier process of the server")]
    Invalid,
    #[error("the confirmation code has expired")]
    Expired,
    #[error("the confirmation code belongs to another caller")]
    OtherCaller,
    #[error("the confirmation code belongs to a call with other params or of another operation")]
    OtherCall,
    #[error("the confirmation code was already used")]
    Used,
    #[error("too many calls were confirmed in the last minutes; try again later")]
    Full,
}

impl CodeError {
    /// The `kind` of the error.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Invalid => "confirmation_invalid",
            Self::Expired => "confirmation_expired",
            Self::OtherCaller => "confirmation_of_other_caller",
            Self::OtherCall => "confirmation_of_other_call",
            Self::Used => "confirmation_used",
            Self::Full => "busy",
        }
    }
}

impl Default for Codes {
    fn default() -> Self {
        Self { key: StateKey::random(), used: Lock::default() }
    }
}

impl Codes {
    pub(super) fn with_key(key: StateKey) -> Self {
        Self { key: Some(key), used: Lock::default() }
    }

    /// A code for one call. `None` if the random number generator of the system fails.
    pub(super) fn issue(
        &self,
        caller: Option<&str>,
        RequestDigest(request): RequestDigest,
        lifetime: Duration,
    ) -> Option<String> {
        let expires = now().saturating_add(lifetime).as_secs();
        let mut content = expires.to_be_bytes().to_vec();
        content.extend_from_slice(&caller_digest(caller));
        content.extend_from_slice(&request);
        self.key.as_ref()?.seal_bytes(CONTEXT, content)
    }

    /// Checks the code of a call. A code is accepted once, even if the call then fails.
    pub(super) fn accept(
        &self,
        code: &str,
        caller: Option<&str>,
        RequestDigest(request): RequestDigest,
    ) -> Result<(), CodeError> {
        let key = self.key.as_ref().ok_or(CodeError::Invalid)?;
        let content = key.open_bytes(CONTEXT, code).ok_or(CodeError::Invalid)?;
        let (expires, digests) = content.split_first_chunk().ok_or(CodeError::Invalid)?;
        let expires = u64::from_be_bytes(*expires);
        let now = now().as_secs();
        if expires <= now {
            return Err(CodeError::Expired);
        }
        let (of_caller, of_request) = digests.split_at_checked(DIGEST).ok_or(CodeError::Invalid)?;
        if of_caller != caller_digest(caller) {
            return Err(CodeError::OtherCaller);
        }
        if of_request != request {
            return Err(CodeError::OtherCall);
        }
        self.spend(code, expires, now)
    }

    fn spend(&self, code: &str, expires: u64, now: u64) -> Result<(), CodeError> {
        // Nothing that can panic runs under the lock. The text of a code is unique: the decoder refuses other spellings.
        let mut used = self.used.lock();
        if used.contains_key(code.as_bytes()) {
            return Err(CodeError::Used);
        }
        if used.len() >= MAX_USED {
            used.retain(|_, expires| *expires > now);
        }
        if used.len() >= MAX_USED {
            return Err(CodeError::Full);
        }
        used.insert(code.as_bytes().to_vec(), expires);
        Ok(())
    }
}

fn caller_digest(caller: Option<&str>) -> [u8; DIGEST] {
    match caller {
        None => shorten(digest_of(&[])),
        Some(caller) => shorten(digest_of(&[caller.as_bytes()])),
    }
}

impl RequestDigest {
    /// The digest of the name and the revision of an operation, and of canonical params.
    pub(super) fn of(request: &[&[u8]; 3]) -> Self {
        Self(shorten(digest_of(request)))
    }
}

fn shorten(digest: impl AsRef<[u8]>) -> [u8; DIGEST] {
    *digest.as_ref().first_chunk().expect("a SHA-256 digest has 32 bytes")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{CodeError, Codes, LIFETIME, MAX_USED, RequestDigest};

    fn request(params: &str) -> RequestDigest {
        RequestDigest::of(&[b"delete", b"", params.as_bytes()])
    }

    /// Uses, for the call `1` of `ada`, a code that was issued for another call, after `change`.
    #[track_caller]
    fn check(
        caller: Option<&str>,
        params: &str,
        lifetime: Duration,
        change: impl Fn(String) -> String,
        expected: Result<(), CodeError>,
    ) {
        let codes = Codes::default();
        let code = change(codes.issue(caller, request(params), lifetime).unwrap());
        assert_eq!(codes.accept(&code, Some("ada"), request("1")), expected);
        let again = if expected.is_ok() { Err(CodeError::Used) } else { expected };
        assert_eq!(codes.accept(&code, Some("ada"), request("1")), again);
        assert_eq!(
            Codes::default().accept(&code, Some("ada"), request("1")),
            Err(CodeError::Invalid),
            "the key is another one"
        );
    }

    #[test]
    fn a_code_is_valid_once_for_the_same_call_and_caller() {
        let same = |code: String| code;
        check(Some("ada"), "1", LIFETIME, same, Ok(()));
        check(Some("ada"), "1", Duration::ZERO, same, Err(CodeError::Expired));
        check(Some("bob"), "1", LIFETIME, same, Err(CodeError::OtherCaller));
        check(Some(""), "1", LIFETIME, same, Err(CodeError::OtherCaller));
        check(None, "1", LIFETIME, same, Err(CodeError::OtherCaller));
        check(Some("ada"), "2", LIFETIME, same, Err(CodeError::OtherCall));
        check(Some("ada"), "", LIFETIME, same, Err(CodeError::OtherCall));
        check(Some("ada"), "1", LIFETIME, |code| code + "A", Err(CodeError::Invalid));
        check(Some("ada"), "1", LIFETIME, |code| code + "=", Err(CodeError::Invalid));
        check(Some("ada"), "1", LIFETIME, |code| code[1..].to_owned(), Err(CodeError::Invalid));
        check(Some("ada"), "1", LIFETIME, |_| String::new(), Err(CodeError::Invalid));
    }

    #[test]
    fn another_spelling_of_a_used_code_is_refused() {
        let codes = Codes::default();
        let code = codes.issue(None, request("1"), LIFETIME).unwrap();
        assert_eq!(codes.accept(&code, None, request("1")), Ok(()));
        for last in ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['-', '_']) {
            let mut other = code.clone();
            other.pop();
            other.push(last);
            let outcome = codes.accept(&other, None, request("1"));
            assert!(matches!(outcome, Err(CodeError::Used | CodeError::Invalid)), "{outcome:?}");
        }
    }

    #[test]
    fn the_number_of_used_codes_is_limited() {
        let codes = Codes::default();
        let issue = || codes.issue(None, request("1"), LIFETIME).unwrap();
        for _ in 0..MAX_USED {
            assert_eq!(codes.accept(&issue(), None, request("1")), Ok(()));
        }
        assert_eq!(codes.accept(&issue(), None, request("1")), Err(CodeError::Full));
    }
}
