//! `max_affected`: the counted rows, and changes beyond the limit.

use serde_json::{Value, json};
use trunkline_sql::QueryLimits;
use trunkline_sql::sqlite::SqliteConfig;

use crate::fixture::{Fixture, create, kind, open};

/// Tables with 5 children for each parent, by foreign keys, triggers and without row numbers.
const SCHEMA: &str = "
    CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT UNIQUE, role TEXT UNIQUE);
    CREATE TABLE posts (id INTEGER PRIMARY KEY, author INTEGER REFERENCES users ON DELETE CASCADE ON UPDATE CASCADE);
    CREATE INDEX posts_author ON posts (author);
    INSERT INTO users VALUES (1, 'ada', 'admin'), (2, 'ben', 'user'), (3, 'cyd', NULL);
    INSERT INTO posts (author) VALUES (1), (1), (1), (1), (1), (2);

    CREATE TABLE tags (label TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE tagged (label TEXT REFERENCES tags ON DELETE CASCADE, post INTEGER, PRIMARY KEY (label, post))
        WITHOUT ROWID;
    INSERT INTO tags VALUES ('a'), ('b');
    INSERT INTO tagged VALUES ('a', 1), ('a', 2), ('a', 3), ('b', 4);

    CREATE TABLE orders (id INTEGER PRIMARY KEY, total REAL);
    CREATE TABLE audit (line TEXT);
    CREATE TRIGGER orders_emptied AFTER DELETE ON orders BEGIN DELETE FROM audit; END;
    CREATE TRIGGER orders_added AFTER INSERT ON orders BEGIN INSERT INTO audit VALUES ('added'); END;
    INSERT INTO orders VALUES (1, 1.5), (2, 2.5);

    CREATE VIEW customers AS SELECT id, name FROM users;
    CREATE TRIGGER customers_added INSTEAD OF INSERT ON customers BEGIN
        UPDATE users SET name = new.name || id WHERE id < 3; END;

    CREATE TABLE slots (day TEXT, hour INTEGER, room TEXT, PRIMARY KEY (day, hour), UNIQUE (hour, room)) WITHOUT ROWID;
    INSERT INTO slots VALUES ('mon', 1, 'a'), ('mon', 2, 'a'), ('tue', 1, 'b');

    CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE, active INTEGER);
    CREATE UNIQUE INDEX people_name ON people (lower(name)) WHERE active;
    INSERT INTO people VALUES (1, 'Ada', 1), (2, 'ADA', 0), (3, 'Ben', 1);
";

/// Full-text indexes, the rows of whose shadow tables do not count.
const VIRTUAL: &str = "
    CREATE VIRTUAL TABLE notes USING fts5(text);
    INSERT INTO notes VALUES ('one'), ('two'), ('three');
    CREATE TRIGGER users_noted AFTER DELETE ON users BEGIN INSERT INTO notes VALUES (old.name); END;
    CREATE TRIGGER tags_noted AFTER DELETE ON posts BEGIN INSERT INTO notes VALUES (old.id); END;
";

fn fixture(sql: &[&str]) -> Fixture {
    let mut fixture = Fixture::new();
    let path = fixture.folder.path().join("affected.db");
    sql.iter().for_each(|sql| create(&path, sql));
    let config = SqliteConfig { writable: true, ..SqliteConfig::default() };
    fixture.database = open(&path, config).unwrap();
    fixture.path = path;
    fixture
}

/// The call succeeds with exactly this limit. With one less it fails and changes nothing.
#[track_caller]
fn check(schema: &[&str], operation: &str, arguments: &Value, rows: u64) {
    let fixture = fixture(schema);
    let call = |limit: u64| {
        let mut arguments = arguments.clone();
        arguments["max_affected"] = json!(limit);
        fixture.call(operation, arguments)
    };
    let before = fixture.files();
    if let Some(less) = rows.checked_sub(1) {
        let outcome = call(less);
        assert_eq!(kind(&outcome), "too_many_rows", "{operation} {arguments}: {outcome:?}");
        assert!(fixture.files() == before, "{operation} {arguments}");
    }
    let outcome = call(rows);
    assert_eq!(kind(&outcome), "ok", "{operation} {arguments}: {outcome:?}");
}

fn replace(table: &str, data: Value) -> Value {
    json!({"table_name": table, "data": data, "on_conflict": "replace"})
}

fn raw(query: &str) -> Value {
    json!({"query": query, "read_only": false})
}

