use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::model::error::Error;
use crate::model::health::{
    CheckHealth, DatabaseHealth, HealthProblem, MAX_PROBLEMS, PostgresHealth, unindexed_foreign_key,
};
use crate::postgres::catalog::{self, NAME};
use crate::postgres::transaction::Transaction;
use crate::postgres::visibility::{self, Among, READABLE};

/// Maximum number of problems of one kind.
const MAX_OF_KIND: usize = 20;

pub(crate) async fn database_health(
    transaction: &mut Transaction,
    _: &CheckHealth,
) -> Result<DatabaseHealth, Error> {
    const FACTS: &str = "\
        SELECT pg_catalog.current_setting('server_version'), \
        pg_catalog.pg_database_size(pg_catalog.current_database()), \
        (SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend'), \
        pg_catalog.current_setting('max_connections')::int8, \
        (SELECT round(blks_hit::numeric / nullif(blks_hit + blks_read, 0), 4)::float8 \
         FROM pg_catalog.pg_stat_database WHERE datname = pg_catalog.current_database()), \
        (SELECT coalesce(sum(n_dead_tup), 0)::int8 FROM pg_catalog.pg_stat_user_tables), \
        (SELECT blks_hit + blks_read FROM pg_catalog.pg_stat_database \
         WHERE datname = pg_catalog.current_database())";
    let found = catalog::rows(transaction, FACTS, &[]).await?;
    let [facts] = found.as_slice() else { return Err(Error::ReaderLost) };
    let number = |index: usize| Ok::<_, Error>(facts.try_get::<_, i64>(index)?.unsigned_abs());
    let long = long_transactions(transaction).await?;
    let health = PostgresHealth {
        sessions: if transaction.is_shared() { "shared" } else { "own" },
        connections: number(2)?,
        max_connections: number(3)?,
        cache_hit_ratio: facts.try_get(4)?,
        dead_tuples: number(5)?,
        long_transactions: long.len() as u64,
    };
    let mut problems = of_server(&health, number(6)?);
    problems.extend(long);
    let hidden = visibility::hidden(transaction, Among::All).await?;
    problems.extend(unindexed_foreign_keys(transaction, &hidden).await?);
    problems.extend(dead_tuples(transaction, &hidden).await?);
    problems.extend(unused_indexes(transaction, &hidden).await?);
    problems.truncate(MAX_PROBLEMS);
    Ok(DatabaseHealth {
        engine: "PostgreSQL",
        version: facts.try_get(0)?,
        size_bytes: number(1)?,
        problems,
        sqlite: None,
        postgres: Some(health),
    })
}

/// The tables of callers, `t`, with their names. The parameter is the list of hidden ones.
fn tables() -> String {
    format!("(SELECT c.oid, {NAME} AS name {READABLE} AND c.oid <> ALL($1)) AS t")
}

/// Problems of the server. The cache is judged after a number of reads.
fn of_server(health: &PostgresHealth, reads: u64) -> Vec<HealthProblem> {
    const MIN_READS: u64 = 100_000;
    let mut problems = Vec::new();
    if health.connections * 10 >= health.max_connections * 8 {
        problems.push(HealthProblem {
            kind: "few_connections",
            table: None,
            problem: format!(
                "{} of {} connections are used",
                health.connections, health.max_connections
            ),
            remedy: "close idle connections, use a connection pool, or raise max_connections"
                .to_owned(),
        });
    }
    if let Some(ratio) = health.cache_hit_ratio.filter(|ratio| *ratio < 0.9 && reads > MIN_READS) {
        problems.push(HealthProblem {
            kind: "low_cache_hits",
            table: None,
            problem: format!("{:.1} % of the blocks were found in the cache", ratio * 100.0),
            remedy: "raise shared_buffers, or add indexes for frequent queries".to_owned(),
        });
    }
    problems
}

