//! URI templates (RFC 6570), and their matching.

use std::borrow::Cow;
use std::collections::BTreeSet;

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
        if template.len() > MAX_TEMPLATE {
            return Err("it is longer than 2,000 bytes");
        }
        check_scheme(template)?;
        let mut parsed = Self { parts: Vec::new(), query: None };
        let mut rest = template;
        while let Some(start) = rest.find(['{', '}']) {
            let (literal, expression) = rest.split_at(start);
            parsed.add_literal(literal)?;
            let expression = expression.strip_prefix('{').ok_or("`}` without `{`")?;
            let end = expression.find('}').ok_or("`{` without `}`")?;
            parsed.add_expression(&expression[..end])?;
            rest = &expression[end + 1..];
        }
        parsed.add_literal(rest)?;
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
        if literal.chars().any(|c| c.is_control() || " \"<>\\^`|".contains(c)) {
            return Err("it has a character that is not allowed in a URI");
        }
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
/// # use trunkline_mcp::uri_text;
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
/// # use trunkline_mcp::uri_value;
/// assert_eq!(uri_value("a b/c").as_deref(), Some("a%20b%2Fc"));
/// assert_eq!(uri_value(".."), None);
/// ```
#[must_use]
pub fn uri_value(text: &str) -> Option<String> {
    if text.is_empty() || text.starts_with(['/', '\\']) || !is_safe(text) {
        return None;
    }
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(byte.into());
        } else {
            encoded.push('%');
            for digit in [byte >> 4, byte & 15] {
                encoded.extend(char::from_digit(digit.into(), 16).map(|c| c.to_ascii_uppercase()));
            }
        }
    }
    Some(encoded)
}

/// The names of the variables of a URI template, in order. Empty if the template is invalid.
///
/// ```
/// # use trunkline_mcp::uri_variables;
/// assert_eq!(uri_variables("docs://{section}/{page}"), ["section", "page"]);
/// ```
#[must_use]
pub fn uri_variables(template: &str) -> Vec<String> {
    let parsed = UriTemplate::parse(template);
    parsed.iter().flat_map(UriTemplate::names).map(str::to_owned).collect()
}

