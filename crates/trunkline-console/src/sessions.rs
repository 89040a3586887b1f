//! Sessions of browsers, which cannot send a bearer token with the requests of a page.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use http::header::{AUTHORIZATION, COOKIE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Response, Uri};
use trunkline::access::Tokens;
use trunkline::http::{
    Authentication, AuthenticationError, Authenticator, Peer, ReplyBody, is_own_origin,
};

use crate::sign_ins::FailedSignIns;

/// The signed-in browsers of a console: each has a random id in a cookie, and its bearer token stays on the server.
///
/// They are the [authenticator](trunkline::http::Routes::authenticator) of the console's routes, which accepts the cookie in
/// place of the header `Authorization`. The token is verified with each request, so a session does not outlive it.
/// Requests with methods other than GET and HEAD must have the `Origin` of this server. Cloning is cheap.
#[derive(Clone)]
pub struct Sessions(Arc<Shared>);

struct Shared {
    tokens: RwLock<Tokens>,
    config: SessionConfig,
    open: Mutex<HashMap<String, Session>>,
    failures: FailedSignIns,
}

/// Configuration of [`Sessions`].
#[derive(Clone)]
pub(crate) struct SessionConfig {
    /// The page that browsers without a session get, with status 401: a form for a token. It gets the requested URI.
    pub(crate) sign_in_page: fn(&Uri) -> Response<ReplyBody>,
    /// The name of the cookie. Browsers have one cookie of a name for all ports of a host, so servers of one host need
    /// different names.
    pub(crate) cookie: String,
    /// The path of URLs that the cookie is sent to.
    pub(crate) path: &'static str,
    /// Whether all clients use https, so that the cookie always has the attribute `Secure`. The cookie also has it if the
    /// browser has signed in over https ([`Sessions::is_https`]).
    pub(crate) is_https: bool,
    /// The maximum duration of a session. Default: 12 h.
    pub(crate) lifetime: Duration,
    /// The maximum number of sessions. A further one ends the oldest. Default: 1,000.
    pub(crate) max_sessions: usize,
    /// The maximum number of failed sign-ins of an address ([`Peer::network`]) in a minute. Further sign-ins of the
    /// address are refused, with correct tokens, too. Default: 10.
    ///
    /// Behind a proxy, the address is that of the proxy, and all requests without an address share one limit.
    pub(crate) max_failures: u32,
    /// The delay of the response to a failed sign-in. Default: 500 ms.
    pub(crate) failure_delay: Duration,
}

/// The reason why no session began.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SignInError {
    /// The token is not accepted.
    InvalidToken,
    /// The address has had [too many failed sign-ins](SessionConfig::max_failures). The token was not verified.
    TooManyFailures {
        /// The time until another sign-in is allowed.
        retry_after: Duration,
    },
}

struct Session {
    authorization: HeaderValue,
    began: Instant,
}

impl SessionConfig {
    /// The default configuration with this sign-in page, cookie and path.
    pub(crate) fn new(
        sign_in_page: fn(&Uri) -> Response<ReplyBody>,
        cookie: String,
        path: &'static str,
    ) -> Self {
        Self {
            sign_in_page,
            cookie,
            path,
            is_https: false,
            lifetime: Duration::from_secs(12 * 60 * 60),
            max_sessions: 1_000,
            max_failures: 10,
            failure_delay: Duration::from_millis(500),
        }
    }
}

impl Authenticator for Sessions {
    fn authenticate(&self, request: &Parts) -> Option<Authentication> {
        let authorization = self.authorization(&request.headers)?;
        // A browser sends the cookie with requests of other pages on the same host, too.
        if !request.method.is_safe() && !is_own_origin(request) {
            return Some(Authentication::value(Err(AuthenticationError::Origin)));
        }
        self.verified(authorization)
    }

    fn remedy(&self) -> &'static str {
        "sign in at /console"
    }

    fn page(&self, request: &Parts) -> Option<Response<ReplyBody>> {
        Some((self.0.config.sign_in_page)(&request.uri))
    }
}

impl Sessions {
    /// No sessions, for a service that accepts these tokens.
    pub(crate) fn new(tokens: Tokens, config: SessionConfig) -> Self {
        let failures = FailedSignIns::new(config.max_failures);
        let tokens = RwLock::new(tokens);
        Self(Arc::new(Shared { tokens, config, open: Mutex::default(), failures }))
    }

    /// Replaces the tokens that sessions begin and continue with.
    pub fn replace_tokens(&self, tokens: Tokens) {
        *self.0.tokens.write().unwrap_or_else(PoisonError::into_inner) = tokens;
    }

