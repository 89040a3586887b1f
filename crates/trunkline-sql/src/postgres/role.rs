//! The privileges of the role, which are checked at the start.

use futures_util::future::BoxFuture;
use trunkline_postgres::{Address, ConnectError, Connection, Sessions};

use std::collections::BTreeSet;

use tokio_postgres::types::Type;

use super::config::PostgresConfig;
use crate::query::identifier::quote;

/// Checks the version of the server and the privileges of the role, in a transaction. Returns warnings for the operator.
///
/// The future is boxed, since the compiler cannot prove that the calls which await it are `Send`.
pub(super) fn check<'c>(
    connection: &'c Connection,
    address: &'c Address,
    config: &'c PostgresConfig,
) -> BoxFuture<'c, Result<Vec<String>, ConnectError>> {
    Box::pin(check_in_transaction(connection, address, config))
}

async fn check_in_transaction(
    connection: &Connection,
    address: &Address,
    config: &PostgresConfig,
) -> Result<Vec<String>, ConnectError> {
    let begin = match connection.sessions {
        Sessions::Own => "BEGIN READ ONLY".to_owned(),
        Sessions::Shared => format!("BEGIN READ ONLY; {}", address.fresh_session()),
    };
    connection.client.batch_execute(&begin).await.map_err(failed)?;
    let warnings = check_all(connection, config).await?;
    connection.client.batch_execute("ROLLBACK").await.map_err(failed)?;
    Ok(warnings)
}

async fn check_all(
    connection: &Connection,
    config: &PostgresConfig,
) -> Result<Vec<String>, ConnectError> {
    let roles: BTreeSet<&str> = match &config.role_rule {
        Some(rule) => rule.all().collect(),
        None => config.role.as_deref().into_iter().collect(),
    };
    let mut warnings = Vec::new();
    if roles.is_empty() {
        warnings.extend(check_role(connection, config, None).await?);
    }
    for role in roles {
        check_membership(connection, role).await?;
        warnings.extend(check_role(connection, config, Some(role)).await?);
    }
    Ok(warnings)
}

/// Checks that transactions can set a role.
async fn check_membership(connection: &Connection, role: &str) -> Result<(), ConnectError> {
    const MEMBER: &str = "\
        SELECT current_user::text, pg_catalog.pg_has_role(current_user, oid, 'MEMBER') \
        FROM pg_catalog.pg_roles WHERE rolname = $1::text";
    let found = connection.client.query_typed(MEMBER, &[(&role, Type::TEXT)]).await;
    let found = found.map_err(failed)?;
    let reason = match found.first() {
        None => format!("role `{}` does not exist", role.escape_debug()),
        Some(row) => {
            let user: String = row.try_get(0).map_err(failed)?;
            if row.try_get(1).map_err(failed)? {
                return Ok(());
            }
            let (shown, grant) = (role.escape_debug(), quote(role));
            format!("`{user}` is not a member of `{shown}`: GRANT {grant} TO {}", quote(&user))
        }
    };
    Err(ConnectError::Setting { setting: "role", reason })
}

fn failed(error: tokio_postgres::Error) -> ConnectError {
    let message = match error.as_db_error() {
        Some(error) => error.message().to_owned(),
        None => error.to_string(),
    };
    ConnectError::Refused { host: "the server".to_owned(), message }
}

async fn check_role(
    connection: &Connection,
    config: &PostgresConfig,
    role: Option<&str>,
) -> Result<Vec<String>, ConnectError> {
    let facts = Facts::read(connection, role).await.map_err(failed)?;
    if facts.version < 120_000 {
        return Err(ConnectError::Version { version: (facts.version / 10_000).to_string() });
    }
    let mut warnings = Vec::new();
    if let Some(reason) = facts.danger() {
        if !config.allow_privileged_role {
            let remedy = facts.remedy();
            return Err(ConnectError::PrivilegedRole { role: facts.role, reason, remedy });
        }
        warnings.push(format!("role `{}`: {reason}", facts.role));
    }
    if !config.writable && facts.writable_tables > 0 && !facts.is_superuser {
        warnings.push(format!(
            "role `{}` may change {} tables, although the database is served read-only; a read-only role is a second \
             protection:\n{}",
            facts.role,
            facts.writable_tables,
            facts.remedy(),
        ));
    }
    if !facts.secret_tables.is_empty() && !facts.is_superuser {
        warnings.push(format!(
            "role `{}` may read system tables that contain secrets, such as passwords: {}; revoke roles such as \
             `pg_read_all_data`, and grant privileges on each schema:\n{}",
            facts.role,
            facts.secret_tables.join(", "),
            facts.remedy(),
        ));
    }
    if config.role_rule.is_some() && facts.bypasses_policies {
        warnings.push(format!(
            "role `{0}` bypasses row-level security: ALTER ROLE {1} NOBYPASSRLS",
            facts.role,
            quote(&facts.role),
        ));
    }
    Ok(warnings)
}

