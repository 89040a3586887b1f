//! Patterns of method names.

/// A method's name, or a prefix and `*` for all names that start so: `math.*`, or `*` for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// Reads a pattern.
    pub fn new(pattern: &str) -> Self {
        Self(pattern.to_owned())
    }

    /// The pattern as it was written.
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
    fn a_star_stands_for_any_end() {
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
    fn a_pattern_may_match_what_is_not_there_yet() {
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
