//! Proof Key for Code Exchange (RFC 7636), with the method `S256`.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::digest;

use super::error::OAuthError;
use super::secret::Secret;

/// The challenge of the secret of an authorization request.
pub(super) fn challenge(verifier: &Secret) -> String {
    let hash = digest::digest(&digest::SHA256, verifier.expose().as_bytes());
    BASE64_URL_SAFE_NO_PAD.encode(hash)
}

/// 32 random bytes, as 43 characters of URLs.
pub(super) fn random() -> Result<Secret, OAuthError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| OAuthError::NoRandom)?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_hashes() {
        // RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".into();
        assert_eq!(challenge(&verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[test]
    fn verifiers_are_random() {
        let [first, second] = [random().unwrap(), random().unwrap()];
        assert_ne!(first.expose(), second.expose());
        assert_eq!(first.expose().len(), 43);
        assert!(!format!("{first:?}").contains(first.expose()));
    }
}