#[test]
fn replaced_and_cascaded_rows_count_for_an_insert() {
    for (table, data, rows) in [
        // The row itself, and 5 children.
        ("users", json!({"id": 1, "name": "attacker", "role": "root"}), 6),
        ("users", json!({"id": 1, "name": "ada", "role": "admin"}), 6),
        ("users", json!({"id": 4, "name": "ada"}), 6),
        // Three rows, each of which conflicts with another key.
        ("users", json!({"id": 3, "name": "ada", "role": "user"}), 9),
        ("users", json!({"id": 3}), 1),
        ("users", json!({"id": 9, "name": "new", "role": "new"}), 0),
        ("users", json!([{"id": 9, "name": "x"}, {"id": 10, "name": "x"}]), 1),
        ("users", json!([{"id": 3}, {"id": 3}, {"id": 3}]), 3),
        // Without row numbers.
        ("tags", json!({"label": "a"}), 4),
        ("tags", json!([{"label": "a"}, {"label": "b"}, {"label": "c"}]), 6),
        ("slots", json!({"day": "mon", "hour": 2, "room": "b"}), 1),
        ("slots", json!({"day": "mon", "hour": 1, "room": "b"}), 2),
        // Expressions, collations and parts of tables.
        ("people", json!({"id": 9, "name": "ADA", "active": 1}), 1),
        ("people", json!({"id": 9, "name": "ADA", "active": 0}), 0),
        ("people", json!({"id": 2, "name": "BEN", "active": 1}), 2),
        // All rows that a trigger changes count.
        ("orders", json!({"id": 1, "total": 1}), 2),
        ("orders", json!([{"id": 1}, {"id": 3}]), 3),
        ("customers", json!({"name": "x"}), 2),
    ] {
        check(&[SCHEMA], "insert_record", &replace(table, data), rows);
    }
    for (table, data, rows) in [
        ("users", json!({"id": 9, "name": "new"}), 0),
        ("orders", json!([{"total": 1}, {"total": 2}]), 2),
        ("customers", json!({"name": "x"}), 2),
    ] {
        check(&[SCHEMA], "insert_record", &json!({"table_name": table, "data": data}), rows);
    }
}

#[test]
fn all_changed_rows_count_for_an_update_and_a_delete() {
    let delete =
        |table: &str, filters: Value| json!({"table_name": table, "filters": filters, "all": true});
    for (table, filters, rows) in [
        ("users", json!({"id": 1}), 6),
        ("users", json!({}), 9),
        ("posts", json!({}), 6),
        ("tags", json!({"label": "a"}), 4),
        ("tags", json!({}), 6),
        ("tagged", json!({}), 4),
        // The trigger deletes what it has added, two rows of `audit`.
        ("orders", json!({}), 4),
    ] {
        for schema in [&[SCHEMA][..], &[SCHEMA, VIRTUAL]] {
            check(schema, "delete_record", &delete(table, filters.clone()), rows);
        }
    }
    check(&[SCHEMA, VIRTUAL], "delete_record", &delete("notes", json!({})), 3);
    for (table, filters, data, rows) in [
        ("users", json!({"id": 1}), json!({"id": 7}), 6),
        ("users", json!({"id": 1}), json!({"name": "x"}), 1),
        ("tagged", json!({"label": "a"}), json!({"post": 9}), 1),
        ("slots", json!({"room": "b"}), json!({"day": "wed"}), 1),
    ] {
        let mut arguments = delete(table, filters);
        arguments["data"] = data;
        for schema in [
            &[SCHEMA, "DELETE FROM tagged WHERE post > 1"][..],
            &[SCHEMA, "DELETE FROM tagged WHERE post > 1", VIRTUAL],
        ] {
            check(schema, "update_record", &arguments, rows);
        }
    }
}

#[test]
fn the_limit_holds_for_raw_sql() {
    for (sql, rows) in [
        ("DELETE FROM users", 9),
        ("DELETE FROM posts", 6),
        ("DELETE FROM posts WHERE id > 2", 4),
        ("DELETE FROM users WHERE id = 1 RETURNING name", 6),
        ("WITH x AS (SELECT 1 AS i) DELETE FROM users WHERE id IN (SELECT i FROM x)", 6),
        ("UPDATE posts SET author = 2", 6),
        ("UPDATE users SET id = 7 WHERE id = 1", 6),
        ("INSERT INTO posts (author) SELECT 2 FROM posts", 6),
        ("INSERT INTO orders (total) VALUES (1), (2)", 4),
        ("DELETE FROM orders", 4),
        ("DELETE FROM tags", 6),
        ("DELETE FROM tagged", 4),
        ("INSERT INTO tags VALUES ('c'), ('d')", 2),
        ("INSERT INTO customers (name) VALUES ('x')", 2),
        // One inserted row and the children; replaced rows themselves are not reported for raw SQL.
        ("INSERT OR REPLACE INTO users VALUES (1, 'x', 'y')", 6),
        ("INSERT INTO users VALUES (1, 'x', 'y') ON CONFLICT DO UPDATE SET name = 'z'", 1),
        ("SELECT * FROM users", 0),
        // A change of the schema affects the rows that foreign keys change.
        ("CREATE TABLE copy AS SELECT * FROM posts", 0),
        ("CREATE INDEX i ON posts (id, author)", 0),
        ("ALTER TABLE posts ADD COLUMN x DEFAULT 1", 0),
        ("ALTER TABLE orders DROP COLUMN total", 0),
        ("ALTER TABLE people RENAME TO persons", 0),
        ("DROP TABLE posts", 0),
        ("DROP TABLE users", 6),
    ] {
        for schema in [&[SCHEMA][..], &[SCHEMA, VIRTUAL]] {
            check(schema, "execute_raw_query", &raw(sql), rows);
        }
    }
    for (sql, rows) in [
        ("DELETE FROM notes", 3),
        ("INSERT INTO notes SELECT id FROM posts", 6),
        ("UPDATE notes SET text = 'x' WHERE rowid < 3", 2),
        ("CREATE VIRTUAL TABLE f USING fts5(a)", 0),
        ("DROP TABLE notes", 0),
    ] {
        check(&[SCHEMA, VIRTUAL], "execute_raw_query", &raw(sql), rows);
    }
}

