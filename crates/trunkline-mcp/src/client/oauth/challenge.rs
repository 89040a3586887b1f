//! The header `WWW-Authenticate` (RFC 9110, section 11.6.1).

use super::scopes::Scopes;

/// The parameters of a `Bearer` challenge (RFC 6750, section 3; RFC 9728, section 5.1).
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct BearerChallenge {
    /// The URL of the metadata of the protected resource.
    pub(super) resource_metadata: Option<String>,
    /// The scopes that the request requires.
    pub(super) scope: Option<Scopes>,
    pub(super) error: Option<String>,
}

impl BearerChallenge {
    /// The parameters of the `Bearer` challenges in these values. The first occurrence of a parameter counts.
    pub(super) fn parse(values: &[String]) -> Self {
        let mut found = Self::default();
        for value in values {
            found.read(value);
        }
        found
    }

    /// Reads a list of challenges up to the first syntax error.
    fn read(&mut self, value: &str) {
        let mut rest = value;
        let mut is_bearer = false;
        loop {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            let Some(name) = word(&mut rest) else { return };
            rest = rest.trim_start_matches([' ', '\t']);
            let Some(after) = rest.strip_prefix('=') else {
                // A scheme, or credentials without padding.
                is_bearer = name.eq_ignore_ascii_case("Bearer");
                continue;
            };
            rest = after.trim_start_matches([' ', '\t']);
            let value = match rest.strip_prefix('"') {
                Some(after) => {
                    rest = after;
                    quoted(&mut rest)
                }
                None => word(&mut rest).map(str::to_owned),
            };
            match value {
                Some(value) if is_bearer => self.set(name, value),
                Some(_) => {}
                // The padding of credentials (`token68`).
                None if rest.is_empty() || rest.starts_with(['=', ',', ' ']) => {
                    rest = rest.trim_start_matches('=');
                }
                None => return,
            }
        }
    }

    fn set(&mut self, name: &str, value: String) {
        match name.to_ascii_lowercase().as_str() {
            "resource_metadata" => {
                self.resource_metadata.get_or_insert(value);
            }
            "scope" => {
                let scopes = Scopes::from(value);
                if self.scope.is_none() && !scopes.is_empty() {
                    self.scope = Some(scopes);
                }
            }
            "error" => {
                self.error.get_or_insert(value);
            }
            _ => {}
        }
    }
}

/// The characters of a token, and of credentials.
fn word<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let is_part = |char: char| char.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~/".contains(char);
    let end = rest.find(|char| !is_part(char)).unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    *rest = after;
    (!word.is_empty()).then_some(word)
}

/// A quoted string, after its first quotation mark. An unterminated one is a syntax error.
fn quoted(rest: &mut &str) -> Option<String> {
    let mut text = String::new();
    let mut chars = rest.char_indices();
    while let Some((index, char)) = chars.next() {
        match char {
            '"' => {
                *rest = &rest[index + 1..];
                return Some(text);
            }
            '\\' => text.push(chars.next()?.1),
            char => text.push(char),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: &[&str], expected: [Option<&str>; 3]) {
        let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        let found = BearerChallenge::parse(&values);
        let scope = found.scope.map(|scope| scope.to_string());
        let found = [found.resource_metadata.as_deref(), scope.as_deref(), found.error.as_deref()];
        assert_eq!(found, expected, "{values:?}");
    }

    #[test]
    fn parses_challenges() {
        check(&[], [None; 3]);
        check(&["Bearer"], [None; 3]);
        check(&[r#"Bearer resource_metadata="https://a/b""#], [Some("https://a/b"), None, None]);
        check(
            &[r#"bearer error="insufficient_scope", scope="a b",resource_metadata = "u", x=y"#],
            [Some("u"), Some("a b"), Some("insufficient_scope")],
        );
        check(&[r#"Bearer scope=a, error="a\"b\\""#], [None, Some("a"), Some(r#"a"b\"#)]);
        check(&[r#"Bearer scope="", error=b"#], [None, None, Some("b")]);
        // Several challenges, in one or several values.
        check(&[r#"Basic realm="a, scope=b", Bearer scope="c""#], [None, Some("c"), None]);
        check(&["Negotiate YWJj==, Bearer scope=a"], [None, Some("a"), None]);
        check(&["Negotiate YWJj/+, Bearer scope=a"], [None, Some("a"), None]);
        check(&["Basic realm=x", "Bearer scope=a"], [None, Some("a"), None]);
        check(&["Bearer scope=a, scope=b", "Bearer scope=c"], [None, Some("a"), None]);
        check(&["DPoP scope=a"], [None; 3]);
        // Syntax errors.
        check(&[r#"Bearer error=a, scope="b"#], [None, None, Some("a")]);
        check(&["Bearer scope=\"a\\"], [None; 3]);
        check(&["Bearer scope=;a"], [None; 3]);
        check(&["=a, Bearer scope=b"], [None; 3]);
    }
}
