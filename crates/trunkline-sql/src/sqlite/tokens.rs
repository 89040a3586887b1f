//! The names in SQL text of SQLite, for comparisons with the names of tables. The authorizer decides about statements.

use std::ops::Range;

/// A word, or text in quotes, which SQLite may read as a name.
pub(super) struct Name {
    /// The name without quotes.
    pub(super) text: String,
    /// Its place in the text, with quotes.
    pub(super) range: Range<usize>,
    pub(super) is_quoted: bool,
}

impl Name {
    pub(super) fn is(&self, keyword: &str) -> bool {
        !self.is_quoted && self.text.eq_ignore_ascii_case(keyword)
    }
}

/// The names and keywords in a text, without those in comments.
pub(super) fn names(sql: &str) -> Vec<Name> {
    scan(sql, |_, _| ())
}

/// The names and keywords in each `CHECK` of a definition.
pub(super) fn checks(sql: &str) -> Vec<Vec<String>> {
    let mut parentheses = Vec::new();
    let names = scan(sql, |place, character| parentheses.push((place, character)));
    let is_check = |name: &&Name| name.is("check");
    let checks = names.iter().filter(is_check).map(|check| {
        let mut depth = 0;
        let end = parentheses.iter().filter(|(place, _)| *place >= check.range.end).find(|one| {
            depth += if one.1 == '(' { 1 } else { -1 };
            depth <= 0
        });
        let end = end.map_or(sql.len(), |(place, _)| *place);
        let inner = names.iter().filter(|name| (check.range.end..end).contains(&name.range.start));
        inner.map(|name| name.text.clone()).collect()
    });
    checks.collect()
}

/// The names and keywords in a text. The function gets each parenthesis, with its place.
fn scan(sql: &str, mut parenthesis: impl FnMut(usize, char)) -> Vec<Name> {
    let mut names = Vec::new();
    let mut start = 0;
    while let Some(first) = sql.get(start..).and_then(|rest| rest.chars().next()) {
        let rest = &sql[start..];
        let length = match first {
            '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest[2..].find("*/").map_or(rest.len(), |end| end + 4),
            '\'' | '"' | '`' | '[' => {
                let (text, length) = quoted(rest, if first == '[' { ']' } else { first });
                names.push(Name { text, range: start..start + length, is_quoted: true });
                length
            }
            _ if is_word_part(first) => {
                let length = rest.find(|c| !is_word_part(c)).unwrap_or(rest.len());
                let text = rest[..length].to_owned();
                names.push(Name { text, range: start..start + length, is_quoted: false });
                length
            }
            _ => {
                if matches!(first, '(' | ')') {
                    parenthesis(start, first);
                }
                first.len_utf8()
            }
        };
        start += length;
    }
    names
}

/// The statement that an `EXPLAIN` explains, or the statement itself.
pub(super) fn explained(sql: &str) -> &str {
    let names = names(sql);
    let end = match names.as_slice() {
        [explain, query, plan, ..]
            if explain.is("explain") && query.is("query") && plan.is("plan") =>
        {
            plan.range.end
        }
        [explain, ..] if explain.is("explain") => explain.range.end,
        _ => 0,
    };
    &sql[end..]
}

fn is_word_part(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '$') || !character.is_ascii()
}

/// The content of text in quotes, which are doubled within it, and its length.
fn quoted(text: &str, end: char) -> (String, usize) {
    let mut content = String::new();
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((place, character)) = characters.next() {
        if character != end {
            content.push(character);
        } else if end != ']' && characters.next_if(|(_, next)| *next == end).is_some() {
            content.push(end);
        } else {
            return (content, place + 1);
        }
    }
    (content, text.len())
}

#[cfg(test)]
mod tests {
    use super::{checks, explained, names};

    #[track_caller]
    fn check(sql: &str, expected: &[&str]) {
        let found = names(sql);
        let found: Vec<&str> = found.iter().map(|name| name.text.as_str()).collect();
        assert_eq!(found, expected, "{sql}");
    }

    #[test]
    fn names_of_texts() {
        check("SELECT a.\"B\"\"c\" -- x\n,[d]]", &["SELECT", "a", "B\"c", "d"]);
        check("/* a */b/*c", &["b"]);
        check("'it''s' `x` \"open", &["it's", "x", "open"]);
        check("1e5 été :p", &["1e5", "été", "p"]);
        check("", &[]);
    }

    #[test]
    fn names_of_checks() {
        let sql = "CREATE TABLE t (a CHECK ((a) > 0 /* ) b */), \"check\" int, c CHECK (c IN (')', \"d\")), e)";
        assert_eq!(checks(sql), [vec!["a", "0"], vec!["c", "IN", ")", "d"]]);
        assert_eq!(checks("a CHECK (b"), [["b"]]);
    }

    #[test]
    fn explained_statements() {
        for (sql, expected) in [
            ("SELECT 1", "SELECT 1"),
            ("explain SELECT 1", " SELECT 1"),
            ("/**/EXPLAIN\nQUERY PLAN SELECT 1", " SELECT 1"),
        ] {
            assert_eq!(explained(sql), expected);
        }
    }
}