async fn long_transactions(transaction: &Transaction) -> Result<Vec<HealthProblem>, Error> {
    let sql = format!(
        "SELECT pid::int8, extract(epoch FROM now() - xact_start)::int8, coalesce(state, 'unknown') \
         FROM pg_catalog.pg_stat_activity \
         WHERE datname = pg_catalog.current_database() AND pid <> pg_catalog.pg_backend_pid() \
         AND xact_start < now() - interval '5 minutes' ORDER BY xact_start LIMIT {MAX_OF_KIND}"
    );
    let problem = |row: &Row| {
        let (pid, seconds, state): (i64, i64, String) =
            (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        Ok(HealthProblem {
            kind: "long_transaction",
            table: None,
            problem: format!("the transaction of process {pid} ({state}) has run for {seconds} s"),
            remedy: format!("end it in its program, or: SELECT pg_terminate_backend({pid})"),
        })
    };
    catalog::rows(transaction, &sql, &[]).await?.iter().map(problem).collect()
}

async fn unindexed_foreign_keys(
    transaction: &Transaction,
    hidden: &[u32],
) -> Result<Vec<HealthProblem>, Error> {
    let sql = format!(
        "SELECT t.name, (SELECT array_agg(a.attname::text ORDER BY x.place) \
         FROM unnest(k.conkey) WITH ORDINALITY AS x(number, place) \
         JOIN pg_catalog.pg_attribute AS a ON a.attrelid = k.conrelid AND a.attnum = x.number) \
         FROM {} JOIN pg_catalog.pg_constraint AS k ON k.conrelid = t.oid AND k.contype = 'f' \
         AND k.confrelid <> ALL($1) \
         WHERE NOT EXISTS ( \
             SELECT FROM pg_catalog.pg_index AS i WHERE i.indrelid = k.conrelid AND i.indisvalid \
             AND i.indpred IS NULL AND (i.indkey::int2[])[0:cardinality(k.conkey) - 1] @> k.conkey) \
         ORDER BY 1, k.conname LIMIT {MAX_OF_KIND}",
        tables(),
    );
    let problem = |row: &Row| {
        let (table, columns): (String, Vec<String>) = (row.try_get(0)?, row.try_get(1)?);
        Ok(unindexed_foreign_key(&table, &columns))
    };
    catalog::rows(transaction, &sql, &[(&hidden, Type::OID_ARRAY)])
        .await?
        .iter()
        .map(problem)
        .collect()
}

async fn dead_tuples(
    transaction: &Transaction,
    hidden: &[u32],
) -> Result<Vec<HealthProblem>, Error> {
    let sql = format!(
        "SELECT t.name, s.n_dead_tup, s.n_live_tup \
         FROM {} JOIN pg_catalog.pg_stat_user_tables AS s ON s.relid = t.oid \
         WHERE s.n_dead_tup > 1000 AND s.n_dead_tup * 5 > s.n_live_tup \
         ORDER BY s.n_dead_tup DESC, 1 LIMIT {MAX_OF_KIND}",
        tables(),
    );
    let problem = |row: &Row| {
        let (table, dead, live): (String, i64, i64) =
            (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        Ok(HealthProblem {
            kind: "dead_tuples",
            problem: format!("{dead} dead row versions, with {live} rows"),
            remedy: format!("VACUUM {table}, and check the settings of autovacuum"),
            table: Some(table),
        })
    };
    catalog::rows(transaction, &sql, &[(&hidden, Type::OID_ARRAY)])
        .await?
        .iter()
        .map(problem)
        .collect()
}

/// Indexes that were not used since the statistics began, without those of constraints.
async fn unused_indexes(
    transaction: &Transaction,
    hidden: &[u32],
) -> Result<Vec<HealthProblem>, Error> {
    let sql = format!(
        "SELECT t.name, s.indexrelname::text, pg_catalog.pg_relation_size(s.indexrelid) \
         FROM {} JOIN pg_catalog.pg_stat_user_indexes AS s ON s.relid = t.oid \
         JOIN pg_catalog.pg_index AS i ON i.indexrelid = s.indexrelid \
         WHERE s.idx_scan = 0 AND NOT i.indisunique AND NOT i.indisexclusion \
         AND pg_catalog.pg_relation_size(s.indexrelid) > 1048576 ORDER BY 3 DESC, 2 LIMIT {MAX_OF_KIND}",
        tables(),
    );
    let problem = |row: &Row| {
        let (table, index, bytes): (String, String, i64) =
            (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        Ok(HealthProblem {
            kind: "unused_index",
            table: Some(table),
            problem: format!(
                "the index {index} ({bytes} bytes) was not used since the statistics began"
            ),
            remedy: format!("DROP INDEX {index}, if no replica uses it"),
        })
    };
    catalog::rows(transaction, &sql, &[(&hidden, Type::OID_ARRAY)])
        .await?
        .iter()
        .map(problem)
        .collect()
}
