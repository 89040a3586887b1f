//! The response to an authorization request.

use super::error::{OAuthError, printable};
use super::form;
use super::secret::Secret;

/// An authorization request that was sent, and what its response must contain.
#[derive(Debug)]
pub(super) struct Pending<'a> {
    pub(super) state: &'a str,
    /// The issuer of the authorization server, from its validated metadata.
    pub(super) issuer: &'a str,
    /// Whether the authorization server announces that its responses contain `iss`.
    pub(super) requires_issuer: bool,
}

impl Pending<'_> {
    /// The authorization code in the query of a redirect. `state` and `iss` (RFC 9207, section 2.4) are checked before
    /// anything else is read.
    pub(super) fn code(&self, query: &str) -> Result<Secret, OAuthError> {
        let parameters = form::parse(query).ok_or(OAuthError::Redirect("unreadable query"))?;
        let get = |wanted: &str| {
            let mut values = parameters.iter().filter(|(name, _)| name == wanted);
            match (values.next(), values.next()) {
                (_, Some(_)) => Err(OAuthError::Redirect("duplicate parameter")),
                (value, None) => Ok(value.map(|(_, value)| value.as_str())),
            }
        };
        if get("state")? != Some(self.state) {
            return Err(OAuthError::Redirect("`state` is not that of the request"));
        }
        match get("iss")? {
            Some(issuer) if issuer == self.issuer => {}
            Some(issuer) => {
                return Err(OAuthError::Issuer {
                    place: "the authorization response",
                    expected: self.issuer.to_owned(),
                    found: printable(issuer),
                });
            }
            None if self.requires_issuer => return Err(OAuthError::Redirect("`iss` is missing")),
            None => {}
        }
        if let Some(error) = get("error")? {
            return Err(OAuthError::Refused {
                request: "authorization",
                error: printable(error),
                description: get("error_description")?.map(printable),
            });
        }
        match get("code")? {
            Some(code) if !code.is_empty() => Ok(code.into()),
            _ => Err(OAuthError::Redirect("`code` is missing")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(requires_issuer: bool, query: &str, expected: Result<&str, &str>) {
        let pending = Pending { state: "s+1", issuer: "https://as/t", requires_issuer };
        let found = pending.code(query).map_err(|error| error.to_string());
        match (&found, expected) {
            (Ok(code), Ok(expected)) => assert_eq!(code.expose(), expected, "{query}"),
            (Err(error), Err(expected)) => {
                assert!(error.contains(expected), "{query}: {error}");
                assert!(!error.contains("secret"), "{query}: {error}");
            }
            _ => panic!("{query}: {found:?}"),
        }
    }

    #[test]
    fn validates_responses() {
        const ISSUER: &str = "iss=https%3A%2F%2Fas%2Ft";
        let with = |rest: &str| format!("state=s%2B1&{rest}");
        let with_issuer = |rest: &str| format!("state=s%2B1&{ISSUER}&{rest}");

        check(true, &with_issuer("code=c%2Fd"), Ok("c/d"));
        check(false, &with_issuer("code=c"), Ok("c"));
        check(false, &with("code=c"), Ok("c"));
        check(true, &with("code=secret"), Err("`iss` is missing"));

        // Compared as text, without normalization.
        for issuer in ["https://as/t/", "https://AS/t", "https://as:443/t", "https://as/%74", ""] {
            let query = with(&format!("iss={}&code=secret", crate::percent::encode(issuer)));
            check(true, &query, Err("the issuer in the authorization response"));
            check(false, &query, Err("the issuer in the authorization response"));
        }

        check(false, "code=secret", Err("`state`"));
        check(false, "state=s+1&code=secret", Err("`state`"));
        check(false, "state=&code=secret", Err("`state`"));
        check(false, "state=x&error=secret", Err("`state`"));
        check(false, &with("state=s%2B1&code=secret"), Err("duplicate"));
        check(false, &with("code=secret&code=secret"), Err("duplicate"));
        check(false, &with(""), Err("`code` is missing"));
        check(false, &with("code="), Err("`code` is missing"));
        check(false, &with("code=%ff"), Err("unreadable"));

        // Errors of the wrong issuer are not shown.
        check(false, &with("iss=https://evil&error=secret"), Err("https://evil"));
        check(true, &with("error=secret"), Err("`iss` is missing"));
        check(
            true,
            &with_issuer("error=access_denied&error_description=no%0Away"),
            Err("refused the authorization: access_denied (noway)"),
        );
    }
}
