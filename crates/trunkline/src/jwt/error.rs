/// Why a token is not accepted. No variant holds anything of the token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// Longer than [`Settings::max_bytes`](super::Settings::max_bytes); nothing of it was read.
    #[error("the token has more than {limit} bytes")]
    TooLarge {
        /// How many it may have.
        limit: usize,
    },
    /// Not a signed JSON Web Token, or a claim is of a type that it cannot have.
    #[error("the token is malformed")]
    Malformed,
    /// The header names an algorithm that is none, or not known.
    #[error("the token's algorithm is not accepted")]
    Algorithm,
    /// The header wants something to be understood (`crit`) that is not.
    #[error("the token has critical header parameters")]
    Critical,
    /// No key fits the token's algorithm and key id.
    #[error("no key fits the token")]
    UnknownKey,
    /// There are no keys: they could not be read or fetched, or not for too long.
    #[error("there are no keys to check tokens with")]
    NoKeys,
    /// The signature is not of this token, or not made with a key that fits.
    #[error("the token's signature is wrong")]
    Signature,
    /// The time of `exp` is over.
    #[error("the token has expired")]
    Expired,
    /// There is no `exp`.
    #[error("the token never expires")]
    NoExpiry,
    /// The time of `nbf` is yet to come.
    #[error("the token is not valid yet")]
    NotYetValid,
    /// The time of `iat` is yet to come.
    #[error("the token says to be issued in the future")]
    IssuedInFuture,
    /// The token is for others.
    #[error("the token is for another audience")]
    Audience,
    /// The token is from another issuer.
    #[error("the token is from another issuer")]
    Issuer,
}
