//! Virtual tables: some accept commands as values of hidden columns, and replaced rows are not counted.

use serde_json::{Value, json};

use crate::fixture::{Fixture, create, kind};

const SCHEMA: &str = "
    CREATE VIRTUAL TABLE contentless USING fts5(body, content='', contentless_delete=1);
    CREATE TABLE source (id INTEGER PRIMARY KEY, body TEXT);
    CREATE VIRTUAL TABLE external USING fts5(body, content='source', content_rowid='id');
    CREATE VIRTUAL TABLE fts3 USING fts3(body);
    CREATE VIRTUAL TABLE fts4 USING fts4(body, languageid='lang');
    CREATE VIRTUAL TABLE words USING fts5vocab('docs', 'row');
    CREATE VIRTUAL TABLE words4 USING fts4aux('old_docs');
    CREATE VIRTUAL TABLE tokens USING fts3tokenize('simple');
    CREATE VIRTUAL TABLE grid USING rtree_i32(id, min_x, max_x, +label);
    CREATE VIRTUAL TABLE pages USING dbstat;
    INSERT INTO contentless(rowid, body) VALUES (1, 'a fox');
    INSERT INTO source VALUES (1, 'a fox');
    INSERT INTO external(external) VALUES ('rebuild');
    INSERT INTO fts3(docid, body) VALUES (1, 'a fox');
    INSERT INTO fts4(docid, body, lang) VALUES (1, 'a fox', 0);
    INSERT INTO grid VALUES (1, 0, 10, 'one');
";

const STATE: &str = "SELECT
    (SELECT count(*) FROM contentless WHERE contentless MATCH 'fox') || ' ' ||
    (SELECT count(*) FROM external WHERE external MATCH 'fox') || ' ' ||
    (SELECT count(*) FROM fts3 WHERE fts3 MATCH 'fox') || ' ' ||
    (SELECT count(*) FROM fts4 WHERE fts4 MATCH 'fox') || ' ' ||
    (SELECT count(*) FROM docs_config) || ' ' ||
    (SELECT group_concat(label) FROM grid)";

fn fixture() -> Fixture {
    let fixture = Fixture::writable();
    create(&fixture.path, SCHEMA);
    fixture
}

/// Every compiled module has rows below. `json_each` and the pragmas are registered at their first use.
#[test]
fn the_modules_are_known() {
    let fixture = fixture();
    let connection = rusqlite::Connection::open(&fixture.path).unwrap();
    let sql = "SELECT group_concat(name) FROM (SELECT name FROM pragma_module_list \
               WHERE name NOT LIKE 'pragma_%' ORDER BY 1)";
    let modules: String = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(modules, "dbstat,fts3,fts3tokenize,fts4,fts4aux,fts5,fts5vocab,rtree,rtree_i32");
}

#[test]
fn commands_in_hidden_columns_are_refused() {
    let fixture = fixture();
    let before = fixture.look(STATE);
    let insert =
        |table: &str, data: Value| ("insert_record", json!({"table_name": table, "data": data}));
    let replace = |table: &str, data: Value| {
        ("insert_record", json!({"table_name": table, "data": data, "on_conflict": "replace"}))
    };
    let update = |table: &str, data: Value| {
        ("update_record", json!({"table_name": table, "filters": {}, "all": true, "data": data}))
    };
    for ((operation, arguments), expected) in [
        (insert("contentless", json!({"contentless": "delete-all"})), "bad_column"),
        (insert("CONTENTLESS", json!({"ContentLess": "delete-all"})), "bad_column"),
        (
            insert("contentless", json!([{"body": "x"}, {"contentless": "delete-all"}])),
            "bad_column",
        ),
        (insert("external", json!({"external": "delete-all"})), "bad_column"),
        (insert("external", json!({"external": "delete", "body": "a fox"})), "bad_column"),
        (insert("external", json!({"external": "rebuild"})), "bad_column"),
        (insert("docs", json!({"docs": "rank", "rank": "bm25(0.0)"})), "bad_column"),
        (insert("docs", json!({"docs": "pgsz", "rank": 32})), "bad_column"),
        (insert("docs", json!({"title": "x", "rank": "y"})), "bad_column"),
        (insert("docs", json!({"docs": null})), "bad_column"),
        (insert("old_docs", json!({"old_docs": "rebuild"})), "bad_column"),
        (insert("fts3", json!({"fts3": "optimize"})), "bad_column"),
        (insert("fts3", json!({"docid": 1, "body": "x"})), "bad_column"),
        (insert("fts4", json!({"fts4": "merge=2,8"})), "bad_column"),
        (insert("fts4", json!({"body": "x", "lang": 7})), "bad_column"),
        (replace("contentless", json!({"contentless": "delete-all"})), "bad_argument"),
        (
            replace("grid", json!({"id": 1, "min_x": 5, "max_x": 6, "label": "evil"})),
            "bad_argument",
        ),
        (replace("boxes", json!({"id": 1, "min_x": 5, "max_x": 6})), "bad_argument"),
        (replace("docs", json!({"title": "x"})), "bad_argument"),
        (replace("fts4", json!({"body": "x"})), "bad_argument"),
        (update("docs", json!({"docs": "rank"})), "bad_column"),
        (update("docs", json!({"rank": "bm25(0.0)"})), "bad_column"),
        (update("contentless", json!({"contentless": "delete-all"})), "bad_column"),
        (update("old_docs", json!({"old_docs": "rebuild"})), "bad_column"),
        (update("fts4", json!({"lang": 3})), "bad_column"),
        // They accept no values.
        (insert("words", json!({"term": "x"})), "sql"),
        (insert("words4", json!({"term": "x"})), "sql"),
        (insert("tokens", json!({"token": "x"})), "sql"),
        (insert("tokens", json!({"input": "x"})), "sql"),
        (insert("pages", json!({"name": "x"})), "sql"),
        (insert("pages", json!({"aggregate": 1})), "bad_column"),
        (insert("json_each", json!({"json": "[1]"})), "unknown_table"),
        (insert("pragma_user_version", json!({"user_version": 1})), "unknown_table"),
        // Shadow tables.
        (insert("docs_config", json!({"k": "rank", "v": "bm25(0.0)"})), "sql"),
        (replace("docs_config", json!({"k": "version", "v": 9})), "sql"),
        (update("docs_data", json!({"block": "x"})), "sql"),
        (
            ("delete_record", json!({"table_name": "docs_content", "filters": {}, "all": true})),
            "sql",
        ),
        (insert("old_docs_stat", json!({"id": 9, "value": "x"})), "sql"),
        (insert("boxes_node", json!({"nodeno": 9, "data": "x"})), "sql"),
        (insert("grid_rowid", json!({"rowid": 9, "nodeno": 1})), "sql"),
        // Values that are not commands.
        (insert("grid", json!({"id": 1, "min_x": 1, "max_x": 2})), "constraint"),
        (insert("boxes", json!({"id": 7, "min_x": 1, "max_x": 2})), "ok"),
        (insert("docs", json!({"title": "delete-all"})), "ok"),
        (update("old_docs", json!({"body": "rebuild"})), "ok"),
    ] {
        let outcome = fixture.call(operation, arguments.clone());
        assert_eq!(kind(&outcome), expected, "{operation} {arguments}: {outcome:?}");
    }
    assert_eq!(fixture.look(STATE), before);
}