/// The facts about the role of the transactions.
struct Facts {
    version: i32,
    role: String,
    database: String,
    is_superuser: bool,
    /// The predefined roles that reach the machine of the server.
    dangerous: Vec<String>,
    /// Number of tables that it can change.
    writable_tables: i64,
    bypasses_policies: bool,
    /// The system tables with secrets that it can read.
    secret_tables: Vec<String>,
}

impl Facts {
    async fn read(
        connection: &Connection,
        role: Option<&str>,
    ) -> Result<Self, tokio_postgres::Error> {
        // `session_user` could return to its own privileges only by a statement that callers cannot run, but functions
        // of callers could do so.
        const FACTS: &str = "\
            SELECT current_setting('server_version_num')::int, coalesce($1::text, current_user::text), \
            current_database()::text, \
            (SELECT bool_or(rolsuper) FROM pg_catalog.pg_roles WHERE rolname::text IN (current_user::text, $1)), \
            coalesce((SELECT array_agg(rolname::text ORDER BY rolname) FROM pg_catalog.pg_roles \
                      WHERE rolname IN ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program') \
                      AND (pg_catalog.pg_has_role(current_user, oid, 'MEMBER') \
                           OR $1 IS NOT NULL AND pg_catalog.pg_has_role($1::name, oid, 'MEMBER'))), '{}'), \
            (SELECT count(*) FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
             WHERE c.relkind IN ('r', 'p', 'f') AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_' \
             AND pg_catalog.has_table_privilege(coalesce($1::name, current_user), c.oid, \
                                                'INSERT, UPDATE, DELETE, TRUNCATE')), \
            (SELECT rolbypassrls FROM pg_catalog.pg_roles WHERE rolname = coalesce($1, current_user::text)), \
            ARRAY(SELECT c.relname::text FROM pg_catalog.pg_class AS c \
                  WHERE c.relnamespace = 'pg_catalog'::pg_catalog.regnamespace AND c.relname IN ('pg_authid', \
                  'pg_largeobject', 'pg_shadow', 'pg_statistic', 'pg_subscription', 'pg_user_mapping') \
                  AND pg_catalog.has_table_privilege(coalesce($1::name, current_user), c.oid, 'SELECT') \
                  UNION SELECT 'pg_settings' \
                  WHERE pg_catalog.pg_has_role(coalesce($1::name, current_user), 'pg_read_all_settings', 'USAGE') \
                  ORDER BY 1)";
        let rows = connection.client.query_typed(FACTS, &[(&role, Type::TEXT)]).await?;
        let row = rows.first().expect("a SELECT without FROM returns a row");
        Ok(Self {
            version: row.try_get(0)?,
            role: row.try_get(1)?,
            database: row.try_get(2)?,
            is_superuser: row.try_get::<_, Option<bool>>(3)?.unwrap_or(false),
            dangerous: row.try_get(4)?,
            writable_tables: row.try_get(5)?,
            bypasses_policies: row.try_get(6)?,
            secret_tables: row.try_get(7)?,
        })
    }

    fn danger(&self) -> Option<String> {
        if self.is_superuser {
            return Some("it is a superuser".to_owned());
        }
        let roles = self.dangerous.join(", ");
        (!roles.is_empty()).then(|| format!("it is a member of {roles}"))
    }

    /// SQL that creates a role for reading.
    fn remedy(&self) -> String {
        format!(
            "CREATE ROLE trunkline LOGIN PASSWORD '…';\n\
             GRANT CONNECT ON DATABASE {} TO trunkline;\n\
             GRANT USAGE ON SCHEMA public TO trunkline;\n\
             GRANT SELECT ON ALL TABLES IN SCHEMA public TO trunkline;\n\
             ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO trunkline;",
            quote(&self.database)
        )
    }
}
