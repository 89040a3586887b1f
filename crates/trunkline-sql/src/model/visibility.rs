//! Rules of the operator about the tables that callers see, and the columns whose values they do not.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use super::error::Error;
use super::rowset::ResultColumn;
use super::table_name;

/// The tables that callers see, and the columns whose values are masked. By default, all tables are visible, and no column
/// is masked.
///
/// A table is visible if it matches one of the allowed patterns, or there are none, and no denied one. Hidden tables do
/// not exist for callers. A view is hidden, too, if it reads a hidden table or one with masked columns.
///
/// While a table or column that a rule names, without wildcards, does not exist, calls fail with
/// [`Error::UnmatchedRules`]: it may have been renamed.
#[derive(Clone, Debug, Default)]
pub struct VisibilityRules {
    pub(super) allow: Vec<TablePattern>,
    pub(super) deny: Vec<TablePattern>,
    pub(super) masks: Vec<ColumnMask>,
    pub(super) allows_unmatched: bool,
    key: Option<MaskKey>,
}

impl VisibilityRules {
    /// Adds a pattern of tables that are visible. Tables that match none are then hidden.
    #[must_use]
    pub fn allow(mut self, pattern: TablePattern) -> Self {
        self.allow.push(pattern);
        self
    }

    /// Adds a pattern of tables that are hidden. It takes precedence over allowed ones.
    #[must_use]
    pub fn deny(mut self, pattern: TablePattern) -> Self {
        self.deny.push(pattern);
        self
    }

    /// Masks a column. Hashes have a random key, unless [`mask_key`](Self::mask_key) sets one.
    #[must_use]
    pub fn mask(mut self, mask: ColumnMask) -> Self {
        if mask.mask == Mask::Hash && self.key.is_none() {
            self.key = MaskKey::random();
        }
        self.masks.push(mask);
        self
    }

    /// Sets the key of hashes. With the same key, the hashes of a value are the same in all processes.
    #[must_use]
    pub fn mask_key(mut self, key: MaskKey) -> Self {
        self.key = Some(key);
        self
    }

    /// Permits rules for tables and columns that do not exist, for example since they are created later.
    #[must_use]
    pub fn allow_unmatched(mut self) -> Self {
        self.allows_unmatched = true;
        self
    }

    /// Whether there are no rules.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.allow.is_empty() && self.deny.is_empty() && self.masks.is_empty()
    }

    /// Whether the name of a table is visible. The schema is that of PostgreSQL.
    pub(crate) fn is_visible(&self, schema: Option<&str>, table: &str) -> bool {
        let is_allowed = |pattern: &TablePattern| pattern.matches_listed(schema, table);
        let is_denied = |pattern: &TablePattern| pattern.matches(schema, table);
        (self.allow.is_empty() || self.allow.iter().any(is_allowed))
            && !self.deny.iter().any(is_denied)
    }

    /// The mask of a column. Of several, the strictest one applies.
    pub(crate) fn mask_of(&self, schema: Option<&str>, table: &str, column: &str) -> Option<Mask> {
        let of_column = |mask: &&ColumnMask| {
            mask.column.matches(None, column) && mask.table.matches(schema, table)
        };
        self.masks.iter().filter(of_column).map(|mask| mask.mask).min()
    }

    /// Whether columns of a table can be masked.
    pub(crate) fn may_mask(&self, schema: Option<&str>, table: &str) -> bool {
        self.masks.iter().any(|mask| mask.table.matches(schema, table))
    }

    /// Refuses changes by SQL text if there are rules: triggers, foreign keys, unique constraints and changes of the
    /// schema would reveal hidden tables and masked values.
    ///
    /// # Errors
    ///
    /// [`Error::Forbidden`].
    pub(crate) fn refuse_sql_changes(&self) -> Result<(), Error> {
        if self.is_empty() {
            return Ok(());
        }
        let reason = "rules hide or mask tables of this database, so SQL can only read it; use insert_record, \
                      update_record, delete_record and create_table for changes";
        Err(Error::Forbidden { reason: reason.to_owned() })
    }

    /// The key of hashes.
    pub(crate) fn key(&self) -> Option<&MaskKey> {
        self.key.as_ref()
    }
}

/// A pattern of table names: `*` matches any characters, `?` one. Case is ignored. In PostgreSQL, it matches the name of a
/// table in any schema, or the schema and the name: `sales.*`. A part of a name with a dot or a double quote is in double
/// quotes: `"sales.orders"`. Without them, a pattern that hides or masks matches this table, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TablePattern(pub(super) Vec<char>);

