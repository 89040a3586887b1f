//! Names of tables, in SQL and in lists.
//!
//! In PostgreSQL, a table is listed by its name, with the name of its schema before it unless the search path contains
//! that. A part with a dot or a double quote is listed in double quotes, so that no two tables have the same listed
//! name: `sales.orders` is in the schema `sales`, and `"sales.orders"` is not. In SQLite, a listed name is the name
//! itself, since there is one schema.

use std::borrow::Cow;

/// The name of a table, as SQL spells it: `orders`, `sales.orders`, `"sales"."Orders 2026"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableName {
    pub(crate) database: Option<String>,
    pub(crate) schema: Option<String>,
    pub(crate) name: String,
}

/// The quotes of identifiers: the first and the last character. The last one is doubled within them, except `]`.
const STANDARD: &[(char, char)] = &[('"', '"')];
const OF_SQLITE: &[(char, char)] = &[('"', '"'), ('`', '`'), ('[', ']')];

impl TableName {
    /// Reads a name of PostgreSQL: `NAME`, `SCHEMA.NAME` or `DATABASE.SCHEMA.NAME`, each of them in double quotes or
    /// without. Letters keep their case, also without quotes. `None` if the text is not such a name.
    #[cfg(feature = "postgres")]
    pub(crate) fn of_postgres(text: &str) -> Option<Self> {
        Self::of(parts(text, STANDARD)?)
    }

    /// Reads a name of SQLite: `NAME` or `main.NAME`, each of them in quotes or without.
    pub(crate) fn of_sqlite(text: &str) -> Option<Self> {
        let found = Self::of(parts(text, OF_SQLITE)?)?;
        let is_main = |schema: &String| schema.eq_ignore_ascii_case("main");
        (found.database.is_none() && found.schema.as_ref().is_none_or(is_main)).then_some(found)
    }

    fn of(parts: Vec<String>) -> Option<Self> {
        let mut parts = parts.into_iter().rev();
        let name = parts.next()?;
        let (schema, database) = (parts.next(), parts.next());
        parts.next().is_none().then_some(Self { database, schema, name })
    }
}

/// The name by which PostgreSQL's table is listed.
pub(crate) fn listed(schema: Option<&str>, name: &str) -> String {
    match schema {
        Some(schema) => format!("{}.{}", listed_part(schema), listed_part(name)),
        None => listed_part(name).into_owned(),
    }
}

/// A part of a listed name. It is read as the same part again.
fn listed_part(name: &str) -> Cow<'_, str> {
    if name.contains(['.', '"']) {
        format!("\"{}\"", name.replace('"', "\"\"")).into()
    } else {
        name.into()
    }
}

/// A name without quotes around parts that need none, as it is listed. Other texts are unchanged.
pub(crate) fn normalized(name: &str) -> String {
    match parts(name, STANDARD) {
        Some(parts) => {
            let parts: Vec<_> = parts.iter().map(|part| listed_part(part)).collect();
            parts.join(".")
        }
        None => name.to_owned(),
    }
}

/// The last part of a listed name, without its quotes.
pub(crate) fn bare(listed: &str) -> String {
    let last = parts(listed, STANDARD).and_then(|mut parts| parts.pop());
    last.unwrap_or_else(|| listed.to_owned())
}

/// Splits a text at the last separator, which is ASCII, outside of double quotes. If a quote is not closed, all are
/// ordinary characters.
pub(crate) fn split_last(text: &str, separator: char) -> Option<(&str, &str)> {
    if !text.matches('"').count().is_multiple_of(2) {
        return text.rsplit_once(separator);
    }
    let mut is_quoted = false;
    let separators = text.char_indices().filter(|(_, character)| {
        is_quoted ^= *character == '"';
        *character == separator && !is_quoted
    });
    let (place, _) = separators.last()?;
    Some((&text[..place], &text[place + 1..]))
}

/// The parts of a name with dots between. `None` if one is empty, or a quote is in the wrong place.
fn parts(text: &str, quotes: &[(char, char)]) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        let first = rest.chars().next()?;
        let part;
        (part, rest) = match quotes.iter().find(|(open, _)| *open == first) {
            Some((_, close)) => quoted(&rest[1..], *close)?,
            None => {
                let (part, rest) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
                (Some(part).filter(|part| !part.contains('"'))?.to_owned(), rest)
            }
        };
        if part.is_empty() {
            return None;
        }
        parts.push(part);
        if rest.is_empty() {
            return Some(parts);
        }
        rest = rest.strip_prefix('.')?;
    }
}

