//! URI templates (RFC 6570), and their matching.

use std::borrow::Cow;
use std::collections::BTreeSet;

use percent_encoding::percent_decode_str;

use crate::percent::encode;

/// A parsed template.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UriTemplate {
    parts: Vec<TemplatePart>,
    /// The names in a query at the end.
    query: Option<Vec<String>>,
}

#[derive(Debug, PartialEq, Eq)]
enum TemplatePart {
    Literal(String),
    Variable(Variable),
}

#[derive(Debug, PartialEq, Eq)]
struct Variable {
    name: String,
    /// Whether the value may have the characters `/`, `?` and `#`.
    is_reserved: bool,
}

/// The maximum number of variables.
const MAX_VARIABLES: usize = 16;
/// The maximum length of a template in bytes.
const MAX_TEMPLATE: usize = 2_000;

impl UriTemplate {
    /// # Errors
    /// The reason why the template is invalid, or not supported.
    pub(crate) fn parse(template: &str) -> Result<Self, &'static str> {
        let mut parsed = Self { parts: Vec::new(), query: None };
        split(template, |segment| match segment {
            Segment::Literal(literal) => parsed.add_literal(literal),
            Segment::Expression(expression) => parsed.add_expression(expression),
        })?;
        let names: BTreeSet<&str> = parsed.names().collect();
        let count = parsed.names().count();
        if names.len() < count {
            return Err("two variables have the same name");
        }
        if count > MAX_VARIABLES {
            return Err("it has more than 16 variables");
        }
        let is_query =
            |part: &TemplatePart| matches!(part, TemplatePart::Literal(text) if text.contains('?'));
        if parsed.query.is_some() && parsed.parts.iter().any(is_query) {
            return Err("it has two queries");
        }
        Ok(parsed)
    }

    /// The names of the variables.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let in_path = self.parts.iter().filter_map(|part| match part {
            TemplatePart::Variable(variable) => Some(&*variable.name),
            TemplatePart::Literal(_) => None,
        });
        let in_query = self.query.iter().flatten().map(String::as_str);
        in_path.chain(in_query)
    }

    fn add_literal(&mut self, literal: &str) -> Result<(), &'static str> {
        if literal.is_empty() {
            return Ok(());
        }
        if self.query.is_some() {
            return Err("a query must be at the end");
        }
        check_literal(literal)?;
        match self.parts.last_mut() {
            Some(TemplatePart::Literal(before)) => before.push_str(literal),
            _ => self.parts.push(TemplatePart::Literal(literal.to_owned())),
        }
        Ok(())
    }

    fn add_expression(&mut self, expression: &str) -> Result<(), &'static str> {
        let operator =
            expression.chars().next().filter(|c| !c.is_ascii_alphanumeric() && *c != '_');
        let names = &expression[operator.map_or(0, char::len_utf8)..];
        if names.contains(['*', ':']) {
            return Err("modifiers of variables are not supported");
        }
        let names: Vec<&str> = names.split(',').collect();
        let is_name = |name: &str| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.".contains(c))
        };
        if !names.iter().copied().all(is_name) {
            return Err("a variable must be a name of the characters A-Z, a-z, 0-9, `_` and `.`");
        }
        match operator {
            Some('?') if self.query.is_none() => {
                self.query = Some(names.into_iter().map(str::to_owned).collect());
                return Ok(());
            }
            None | Some('+') => {}
            Some(prefix @ ('/' | '.' | '#')) => {
                self.add_literal(prefix.encode_utf8(&mut [0; 4]))?;
            }
            Some(_) => return Err("the operator of an expression is unknown or not supported"),
        }
        let [name] = names[..] else {
            return Err("only a query may have several variables");
        };
        if self.query.is_some() {
            return Err("a query must be at the end");
        }
        if let Some(TemplatePart::Variable(_)) = self.parts.last() {
            return Err("two variables are adjacent, so that their values cannot be separated");
        }
        let is_reserved = matches!(operator, Some('+' | '#'));
        let variable = Variable { name: name.to_owned(), is_reserved };
        self.parts.push(TemplatePart::Variable(variable));
        Ok(())
    }

    /// The values of the variables in a URI that matches.
    ///
    /// Takes time proportional to the length of the URI times the number of parts, of which there are at most 34.
    pub(crate) fn matches(&self, uri: &str) -> Option<Vec<(&str, String)>> {
        let prefix = match self.parts.first()? {
            TemplatePart::Literal(prefix) => prefix,
            TemplatePart::Variable(_) => return None,
        };
        if !uri.starts_with(&**prefix) {
            return None;
        }
        let (path, query) = match (&self.query, uri.split_once('?')) {
            (Some(names), Some((path, query))) => (path, Some((query, names))),
            _ => (uri, None),
        };
        let mut values = self.match_path(path)?;
        if let Some((query, names)) = query {
            match_query(query, names, &mut values)?;
        }
        Some(values)
    }

    fn match_path(&self, path: &str) -> Option<Vec<(&str, String)>> {
        let ends = self.ends(path)?;
        let mut values = Vec::new();
        let mut start = 0;
        for (part, end) in self.parts.iter().zip(ends) {
            if let TemplatePart::Variable(variable) = part {
                let value = uri_text(path.get(start..end)?)?;
                if is_absolute(&value) {
                    return None;
                }
                values.push((&*variable.name, value));
            }
            start = end;
        }
        Some(values)
    }

    /// The ends of the parts in a path that matches. Each variable gets the shortest value with which the rest matches.
    ///
    /// If the rest matches after a longer value without reserved characters, it also matches after the shortest one
    /// before the next literal. So only the last variable that may have reserved characters is tried again with a
    /// longer value. The searches of a part never go back, and remember what they have found.
    fn ends(&self, path: &str) -> Option<Vec<usize>> {
        let mut ends = vec![0; self.parts.len()];
        let mut searches = vec![Search::default(); self.parts.len()];
        let (mut index, mut reserved, mut retried) = (0, None, None);
        while let Some(part) = self.parts.get(index) {
            let start = if index == 0 { 0 } else { ends[index - 1] };
            let end = match part {
                TemplatePart::Literal(literal) => {
                    path[start..].starts_with(&**literal).then_some(start + literal.len())
                }
                TemplatePart::Variable(variable) => {
                    if variable.is_reserved {
                        reserved = Some(index);
                    }
                    let search = &mut searches[index];
                    let end =
                        search.end(path, retried.take().unwrap_or(start), &self.parts[index + 1..]);
                    end.filter(|end| variable.is_reserved || *end <= search.limit(path, start))
                }
            };
            match (end, reserved) {
                (Some(end), _) => {
                    ends[index] = end;
                    index += 1;
                }
                (None, Some(before)) if before < index => {
                    retried = Some(ends[before]);
                    index = before;
                }
                (None, _) => return None,
            }
        }
        (ends.last() == Some(&path.len())).then_some(ends)
    }
}

