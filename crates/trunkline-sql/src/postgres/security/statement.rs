use super::functions::is_forbidden;
use super::tokens::{Token, tokens};
use crate::model::error::Error;

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
    check_functions(statement)?;
    let is_temporary = |token: &Token| token.name().is_some_and(|name| name.starts_with("pg_temp"));
    if statement.iter().any(is_temporary) {
        return forbidden("temporary objects are not allowed".to_owned());
    }
    // A query can be in parentheses.
    let mut words = statement.iter().skip_while(|token| **token == Token::Sign('('));
    match words.next() {
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
        "alter" => object(&["table"]),
        verb => CHANGING.contains(&verb),
    }
}

/// Refuses calls of functions that must not be called, also in the notation of columns: `(a).f` is `f(a)`. A column may
/// have such a name.
fn check_functions(statement: &[Token]) -> Result<(), Error> {
    let is_value =
        |token: Option<&Token>| matches!(token, Some(Token::Sign(')' | ']') | Token::Value));
    for (index, token) in statement.iter().enumerate() {
        let Some(name) = token.name().filter(|name| is_forbidden(name)) else { continue };
        let before = |distance: usize| statement.get(index.checked_sub(distance)?);
        let is_call = statement.get(index + 1) == Some(&Token::Sign('('));
        let is_field = before(1) == Some(&Token::Sign('.')) && is_value(before(2));
        if is_call || is_field {
            return forbidden(format!("the function {name:?} is not allowed"));
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
            ("SELECT ('/etc/passwd'::text).pg_read_file", NEVER),
            ("SELECT (ARRAY['x'])[1] . \"pg_read_file\"", NEVER),
            ("SELECT $1.ts_stat", NEVER),
            ("SELECT o.lo_price FROM lineorder AS o", READ),
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