/// The text up to the closing quote, and the rest after it.
fn quoted(text: &str, close: char) -> Option<(String, &str)> {
    let mut content = String::new();
    let mut rest = text;
    loop {
        let end = rest.find(close)?;
        content.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        if close == ']' || !rest.starts_with(close) {
            return Some((content, rest));
        }
        content.push(close);
        rest = &rest[1..];
    }
}

#[cfg(test)]
mod tests {
    use super::{TableName, bare, listed, split_last};

    /// `expected` are the parts, from the database to the name, without those that are missing.
    #[track_caller]
    fn check(read: fn(&str) -> Option<TableName>, text: &str, expected: Option<&[&str]>) {
        let found = read(text).map(|TableName { database, schema, name }| {
            [database, schema, Some(name)].into_iter().flatten().collect::<Vec<_>>()
        });
        let expected = expected.map(|parts| parts.iter().map(|part| (*part).to_owned()).collect());
        assert_eq!(found, expected, "{text}");
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn names_of_postgres() {
        let check = |text: &str, expected: Option<&[&str]>| {
            check(TableName::of_postgres, text, expected);
        };
        check("orders", Some(&["orders"]));
        check("Orders 2026", Some(&["Orders 2026"]));
        check("sales.orders", Some(&["sales", "orders"]));
        check("shop.sales.orders", Some(&["shop", "sales", "orders"]));
        check(r#""sales"."orders""#, Some(&["sales", "orders"]));
        check(r#"sales."Orders""#, Some(&["sales", "Orders"]));
        check(r#""sales".orders"#, Some(&["sales", "orders"]));
        check(r#""sales.orders""#, Some(&["sales.orders"]));
        check(r#""a""b"."c.""""#, Some(&["a\"b", "c.\""]));
        check("[a].`b`", Some(&["[a]", "`b`"]));
        check(r#""ä.ß".ü"#, Some(&["ä.ß", "ü"]));
        for text in ["", ".", "a.", ".a", "a..b", "a.b.c.d", "\"", "\"a", r#""a"b"#, r#"a"b""#] {
            check(text, None);
        }
        for text in [r#""""#, r#""".a"#, r#"a"b"#, r#""a".""#, r#""a" ."b""#] {
            check(text, None);
        }
    }

    #[test]
    fn names_of_sqlite() {
        let check = |text: &str, expected: Option<&[&str]>| {
            check(TableName::of_sqlite, text, expected);
        };
        check("orders", Some(&["orders"]));
        check("main.orders", Some(&["main", "orders"]));
        check("\"MAIN\".[a b]", Some(&["MAIN", "a b"]));
        check("`a``b`", Some(&["a`b"]));
        check("[a\"b]", Some(&["a\"b"]));
        check(r#""sales.orders""#, Some(&["sales.orders"]));
        for text in ["sales.orders", "temp.t", "x.main.t", "[a]]b]", "a]b.c", "main."] {
            check(text, None);
        }
    }

    #[test]
    fn listed_names() {
        for (schema, name, expected) in [
            (None, "orders", "orders"),
            (None, "Käse 1", "Käse 1"),
            (None, "x[y]", "x[y]"),
            (Some("sales"), "orders", "sales.orders"),
            (None, "sales.orders", r#""sales.orders""#),
            (Some("s.t"), "u", r#""s.t".u"#),
            (Some("s"), "t.u", r#"s."t.u""#),
            (None, r#"we"ird"#, r#""we""ird""#),
            (None, r#""sales"."orders""#, r#""""sales"".""orders""""#),
        ] {
            assert_eq!(listed(schema, name), expected);
            assert_eq!(bare(expected), name, "{expected}");
            #[cfg(feature = "postgres")]
            {
                let read = TableName::of_postgres(expected).unwrap();
                let found = (read.schema.as_deref(), read.name.as_str());
                assert_eq!(found, (schema, name), "{expected}");
            }
        }
    }

    #[test]
    fn last_dots() {
        for (text, expected) in [
            ("a.b", Some(("a", "b"))),
            ("s.a.b", Some(("s.a", "b"))),
            (r#""s.a".b"#, Some((r#""s.a""#, "b"))),
            (r#"a."b.c""#, Some(("a", r#""b.c""#))),
            (r#""a.b""#, None),
            ("a", None),
            ("a.", Some(("a", ""))),
            (r#"we"ird.b"#, Some((r#"we"ird"#, "b"))),
            (r#""a=b".c"#, Some((r#""a=b""#, "c"))),
        ] {
            assert_eq!(split_last(text, '.'), expected, "{text}");
        }
    }
}