/// The text is not a valid [`TablePattern`] or [`ColumnMask`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VisibilityError {
    /// The pattern is empty.
    #[error("the pattern is empty")]
    EmptyPattern,
    /// The table or the column is missing.
    #[error("expected TABLE.COLUMN, as in customer.email")]
    Column,
    /// The mask is unknown.
    #[error(
        "unknown mask `{0}`; use null, hash or last4, and double quotes around a name with `=`"
    )]
    Mask(String),
}

impl TablePattern {
    /// Whether it matches the name of a table as it is listed, or its text without quotes.
    pub(super) fn matches(&self, schema: Option<&str>, table: &str) -> bool {
        self.is_match(table)
            || schema.is_some_and(|schema| self.is_match(&format!("{schema}.{table}")))
            || self.matches_listed(schema, table)
    }

    fn matches_listed(&self, schema: Option<&str>, table: &str) -> bool {
        // In SQLite, the listed name is the name itself, without quotes.
        (schema.is_none() && self.is_match(table))
            || [None, schema]
                .into_iter()
                .any(|schema| self.is_match(&table_name::listed(schema, table)))
    }

    fn is_match(&self, name: &str) -> bool {
        glob(&self.0, &folded(name))
    }
}

impl fmt::Display for TablePattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text: String = self.0.iter().collect();
        write!(formatter, "{}", text.escape_debug())
    }
}

impl FromStr for TablePattern {
    type Err = VisibilityError;

    fn from_str(text: &str) -> Result<Self, VisibilityError> {
        if text.is_empty() {
            return Err(VisibilityError::EmptyPattern);
        }
        Ok(Self(folded(&table_name::normalized(text))))
    }
}

fn folded(name: &str) -> Vec<char> {
    name.chars().flat_map(char::to_lowercase).collect()
}

/// Matches a name with a pattern. On a mismatch, the last `*` takes one more character.
fn glob(pattern: &[char], name: &[char]) -> bool {
    let (mut at, mut next) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while next < name.len() {
        match pattern.get(at) {
            Some('*') => {
                retry = Some((at, next));
                at += 1;
            }
            Some(wanted) if *wanted == '?' || *wanted == name[next] => {
                at += 1;
                next += 1;
            }
            _ => match retry {
                Some((star, taken)) => {
                    retry = Some((star, taken + 1));
                    at = star + 1;
                    next = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern.get(at..).unwrap_or_default().iter().all(|rest| *rest == '*')
}

/// The form in which a masked value is returned. NULL is never changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Mask {
    /// NULL.
    Null,
    /// A keyed hash, which is the same for equal values.
    Hash,
    /// The last four characters, if the value has at least eight.
    #[serde(rename = "last4")]
    LastFour,
}

impl JsonSchema for Mask {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Mask".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "enum": ["null", "hash", "last4", null] })
    }
}

impl FromStr for Mask {
    type Err = VisibilityError;

    fn from_str(text: &str) -> Result<Self, VisibilityError> {
        match text {
            "null" => Ok(Self::Null),
            "hash" => Ok(Self::Hash),
            "last4" => Ok(Self::LastFour),
            _ => Err(VisibilityError::Mask(text.escape_debug().to_string())),
        }
    }
}

/// The mask of a column: `customer.email`, or `customer.email=hash`. The table and the column can be patterns, as in
/// [`TablePattern`]. A name with `=` is in double quotes: `"a=b".email`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnMask {
    pub(super) table: TablePattern,
    pub(super) column: TablePattern,
    mask: Mask,
}

impl ColumnMask {
    /// The mask of a column, which is the part of `column` after its last dot outside of double quotes. A column with a
    /// dot in its name is in double quotes.
    ///
    /// # Errors
    ///
    /// [`VisibilityError::Column`] if the table or the column is missing.
    pub fn new(column: &str, mask: Mask) -> Result<Self, VisibilityError> {
        let (table, column) = table_name::split_last(column, '.').ok_or(VisibilityError::Column)?;
        let column = table_name::bare(column);
        if table.is_empty() || column.is_empty() {
            return Err(VisibilityError::Column);
        }
        Ok(Self { table: table.parse()?, column: column.parse()?, mask })
    }
}

impl FromStr for ColumnMask {
    type Err = VisibilityError;

    fn from_str(text: &str) -> Result<Self, VisibilityError> {
        match table_name::split_last(text, '=') {
            Some((column, mask)) => Self::new(column, mask.parse()?),
            None => Self::new(text, Mask::Null),
        }
    }
}

/// The secret key of the hashes of masked values.
#[derive(Clone)]
pub struct MaskKey(hmac::Key);

impl MaskKey {
    /// A key from secret bytes.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, bytes))
    }

    /// A random key. `None` if the random number generator of the system fails.
    #[must_use]
    pub fn random() -> Option<Self> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).ok()?;
        Some(Self::new(&bytes))
    }

    /// The first 128 bits of the hash, as text.
    fn hash(&self, value: &[u8]) -> String {
        let tag = hmac::sign(&self.0, value);
        URL_SAFE_NO_PAD.encode(tag.as_ref().get(..16).unwrap_or_default())
    }
}

