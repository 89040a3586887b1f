use std::time::Duration;

/// What tokens have to say, besides being signed. `Default` accepts all issuers and audiences: set
/// them where the keys sign for more than this server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Who this server is to the issuer: `aud` has to name one of these. Default: none, and `aud` is
    /// not looked at.
    pub audiences: Vec<String>,
    /// Who issues tokens: `iss` has to be one of these. Default: none, and `iss` is not looked at.
    pub issuers: Vec<String>,
    /// How far the issuer's clock may be from this one. Default 60 s.
    pub leeway: Duration,
    /// How many bytes a token may have. Default 16 KiB.
    pub max_bytes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            audiences: Vec::new(),
            issuers: Vec::new(),
            leeway: Duration::from_secs(60),
            max_bytes: 16 << 10,
        }
    }
}
