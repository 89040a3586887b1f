use super::functions::{Called, called_names, is_forbidden};
use super::secrets::has_secrets;
use super::tokens::{Token, tokens};
use crate::model::error::Error;
use crate::query::raw;

/// Whether the call of a transaction changes the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::postgres) enum Access {
    Read,
    Write,
}

/// Maximum length of a statement, in bytes.
const MAX_SQL: usize = 100_000;

/// Statements that read.
const READING: [&str; 6] = ["select", "with", "values", "table", "explain", "show"];

/// Statements that change rows.
const CHANGING: [&str; 4] = ["insert", "update", "delete", "merge"];

/// Checks a statement of a caller before it is sent. The server checks it again: the transaction of a reading call is
/// read-only, and the extended protocol allows one statement.
///
/// `write_remedy` completes the error of a statement that requires `Access::Write`.
pub(crate) fn check(sql: &str, access: Access, write_remedy: &str) -> Result<(), Error> {
    if let Some(offset) = sql.find('\0') {
        return Err(Error::NulInSql { offset });
    }
    if sql.len() > MAX_SQL {
        let message = format!("the SQL text has more than {MAX_SQL} bytes");
        return Err(Error::OverLimit { message });
    }
    let tokens = tokens(sql)?;
    let end = tokens.iter().rposition(|token| *token != Token::Sign(';'));
    let start = tokens.iter().position(|token| *token != Token::Sign(';'));
    let (Some(start), Some(end)) = (start, end) else { return Err(Error::NoStatement) };
    let statement = tokens.get(start..=end).unwrap_or_default();
    if statement.contains(&Token::Sign(';')) {
        return Err(Error::MultipleStatements);
    }
    if start > 0 {
        return forbidden("it begins with a semicolon".to_owned());
    }
    check_names(statement)?;
    check_alteration(statement)?;
    raw::check_names(sql)?;
    let explained = explain_length(|index| statement.get(index));
    // A query can be in parentheses.
    let rest = statement.get(explained..).unwrap_or_default();
    let mut words = rest.iter().skip_while(|token| **token == Token::Sign('('));
    match words.next() {
        Some(Token::Word(verb)) if explained > 0 => match verb.as_str() {
            verb if READING.contains(&verb) && verb != "show" => Ok(()),
            verb if CHANGING.contains(&verb) => Ok(()),
            verb => forbidden(format!("EXPLAIN of {} is not allowed", verb.to_uppercase())),
        },
        Some(Token::Word(verb)) if READING.contains(&verb.as_str()) => Ok(()),
        Some(Token::Word(verb)) if is_writing(verb, words) => match access {
            Access::Write => Ok(()),
            Access::Read => {
                forbidden(format!("{} changes the database; {write_remedy}", verb.to_uppercase()))
            }
        },
        Some(Token::Word(verb)) => forbidden(format!(
            "{} is not among the permitted statements: SELECT, VALUES, TABLE, WITH, EXPLAIN and SHOW; and for \
             changes INSERT, UPDATE, DELETE, MERGE, CREATE, ALTER and DROP of tables, views and indexes",
            verb.to_uppercase()
        )),
        // The server reports the error.
        _ => Ok(()),
    }
}

/// The number of tokens of `EXPLAIN` and its options, at the beginning of a statement.
pub(crate) fn explain_length<'t>(token: impl Fn(usize) -> Option<&'t Token>) -> usize {
    const QUERIES: [&str; 4] = ["select", "values", "with", "table"];
    const OPTIONS: [&str; 4] = ["explain", "analyze", "analyse", "verbose"];
    let is_one_of = |index, words: &[&str]| {
        token(index).is_some_and(|token: &Token| words.iter().any(|word| token.is(word)))
    };
    let is_sign = |index, sign| token(index) == Some(&Token::Sign(sign));
    if !is_one_of(0, &["explain"]) {
        return 0;
    }
    if is_sign(1, '(') && !is_sign(2, '(') && !is_one_of(2, &QUERIES) {
        let end = (2..).find(|index| token(*index).is_none() || is_sign(*index, ')'));
        return end.map_or(2, |end| end + 1);
    }
    (0..).take_while(|index| is_one_of(*index, &OPTIONS)).count()
}

/// Whether a statement that begins with this word is a permitted change.
fn is_writing<'t>(verb: &str, rest: impl Iterator<Item = &'t Token>) -> bool {
    let mut rest = rest.skip_while(|token| {
        // `CREATE OR REPLACE RECURSIVE VIEW`, `CREATE UNLOGGED TABLE`. Temporary objects would outlive the call.
        ["or", "replace", "recursive", "unlogged", "unique", "materialized"]
            .iter()
            .any(|word| token.is(word))
    });
    let mut object = |objects: &[&str]| {
        rest.next().is_some_and(|token| objects.iter().any(|object| token.is(object)))
    };
    match verb {
        "create" | "drop" => object(&["table", "view", "index"]),
        // Also changes of owners, triggers and policies, which `check_alteration` refuses.
        "alter" => object(&["table"]),
        verb => CHANGING.contains(&verb),
    }
}