#[test]
fn a_change_far_beyond_the_limit_is_stopped_and_undone() {
    let many = "WITH RECURSIVE n(i) AS (VALUES (2) UNION ALL SELECT i + 1 FROM n WHERE i < 100000)";
    let endless = "WITH RECURSIVE n(i) AS (VALUES (2) UNION ALL SELECT i + 1 FROM n)";
    let posts = format!("{many} INSERT INTO posts SELECT i + 10, 2 FROM n");
    let fixture = fixture(&[SCHEMA, &posts]);
    let before = fixture.files();
    for (operation, arguments) in [
        ("execute_raw_query", raw("DELETE FROM posts WHERE author > 0")),
        ("execute_raw_query", raw("DELETE FROM posts")),
        ("execute_raw_query", raw("UPDATE posts SET author = 3")),
        ("execute_raw_query", raw("DELETE FROM users")),
        // Without an early stop, this would run into the timeout.
        ("execute_raw_query", raw(&format!("{endless} INSERT INTO audit SELECT i FROM n"))),
        ("delete_record", json!({"table_name": "users", "filters": {"id": 2}})),
        (
            "delete_record",
            json!({"table_name": "posts", "filters": {"id": {"gt": 1}}, "dry_run": true}),
        ),
        ("insert_record", replace("users", json!({"id": 2, "name": "attacker"}))),
    ] {
        let outcome = fixture.call(operation, arguments.clone());
        assert_eq!(kind(&outcome), "too_many_rows", "{operation} {arguments}: {outcome:?}");
        assert!(fixture.files() == before, "{operation} {arguments}");
        // The next call starts from zero.
        let outcome = fixture.call("execute_raw_query", raw("DELETE FROM posts WHERE id = -1"));
        assert_eq!(kind(&outcome), "ok", "{outcome:?}");
    }
}

/// `cargo test --release -p trunkline-sql --test it cost_of_counting -- --ignored --nocapture`
#[test]
#[ignore = "a measurement"]
fn cost_of_counting() {
    const ROWS: u64 = 1_000_000;
    let statements = [
        format!(
            "INSERT INTO big SELECT value, value % 7, 'some text' FROM \
             (WITH RECURSIVE n(value) AS (VALUES (1) UNION ALL SELECT value + 1 FROM n WHERE value < {ROWS}) \
             SELECT value FROM n)"
        ),
        "UPDATE big SET b = b + 1".to_owned(),
        "DELETE FROM big WHERE a > 0".to_owned(),
    ];
    let schema =
        "PRAGMA journal_mode = WAL; CREATE TABLE big (a INTEGER PRIMARY KEY, b INTEGER, c TEXT)";
    let mut fastest = [[std::time::Duration::MAX; 2]; 3];
    for _ in 0..5 {
        let fixture = Fixture::new();
        let (plain, counted) =
            (fixture.folder.path().join("p.db"), fixture.folder.path().join("c.db"));
        create(&plain, schema);
        create(&counted, schema);
        let connection = rusqlite::Connection::open(&plain).unwrap();
        connection.execute_batch("PRAGMA cache_size = -8192; PRAGMA cache_spill = 0").unwrap();
        let config = SqliteConfig {
            writable: true,
            heap_limit: 0,
            limits: QueryLimits {
                max_affected: u64::MAX,
                timeout: std::time::Duration::from_secs(60),
                ..QueryLimits::default()
            },
            ..SqliteConfig::default()
        };
        let database = open(&counted, config).unwrap();
        for (fastest, sql) in fastest.iter_mut().zip(&statements) {
            let started = std::time::Instant::now();
            connection.execute_batch(sql).unwrap();
            fastest[0] = fastest[0].min(started.elapsed());
            let call = crate::fixture::call(&database, "execute_raw_query", raw(sql));
            let started = std::time::Instant::now();
            fixture.runtime.block_on(call).unwrap();
            fastest[1] = fastest[1].min(started.elapsed());
        }
    }
    for ([plain, counted], sql) in fastest.into_iter().zip(&statements) {
        let ratio = counted.as_secs_f64() / plain.as_secs_f64();
        println!("{plain:?} by SQLite alone, {counted:?} counted: {ratio:.2}; {sql:.20}");
    }
}
