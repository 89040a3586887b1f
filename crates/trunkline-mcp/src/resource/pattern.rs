//! Matching of whole URIs with any URI template (RFC 6570).

use super::template::{Segment, check_literal, split, uri_text};

/// A template that decides whether a URI belongs to it, without the values of its variables. It accepts all operators and
/// modifiers, adjacent variables and repeated ones, whose values cannot be separated in general.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UriPattern {
    parts: Vec<PatternPart>,
    /// The names of the variables, each once.
    names: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
enum PatternPart {
    Literal(String),
    Expression(Operator),
}

/// The expansion of an expression: nothing, or a prefix and any characters except for some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Operator {
    prefix: Option<u8>,
    excluded: &'static [u8],
}

/// The maximum length of a URI that matches, in bytes.
const MAX_URI: usize = 16 << 10;
/// The maximum number of variables.
const MAX_VARIABLES: usize = 64;

impl UriPattern {
    /// # Errors
    /// The reason why the template is invalid.
    pub(crate) fn parse(template: &str) -> Result<Self, &'static str> {
        let mut parsed = Self { parts: Vec::new(), names: Vec::new() };
        split(template, |segment| match segment {
            Segment::Literal(literal) => parsed.add_literal(literal),
            Segment::Expression(expression) => parsed.add_expression(expression),
        })?;
        match parsed.names.len() {
            ..=MAX_VARIABLES => Ok(parsed),
            _ => Err("it has more than 64 variables"),
        }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    fn add_literal(&mut self, literal: &str) -> Result<(), &'static str> {
        check_literal(literal)?;
        if !literal.is_empty() {
            self.parts.push(PatternPart::Literal(literal.to_owned()));
        }
        Ok(())
    }

    fn add_expression(&mut self, expression: &str) -> Result<(), &'static str> {
        let (operator, variables) = Operator::of(expression)?;
        for variable in variables.split(',') {
            let name = check_variable(variable)?;
            if !self.names.iter().any(|known| known == name) {
                self.names.push(name.to_owned());
            }
        }
        self.parts.push(PatternPart::Expression(operator));
        Ok(())
    }

    /// Whether a URI belongs to the template. As for values, control characters and the segments `.` and `..` do not.
    ///
    /// Takes time proportional to the length of the URI times that of the template.
    pub(crate) fn matches(&self, uri: &str) -> bool {
        let rest = uri.split_once(':').map(|(_, rest)| rest).unwrap_or_default();
        if uri.len() > MAX_URI || uri_text(rest).is_none() {
            return false;
        }
        let uri = uri.as_bytes();
        // Whether the parts so far can end at an offset.
        let mut ends = vec![false; uri.len() + 1];
        ends[0] = true;
        for part in &self.parts {
            ends = match part {
                PatternPart::Literal(literal) => after_literal(uri, literal.as_bytes(), &ends),
                PatternPart::Expression(operator) => operator.after(uri, ends),
            };
        }
        ends[uri.len()]
    }
}

fn after_literal(uri: &[u8], literal: &[u8], starts: &[bool]) -> Vec<bool> {
    let mut ends = vec![false; starts.len()];
    for (start, _) in starts.iter().enumerate().filter(|(_, is_start)| **is_start) {
        if uri[start..].starts_with(literal) {
            ends[start + literal.len()] = true;
        }
    }
    ends
}

impl Operator {
    /// Splits an expression into its operator and the variables (RFC 6570, section 2.2 and appendix A).
    fn of(expression: &str) -> Result<(Self, &str), &'static str> {
        let (prefix, excluded, length): (_, &[u8], _) = match expression.as_bytes().first() {
            Some(b'+') => (None, b"", 1),
            Some(b'#') => (Some(b'#'), b"", 1),
            Some(b'.') => (Some(b'.'), b"/?#", 1),
            Some(b'/') => (Some(b'/'), b"?#", 1),
            Some(b';') => (Some(b';'), b"/?#", 1),
            Some(b'?') => (Some(b'?'), b"#", 1),
            Some(b'&') => (Some(b'&'), b"#", 1),
            Some(b'=' | b',' | b'!' | b'@' | b'|') => {
                return Err("the operator of an expression is reserved");
            }
            _ => (None, b"/?#", 0),
        };
        Ok((Self { prefix, excluded }, &expression[length..]))
    }

    /// The offsets at which the expression can end.
    fn after(self, uri: &[u8], mut ends: Vec<bool>) -> Vec<bool> {
        let starts = ends.clone();
        let mut is_inside = false;
        for (at, byte) in uri.iter().enumerate() {
            let (is_start, is_value) = (starts[at], !self.excluded.contains(byte));
            is_inside = match self.prefix {
                Some(prefix) => is_start && *byte == prefix || is_inside && is_value,
                None => (is_start || is_inside) && is_value,
            };
            ends[at + 1] |= is_inside;
        }
        ends
    }
}

/// The name of a variable with its modifier: `*`, or `:` and a length of up to four digits.
fn check_variable(variable: &str) -> Result<&str, &'static str> {
    let name = match (variable.strip_suffix('*'), variable.split_once(':')) {
        (Some(name), _) => name,
        (None, Some((name, length))) => {
            let is_length = length.starts_with(|first: char| ('1'..='9').contains(&first))
                && length.len() <= 4
                && length.bytes().all(|byte| byte.is_ascii_digit());
            if is_length {
                name
            } else {
                return Err("a prefix of a variable has 1 to 9999 characters");
            }
        }
        (None, None) => variable,
    };
    let is_name =
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.%-".contains(c));
    if is_name {
        Ok(name)
    } else {
        Err("a variable must be a name of the characters A-Z, a-z, 0-9, `_`, `-`, `.` and `%`")
    }
}

