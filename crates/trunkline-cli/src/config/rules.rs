//! `allow_tables`, `deny_tables`, `mask`, `mask_key` and `allow_unmatched_rules` of `[databases.NAME]`, and the flags of
//! the same rules.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use toml::Spanned;
use trunkline_sql::visibility::{ColumnMask, Mask, MaskKey, TablePattern, VisibilityError};
use trunkline_sql::{DatabaseName, VisibilityRules};

use super::folder::Folder;
use super::problem::Problems;
use super::secret::Secret;

/// Minimum length of the key of hashes, in bytes.
const MIN_KEY: usize = 16;

/// The unchecked rules of a database.
#[derive(Default)]
pub(super) struct RuleKeys {
    pub(super) allow_tables: Vec<Spanned<String>>,
    pub(super) deny_tables: Vec<Spanned<String>>,
    pub(super) mask: Vec<Spanned<MaskEntry>>,
    pub(super) mask_key: Option<Spanned<Secret>>,
    pub(super) allow_unmatched: bool,
}

/// `"customer.email"`, `"customer.email=hash"` or `{ column = "customer.email", with = "hash" }`.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(super) enum MaskEntry {
    Text(String),
    Table(MaskTable),
}

/// `{ column = "customer.email", with = "hash" }`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MaskTable {
    column: String,
    with: Option<String>,
}

/// A rule of the command line, for one database or for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RuleArg<T> {
    pub(crate) database: Option<DatabaseName>,
    pub(crate) rule: T,
}

/// Rules of the command line with commas between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RuleList<T>(pub(crate) Vec<RuleArg<T>>);

impl RuleKeys {
    /// The rules. Invalid ones are among the problems.
    pub(super) fn read(
        self,
        name: &str,
        folder: &Folder,
        problems: &mut Problems<'_>,
    ) -> VisibilityRules {
        let mut rules = VisibilityRules::default();
        if let Some(key) = &self.mask_key {
            match key.get_ref().read(folder) {
                Ok(text) if text.get().len() >= MIN_KEY => {
                    rules = rules.mask_key(MaskKey::new(text.get().as_bytes()));
                }
                Ok(_) => problems.add(
                    &key.span(),
                    format!("`databases.{name}.mask_key`: the key has fewer than {MIN_KEY} bytes"),
                ),
                Err(error) => {
                    problems.add(&key.span(), format!("`databases.{name}.mask_key`: {error}"));
                }
            }
        }
        let mut pattern = |key: &str, text: &Spanned<String>| {
            let parsed = text.get_ref().parse::<TablePattern>();
            let report = |error| {
                problems.add(&text.span(), format!("`databases.{name}.{key}`: {error}"));
            };
            parsed.map_err(report).ok()
        };
        for text in &self.allow_tables {
            if let Some(pattern) = pattern("allow_tables", text) {
                rules = rules.allow(pattern);
            }
        }
        for text in &self.deny_tables {
            if let Some(pattern) = pattern("deny_tables", text) {
                rules = rules.deny(pattern);
            }
        }
        for entry in &self.mask {
            match entry.get_ref().parse() {
                Ok(mask) => rules = rules.mask(mask),
                Err(error) => {
                    problems.add(&entry.span(), format!("`databases.{name}.mask`: {error}"));
                }
            }
        }
        if self.allow_unmatched { rules.allow_unmatched() } else { rules }
    }
}

impl MaskEntry {
    fn parse(&self) -> Result<ColumnMask, VisibilityError> {
        match self {
            Self::Text(text) => text.parse(),
            Self::Table(MaskTable { column, with }) => {
                let mask = with.as_deref().map_or(Ok(Mask::Null), str::parse)?;
                ColumnMask::new(column, mask)
            }
        }
    }
}

impl<'de> Deserialize<'de> for MaskEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MaskVisitor)
    }
}

struct MaskVisitor;

