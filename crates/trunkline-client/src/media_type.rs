//! Media types and their parameters in headers (RFC 9110, section 8.3).

/// Optional white space (section 5.6.3).
pub const SPACE: [char; 2] = [' ', '\t'];

/// A media type whose parameters are well formed.
#[derive(Debug, Clone, Copy)]
pub struct MediaType<'a> {
    /// The type and subtype, in any case and not validated.
    pub name: &'a str,
    parameters: Parameters<'a>,
}

impl<'a> MediaType<'a> {
    /// Parses a `Content-Type`. `None` if it is malformed.
    pub fn parse(value: &'a str) -> Option<Self> {
        let (name, parameters) = value.split_at(value.find(';').unwrap_or(value.len()));
        let mut parameters = Parameters(parameters);
        let (name, all) = (name.trim_matches(SPACE), parameters);
        let is_well_formed = parameters.all(|parameter| parameter.is_ok());
        is_well_formed.then_some(Self { name, parameters: all })
    }

    /// Whether `charset` is missing or one of these.
    pub fn has_charset_in(&self, charsets: &[&str]) -> bool {
        self.parameters.flatten().all(|(name, value)| {
            let is_known = || charsets.iter().any(|charset| value.eq_ignore_ascii_case(charset));
            !name.eq_ignore_ascii_case("charset") || is_known()
        })
    }
}

/// The parameters of a media type (section 5.6.6), from the first semicolon on.
#[derive(Debug, Clone, Copy)]
struct Parameters<'a>(&'a str);

/// The error of an invalid parameter list.
struct Malformed;

impl<'a> Iterator for Parameters<'a> {
    type Item = Result<(&'a str, &'a str), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(rest) = self.0.trim_start_matches(SPACE).strip_prefix(';') {
            let rest = rest.trim_start_matches(SPACE);
            self.0 = rest;
            // Empty parameters are allowed.
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

/// The name and value of the first parameter, and the remaining text.
pub fn parameter(text: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = token(text)?;
    let rest = rest.strip_prefix('=')?;
    let (value, rest) = match rest.strip_prefix('"') {
        Some(rest) => quoted(rest)?,
        None => token(rest)?,
    };
    Some((name, value, rest))
}

/// The first token (section 5.6.2) and the remaining text.
pub fn token(text: &str) -> Option<(&str, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// The text before the closing quote, with escapes unchanged, and the remaining text.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let mut escaped = false;
    let end = text.find(|c| {
        let closes = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        closes
    })?;
    Some((&text[..end], &text[end + 1..]))
}
