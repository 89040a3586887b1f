//! Rules that match no table or column of a database, which may be mistakes.

use std::fmt;

use super::error::Error;
use super::schema::nearest_names;
use super::visibility::{ColumnMask, TablePattern, VisibilityRules};

/// The names of a table and its columns.
pub(crate) struct TableNames {
    /// That of PostgreSQL.
    pub(crate) schema: Option<String>,
    pub(crate) name: String,
    pub(crate) columns: Vec<String>,
}

/// A table, or a column of it, that a rule names.
#[cfg(feature = "postgres")]
pub(crate) struct NamedObject {
    pub(crate) schema: Option<String>,
    pub(crate) table: String,
    /// `None` if the rule names the table only.
    pub(crate) column: Option<String>,
}

/// A rule that matches no table or column of a database. `Display` is for the operator: it contains names of hidden
/// tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmatchedRule {
    problem: String,
    is_refused: bool,
}

impl UnmatchedRule {
    /// Whether calls are refused until the rule matches, since what it protects may have another name: a rule without
    /// wildcards, unless [`VisibilityRules::allow_unmatched`] permits it.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.is_refused
    }
}

impl fmt::Display for UnmatchedRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.problem)
    }
}

impl VisibilityRules {
    /// Whether calls are refused while a rule matches nothing.
    pub(crate) fn must_match(&self) -> bool {
        self.names().next().is_some()
    }

    /// The rules that match no table or column.
    pub(crate) fn unmatched(&self, tables: &[TableNames]) -> Vec<UnmatchedRule> {
        let patterns = [("allowed", &self.allow), ("denied", &self.deny)].into_iter();
        let patterns = patterns
            .flat_map(|(rule, patterns)| patterns.iter().map(move |pattern| (rule, pattern)));
        let unmatched =
            patterns.filter_map(|(rule, pattern)| self.unmatched_pattern(rule, pattern, tables));
        let masks = self.masks.iter().filter_map(|mask| self.unmatched_mask(mask, tables));
        unmatched.chain(masks).collect()
    }

    /// Checks that a table or column has each name in the rules.
    ///
    /// # Errors
    ///
    /// [`Error::UnmatchedRules`].
    pub(crate) fn check(&self, tables: &[TableNames]) -> Result<(), Error> {
        let unmatched = self.unmatched(tables).into_iter().filter(UnmatchedRule::is_refused);
        let problems: Vec<String> = unmatched.map(|rule| rule.to_string()).collect();
        if problems.is_empty() {
            return Ok(());
        }
        Err(Error::UnmatchedRules(problems.join("; ").into()))
    }

    /// One table or column for each name in the rules.
    #[cfg(feature = "postgres")]
    pub(crate) fn named_objects(&self, tables: &[TableNames]) -> Vec<NamedObject> {
        let named = self.names().filter_map(|(table, column)| find(tables, table, column));
        let object = |(names, column): (&TableNames, Option<&str>)| NamedObject {
            schema: names.schema.clone(),
            table: names.name.clone(),
            column: column.map(str::to_owned),
        };
        named.map(object).collect()
    }

    /// The tables and columns that rules name, without wildcards.
    fn names(&self) -> impl Iterator<Item = (&TablePattern, Option<&TablePattern>)> {
        let tables = self.allow.iter().chain(&self.deny).map(|table| (table, None));
        let masks = self.masks.iter().map(|ColumnMask { table, column, .. }| {
            (table, Some(column).filter(|column| column.is_name()))
        });
        let named = tables.chain(masks).filter(|(table, _)| table.is_name());
        named.filter(|_| !self.allows_unmatched)
    }

    fn unmatched_pattern(
        &self,
        rule: &str,
        pattern: &TablePattern,
        tables: &[TableNames],
    ) -> Option<UnmatchedRule> {
        if find(tables, pattern, None).is_some() {
            return None;
        }
        let problem = format!("no table matches the {rule} pattern `{pattern}`");
        Some(self.unmatched_rule(problem, pattern.is_name(), &nearest_tables(pattern, tables)))
    }

    fn unmatched_mask(&self, mask: &ColumnMask, tables: &[TableNames]) -> Option<UnmatchedRule> {
        let ColumnMask { table, column, .. } = mask;
        if find(tables, table, Some(column)).is_some() {
            return None;
        }
        let has_table = find(tables, table, None).is_some();
        let nearest: Vec<String> = match has_table {
            false => nearest_tables(table, tables)
                .into_iter()
                .map(|table| format!("{table}.{column}"))
                .collect(),
            true => {
                let columns = tables.iter().filter(|names| table.matches_table(names));
                let columns = columns.flat_map(|names| &names.columns);
                let nearest = nearest_names(&column.text(), columns).into_iter();
                nearest.map(|column| format!("{table}.{column}")).collect()
            }
        };
        let is_name = table.is_name() && (column.is_name() || !has_table);
        let problem = format!("no column matches the mask `{table}.{column}`");
        Some(self.unmatched_rule(problem, is_name, &nearest))
    }