    /// Begins a session with the token in a request of `peer` with these headers. Returns the header `Set-Cookie`.
    pub(crate) async fn sign_in(
        &self,
        token: &str,
        headers: &HeaderMap,
        peer: Peer,
    ) -> Result<HeaderValue, SignInError> {
        let Shared { failures, config, .. } = &*self.0;
        let address = peer.network();
        let counted = failures.count(address);
        counted.map_err(|retry_after| SignInError::TooManyFailures { retry_after })?;
        if let Some(cookie) = self.begin(token, headers).await {
            failures.succeeded(address);
            return Ok(cookie);
        }
        tracing::info!(address = address.map(tracing::field::display), "sign-in failed");
        tokio::time::sleep(config.failure_delay).await;
        Err(SignInError::InvalidToken)
    }

    /// Begins a session if the token is accepted.
    async fn begin(&self, token: &str, headers: &HeaderMap) -> Option<HeaderValue> {
        let mut authorization = HeaderValue::try_from(format!("Bearer {}", token.trim())).ok()?;
        authorization.set_sensitive(true);
        self.verified(authorization.clone())?.await.ok()?;
        let mut random = [0; 32];
        getrandom::fill(&mut random).ok()?;
        let id = random.iter().fold(String::new(), |id, byte| format!("{id}{byte:02x}"));
        let cookie = self.cookie(headers, &id, "");
        self.insert(id, Session { authorization, began: Instant::now() });
        cookie
    }

    /// Verifies the header `Authorization` of a session.
    fn verified(&self, authorization: HeaderValue) -> Option<Authentication> {
        let (mut request, ()) = Request::new(()).into_parts();
        request.headers.insert(AUTHORIZATION, authorization);
        self.0.tokens.read().unwrap_or_else(PoisonError::into_inner).authenticate(&request)
    }

    /// Ends the session of a request. Returns the header `Set-Cookie` that removes the cookie.
    pub(crate) fn sign_out(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        for id in self.ids(headers) {
            self.open().remove(id);
        }
        self.cookie(headers, "", "; Max-Age=0")
    }

    /// Whether the browser that sent a request uses https: by the configuration, by the scheme of `Origin`, or by
    /// `X-Forwarded-Proto` of a proxy. A client that sends wrong headers changes only its own cookie and pages, so
    /// every proxy is trusted.
    pub(crate) fn is_https(&self, headers: &HeaderMap) -> bool {
        self.0.config.is_https || is_https(headers)
    }

    /// The header `Authorization` of the session of a request.
    fn authorization(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let open = self.open();
        let lifetime = self.0.config.lifetime;
        let session = self.ids(headers).find_map(|id| open.get(id))?;
        (session.began.elapsed() < lifetime).then(|| session.authorization.clone())
    }

    fn insert(&self, id: String, session: Session) {
        let SessionConfig { lifetime, max_sessions, .. } = self.0.config;
        let mut open = self.open();
        open.retain(|_, session| session.began.elapsed() < lifetime);
        while open.len() >= max_sessions.max(1) {
            let oldest = open.iter().min_by_key(|(_, session)| session.began);
            let Some(oldest) = oldest.map(|(id, _)| id.clone()) else { break };
            open.remove(&oldest);
        }
        open.insert(id, session);
    }

    fn cookie(&self, headers: &HeaderMap, id: &str, expiry: &str) -> Option<HeaderValue> {
        let SessionConfig { cookie: name, path, .. } = &self.0.config;
        let secure = if self.is_https(headers) { "; Secure" } else { "" };
        let cookie = format!("{name}={id}; Path={path}; HttpOnly; SameSite=Strict{secure}{expiry}");
        HeaderValue::try_from(cookie).ok()
    }