/// Refuses changes of owners, triggers, rules and row-level security by `ALTER TABLE`.
fn check_alteration(statement: &[Token]) -> Result<(), Error> {
    const PHRASES: [[&str; 2]; 8] = [
        ["owner", "to"],
        ["level", "security"],
        ["enable", "trigger"],
        ["disable", "trigger"],
        ["enable", "rule"],
        ["disable", "rule"],
        ["enable", "always"],
        ["enable", "replica"],
    ];
    if !statement.first().is_some_and(|token| token.is("alter")) {
        return Ok(());
    }
    let has = |phrase: &[&str; 2]| {
        let is_phrase = |two: &[Token]| two.iter().zip(phrase).all(|(token, word)| token.is(word));
        statement.windows(2).any(is_phrase)
    };
    if PHRASES.iter().any(has) {
        let reason = "ALTER TABLE must not change owners, triggers, rules and row-level security";
        return forbidden(reason.to_owned());
    }
    Ok(())
}

/// Refuses functions that must not be called, in each notation. Refuses system tables with secrets, temporary objects,
/// which would outlive the call, and changes of settings by their view.
fn check_names(statement: &[Token]) -> Result<(), Error> {
    const TEMPORARY: [&str; 4] = ["temp", "temporary", "local", "global"];
    let has_word = |word| statement.iter().any(|token: &Token| token.is(word));
    if let Some(Called { name, is_field }) =
        called_names(statement.iter()).into_iter().find(|called| is_forbidden(called.name))
    {
        let hint = if is_field { "; name a column without its table, or rename it" } else { "" };
        return forbidden(format!("the function {name:?} is not allowed{hint}"));
    }
    for (index, token) in statement.iter().enumerate() {
        let Some(name) = token.name() else { continue };
        let next = statement.get(index + 1);
        if has_secrets(name) {
            return forbidden(format!(
                "the system table {name:?} contains secrets, which are not for callers"
            ));
        }
        // `SELECT … INTO TEMP t`.
        let is_into_temporary =
            token.is("into") && next.is_some_and(|next| TEMPORARY.iter().any(|word| next.is(word)));
        if is_into_temporary {
            let reason = "temporary objects are not allowed; put the name of a table in quotes";
            return forbidden(reason.to_owned());
        }
        if name.starts_with("pg_temp") {
            return forbidden("temporary objects are not allowed".to_owned());
        }
        // A rule of this view changes settings, also for a transaction that only reads.
        if name == "pg_settings" && (has_word("update") || has_word("create")) {
            return forbidden("settings must not be changed".to_owned());
        }
    }
    Ok(())
}

fn forbidden<T>(reason: String) -> Result<T, Error> {
    Err(Error::Forbidden { reason })
}

#[cfg(test)]
mod tests {
    use super::{Access, check};

    #[track_caller]
    fn kinds(sql: &str, expected: [&str; 2]) {
        let kind = |access| check(sql, access, "").map_or_else(|e| e.details().kind, |()| "ok");
        assert_eq!([kind(Access::Read), kind(Access::Write)], expected, "{sql}");
    }