/// Omits the key.
impl fmt::Debug for MaskKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MaskKey")
    }
}

/// The masks of the columns of a result.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResultMasks {
    columns: Vec<Option<Mask>>,
    key: Option<MaskKey>,
}

impl ResultMasks {
    /// The masks of columns in the order of the result.
    pub(crate) fn new(
        columns: impl Iterator<Item = Option<Mask>>,
        rules: &VisibilityRules,
    ) -> Self {
        let columns: Vec<_> = columns.collect();
        if columns.iter().all(Option::is_none) {
            return Self::default();
        }
        Self { columns, key: rules.key().cloned() }
    }

    /// The mask of a column.
    pub(crate) fn of(&self, index: usize) -> Option<Mask> {
        self.columns.get(index).copied().flatten()
    }

    /// The columns of the result, whose hashes and last characters are texts.
    pub(crate) fn of_columns(&self, mut columns: Vec<ResultColumn>) -> Vec<ResultColumn> {
        for (index, column) in columns.iter_mut().enumerate() {
            if self.of(index).is_some() {
                column.declared_type = Some("TEXT".to_owned());
            }
        }
        columns
    }

    /// Replaces the JSON text of a value, from `start` to the end of `text`, if its column is masked.
    pub(crate) fn apply(&self, index: usize, text: &mut Vec<u8>, start: usize) {
        let Some(mask) = self.of(index) else { return };
        let json = text.split_off(start);
        if json == b"null" {
            text.extend_from_slice(&json);
            return;
        }
        let value: String = serde_json::from_slice(&json)
            .unwrap_or_else(|_| String::from_utf8_lossy(&json).into_owned());
        let masked = match (mask, &self.key) {
            (Mask::Hash, Some(key)) => Some(key.hash(value.as_bytes())),
            (Mask::LastFour, _) => Some(last_four(&value)),
            (Mask::Hash | Mask::Null, _) => None,
        };
        match masked {
            Some(masked) => super::json_text::string(text, &masked),
            None => text.extend_from_slice(b"null"),
        }
    }
}

fn last_four(value: &str) -> String {
    const SHORTEST: usize = 8;
    let count = value.chars().count();
    let shown = if count < SHORTEST { 0 } else { 4 };
    let rest: String = value.chars().skip(count - shown).collect();
    format!("****{rest}")
}

#[cfg(test)]
mod tests {
    use super::{ColumnMask, Mask, MaskKey, ResultMasks, VisibilityRules};

    #[track_caller]
    fn visible(allow: &[&str], deny: &[&str], name: (Option<&str>, &str), expected: bool) {
        let rules = VisibilityRules::default();
        let rules = allow.iter().fold(rules, |rules, text| rules.allow(text.parse().unwrap()));
        let rules = deny.iter().fold(rules, |rules, text| rules.deny(text.parse().unwrap()));
        assert_eq!(rules.is_visible(name.0, name.1), expected, "{allow:?} {deny:?} {name:?}");
    }