    fn unmatched_rule(&self, problem: String, is_name: bool, nearest: &[String]) -> UnmatchedRule {
        let is_refused = is_name && !self.allows_unmatched;
        let nearest: Vec<String> =
            nearest.iter().map(|name| format!("`{}`", name.escape_debug())).collect();
        let problem = match (is_refused, nearest.is_empty()) {
            (false, _) => format!("{problem}; it applies to those that are created later"),
            (true, true) => problem,
            (true, false) => format!("{problem} (did you mean {}?)", nearest.join(" or ")),
        };
        UnmatchedRule { problem, is_refused }
    }
}

impl TablePattern {
    /// Whether it has no wildcards.
    fn is_name(&self) -> bool {
        !self.0.iter().any(|letter| matches!(letter, '*' | '?'))
    }

    fn text(&self) -> String {
        self.0.iter().collect()
    }

    fn matches_table(&self, table: &TableNames) -> bool {
        self.matches(table.schema.as_deref(), &table.name)
    }
}

/// The first table that matches, or that with the first column that matches.
fn find<'t>(
    tables: &'t [TableNames],
    table: &TablePattern,
    column: Option<&TablePattern>,
) -> Option<(&'t TableNames, Option<&'t str>)> {
    tables.iter().filter(|names| table.matches_table(names)).find_map(|names| match column {
        None => Some((names, None)),
        Some(column) => {
            let name = names.columns.iter().find(|name| column.matches(None, name))?;
            Some((names, Some(name.as_str())))
        }
    })
}

/// Similar names of tables, with the schema if the pattern has one.
fn nearest_tables(pattern: &TablePattern, tables: &[TableNames]) -> Vec<String> {
    let wanted = pattern.text();
    let mut names: Vec<String> = tables
        .iter()
        .map(|TableNames { schema, name, .. }| match schema {
            Some(schema) if wanted.contains('.') => format!("{schema}.{name}"),
            _ => name.clone(),
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    nearest_names(&wanted, names.iter())
}

#[cfg(test)]
mod tests {
    use super::{TableNames, VisibilityRules};

    /// Rules are `+TABLE` (allowed), `-TABLE` (denied) or a mask.
    #[track_caller]
    fn check(rule: &str, expected: Option<(&str, bool)>) {
        let names = |schema: Option<&str>, name: &str, columns: &[&str]| TableNames {
            schema: schema.map(str::to_owned),
            name: name.to_owned(),
            columns: columns.iter().map(|&column| column.to_owned()).collect(),
        };
        let tables = [
            names(Some("shop"), "Customer", &["id", "email", "card"]),
            names(Some("hr"), "customer", &["id", "name"]),
            names(None, "plain", &["id"]),
        ];
        let rules = VisibilityRules::default();
        let rules = match rule.split_at(1) {
            ("+", table) => rules.allow(table.parse().unwrap()),
            ("-", table) => rules.deny(table.parse().unwrap()),
            _ => rules.mask(rule.parse().unwrap()),
        };
        let found = rules.unmatched(&tables);
        let found: Vec<_> =
            found.iter().map(|rule| (rule.to_string(), rule.is_refused())).collect();
        let expected: Vec<_> =
            expected.into_iter().map(|(text, refused)| (text.to_owned(), refused)).collect();
        assert_eq!(found, expected, "{rule}");
        let is_refused = found.iter().any(|(_, is_refused)| *is_refused);
        assert_eq!(rules.check(&tables).is_err(), is_refused, "{rule}");
        if is_refused {
            assert!(rules.must_match());
        }
        let rules = rules.allow_unmatched();
        assert!(!rules.must_match());
        assert!(rules.check(&tables).is_ok());
        assert!(rules.unmatched(&tables).iter().all(|rule| !rule.is_refused()));
    }

    #[test]
    fn unmatched_rules() {
        const LATER: &str = "it applies to those that are created later";
        let warning = |text: &str| format!("{text}; {LATER}");
        check("+plain", None);
        check("-CUSTOMER", None);
        check("-hr.customer", None);
        check(
            "-secret_*",
            Some((&warning("no table matches the denied pattern `secret_*`"), false)),
        );
        check(
            "-plan",
            Some(("no table matches the denied pattern `plan` (did you mean `plain`?)", true)),
        );
        check("+zzz", Some(("no table matches the allowed pattern `zzz`", true)));
        check(
            "-shop.plain",
            Some((
                "no table matches the denied pattern `shop.plain` (did you mean `plain`?)",
                true,
            )),
        );
        check(
            "-shp.customer",
            Some((
                "no table matches the denied pattern `shp.customer` (did you mean `shop.Customer` or `hr.customer`?)",
                true,
            )),
        );
        check("customer.email", None);
        check("customer.*", None);
        check("*.card=hash", None);
        check(
            "customer.emial",
            Some((
                "no column matches the mask `customer.emial` (did you mean `customer.email`?)",
                true,
            )),
        );
        check("hr.customer.email", Some(("no column matches the mask `hr.customer.email`", true)));
        check(
            "plane.*",
            Some(("no column matches the mask `plane.*` (did you mean `plain.*`?)", true)),
        );
        check(
            "plain.secret_*",
            Some((&warning("no column matches the mask `plain.secret_*`"), false)),
        );
        check("*.phone", Some((&warning("no column matches the mask `*.phone`"), false)));
    }
}
