//! The flags of rules about tables and columns.

use anyhow::{Context, bail};
use clap::Args;
use clap::builder::BoolishValueParser;
use trunkline_sql::visibility::{ColumnMask, TablePattern, UnmatchedRule};
use trunkline_sql::{Database, DatabaseName, Databases, VisibilityRules};

use crate::config::RuleArg;

/// The flags of rules.
#[derive(Args)]
#[command(next_help_heading = "Database")]
pub(super) struct RuleArgs {
    /// Tables that clients see; others are hidden
    ///
    /// A pattern of names: `*` matches any characters, `?` one, and case is ignored. In PostgreSQL, also of schemas and
    /// names: sales.*. With NAME=, only for this database. The flag is repeatable, or has several patterns, separated by
    /// commas. Hidden tables do not exist for clients, also in SQL. Rules of the configuration file apply, too.
    #[arg(
        long,
        value_name = "[NAME=]PATTERN",
        env = "TRUNKLINE_ALLOW_TABLE",
        value_delimiter = ',',
        value_parser = str::parse::<RuleArg<TablePattern>>
    )]
    allow_table: Vec<RuleArg<TablePattern>>,
    /// Tables that are hidden from clients
    ///
    /// Takes precedence over --allow-table, and has the same form.
    #[arg(
        long,
        value_name = "[NAME=]PATTERN",
        env = "TRUNKLINE_DENY_TABLE",
        value_delimiter = ',',
        value_parser = str::parse::<RuleArg<TablePattern>>
    )]
    deny_table: Vec<RuleArg<TablePattern>>,
    /// Column whose values are masked: null, hash or last4
    ///
    /// TABLE.COLUMN, of which both can be patterns, and a mask. `null`, the default, replaces values by NULL; `hash` by a
    /// hash with a secret key, which is the same for equal values; `last4` keeps the last four characters. SQL cannot read the
    /// column. The key of hashes is new at each start, unless the configuration file sets `mask_key`.
    #[arg(
        long,
        value_name = "[NAME=]COLUMN[=MASK]",
        env = "TRUNKLINE_MASK",
        value_delimiter = ',',
        value_parser = str::parse::<RuleArg<ColumnMask>>
    )]
    mask: Vec<RuleArg<ColumnMask>>,
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
        let concerns = |name: &Option<DatabaseName>| {
            name.as_ref().is_none_or(|name| name.as_str().eq_ignore_ascii_case(database.as_str()))
        };
        let mut rules = configured;
        for RuleArg { rule, .. } in self.allow_table.iter().filter(|arg| concerns(&arg.database)) {
            rules = rules.allow(rule.clone());
        }
        for RuleArg { rule, .. } in self.deny_table.iter().filter(|arg| concerns(&arg.database)) {
            rules = rules.deny(rule.clone());
        }
        for RuleArg { rule, .. } in self.mask.iter().filter(|arg| concerns(&arg.database)) {
            rules = rules.mask(rule.clone());
        }
        if self.allow_unmatched_rules { rules.allow_unmatched() } else { rules }
    }

    /// Refuses a rule for a database that is not served.
    pub(super) fn check(&self, databases: &Databases) -> anyhow::Result<()> {
        let tables = self.allow_table.iter().chain(&self.deny_table).map(|arg| &arg.database);
        let named = tables.chain(self.mask.iter().map(|arg| &arg.database)).flatten();
        for name in named {
            databases.get(Some(name.as_str())).with_context(|| {
                format!("`{name}` in --allow-table, --deny-table or --mask is not the name of a database")
            })?;
        }
        Ok(())
    }
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
