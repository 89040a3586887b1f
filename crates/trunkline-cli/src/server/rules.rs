//! The flags of rules about tables and columns.

use anyhow::{Context, bail};
use clap::Args;
use clap::builder::BoolishValueParser;
use trunkline_sql::visibility::{ColumnMask, TablePattern, UnmatchedRule};
use trunkline_sql::{Database, DatabaseName, Databases, VisibilityRules};

use crate::config::{RuleArg, RuleList};

/// The flags of rules.
#[derive(Args)]
#[command(next_help_heading = "Database")]
pub(super) struct RuleArgs {
    /// Tables that clients see; others are hidden
    ///
    /// A pattern of names: `*` matches any characters, `?` one, and case is ignored. In PostgreSQL, also of schemas and
    /// names: sales.*. With NAME=, only for this database. The flag is repeatable, or has several patterns, separated by
    /// commas. A name with a comma, a dot or = is in double quotes, as in SQL. Hidden tables do not exist for clients,
    /// also in SQL. Rules of the configuration file apply, too.
    #[arg(
        long,
        value_name = "[NAME=]PATTERN",
        env = "TRUNKLINE_ALLOW_TABLE",
        value_parser = str::parse::<RuleList<TablePattern>>
    )]
    allow_table: Vec<RuleList<TablePattern>>,
    /// Tables that are hidden from clients
    ///
    /// Takes precedence over --allow-table, and has the same form.
    #[arg(
        long,
        value_name = "[NAME=]PATTERN",
        env = "TRUNKLINE_DENY_TABLE",
        value_parser = str::parse::<RuleList<TablePattern>>
    )]
    deny_table: Vec<RuleList<TablePattern>>,
    /// Column whose values are masked: null, hash or last4
    ///
    /// TABLE.COLUMN, of which both can be patterns, or names in double quotes, and a mask. `null`, the default, replaces
    /// values by NULL; `hash` by a hash with a secret key, which is the same for equal values; `last4` keeps the last four
    /// characters. SQL cannot read the column. The key of hashes is new at each start, unless the configuration file sets
    /// `mask_key`.
    #[arg(
        long,
        value_name = "[NAME=]COLUMN[=MASK]",
        env = "TRUNKLINE_MASK",
        value_parser = str::parse::<RuleList<ColumnMask>>
    )]
    mask: Vec<RuleList<ColumnMask>>,
    /// Permit rules for tables and columns that do not exist
    ///
    /// By default, such a rule prevents the start, and calls are refused if the table or column disappears later, since it
    /// may have been renamed. Patterns with wildcards can always match nothing.
    #[arg(long, env = "TRUNKLINE_ALLOW_UNMATCHED_RULES", value_parser = BoolishValueParser::new())]
    allow_unmatched_rules: bool,
}

impl RuleArgs {
    /// The rules of a database: those of the configuration file, and those of the flags.
    pub(super) fn of(
        &self,
        database: &DatabaseName,
        configured: VisibilityRules,
    ) -> VisibilityRules {
        let mut rules = configured;
        for rule in rules_for(database, &self.allow_table) {
            rules = rules.allow(rule.clone());
        }
        for rule in rules_for(database, &self.deny_table) {
            rules = rules.deny(rule.clone());
        }
        for rule in rules_for(database, &self.mask) {
            rules = rules.mask(rule.clone());
        }
        if self.allow_unmatched_rules { rules.allow_unmatched() } else { rules }
    }

    /// Refuses a rule for a database that is not served.
    pub(super) fn check(&self, databases: &Databases) -> anyhow::Result<()> {
        let tables = databases_of(&self.allow_table).chain(databases_of(&self.deny_table));
        for name in tables.chain(databases_of(&self.mask)) {
            databases.get(Some(name.as_str())).with_context(|| {
                format!("`{name}` in --allow-table, --deny-table or --mask is not the name of a database")
            })?;
        }
        Ok(())
    }
}

/// The rules of flags that apply to a database.
fn rules_for<'r, T>(
    database: &DatabaseName,
    lists: &'r [RuleList<T>],
) -> impl Iterator<Item = &'r T> {
    let concerns = |arg: &&RuleArg<T>| {
        let is_this = |name: &DatabaseName| name.as_str().eq_ignore_ascii_case(database.as_str());
        arg.database.as_ref().is_none_or(is_this)
    };
    lists.iter().flat_map(|list| &list.0).filter(concerns).map(|arg| &arg.rule)
}

/// The databases that rules of flags name.
fn databases_of<T>(lists: &[RuleList<T>]) -> impl Iterator<Item = &DatabaseName> {
    lists.iter().flat_map(|list| &list.0).filter_map(|arg| arg.database.as_ref())
}

/// Refuses rules for names that do not exist, and logs patterns that match nothing.
pub(super) async fn check_match(name: &DatabaseName, database: &Database) -> anyhow::Result<()> {
    let unmatched = database.unmatched_rules().await;
    let unmatched =
        unmatched.with_context(|| format!("the rules of database `{name}` cannot be checked"))?;
    let (refused, permitted): (Vec<_>, Vec<_>) =
        unmatched.into_iter().partition(UnmatchedRule::is_refused);
    for rule in permitted {
        tracing::warn!(database = %name, "{rule}");
    }
    if refused.is_empty() {
        return Ok(());
    }
    let refused: Vec<_> = refused.iter().map(ToString::to_string).collect();
    bail!(
        "rules of database `{name}` match nothing: {}; correct or remove them (NAME= restricts a flag to one \
         database), or give --allow-unmatched-rules (`allow_unmatched_rules` in the configuration file) if their tables \
         or columns are created later",
        refused.join("; ")
    )
}