/// Decodes percent-encodings. `None` if one is malformed, or the result is not UTF-8.
pub(crate) fn decoded(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        let digit = |byte: u8| char::from(byte).to_digit(16);
        bytes.push(u8::try_from(digit(digits[0])? * 16 + digit(digits[1])?).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
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
mod tests {
    use super::{RESERVED, TemplatePart, UriTemplate, uri_value};

    /// `expected` has the values in the order of the match, separated by `|`; `None` if nothing matches.
    #[track_caller]
    fn check(template: &str, uri: &str, expected: Option<&str>) {
        let parsed = UriTemplate::parse(template).unwrap();
        let found = parsed.matches(uri).map(|values| {
            let values: Vec<String> =
                values.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
            values.join("|")
        });
        assert_eq!(found.as_deref(), expected, "{template} {uri}");
    }

    #[test]
    fn uris_match_templates() {
        check("docs://{name}", "docs://readme", Some("name=readme"));
        check("docs://{name}", "docs://", None);
        check("docs://{name}", "docs://a/b", None);
        check("docs://{name}", "docs://a?b", None);
        check("docs://{name}", "docs://a#b", None);
        check("docs://{name}", "other://a", None);
        check("docs://{name}", "docs://a%20b", Some("name=a b"));
        check("docs://{name}", "docs://%C3%BC", Some("name=ü"));
        check("docs://{name}", "docs://ü", Some("name=ü"));
        check("docs://{name}/data", "docs://7/data", Some("name=7"));
        check("docs://{name}/data", "docs://7/data/", None);
        check("docs://{name}/data", "docs://7", None);
        check("docs://{a}/{b}", "docs://x/y", Some("a=x|b=y"));
        check("docs://{a}.{b}", "docs://x.y.z", Some("a=x|b=y.z"));
        check("docs://{a}.json", "docs://a.json.json", Some("a=a.json"));
        check("docs://{+path}", "docs://a/b/c", Some("path=a/b/c"));
        check("docs://{+path}/end/{last}", "docs://a/end/b/end/c", Some("path=a/end/b|last=c"));
        check("docs://x{/a}{.b}", "docs://x/one.two", Some("a=one|b=two"));
        check("docs://x{#a}", "docs://x#one/two", Some("a=one/two"));
        check("docs://aa{a}aab", "docs://aaaaaab", Some("a=aa"));
        check("docs://static", "docs://static", Some(""));
        check("docs://static", "docs://static/", None);
    }

    #[test]
    fn queries_match_in_any_order() {
        check("docs://x{?a,b}", "docs://x", Some(""));
        check("docs://x{?a,b}", "docs://x?b=2&a=1", Some("b=2|a=1"));
        check("docs://x{?a,b}", "docs://x?a=", Some("a="));
        check("docs://x{?a,b}", "docs://x?a=1&a=2", None);
        check("docs://x{?a,b}", "docs://x?c=1", None);
        check("docs://x{?a,b}", "docs://x?a", None);
        check("docs://x{?a,b}", "docs://x?", None);
        check("docs://{name}{?a}", "docs://n?a=x%26y", Some("name=n|a=x&y"));
    }

    #[test]
    fn values_do_not_leave_their_place() {
        for uri in [
            "f:///..",
            "f:///.",
            "f:///%2e%2e",
            "f:///%2E%2e%2Fsecret",
            "f:///a/../b",
            "f:///a/%2e%2e/b",
            "f:///a\\..\\b",
            "f:///a%5c..%5cb",
            "f:////etc/passwd",
            "f:///%2Fetc%2Fpasswd",
            "f:///%5Cetc",
            "f:///a%00b",
            "f:///a%0ab",
            "f:///a\nb",
            "f:///a%",
            "f:///a%2",
            "f:///a%zz",
            "f:///a%+1",
            "f:///%ff",
            "f:///%c3",
        ] {
            check("f:///{+path}", uri, None);
            check("f:///{name}", uri, None);
        }
        check("f:///{name}", "f:///a%2Fb", Some("name=a/b"));
        check("f:///{name}", "f:///...", Some("name=..."));
        check("f:///{name}", "f:///%252e%252e", Some("name=%2e%2e"));
        check("f:///x{?a}", "f:///x?a=..%2fb", None);
    }

    #[test]
    fn encoded_values_match() {
        let template = UriTemplate::parse("f:///{name}/x").unwrap();
        for text in ["a", "a b", "ü", "a/b", "a?b#c&d=e%", "{}", "...", "a..b", "\"'", "\\a"] {
            match uri_value(text) {
                Some(encoded) => {
                    let found = template.matches(&format!("f:///{encoded}/x")).unwrap();
                    assert_eq!(found, [("name", text.to_owned())]);
                }
                None => assert!(text.starts_with('\\'), "{text}"),
            }
        }
        for text in ["", ".", "..", "../a", "a/..", "a\\..", "/a", "a\0"] {
            assert_eq!(uri_value(text), None, "{text}");
        }
    }

    #[track_caller]
    fn refused(template: &str, expected: &str) {
        let found = UriTemplate::parse(template).unwrap_err();
        assert!(found.contains(expected), "{template}: {found}");
    }

    #[test]
    fn invalid_templates_are_refused() {
        refused("{name}", "scheme");
        refused("docs", "scheme");
        refused("1a://{name}", "scheme");
        refused("docs://{name", "without `}`");
        refused("docs://name}", "without `{`");
        refused("docs://{}", "must be a name");
        refused("docs://{a b}", "must be a name");
        refused("docs://{{a}}", "operator");
        refused("docs://{a,b}", "several");
        refused("docs://{a}{b}", "adjacent");
        refused("docs://{a}{+b}", "adjacent");
        refused("docs://{a*}", "modifiers");
        refused("docs://{a:3}", "modifiers");
        refused("docs://{;a}", "operator");
        refused("docs://{=a}", "operator");
        refused("docs://{&a}", "operator");
        refused("docs://{?a}{?b}", "operator");
        refused("docs://x?y=1{?a}", "two queries");
        refused("docs://{?a}/b", "at the end");
        refused("docs://{?a}{#b}", "at the end");
        refused("docs://{a}/{a}", "same name");
        refused("docs://a b/{a}", "character");
        refused(&format!("docs://{}", "x".repeat(3_000)), "longer");
        let many: String = (0..20).map(|n| format!("{{/v{n}}}")).collect();
        refused(&format!("docs://{many}"), "more than 16");
    }

    /// All paths of up to seven characters, compared with a search that tries all values, the shortest first.
    #[test]
    fn each_variable_has_its_shortest_value() {
        fn expected(parts: &[TemplatePart], path: &str) -> Option<Vec<usize>> {
            match parts {
                [] => path.is_empty().then(Vec::new),
                [TemplatePart::Literal(literal), rest @ ..] => {
                    let ends = expected(rest, path.strip_prefix(&**literal)?)?;
                    Some(after(literal.len(), ends))
                }
                [TemplatePart::Variable(variable), rest @ ..] => (1..=path.len())
                    .take_while(|end| variable.is_reserved || !path[..*end].contains(RESERVED))
                    .find_map(|end| Some(after(end, expected(rest, &path[end..])?))),
            }
        }
        fn after(end: usize, ends: Vec<usize>) -> Vec<usize> {
            [end].into_iter().chain(ends.into_iter().map(|one| end + one)).collect()
        }
        let templates = [
            "x:{a}",
            "x:{+a}",
            "x:{a}a",
            "x:a{a}aa{b}a",
            "x:{a}/{b}",
            "x:{a}a/a{b}",
            "x:{+a}/{b}",
            "x:{+a}a{b}",
            "x:{+a}a{b}a",
            "x:{+a}a{b}/{c}",
            "x:{+a}a{+b}",
            "x:{+a}a{b}a{+c}",
            "x:{a}a{+b}a{c}b",
            "x:{+a}a/{b}a{+c}/{d}",
        ];
        let mut count = 0;
        for template in templates {
            let parsed = UriTemplate::parse(template).unwrap();
            for length in 0..=7 {
                for number in 0..3_usize.pow(length) {
                    let digits = (0..length).map(|at| number / 3_usize.pow(at) % 3);
                    let text: String = digits.map(|digit| ["a", "b", "/"][digit]).collect();
                    let path = format!("x:{text}");
                    let found = parsed.ends(&path);
                    assert_eq!(found, expected(&parsed.parts, &path), "{template} {path}");
                    count += usize::from(found.is_some());
                }
            }
        }
        assert!(count > 5_000, "{count}");
    }

    #[test]
    fn a_hostile_uri_takes_linear_time() {
        let started = std::time::Instant::now();
        for operator in ["", "+"] {
            let variables: String = (0..16).map(|n| format!("a{{{operator}v{n}}}")).collect();
            let template = UriTemplate::parse(&format!("x:{variables}b")).unwrap();
            assert_eq!(template.matches(&format!("x:{}", "a".repeat(16_000))), None);
            assert!(template.matches(&format!("x:{}b", "a".repeat(16_000))).is_some());
        }
        // The last variable fails for each value of the first one.
        let template = UriTemplate::parse("x:{+a}a{b}/{c}b{d}").unwrap();
        let uri = format!("x:{}/{}/b", "a".repeat(100_000), "x".repeat(100_000));
        assert_eq!(template.matches(&uri), None);
        // Backtracking would take years.
        assert!(started.elapsed() < std::time::Duration::from_secs(5));
    }
}
