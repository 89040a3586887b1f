//! Patterns of method names.

/// A method name, or a prefix followed by `*`: `math.*`, or `*` for all methods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// Creates a pattern.
    pub fn new(pattern: &str) -> Self {
        Self(pattern.to_owned())
    }

    /// The text of the pattern.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a method of this name matches.
    pub fn matches(&self, name: &str) -> bool {
        matches(&self.0, name)
    }
}

/// Whether `name` matches `pattern`.
pub fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == pattern,
    }
}

/// Whether the pattern matches any name that begins with `namespace.`.
pub fn may_match_below(pattern: &str, namespace: &str) -> bool {
    let is_below =
        |name: &str| name.strip_prefix(namespace).is_some_and(|rest| rest.starts_with('.'));
    match pattern.strip_suffix('*') {
        Some(prefix) => is_below(prefix) || format!("{namespace}.").starts_with(prefix),
        None => is_below(pattern),
    }
}

#[cfg(test)]
mod tests {
    use super::{Pattern, may_match_below};

    #[test]
    fn star_matches_any_suffix() {
        let rows = [
            ("math.add", "math.add", true),
            ("math.add", "math.add2", false),
            ("math.*", "math.add", true),
            ("math.*", "mathematics.add", false),
            ("*", "anything", true),
            ("", "anything", false),
        ];
        for (pattern, name, expected) in rows {
            assert_eq!(Pattern::new(pattern).matches(name), expected, "{pattern} on {name}");
        }
    }

    #[test]
    fn patterns_may_match_names_in_a_namespace() {
        let rows = [
            ("tool.shout", true),
            ("tool.a.b", true),
            ("tool.*", true),
            ("tool.sh*", true),
            ("to*", true),
            ("*", true),
            ("tool*", true),
            ("tool", false),
            ("tools.*", false),
            ("toolbox", false),
            ("other.*", false),
            ("tool.", true),
            ("", false),
        ];
        for (pattern, expected) in rows {
            assert_eq!(may_match_below(pattern, "tool"), expected, "{pattern}");
        }
    }
}