    /// The ids in the cookies of a request (RFC 6265, section 5.4).
    fn ids<'h>(&self, headers: &'h HeaderMap) -> impl Iterator<Item = &'h str> + use<'h, '_> {
        let values = headers.get_all(COOKIE).into_iter().filter_map(|value| value.to_str().ok());
        let pairs =
            values.flat_map(|value| value.split(';')).filter_map(|pair| pair.split_once('='));
        pairs.filter(|(name, _)| name.trim() == self.0.config.cookie).map(|(_, id)| id.trim())
    }

    fn open(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a browser uses https, by the headers of its request: `Origin`, or `X-Forwarded-Proto` of the first proxy.
fn is_https(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let forwarded = text("x-forwarded-proto").and_then(|schemes| schemes.split(',').next());
    let is_forwarded = forwarded.is_some_and(|scheme| scheme.trim().eq_ignore_ascii_case("https"));
    is_forwarded || text("origin").is_some_and(|origin| origin.starts_with("https://"))
}

/// Omits the tokens and the ids.
impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("open", &self.open().len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens() -> Tokens {
        let mut tokens = Tokens::default();
        tokens.allow("good");
        tokens
    }

    fn config(cookie: &str) -> SessionConfig {
        SessionConfig::new(|_| Response::new(ReplyBody::default()), cookie.to_owned(), "/")
    }

    fn sessions(lifetime: Duration) -> Sessions {
        let config = SessionConfig { lifetime, max_sessions: 2, ..config("a") };
        Sessions::new(tokens(), config)
    }

    /// The header `Cookie` of a client that received this `Set-Cookie`.
    fn returned(set_cookie: &HeaderValue) -> HeaderMap {
        let text = set_cookie.to_str().unwrap();
        assert!(text.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{text}");
        let pair = text.split(';').next().unwrap();
        let cookies = format!("other=1; {pair}");
        HeaderMap::from_iter([(COOKIE, HeaderValue::try_from(cookies).unwrap())])
    }

    #[tokio::test(start_paused = true)]
    async fn sessions_begin_with_an_accepted_token_and_end() {
        let none = HeaderMap::new();
        let hour = sessions(Duration::from_secs(3600));
        for token in ["wrong", ""] {
            let found = hour.sign_in(token, &none, Peer(None)).await;
            assert_eq!(found, Err(SignInError::InvalidToken));
        }
        let first = returned(&hour.sign_in("good", &none, Peer(None)).await.unwrap());
        assert_eq!(hour.authorization(&first).unwrap(), "Bearer good");
        assert!(hour.authorization(&HeaderMap::new()).is_none());

        // A further session ends the oldest.
        let second = returned(&hour.sign_in("good", &none, Peer(None)).await.unwrap());
        let third = returned(&hour.sign_in("good", &none, Peer(None)).await.unwrap());
        assert!(hour.authorization(&first).is_none());
        assert!(hour.authorization(&second).is_some());
        assert!(hour.sign_out(&third).unwrap().to_str().unwrap().ends_with("; Max-Age=0"));
        assert!(hour.authorization(&third).is_none());

        let expired = sessions(Duration::ZERO);
        let cookie = returned(&expired.sign_in("good", &none, Peer(None)).await.unwrap());
        assert!(expired.authorization(&cookie).is_none());
    }

    /// A browser sends the cookies of all ports of a host.
    #[tokio::test]
    async fn servers_of_one_host_have_their_own_cookies() {
        let none = HeaderMap::new();
        let [one, other] = ["a", "b"].map(|name| Sessions::new(tokens(), config(name)));
        let mut cookies = std::collections::BTreeMap::new();
        for server in [&one, &other] {
            let set_cookie = server.sign_in("good", &none, Peer(None)).await.unwrap();
            let pair = set_cookie.to_str().unwrap().split(';').next().unwrap().to_owned();
            let (name, id) = pair.split_once('=').unwrap();
            cookies.insert(name.to_owned(), id.to_owned());
        }
        let pairs: Vec<_> = cookies.iter().map(|(name, id)| format!("{name}={id}")).collect();
        let value = HeaderValue::try_from(pairs.join("; ")).unwrap();
        let headers = HeaderMap::from_iter([(COOKIE, value)]);
        one.sign_out(&headers);
        assert!(one.authorization(&headers).is_none());
        assert!(other.authorization(&headers).is_some());
    }

    #[tokio::test]
    async fn cookies_of_https_are_secure() {
        let sessions = sessions(Duration::from_secs(3600));
        for (name, value, expected) in [
            ("origin", "https://h", true),
            ("origin", "http://h", false),
            ("origin", "null", false),
            ("x-forwarded-proto", "https", true),
            ("x-forwarded-proto", "HTTPS, http", true),
            ("x-forwarded-proto", "http, https", false),
            ("x-forwarded-proto", "", false),
        ] {
            let headers = HeaderMap::from_iter([(
                http::HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )]);
            let begun = sessions.sign_in("good", &headers, Peer(None)).await;
            for cookie in [begun.ok(), sessions.sign_out(&headers)] {
                let cookie = cookie.unwrap();
                let is_secure = cookie.to_str().unwrap().contains("; Secure");
                assert_eq!(is_secure, expected, "{name}: {value}");
            }
        }
    }
}
