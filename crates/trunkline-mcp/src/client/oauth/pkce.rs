//! Proof Key for Code Exchange (RFC 7636), with the method `S256`.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::digest;

use super::error::OAuthError;
use super::secret::Secret;

/// The secret of one authorization request.
#[derive(Debug)]
pub(super) struct Verifier(Secret);

impl Verifier {
    pub(super) fn new() -> Result<Self, OAuthError> {
        random().map(|text| Self(text.into()))
    }

    pub(super) fn expose(&self) -> &str {
        self.0.expose()
    }

    pub(super) fn challenge(&self) -> String {
        let hash = digest::digest(&digest::SHA256, self.expose().as_bytes());
        BASE64_URL_SAFE_NO_PAD.encode(hash)
    }
}

/// 32 random bytes, as 43 characters of URLs.
pub(super) fn random() -> Result<String, OAuthError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| OAuthError::NoRandom)?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_hashes() {
        // RFC 7636, appendix B.
        let verifier = Verifier("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".into());
        assert_eq!(verifier.challenge(), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[test]
    fn verifiers_are_random() {
        let [first, second] = [Verifier::new().unwrap(), Verifier::new().unwrap()];
        assert_ne!(first.expose(), second.expose());
        assert_eq!(first.expose().len(), 43);
        assert!(!format!("{first:?}").contains(first.expose()));
    }
}