/// Results of the searches for the end of a variable.
#[derive(Clone, Default)]
struct Search {
    /// The offset of the literal after the variable, or the length of the path if it was not found. At first 0.
    literal: usize,
    /// The offset of a reserved character, or the length of the path. At first 0.
    limit: usize,
}

impl Search {
    /// The first end after an offset. `rest` are the parts after the variable: a literal, or nothing.
    fn end(&mut self, path: &str, after: usize, rest: &[TemplatePart]) -> Option<usize> {
        let end = match rest {
            [TemplatePart::Literal(literal)] => path.strip_suffix(&**literal)?.len(),
            [TemplatePart::Literal(literal), ..] => {
                let from = path.ceil_char_boundary(after + 1);
                if self.literal < from {
                    let found = path[from..].find(&**literal);
                    self.literal = found.map_or(path.len(), |at| from + at);
                }
                // Literals are not empty, so none begins at the end.
                Some(self.literal).filter(|end| *end < path.len())?
            }
            _ => path.len(),
        };
        (end > after).then_some(end)
    }

    /// The first reserved character from an offset on, or the end of the path.
    fn limit(&mut self, path: &str, from: usize) -> usize {
        if self.limit < from {
            let found = path[from..].find(RESERVED);
            self.limit = found.map_or(path.len(), |at| from + at);
        }
        self.limit
    }
}

/// The characters that only values of reserved variables may have.
const RESERVED: [char; 3] = ['/', '?', '#'];

/// Adds the values of a query. `None` if it has an unknown or a repeated name.
fn match_query<'a>(
    query: &str,
    names: &'a [String],
    values: &mut Vec<(&'a str, String)>,
) -> Option<()> {
    let known = values.len();
    for pair in query.split('&') {
        let (name, text) = pair.split_once('=')?;
        let name = names.iter().find(|known| *known == name)?;
        if values[known..].iter().any(|(other, _)| other == name) {
            return None;
        }
        let text = if text.is_empty() { String::new() } else { uri_text(text)? };
        values.push((name, text));
    }
    Some(())
}