#[test]
fn a_refused_command_names_the_alternative() {
    let fixture = fixture();
    let insert = json!({"table_name": "docs", "data": {"docs": "optimize"}});
    assert_eq!(
        fixture.call("insert_record", insert).unwrap_err().to_string(),
        "argument `data`, column `docs`: it is a hidden column, whose values are commands to a virtual \
         table; send them as SQL with `execute_raw_query`"
    );
    let replace = json!({"table_name": "boxes", "data": {"id": 1}, "on_conflict": "replace"});
    assert_eq!(
        fixture.call("insert_record", replace).unwrap_err().to_string(),
        "argument `on_conflict`: `replace` is not supported for virtual tables; delete the old rows first"
    );
}

/// In SQL that may change the database, commands are allowed.
#[test]
fn commands_are_sql_that_changes_the_database() {
    for (sql, state) in [
        ("INSERT INTO contentless(contentless) VALUES ('delete-all')", "0 1 1 1 1 one"),
        ("INSERT INTO docs(docs, rank) VALUES ('rank', 'bm25(0.0)')", "1 1 1 1 2 one"),
        ("INSERT OR REPLACE INTO grid VALUES (1, 0, 10, 'two')", "1 1 1 1 1 two"),
        ("INSERT INTO fts4(fts4) VALUES ('optimize')", "1 1 1 1 1 one"),
    ] {
        let fixture = fixture();
        let run = |read_only: bool| {
            fixture.call("execute_raw_query", json!({"query": sql, "read_only": read_only}))
        };
        assert_eq!(kind(&run(true)), "forbidden", "{sql}");
        assert_eq!(fixture.look(STATE), "1 1 1 1 1 one", "{sql}");
        let outcome = run(false);
        assert_eq!(kind(&outcome), "ok", "{sql}: {outcome:?}");
        assert_eq!(fixture.look(STATE), state, "{sql}");
    }
    for sql in [
        "INSERT INTO docs_config VALUES ('rank', 'bm25(0.0)')",
        "UPDATE docs_data SET block = x'00'",
        "DELETE FROM boxes_node",
        "DROP TABLE docs_content",
    ] {
        let fixture = fixture();
        let outcome = fixture.call("execute_raw_query", json!({"query": sql, "read_only": false}));
        assert_eq!(kind(&outcome), "sql", "{sql}: {outcome:?}");
    }
}

/// A table that does not fit its content is an error of the statement: the other tables are served.
#[test]
fn damaged_tables_are_errors_of_the_statement() {
    let fixture = fixture();
    let damage = "DELETE FROM source; DELETE FROM fts4_segdir; UPDATE grid_node SET data = x'00';
                  UPDATE contentless_data SET block = x'00' WHERE id > 10";
    create(&fixture.path, damage);
    let write = |sql: &str| json!({"query": sql, "read_only": false});
    for (arguments, expected) in [
        (json!({"query": "SELECT * FROM external WHERE external MATCH 'fox'"}), "sql"),
        (write("INSERT INTO external(external, rank) VALUES ('integrity-check', 1)"), "sql"),
        (write("INSERT INTO contentless(contentless) VALUES ('integrity-check')"), "sql"),
        (write("INSERT INTO fts4(fts4) VALUES ('integrity-check')"), "sql"),
        (json!({"query": "SELECT * FROM grid"}), "sql"),
        (json!({"query": "SELECT count(*) FROM contentless WHERE contentless MATCH 'fox'"}), "sql"),
        (json!({"query": "SELECT count(*) FROM source"}), "ok"),
        (write("INSERT INTO external(external) VALUES ('rebuild')"), "ok"),
        (json!({"query": "SELECT * FROM external WHERE external MATCH 'fox'"}), "ok"),
    ] {
        let call = fixture.database.execute_raw_query(crate::fixture::request(arguments.clone()));
        let outcome = fixture.runtime.block_on(call);
        let text = outcome.as_ref().err().map(ToString::to_string).unwrap_or_default();
        assert_eq!(kind(&outcome), expected, "{arguments}: {text}");
        assert_eq!(text.contains("a virtual table is damaged: "), expected == "sql", "{text}");
    }
}
