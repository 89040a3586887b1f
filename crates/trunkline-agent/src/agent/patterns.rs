/// Name patterns, in which `*` matches any characters: `db.*`, `*_table`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patterns(Vec<String>);

impl Patterns {
    /// Whether one of the patterns matches a name.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.0.iter().any(|pattern| is_match(pattern, name))
    }

    /// Whether the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Into<String>> FromIterator<T> for Patterns {
    fn from_iter<I: IntoIterator<Item = T>>(patterns: I) -> Self {
        Self(patterns.into_iter().map(Into::into).collect())
    }
}

/// Matches each part between stars at its first occurrence, which leaves the most text to the following parts.
fn is_match(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let mut parts = rest.split('*');
    let last = parts.next_back().unwrap_or_default();
    for part in parts {
        let Some((_, behind)) = name.split_once(part) else { return false };
        name = behind;
    }
    name.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::Patterns;

    #[track_caller]
    fn check(pattern: &str, name: &str, expected: bool) {
        assert_eq!(Patterns::from_iter([pattern]).matches(name), expected, "{pattern} of {name}");
    }

    #[test]
    fn patterns() {
        check("db.drop", "db.drop", true);
        check("db.drop", "db.drops", false);
        check("db.*", "db.drop", true);
        check("db.*", "web.db.drop", false);
        check("*", "", true);
        check("*_table", "create_table", true);
        check("*_table", "create_tables", false);
        check("a*b*c", "a-b-b-c", true);
        check("a*b*c", "a-c-b", false);
        check("ab*ba", "aba", false);
    }
}
