//! The sign-in form of services that require a token.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::{RETRY_AFTER, SET_COOKIE};
use http::{HeaderMap, StatusCode, Uri};
use trunkline::access::Tokens;
use trunkline::http::{Headers, Peer, ReplyBody};

use crate::assets;
use crate::console::{Console, page_with, see_other};
use crate::form::Form;
use crate::sessions::{SessionConfig, Sessions, SignInError};

/// The sessions of browsers for a service that accepts these tokens and listens on this port. The cookie is sent to
/// paths of the console only. Its name contains the port, since cookies are those of a host.
///
/// Pass them to [`ConsoleConfig::sessions`](crate::ConsoleConfig::sessions), and to the
/// [`data_routes`](crate::data_routes).
#[must_use]
pub fn sessions(tokens: Tokens, port: u16, is_https: bool) -> Sessions {
    let page = |uri: &Uri| {
        let next = uri.path_and_query().map_or(PATH, |path| path.as_str());
        let page = SignInPage { assets: assets::VERSION.as_str(), next, error: String::new() };
        page_with(StatusCode::UNAUTHORIZED, &page).map(ReplyBody::stream)
    };
    let config = SessionConfig::new(page, format!("trunkline_session_{port}"), PATH);
    Sessions::new(tokens, SessionConfig { is_https, ..config })
}

/// The first page.
const PATH: &str = "/console";

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage<'a> {
    assets: &'static str,
    /// The page to show after the sign-in.
    next: &'a str,
    error: String,
}

pub(super) async fn sign_in(State(console): State<Console>, form: Form) -> Response {
    let fields = form.fields;
    let next = local(fields.text("next"));
    let Some(sessions) = &console.config.sessions else { return see_other(next) };
    let none = HeaderMap::new();
    let headers = Headers::of(&form.extensions).unwrap_or(&none);
    let peer = Peer::of(&form.extensions);
    let page = |error| SignInPage { assets: assets::VERSION.as_str(), next, error };
    match sessions.sign_in(fields.text("token"), headers, peer).await {
        Ok(cookie) => with_cookie(see_other(next), Some(cookie)),
        Err(SignInError::TooManyFailures { retry_after }) => {
            let seconds = retry_after.as_secs().saturating_add(1);
            let error = format!(
                "Too many sign-ins from this address have failed. Try again in {seconds} s."
            );
            let page = page_with(StatusCode::TOO_MANY_REQUESTS, &page(error));
            ([(RETRY_AFTER, seconds.to_string())], page).into_response()
        }
        Err(_) => {
            let error = "The token is not valid. Check that it is complete and has not expired.";
            page_with(StatusCode::UNAUTHORIZED, &page(error.to_owned()))
        }
    }
}

pub(super) async fn sign_out(State(console): State<Console>, form: Form) -> Response {
    let none = HeaderMap::new();
    let headers = Headers::of(&form.extensions).unwrap_or(&none);
    let cookie = console.config.sessions.as_ref().and_then(|all| all.sign_out(headers));
    with_cookie(see_other(PATH), cookie)
}

fn with_cookie(response: Response, cookie: Option<http::HeaderValue>) -> Response {
    match cookie {
        Some(cookie) => ([(SET_COOKIE, cookie)], response).into_response(),
        None => response,
    }
}

/// A path of the console; another path or site could be that of an attacker.
fn local(next: &str) -> &str {
    let rest = next.strip_prefix(PATH);
    let is_local = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']));
    if is_local && !next.contains(['\\', '\r', '\n']) { next } else { PATH }
}

#[cfg(test)]
mod tests {
    use super::local;

    #[test]
    fn sign_in_leads_to_pages_of_the_console_only() {
        for path in ["/console", "/console/a?b=c", "/console?x"] {
            assert_eq!(local(path), path);
        }
        for path in
            ["", "/", "//evil.example", "https://evil.example", "/consolex", "/console\\..", "/db"]
        {
            assert_eq!(local(path), "/console");
        }
    }
}