    #[test]
    fn statements() {
        const READ: [&str; 2] = ["ok", "ok"];
        const WRITE: [&str; 2] = ["forbidden", "ok"];
        const NEVER: [&str; 2] = ["forbidden", "forbidden"];
        for (sql, expected) in [
            ("SELECT 1;", READ),
            ("-- c\n ((VALUES (1)))", READ),
            ("with x as (select 1) delete from emp", READ),
            ("EXPLAIN ANALYZE SELECT 1", READ),
            ("SELECT 'DROP TABLE x; --'", READ),
            ("SELECT pg_read_file FROM t", READ),
            ("/*c*/UPDATE t SET a = 1", WRITE),
            ("CREATE UNIQUE INDEX ON t (a)", WRITE),
            ("create or replace view v as select 1", WRITE),
            ("DROP MATERIALIZED VIEW v", WRITE),
            ("ALTER TABLE t ADD a int", WRITE),
            ("ALTER TABLE t OWNER TO x", NEVER),
            ("ALTER TABLE t ALTER a TYPE int, DISABLE TRIGGER USER", NEVER),
            ("ALTER TABLE t ENABLE REPLICA TRIGGER x", NEVER),
            ("alter table t no force row level security", NEVER),
            ("ALTER TABLE t DISABLE RULE x", NEVER),
            ("ALTER TABLE t ADD \"owner\" int, ADD owner text", WRITE),
            ("CREATE TEMP TABLE t (a int)", NEVER),
            ("CREATE TABLE pg_temp.t (a int)", NEVER),
            ("TRUNCATE t", NEVER),
            ("CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'", NEVER),
            ("ALTER ROLE x SUPERUSER", NEVER),
            ("DROP SCHEMA public", NEVER),
            ("COPY t TO '/tmp/x'", NEVER),
            ("DO $$ BEGIN END $$", NEVER),
            ("SET ROLE x", NEVER),
            ("COMMIT", NEVER),
            ("SELECT pg_catalog.pg_read_file ('/etc/passwd')", NEVER),
            ("SELECT \"pg_read_file\"/**/('/etc/passwd')", NEVER),
            ("SELECT U&\"pg!005fread_file\" UESCAPE '!' ('x')", NEVER),
            ("SELECT SET_CONFIG('statement_timeout', '0', true)", NEVER),
            ("SELECT setseed(0.42)", NEVER),
            ("SELECT ('/etc/passwd'::text).pg_read_file", NEVER),
            ("SELECT (ARRAY['x'])[1] . \"pg_read_file\"", NEVER),
            ("SELECT $1.ts_stat", NEVER),
            ("SELECT o.lo_price FROM lineorder AS o", READ),
            ("SELECT t.ts_status, \"http_get\" FROM t", READ),
            ("SELECT t.ts_stat FROM unnest(ARRAY['SELECT 1']) AS t", NEVER),
            ("SELECT t . \"ts_stat\" FROM t", NEVER),
            ("SELECT (t.a).\"pg_ls_dir\" FROM t", NEVER),
            ("SELECT currtid2('t', '(0,1)')", NEVER),
            ("SELECT TREAT('/etc/passwd'::text AS pg_read_file)", NEVER),
            ("SELECT treat ( CAST('x' AS text) /**/ AS pg_catalog . \"ts_stat\" )", NEVER),
            ("CREATE TABLE t (a text DEFAULT TREAT('x'::text AS pg_read_file))", NEVER),
            ("SELECT TREAT((TREAT('x'::text AS ts_stat)) AS text)", NEVER),
            ("SELECT TREAT(ts_stat AS numeric(3)), a AS ts_stat FROM treat AS \"treat\"", READ),
            ("SELECT \"treat\"(1), CAST(a AS ts_stat) FROM t", READ),
            ("SELECT http_get('http://x')", NEVER),
            ("SELECT net.http_post('http://x')", NEVER),
            ("SELECT * FROM dblink_send_query('a', 'b')", NEVER),
            ("SELECT 1 INTO TEMP t", NEVER),
            ("SELECT 1 INTO temporary TABLE t", NEVER),
            ("SELECT 1 INTO LOCAL TEMP t", NEVER),
            ("WITH x AS (SELECT 1) SELECT * INTO GLOBAL TEMPORARY t FROM x", NEVER),
            ("INSERT INTO \"temp\" VALUES (1)", WRITE),
            ("CREATE LOCAL TEMP TABLE t (a int)", NEVER),
            ("CREATE OR REPLACE TEMP VIEW v AS SELECT 1", NEVER),
            ("CREATE GLOBAL TEMPORARY TABLE t (a int)", NEVER),
            ("ALTER TABLE t SET SCHEMA pg_temp_3", NEVER),
            ("WITH x AS (SELECT 1) UPDATE pg_settings SET setting = 'x'", NEVER),
            ("CREATE VIEW v AS TABLE pg_settings", NEVER),
            ("SELECT * FROM pg_settings", READ),
            ("SELECT * FROM pg_catalog.PG_Authid", NEVER),
            ("CREATE VIEW v AS TABLE \"pg_shadow\"", NEVER),
            ("SELECT * FROM pg_toast.pg_toast_2619", NEVER),
            ("SELECT 'pg_authid', \"PG_AUTHID\" FROM pg_roles", READ),
            ("EXPLAIN (ANALYZE, FORMAT JSON) DELETE FROM t", READ),
            ("EXPLAIN ((SELECT 1))", READ),
            ("EXPLAIN EXECUTE s1", NEVER),
            ("EXPLAIN (ANALYZE) EXECUTE s1", NEVER),
            ("EXPLAIN ANALYZE VERBOSE CREATE TEMP TABLE t AS SELECT 1", NEVER),
            ("EXPLAIN ANALYZE CREATE TABLE t AS SELECT 1", NEVER),
            ("EXPLAIN DECLARE c CURSOR FOR SELECT 1", NEVER),
            ("SELECT E'a'\n'\\'', pg_read_file($$x$$) --'", NEVER),
            ("SELECT 'a", NEVER),
            (";SELECT 1", NEVER),
            ("", ["no_statement"; 2]),
            ("-- x", ["no_statement"; 2]),
            (" ; ;", ["no_statement"; 2]),
            ("SELECT 1; DROP TABLE emp", ["multiple_statements"; 2]),
            ("SELECT 1\0", ["nul_in_sql"; 2]),
        ] {
            kinds(sql, expected);
        }
    }
}
