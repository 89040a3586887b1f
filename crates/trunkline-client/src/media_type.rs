//! Media types and their parameters (RFC 9110, section 8.3), as the heads of messages have them.

use trunkline_core::format::Format;

/// What JSON calls itself.
pub const JSON_TYPES: [&str; 3] =
    ["application/json", "application/json-rpc", "application/jsonrequest"];

/// What EDN calls itself.
#[cfg(feature = "edn")]
pub const EDN_TYPE: &str = "application/edn";

/// Optional white space (section 5.6.3).
pub const SPACE: [char; 2] = [' ', '\t'];

/// A media type whose parameters are well formed.
#[derive(Debug, Clone, Copy)]
pub struct MediaType<'a> {
    /// Whatever it is: in any case, and not checked.
    pub name: &'a str,
    parameters: Parameters<'a>,
}

impl<'a> MediaType<'a> {
    /// Reads a `Content-Type`; none if it is malformed.
    pub fn parse(value: &'a str) -> Option<Self> {
        let (name, parameters) = value.split_at(value.find(';').unwrap_or(value.len()));
        let mut parameters = Parameters(parameters);
        let (name, all) = (name.trim_matches(SPACE), parameters);
        let is_well_formed = parameters.all(|parameter| parameter.is_ok());
        is_well_formed.then_some(Self { name, parameters: all })
    }

    /// Whether it has no charset but these.
    pub fn is_in(&self, charsets: &[&str]) -> bool {
        self.parameters.flatten().all(|(name, value)| {
            let is_known = || charsets.iter().any(|charset| value.eq_ignore_ascii_case(charset));
            !name.eq_ignore_ascii_case("charset") || is_known()
        })
    }
}

/// The format with this name.
pub fn named(name: &str) -> Option<Format> {
    if JSON_TYPES.iter().any(|json| name.eq_ignore_ascii_case(json)) {
        return Some(Format::Json);
    }
    #[cfg(feature = "edn")]
    if name.eq_ignore_ascii_case(EDN_TYPE) {
        return Some(Format::Edn);
    }
    None
}

/// What stands behind a media type (section 5.6.6), from the first semicolon on.
#[derive(Debug, Clone, Copy)]
struct Parameters<'a>(&'a str);

/// A text is no list of parameters.
struct Malformed;

impl<'a> Iterator for Parameters<'a> {
    type Item = Result<(&'a str, &'a str), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(rest) = self.0.trim_start_matches(SPACE).strip_prefix(';') {
            let rest = rest.trim_start_matches(SPACE);
            self.0 = rest;
            // There may be nothing between semicolons.
            if rest.is_empty() || rest.starts_with(';') {
                continue;
            }
            let Some((name, value, rest)) = parameter(rest) else { break };
            self.0 = rest;
            return Some(Ok((name, value)));
        }
        let rest = std::mem::take(&mut self.0).trim_start_matches(SPACE);
        (!rest.is_empty()).then_some(Err(Malformed))
    }
}

/// The name and the value of the first parameter, and what follows it.
pub fn parameter(text: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = token(text)?;
    let rest = rest.strip_prefix('=')?;
    let (value, rest) = match rest.strip_prefix('"') {
        Some(rest) => quoted(rest)?,
        None => token(rest)?,
    };
    Some((name, value, rest))
}

/// A token (section 5.6.2), and what follows it.
pub fn token(text: &str) -> Option<(&str, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// What stands before the closing quote, escapes as they are, and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let mut escaped = false;
    let end = text.find(|c| {
        let closes = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        closes
    })?;
    Some((&text[..end], &text[end + 1..]))
}
