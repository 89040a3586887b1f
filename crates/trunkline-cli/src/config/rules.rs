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

    use super::RuleArg;

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
}