impl<'de> Visitor<'de> for MaskVisitor {
    type Value = MaskEntry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"TABLE.COLUMN\", or { column = \"TABLE.COLUMN\", with = \"MASK\" }")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<MaskEntry, E> {
        Ok(MaskEntry::Text(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<MaskEntry, A::Error> {
        MaskTable::deserialize(MapAccessDeserializer::new(map)).map(MaskEntry::Table)
    }
}

impl FromStr for RuleArg<TablePattern> {
    type Err = VisibilityError;

    /// Reads `[NAME=]PATTERN`.
    fn from_str(text: &str) -> Result<Self, VisibilityError> {
        let (database, pattern) = split_name(text);
        Ok(Self { database, rule: pattern.parse()? })
    }
}

impl FromStr for RuleArg<ColumnMask> {
    type Err = VisibilityError;

    /// Reads `[NAME=]TABLE.COLUMN[=MASK]`. The name of a database has no dot.
    fn from_str(text: &str) -> Result<Self, VisibilityError> {
        let (database, mask) = split_name(text);
        Ok(Self { database, rule: mask.parse()? })
    }
}

impl<T> FromStr for RuleList<T>
where
    RuleArg<T>: FromStr<Err = VisibilityError>,
{
    type Err = VisibilityError;

    /// Commas in double quotes are part of a name, unless a quote is not closed.
    fn from_str(text: &str) -> Result<Self, VisibilityError> {
        let has_quotes = text.matches('"').count().is_multiple_of(2);
        let mut is_quoted = false;
        let rules = text.split(|character| {
            is_quoted ^= has_quotes && character == '"';
            character == ',' && !is_quoted
        });
        rules.map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}

fn split_name(text: &str) -> (Option<DatabaseName>, &str) {
    if let Some((name, rest)) = text.split_once('=')
        && let Ok(name) = name.parse()
    {
        return (Some(name), rest);
    }
    (None, text)
}

#[cfg(test)]
mod tests {
    use trunkline_sql::visibility::{ColumnMask, TablePattern};

    use super::{RuleArg, RuleList};

    #[test]
    fn rules_of_the_command_line() {
        #[track_caller]
        fn check(text: &str, expected: Option<(Option<&str>, &str)>) {
            let found = text.parse::<RuleArg<ColumnMask>>().ok();
            let expected = expected.map(|(database, mask)| RuleArg {
                database: database.map(|name| name.parse().unwrap()),
                rule: mask.parse().unwrap(),
            });
            assert_eq!(found, expected, "{text}");
        }
        check("customer.email", Some((None, "customer.email=null")));
        check("customer.email=hash", Some((None, "customer.email=hash")));
        check("shop=customer.email", Some((Some("shop"), "customer.email")));
        check("shop=customer.email=last4", Some((Some("shop"), "customer.email=last4")));
        check("shop=public.customer.email", Some((Some("shop"), "public.customer.email")));
        for invalid in ["customer", "shop=email", "customer.email=rot13", "", "shop="] {
            check(invalid, None);
        }
        let denied = "shop=secret_*".parse::<RuleArg<TablePattern>>().unwrap();
        assert_eq!(denied.database, Some("shop".parse().unwrap()));
        assert_eq!(denied.rule, "secret_*".parse().unwrap());
        assert!("shop=".parse::<RuleArg<TablePattern>>().is_err());
    }

    #[test]
    fn names_with_separators() {
        #[track_caller]
        fn check(text: &str, expected: &[(Option<&str>, &str)]) {
            let found = text.parse::<RuleList<TablePattern>>().unwrap();
            let expected = expected.iter().map(|(database, pattern)| RuleArg {
                database: database.map(|name| name.parse().unwrap()),
                rule: pattern.parse().unwrap(),
            });
            assert_eq!(found, RuleList(expected.collect()), "{text}");
        }
        check("a", &[(None, "a")]);
        check("a,shop=b", &[(None, "a"), (Some("shop"), "b")]);
        check("\"a,b\"", &[(None, "\"a,b\"")]);
        check("\"a=b\"", &[(None, "\"a=b\"")]);
        check("shop=\"a=b,c\",d", &[(Some("shop"), "\"a=b,c\""), (None, "d")]);
        check("s.\"a,\"\",b\",c", &[(None, "s.\"a,\"\",b\""), (None, "c")]);
        check("we\"ird,c", &[(None, "we\"ird"), (None, "c")]);
        let masks = "\"a,b\".\"c=d\"=hash,shop=e.f".parse::<RuleList<ColumnMask>>().unwrap();
        let masks: Vec<_> = masks.0.into_iter().map(|mask| (mask.database, mask.rule)).collect();
        let expected = [
            (None, "\"a,b\".\"c=d\"=hash".parse().unwrap()),
            (Some("shop".parse().unwrap()), "e.f".parse().unwrap()),
        ];
        assert_eq!(masks, expected);
        for invalid in ["", "a,", ",a", "a,,b"] {
            assert!(invalid.parse::<RuleList<TablePattern>>().is_err(), "{invalid}");
        }
    }
}