    #[test]
    fn patterns() {
        visible(&[], &[], (None, "a"), true);
        visible(&["a"], &[], (None, "A"), true);
        visible(&["a"], &[], (None, "ab"), false);
        visible(&["a*"], &["ab"], (None, "ab"), false);
        visible(&["a*"], &["ab"], (None, "abc"), true);
        visible(&[], &["*a*b"], (None, "xaxbxb"), false);
        visible(&[], &["*a*b"], (None, "xaxbx"), true);
        visible(&[], &["a?c"], (None, "abc"), false);
        visible(&[], &["a?c"], (None, "ac"), true);
        visible(&[], &["ÄRZTE"], (None, "ärzte"), false);
        visible(&["sales.*"], &[], (Some("sales"), "a"), true);
        visible(&["sales.*"], &[], (Some("public"), "a"), false);
        visible(&[], &["a"], (Some("sales"), "a"), false);
        visible(&[], &["sales.a"], (Some("public"), "a"), true);
        visible(&["*"], &[], (None, ""), true);
        // Names with dots.
        visible(&["sales.orders"], &[], (Some("sales"), "orders"), true);
        visible(&["sales.orders"], &[], (Some("public"), "sales.orders"), false);
        visible(&["\"sales.orders\""], &[], (Some("public"), "sales.orders"), true);
        visible(&["public.\"sales.*\""], &[], (Some("public"), "sales.orders"), true);
        visible(&["sales.*"], &[], (Some("public"), "sales.orders"), false);
        // Quotes that a name does not need.
        for denied in ["\"sales\".*", "\"sales\".\"o*\"", "\"Sales\".orders", "\"orders\""] {
            visible(&[], &[denied], (Some("sales"), "orders"), false);
        }
        visible(&["sales.orders"], &[], (None, "sales.orders"), true);
        visible(&["\"sales.orders\""], &[], (None, "sales.orders"), true);
        visible(&["\"sales.orders\""], &[], (None, "orders"), false);
        visible(&[], &["\"sales.orders\""], (None, "sales.orders"), false);
        visible(&[], &["\"a=b,c\""], (None, "a=b,c"), false);
        visible(&["s.\"a=b,c\""], &[], (Some("s"), "a=b,c"), true);
        for denied in ["sales.orders", "\"sales.orders\"", "public.sales.orders"] {
            visible(&[], &[denied], (Some("public"), "sales.orders"), false);
        }
        visible(&[], &["\"sales.orders\""], (Some("sales"), "orders"), true);
    }

    #[track_caller]
    fn mask(text: &str, json: &str, expected: &str) {
        let mask: ColumnMask = text.parse().unwrap();
        let rules = VisibilityRules::default().mask(mask).mask_key(MaskKey::new(b"key"));
        let mask = rules.mask_of(None, "T", "C");
        let masks = ResultMasks::new(std::iter::once(mask), &rules);
        let mut text = json.as_bytes().to_vec();
        masks.apply(0, &mut text, 0);
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn masks() {
        mask("t.c", "\"ada@example.org\"", "null");
        mask("t.c=null", "5", "null");
        mask("t.c=last4", "\"ada@example.org\"", "\"****.org\"");
        mask("t.c=last4", "\"1234567\"", "\"****\"");
        mask("*.c=last4", "\"äöüäöüäö\"", "\"****öüäö\"");
        mask("t.c=last4", "null", "null");
        mask("t.c=hash", "\"ada\"", "\"cIpyfSR1NX6qzE-IyA1-7A\"");
        mask("x.c=hash", "\"ada\"", "\"ada\"");
        mask("\"t\".\"c\"=last4", "\"ada@example.org\"", "\"****.org\"");
        for (text, table, column) in [
            ("\"a=b\".c=hash", "a=b", "c"),
            ("\"a=b\".c", "a=b", "c"),
            ("a.\"c,=d\"=last4", "a", "c,=d"),
            ("\"a.b\".\"c\"\"=d\"", "a.b", "c\"=d"),
        ] {
            let rules = VisibilityRules::default().mask(text.parse().unwrap());
            assert!(rules.mask_of(None, table, column).is_some(), "{text}");
        }
        for text in ["c", "t.", ".c", "t.c=x", "a=b.c", "\"a=b\"", "", "\"t.c\""] {
            assert!(text.parse::<ColumnMask>().is_err(), "{text}");
        }
        let rules = ["t.c=last4", "t.*=hash", "*.c=hash"].iter();
        let rules =
            rules.fold(VisibilityRules::default(), |rules, text| rules.mask(text.parse().unwrap()));
        assert_eq!(rules.mask_of(None, "t", "c"), Some(Mask::Hash));
        assert_eq!(rules.mask_of(None, "t", "d"), Some(Mask::Hash));
        assert_eq!(rules.mask_of(None, "u", "d"), None);
    }
}
