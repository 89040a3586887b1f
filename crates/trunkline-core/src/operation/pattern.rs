//! Patterns of names.

/// A pattern of names, in which each `*` matches any text: `math.*`, `*_table`, or `*` for all names.
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

    /// The only name that matches, if the pattern has no `*`.
    pub fn name(&self) -> Option<&str> {
        Some(&*self.0).filter(|pattern| !pattern.contains('*'))
    }

    /// Whether a name matches.
    pub fn matches(&self, name: &str) -> bool {
        matches(&self.0, name)
    }

    /// Whether a name matches one of the patterns.
    pub fn any(patterns: &[Self], name: &str) -> bool {
        patterns.iter().any(|pattern| pattern.matches(name))
    }
}

/// Whether `name` matches `pattern`.
pub fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let mut parts = rest.split('*');
    let last = parts.next_back().unwrap_or_default();
    // The first place of each part leaves the most text to the following ones.
    for part in parts {
        let Some((_, behind)) = name.split_once(part) else { return false };
        name = behind;
    }
    name.ends_with(last)
}

/// Whether the pattern matches any name that begins with `prefix`.
pub fn may_match_prefix(pattern: &str, prefix: &str) -> bool {
    match pattern.split_once('*') {
        Some((first, _)) => first.starts_with(prefix) || prefix.starts_with(first),
        None => pattern.starts_with(prefix),
    }
}

#[cfg(test)]
mod tests {
    use super::{Pattern, may_match_prefix};

    #[test]
    fn stars_match_any_text() {
        let rows = [
            ("math.add", "math.add", true),
            ("math.add", "math.add2", false),
            ("math.*", "math.add", true),
            ("math.*", "mathematics.add", false),
            ("math.*", "old.math.add", false),
            ("*", "", true),
            ("*", "anything", true),
            ("", "", true),
            ("", "anything", false),
            ("*_file", "read_file", true),
            ("*_file", "read_files", false),
            ("a*b*c", "abc", true),
            ("a*b*c", "a1b2b3c", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("ab*ba", "aba", false),
            ("a*ba", "aba", true),
            ("a**b", "ab", true),
        ];
        for (pattern, name, expected) in rows {
            assert_eq!(Pattern::new(pattern).matches(name), expected, "{pattern} on {name}");
        }
    }

    #[test]
    fn patterns_may_match_names_with_a_prefix() {
        let rows = [
            ("tool.shout", true),
            ("tool.a.b", true),
            ("tool.*", true),
            ("tool.sh*", true),
            ("tool.*t", true),
            ("t*t", true),
            ("to*", true),
            ("*", true),
            ("*shout", true),
            ("tool*", true),
            ("tool", false),
            ("tools.*", false),
            ("toolbox", false),
            ("other.*", false),
            ("tool.", true),
            ("", false),
        ];
        for (pattern, expected) in rows {
            assert_eq!(may_match_prefix(pattern, "tool."), expected, "{pattern}");
        }
    }
}