/// The text of a percent-encoded value in a URI, the inverse of [`uri_value`]. `None` if it is not UTF-8, has control
/// characters, or a segment `.` or `..`.
///
/// ```
/// # use trunkline_mcp::uri::uri_text;
/// assert_eq!(uri_text("a%20b").as_deref(), Some("a b"));
/// ```
#[must_use]
pub fn uri_text(value: &str) -> Option<String> {
    decoded(value).filter(|text| is_safe(text)).map(Cow::into_owned)
}

/// Whether a value could be mistaken for an absolute path.
fn is_absolute(text: &str) -> bool {
    let has_drive = text.as_bytes().get(1) == Some(&b':')
        && text.as_bytes().first().is_some_and(u8::is_ascii_alphabetic)
        && matches!(text.as_bytes().get(2), Some(b'/' | b'\\'));
    has_drive || text.starts_with(['/', '\\'])
}

fn is_safe(text: &str) -> bool {
    let is_step = |segment: &str| segment == "." || segment == "..";
    !text.chars().any(char::is_control) && !text.split(['/', '\\']).any(is_step)
}

/// The percent-encoding of a text as the value of a variable `{name}` in a URI. `None` if such a URI would not
/// [match](crate::ResourceTemplate::new): an empty text, one with control characters or a segment `.` or `..`, or one that
/// starts with a slash.
///
/// ```
/// # use trunkline_mcp::uri::uri_value;
/// assert_eq!(uri_value("a b/c").as_deref(), Some("a%20b%2Fc"));
/// assert_eq!(uri_value(".."), None);
/// ```
#[must_use]
pub fn uri_value(text: &str) -> Option<String> {
    if text.is_empty() || text.starts_with(['/', '\\']) || !is_safe(text) {
        return None;
    }
    Some(encode(text))
}

/// Decodes percent-encodings. `None` if one is malformed, or the result is not UTF-8.
pub(crate) fn decoded(text: &str) -> Option<Cow<'_, str>> {
    let is_encoding = |rest: &str| {
        let digits = rest.as_bytes().first_chunk::<2>();
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    let is_valid = text.split('%').skip(1).all(is_encoding);
    percent_decode_str(text).decode_utf8().ok().filter(|_| is_valid)
}

/// A part of the text of a template.
pub(super) enum Segment<'t> {
    Literal(&'t str),
    /// The text between the braces.
    Expression(&'t str),
}

/// Passes the parts of a template on, until one is refused.
///
/// # Errors
/// The reason for that; or the template is too long, has no scheme, or a brace without the other one.
pub(super) fn split<'t>(
    template: &'t str,
    mut read: impl FnMut(Segment<'t>) -> Result<(), &'static str>,
) -> Result<(), &'static str> {
    if template.len() > MAX_TEMPLATE {
        return Err("it is longer than 2,000 bytes");
    }
    check_scheme(template)?;
    let mut rest = template;
    while let Some(start) = rest.find(['{', '}']) {
        let (literal, expression) = rest.split_at(start);
        read(Segment::Literal(literal))?;
        let expression = expression.strip_prefix('{').ok_or("`}` without `{`")?;
        let end = expression.find('}').ok_or("`{` without `}`")?;
        read(Segment::Expression(&expression[..end]))?;
        rest = &expression[end + 1..];
    }
    read(Segment::Literal(rest))
}

/// Checks the characters of a literal of a template.
pub(super) fn check_literal(literal: &str) -> Result<(), &'static str> {
    match literal.chars().any(|c| c.is_control() || " \"<>\\^`|".contains(c)) {
        true => Err("it has a character that is not allowed in a URI"),
        false => Ok(()),
    }
}

/// Checks that a text is a URI: a scheme, followed by printable ASCII characters.
pub(crate) fn check_uri(uri: &str) -> Result<(), &'static str> {
    if uri.len() > MAX_TEMPLATE {
        return Err("it is longer than 2,000 bytes");
    }
    if !uri.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("it has a space, a control character or a character that is not ASCII");
    }
    check_scheme(uri)
}

/// Checks that a URI or a template begins with a scheme.
fn check_scheme(uri: &str) -> Result<(), &'static str> {
    let scheme = uri.split_once(':').map(|(scheme, _)| scheme).unwrap_or_default();
    let is_valid = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    if is_valid { Ok(()) } else { Err("it does not begin with a scheme, such as `docs:`") }
}

#[cfg(test)]
mod tests;