#[cfg(test)]
mod tests {
    use super::UriPattern;

    #[track_caller]
    fn check(template: &str, matching: &[&str], others: &[&str]) {
        let pattern = UriPattern::parse(template).unwrap();
        for uri in matching {
            assert!(pattern.matches(uri), "{template} {uri}");
        }
        for uri in others {
            assert!(!pattern.matches(uri), "{template} {uri}");
        }
    }

    /// The operators, with expansions of RFC 6570, section 3.2.
    #[test]
    fn uris_belong_to_templates() {
        check("x:{a,b}", &["x:1,2", "x:1", "x:"], &["x:1/2", "y:1", "x:1?2"]);
        check("x:{a}{b}", &["x:12"], &["x:1/2"]);
        check("x:{+a,b}/here", &["x:/foo/bar,1/here", "x:/here"], &["x:/foo", "x:here"]);
        check("x:y{#a,b}", &["x:y#1,/foo", "x:y"], &["x:y1", "x:yz#1"]);
        check("x:y{.a,b}", &["x:y.1.2", "x:y.1", "x:y"], &["x:y1", "x:y.1/2"]);
        check("x:{/a,b}/here", &["x:/1/2/here", "x:/here"], &["x:/1?2/here", "x:1/here"]);
        check("x:y{;a,b}", &["x:y;a=1;b=2", "x:y;a", "x:y"], &["x:y,a", "x:y;a/b"]);
        check("x:y{?a,b}", &["x:y?a=1&b=2", "x:y?b=2", "x:y"], &["x:y&a=1", "x:y#a"]);
        check("x:y?fixed=1{&a}", &["x:y?fixed=1&a=2", "x:y?fixed=1"], &["x:y?a=2", "x:y&a=2"]);
        check("x:y{?a}{&b}", &["x:y?a=1&b=2", "x:y"], &["x:y#1"]);
        check("x:{a*}", &["x:red,green", "x:semi=%3B"], &["x:red/green"]);
        check("x:y{/a*}", &["x:y/red/green/blue", "x:y"], &["x:yred"]);
        check("x:y{?a*}", &["x:y?semi=%3B&dot=.", "x:y?z=1"], &["x:y/1"]);
        check("x:{a:3}/{a}", &["x:val/value"], &["x:val"]);
        check("x:{a:1}{b}", &["x:value"], &["x:v/v"]);
        check("x:{a}/{a}", &["x:1/1", "x:1/2"], &["x:1"]);
        check("x:{?a}/b", &["x:?a=1/b", "x:/b"], &["x:b"]);
        check("x:{customer-id}", &["x:7"], &["x:7/8"]);
        check("x:{u%20v}", &["x:7"], &["x:7/8"]);
        check("shop://products{?query,page,limit}", &["shop://products?query=ssd"], &["shop://"]);
        check("x:{+a}", &["x:a/b%20c", "x:\u{fc}"], &["x:../b", "x:a/%2e%2e/b", "x:%", "x:%00"]);
    }

    #[test]
    fn names_of_variables() {
        let pattern = UriPattern::parse("x:{a}{/b*,c:3}{?a,d.e}{&f}").unwrap();
        assert_eq!(pattern.names().collect::<Vec<_>>(), ["a", "b", "c", "d.e", "f"]);
    }

    #[track_caller]
    fn refused(template: &str, expected: &str) {
        let found = UriPattern::parse(template).unwrap_err();
        assert!(found.contains(expected), "{template}: {found}");
    }

    #[test]
    fn invalid_templates_are_refused() {
        refused("{+url}", "scheme");
        refused("x:{a", "without `}`");
        refused("x:a}", "without `{`");
        refused("x:{}", "must be a name");
        refused("x:{a,}", "must be a name");
        refused("x:{a b}", "must be a name");
        refused("x:{{a}}", "must be a name");
        refused("x:{=a}", "reserved");
        refused("x:{!a}", "reserved");
        refused("x:{a:0}", "prefix");
        refused("x:{a:12345}", "prefix");
        refused("x:{a:b}", "prefix");
        refused("x:a b{c}", "character");
        refused(&format!("x:{}", "y".repeat(3_000)), "longer");
        let many: String = (0..65).map(|n| format!("{{v{n}}}")).collect();
        refused(&format!("x:{many}"), "more than 64");
    }

    #[test]
    fn a_hostile_uri_takes_linear_time() {
        let started = std::time::Instant::now();
        let pattern = UriPattern::parse(&format!("x:{}b", "{+a}a".repeat(300))).unwrap();
        assert!(!pattern.matches(&format!("x:{}", "a".repeat(1_600))));
        assert!(pattern.matches(&format!("x:{}b", "a".repeat(1_600))));
        assert!(!pattern.matches(&format!("x:{}c", "a".repeat(1_600))));
        assert!(!pattern.matches(&format!("x:{}b", "a".repeat(17_000))));
        // Backtracking would need years.
        assert!(started.elapsed() < std::time::Duration::from_secs(5));
    }
}
