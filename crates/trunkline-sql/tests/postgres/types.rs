//! Values of all types: each is read, and written back in the form in which it was read.

use serde_json::{Value, json};
use trunkline_sql::change::OnConflict;
use trunkline_sql::postgres::PostgresConfig;
use trunkline_sql::transfer::{
    ExportFormat, ExportRows, ExportSender, ImportBatch, ImportRecord, read_json,
};
use trunkline_sql::{Database, Error};

use crate::fixture::{Fixture, call, connect};
use crate::server::{self, url_of};

const TYPES: &str = "\
    CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE DOMAIN cheer AS mood;
    CREATE TYPE place AS (n int, name text, moods mood[]); CREATE DOMAIN home AS place;
    CREATE TYPE note AS (doc jsonb);
    CREATE TYPE priced AS (n int, price money);
    CREATE DOMAIN price AS money; CREATE DOMAIN document AS jsonb; CREATE DOMAIN tags AS hstore;
    CREATE DOMAIN year AS int NOT NULL CHECK (VALUE > 1900); CREATE DOMAIN modern AS year CHECK (VALUE < 2100);
    CREATE TYPE span AS RANGE (subtype = int4); CREATE TYPE spent AS RANGE (subtype = money);";

/// A type, an expression of SQL, and the value in results.
const VALUES: [(&str, &str, &str); 68] = [
    ("money", "'1234.5'", r#""$1,234.50""#),
    ("money[]", "'{1.5,NULL}'", r#""{$1.50,NULL}""#),
    ("price", "'2'", r#""$2.00""#),
    ("priced", "ROW(1, '2')", r#""(1,$2.00)""#),
    ("priced[]", "ARRAY[ROW(1, '2')::priced]", r#""{\"(1,$2.00)\"}""#),
    ("spent", "'[1,2)'", r#""[$1.00,$2.00)""#),
    ("tsquery", "'a & !b'", r#""'a' & !'b'""#),
    ("tsvector", "'it''s:1A a\\\\b:2'", r#""'a\\\\b':2 'it''s':1A""#),
    ("cube", "'(1,2),(3,4)'", r#""(1, 2),(3, 4)""#),
    ("isbn", "'978-0-393-04002-9'", r#""0-393-04002-X""#),
    ("seg", "'1..2'", r#""1 .. 2""#),
    ("pg_snapshot", "'10:20:10,14'", r#""10:20:10,14""#),
    ("txid_snapshot", "'10:20:10,14'", r#""10:20:10,14""#),
    ("aclitem", "'app=r/app'", r#""app=r/app""#),
    ("aclitem[]", "'{app=r/app}'", r#""{app=r/app}""#),
    ("gtsvector", "NULL", "null"),
    ("xml", "'<a>1</a>'", r#""<a>1</a>""#),
    ("hstore", r#"'a=>1, b=>NULL, "c \"d"=>"\\e"'"#, r#"{"a":"1","b":null,"c \"d":"\\e"}"#),
    ("hstore", "''", "{}"),
    ("hstore", "'$text=>YQ=='", r#"{"$text":"YQ=="}"#),
    ("hstore[]", "ARRAY['a=>1'::hstore, NULL]", r#"[{"a":"1"},null]"#),
    ("tags", "'a=>1'", r#"{"a":"1"}"#),
    ("ltree", "'a.b'", r#""a.b""#),
    ("citext", "'Ab'", r#""Ab""#),
    ("citext[]", "'{Ab,c}'", r#"["Ab","c"]"#),
    (
        "place",
        r#"ROW(1, 'a "b", \c', '{sad}')"#,
        r#"{"n":1,"name":"a \"b\", \\c","moods":["sad"]}"#,
    ),
    ("note", r#"ROW('"1"')"#, r#"{"doc":"1"}"#),
    ("note", r#"ROW('"x"')"#, r#"{"doc":"x"}"#),
    ("note[]", r#"ARRAY[ROW('{"a": [1]}')::note]"#, r#"[{"doc":{"a":[1]}}]"#),
    ("place", "ROW(NULL, '', NULL)", r#"{"n":null,"name":"","moods":null}"#),
    ("place[]", "ARRAY[ROW(1, 'a', '{}')::place]", r#"[{"n":1,"name":"a","moods":[]}]"#),
    ("home", "ROW(1, 'a', '{}')", r#"{"n":1,"name":"a","moods":[]}"#),
    ("mood", "'sad'", r#""sad""#),
    ("mood[]", "'{sad,happy}'", r#"["sad","happy"]"#),
    ("cheer", "'happy'", r#""happy""#),
    ("modern", "2000", "2000"),
    ("span", "'[1,3)'", r#""[1,3)""#),
    ("int4multirange", "'{[1,3),[5,6)}'", r#""{[1,3),[5,6)}""#),
    ("numrange[]", r#"'{"[1,2)"}'"#, r#"["[1,2)"]"#),
    ("document", r#"'"x"'"#, r#""x""#),
    ("document", "'{\"a\": [1]}'", r#"{"a": [1]}"#),
    ("jsonb", "'[{\"$blob\": 1}]'", r#"[{"$blob": 1}]"#),
    ("jsonpath", "'$.a'", r#""$.\"a\"""#),
    ("bytea[]", "ARRAY['\\x00ff'::bytea, NULL]", r#"[{"$blob":"AP8=","bytes":2},null]"#),
    ("float8[]", "'{NaN,-Infinity,0.5}'", r#"[{"$float":"NaN"},{"$float":"-Infinity"},0.5]"#),
    ("float4", "'NaN'", r#"{"$float":"NaN"}"#),
    ("numeric", "'NaN'", r#""NaN""#),
    ("text[]", r#"'{a,NULL,"NULL","","{\\}"}'"#, r#"["a",null,"NULL","","{\\}"]"#),
    ("int[]", "'{{1,2},{3,4}}'", "[[1,2],[3,4]]"),
    ("int2vector", "'1 2'", "[1,2]"),
    ("oidvector", "'1 2'", "[1,2]"),
    ("interval", "'1 day 2:00'", r#""P1DT2H""#),
    ("timetz", "'12:00+02'", r#""12:00:00+02:00""#),
    ("time", "'24:00'", r#""24:00:00""#),
    ("date", "'0044-03-15 BC'", r#""0044-03-15 BC""#),
    ("timestamptz", "'infinity'", r#""infinity""#),
    ("bit(3)", "'101'", r#""101""#),
    ("path", "'[(0,0),(1,1)]'", r#""[(0,0),(1,1)]""#),
    ("line", "'{1,2,3}'", r#""{1,2,3}""#),
    ("macaddr8", "'08:00:2b:01:02:03:04:05'", r#""08:00:2b:01:02:03:04:05""#),
    ("inet", "'1.2.3.4/8'", r#""1.2.3.4/8""#),
    ("pg_lsn", "'1/2'", r#""1/2""#),
    ("tid", "'(0,1)'", r#""(0,1)""#),
    ("xid8", "'5'", "5"),
    ("regtype", "'int4'", "23"),
    ("refcursor", "'c'", r#""c""#),
    ("name", "'abc'", r#""abc""#),
    ("bpchar", "'a '", r#""a ""#),
];

fn fixture() -> Fixture {
    let config = PostgresConfig { writable: true, ..PostgresConfig::default() };
    let fixture = Fixture::with("SELECT 1;", config);
    let extensions = ["hstore", "cube", "isn", "seg", "ltree", "citext"];
    let extensions = extensions.map(|name| format!("CREATE EXTENSION {name};"));
    fixture.look(&format!("{} SET ROLE app; {TYPES}", extensions.concat()));
    fixture
}

fn run(fixture: &Fixture, operation: &str, arguments: Value) -> Result<Value, Error> {
    fixture.runtime.block_on(call(&fixture.database, operation, arguments))
}

/// The text of an export.
fn export(database: &Database, fixture: &Fixture, format: ExportFormat) -> String {
    let (sender, mut parts) = ExportSender::channel();
    fixture.runtime.block_on(async {
        let export = database.export_rows(ExportRows::table("t", format), sender);
        let text = async {
            let mut text = Vec::new();
            while let Some(part) = parts.recv().await {
                text.extend_from_slice(&part);
            }
            String::from_utf8(text).unwrap()
        };
        let (exported, text) = tokio::join!(export, text);
        exported.unwrap();
        text
    })
}

#[test]
#[ignore = "needs PostgreSQL"]
fn values_are_read_and_written_back() {
    let fixture = fixture();
    for (kind, sql, expected) in VALUES {
        let shown = format!("{kind} {sql}");
        let create = format!(
            "SET ROLE app; DROP TABLE IF EXISTS t; CREATE TABLE t (id int PRIMARY KEY, c {kind}); \
             INSERT INTO t VALUES (1, {sql})"
        );
        fixture.look(&create);
        let query = json!({ "table_name": "t", "filters": { "id": 1 } });
        let page =
            run(&fixture, "query_records", query).unwrap_or_else(|e| panic!("{shown}: {e:?}"));
        let value = page["rows"][0][1].clone();
        assert_eq!(value, serde_json::from_str::<Value>(expected).unwrap(), "{shown}");
        // The same value by the other ways, with a statement that is kept, too.
        for _ in 0..2 {
            let raw = run(&fixture, "execute_raw_query", json!({ "query": "SELECT * FROM t" }));
            assert_eq!(raw.unwrap()["rows"], json!([[1, value]]), "{shown}");
        }
        let described = json!({ "table_name": "t", "sample_rows": 1 });
        let described = run(&fixture, "describe_table", described).unwrap();
        assert_eq!(described["sample"]["rows"], json!([[1, value]]), "{shown}");
        run(&fixture, "profile_table", json!({ "table_name": "t" })).unwrap();
        // Written back as a record, by an update, as a parameter and by imports.
        let insert =
            json!({ "table_name": "t", "data": { "id": 2, "c": value }, "returning": true });
        let inserted = run(&fixture, "insert_record", insert);
        let inserted = inserted.unwrap_or_else(|error| panic!("{shown} {value}: {error}"));
        assert_eq!(inserted["rows"]["rows"], json!([[2, value]]), "{shown}");
        fixture.look("INSERT INTO t SELECT 3, NULL WHERE NOT EXISTS (SELECT FROM pg_attribute AS a JOIN pg_type AS y \
                      ON y.oid = a.atttypid WHERE a.attrelid = 't'::regclass AND y.typname = 'modern'); \
                      INSERT INTO t SELECT 3, c FROM t WHERE id = 1 ON CONFLICT DO NOTHING");
        let update = json!({ "table_name": "t", "filters": { "id": 3 }, "data": { "c": value } });
        run(&fixture, "update_record", update).unwrap_or_else(|e| panic!("{shown}: {e}"));
        let cast = format!("INSERT INTO t VALUES (4, $1::{kind}) RETURNING c");
        let raw = json!({ "query": cast, "params": [value], "read_only": false });
        // A string is the text of the type there, and not a JSON string.
        if !(["document", "jsonb"].contains(&kind) && value.is_string()) {
            let raw =
                run(&fixture, "execute_raw_query", raw).unwrap_or_else(|e| panic!("{shown}: {e}"));
            assert_eq!(raw["rows"], json!([[value]]), "{shown}");
        }
        let csv = export(&fixture.database, &fixture, ExportFormat::Csv);
        let lines = export(&fixture.database, &fixture, ExportFormat::NdJson);
        for (id, record) in [(5, csv_cell(&csv)), (6, json_cell(&first_cell(&lines)))] {
            let mut data = serde_json::Map::new();
            data.insert("id".to_owned(), id.to_string().into());
            if !(record == "" && sql == "NULL") {
                data.insert("c".to_owned(), record);
            }
            let batch = ImportBatch {
                table_name: "t".to_owned(),
                records: vec![ImportRecord { line: 1, data }],
                on_conflict: OnConflict::Abort,
                are_texts: id == 5,
                checkpoint: None,
            };
            let imported = fixture.runtime.block_on(fixture.database.import_batch(batch)).unwrap();
            assert_eq!(imported.inserted, 1, "{shown} {id}: {imported:?}");
        }
        let distinct = fixture.look("SELECT count(DISTINCT coalesce(c::text, '')) FROM t");
        assert_eq!(distinct, ["1"], "{shown}: {:?}", fixture.look("SELECT id, c::text FROM t"));
    }
}

/// A cell as the member of a record.
fn json_cell(cell: &str) -> Value {
    read_json(format!("{{\"c\":{cell}}}").as_bytes()).unwrap()["c"].clone()
}

/// The second cell of the first row of an export in CSV.
fn csv_cell(csv: &str) -> Value {
    let (_, cell) = csv.lines().nth(1).unwrap().split_once(',').unwrap();
    match cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\"\"", "\"").into(),
        None => cell.into(),
    }
}

/// The second value of the first row of an export in NDJSON, as text.
fn first_cell(lines: &str) -> String {
    let line = lines.lines().next().unwrap();
    line.strip_prefix(r#"{"id":1,"c":"#).unwrap().strip_suffix('}').unwrap().to_owned()
}

/// Rows without declared types, whose members have types of the database.
#[test]
#[ignore = "needs PostgreSQL"]
fn anonymous_rows() {
    let fixture = fixture();
    for (sql, expected) in [
        ("ROW('sad'::mood, 'x'::citext, 1)", json!(["sad", "x", 1])),
        ("ARRAY[ROW(1, 'sad'::mood)]", json!([[1, "sad"]])),
        ("ROW(2000::modern, NULL::place)", json!([{"$blob": "AAAH0A==", "bytes": 4}, null])),
        ("ROW('1'::money)", json!([{"$blob": "AAAAAAAAAGQ=", "bytes": 8}])),
        ("ROW(ROW('a', 2))", json!([["a", 2]])),
    ] {
        let rowset =
            fixture.sql(&format!("SELECT {sql}")).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        let rows: Value = serde_json::from_str(rowset.rows.get()).unwrap();
        assert_eq!(rows, json!([[expected]]), "{sql}");
    }
}

/// A database without an encoding, whose texts are any bytes.
#[test]
#[ignore = "needs PostgreSQL"]
fn texts_of_any_bytes() {
    let fixture = Fixture::with("SELECT 1;", PostgresConfig::default());
    let name = format!("{}_ascii", fixture.name);
    server::psql(
        "postgres",
        "postgres",
        &format!(
            "CREATE DATABASE {name} OWNER app ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
        ),
    );
    server::psql("postgres", &name, "CREATE EXTENSION hstore");
    let script = r#"
        DO $$ BEGIN EXECUTE E'CREATE TYPE mood AS ENUM (\'sad\', \'\xe7\', \'a\\b\')'; END $$;
        CREATE TYPE place AS (n int, name text);
        CREATE TABLE t (id int PRIMARY KEY, c text, v varchar(9), b char(2), n name, x text[], m mood, j json, h hstore,
            p place, r text, w tsvector, k text UNIQUE);
        DO $$ BEGIN EXECUTE E'CREATE TABLE "n\xe7" (a int); CREATE TABLE u (id int PRIMARY KEY, "c\xe7" money)'; END $$;
        COMMENT ON TABLE t IS E'caf\xe9'; COMMENT ON COLUMN t.c IS E'caf\xe9';
        INSERT INTO t VALUES (1, 'ok', 'ok', 'ok', 'ok', '{ok}', 'sad', '1', 'a=>1', ROW(1, 'ok'), 'ok', 'ok', 'ok'),
            (2, E'\xe7', E'\xe7', E'\xe7', E'\xe7', ARRAY[E'\xe7'], E'\xe7', E'"\xe7"'::json,
             hstore('a', E'\xe7'), ROW(1, E'\xe7'), E'\xe7\xc3\xa7', E'\xe7'::tsvector, E'\xe7'),
            (3, E'\xc3\xa7', NULL, NULL, NULL, NULL, NULL, NULL, hstore(E'\xe7', 'a'), NULL, NULL, NULL, E'\xe8');
    "#;
    server::psql("app", &name, script);
    let config = PostgresConfig { writable: true, ..PostgresConfig::default() };
    let database = fixture.runtime.block_on(connect(&url_of("app", &name), config)).unwrap();
    let database = Database::from(database);
    let run = |operation: &str, arguments: Value| {
        fixture.runtime.block_on(call(&database, operation, arguments))
    };
    let byte = json!({ "$text": "5w==", "bytes": 1 });
    let expected = json!([
        [1, "ok", "ok", "ok", "ok", ["ok"], "sad", 1, {"a": "1"}, {"n": 1, "name": "ok"}, "ok", "'ok'", "ok"],
        [
            2, byte, byte, {"$text": "5yA=", "bytes": 2}, byte, [byte], byte,
            {"$text": "Iuci", "bytes": 3}, {"a": byte}, {"n": 1, "name": byte}, {"$text": "58On", "bytes": 3},
            {"$text": "J+cn", "bytes": 3}, byte
        ],
        [3, "ç", null, null, null, null, null, null, {"$text": "IuciPT4iYSI=", "bytes": 8}, null, null, null,
         {"$text": "6A==", "bytes": 1}],
    ]);
    let page = run("query_records", json!({ "table_name": "t" })).unwrap();
    assert_eq!(page["rows"], expected);
    let raw = run("execute_raw_query", json!({ "query": "SELECT * FROM t ORDER BY id" }));
    assert_eq!(raw.unwrap()["rows"], expected);
    assert_eq!(export(&database, &fixture, ExportFormat::NdJson).lines().count(), 3);
    let described = run("describe_table", json!({ "table_name": "t", "sample_rows": 3 })).unwrap();
    assert_eq!(described["sample"]["rows"], expected);
    assert_eq!(described["description"], "caf\u{fffd}");
    run("profile_table", json!({ "table_name": "t" })).unwrap();
    // Names that requests cannot contain, and comments.
    let list = run("list_tables", json!({})).unwrap();
    assert_eq!(list["unreadable"], json!(["n\u{fffd}"]));
    assert_eq!(
        (list["tables"].as_array().unwrap().len(), &list["tables"][0]["description"]),
        (2, &json!("caf\u{fffd}"))
    );
    let found = run("search_schema", json!({ "term": "caf" })).unwrap();
    assert_eq!(found["matches"].as_array().unwrap().len(), 2, "{found}");
    let described = run("describe_table", json!({ "table_name": "u" })).unwrap();
    assert_eq!(described["unreadable"], json!(["c\u{fffd}"]));
    let unnamed = run("query_records", json!({ "table_name": "u" })).unwrap_err();
    assert!(unnamed.to_string().contains("list the other columns"), "{unnamed}");
    assert!(run("query_records", json!({ "table_name": "u", "columns": ["id"] })).is_ok());
    let unknown = run("query_records", json!({ "table_name": "tt" })).unwrap_err();
    assert_eq!(unknown.details().kind, "unknown_table", "{unknown:?}");
    // Filters, pages in the order of such texts, and changes.
    let found = json!({ "table_name": "t", "columns": ["id"], "filters": { "c": byte } });
    assert_eq!(run("query_records", found).unwrap()["rows"], json!([[2]]));
    let mut pages = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let page = json!({ "table_name": "t", "columns": ["id"], "order_by": "k", "limit": 1, "cursor": cursor });
        let page = run("query_records", page).unwrap();
        pages.push(page["rows"][0][0].clone());
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(pages, [1, 2, 3]);
    let mut data = json!({ "id": 4 });
    for (name, value) in ["c", "v", "b", "n", "m", "h", "r", "w", "k"].iter().zip([
        byte.clone(),
        byte.clone(),
        byte.clone(),
        byte.clone(),
        byte.clone(),
        expected[2][8].clone(),
        expected[1][10].clone(),
        expected[1][11].clone(),
        json!({ "$text": "6Q==" }),
    ]) {
        data[*name] = value;
    }
    run("insert_record", json!({ "table_name": "t", "data": data })).unwrap();
    let update = json!({ "table_name": "t", "filters": { "id": 4 }, "data": { "p": expected[1][9], "x": [byte] } });
    run("update_record", update).unwrap();
    let same = "SELECT a.c = b.c AND a.v = b.v AND a.b = b.b AND a.n = b.n AND a.m = b.m AND a.r = b.r AND a.w = b.w \
                AND a.p = b.p AND a.x = b.x AND a.h = c.h FROM t AS a, t AS b, t AS c WHERE a.id = 4 AND b.id = 2 AND c.id = 3";
    assert_eq!(server::psql("app", &name, same), ["t"]);
    let update =
        json!({ "table_name": "t", "filters": { "id": 4 }, "data": { "h": expected[1][8] } });
    run("update_record", update).unwrap();
    let same = "SELECT a.h = b.h FROM t AS a, t AS b WHERE a.id = 4 AND b.id = 2";
    assert_eq!(server::psql("app", &name, same), ["t"]);
    // The server reports such a text in an error.
    let again = json!({ "table_name": "t", "data": { "id": 5, "k": byte } });
    let error = run("insert_record", again).unwrap_err();
    assert_eq!(error.details().kind, "constraint", "{error:?}");
    assert!(error.to_string().contains("Key (k)=(\u{fffd}) already exists"), "{error}");
    // In a database with an encoding, the server refuses them.
    let fixture = Fixture::with(
        "CREATE TABLE t (id int PRIMARY KEY, c text);",
        PostgresConfig { writable: true, ..PostgresConfig::default() },
    );
    let insert = json!({ "table_name": "t", "data": { "id": 1, "c": byte } });
    let refused =
        fixture.runtime.block_on(call(&fixture.database, "insert_record", insert)).unwrap_err();
    assert!(
        refused.to_string().contains("invalid byte sequence for encoding \"UTF8\": 0xe7"),
        "{refused}"
    );
}

/// A byte that the encoding of the database does not define.
#[test]
#[ignore = "needs PostgreSQL"]
fn undefined_characters_have_a_remedy() {
    let fixture = Fixture::with("SELECT 1;", PostgresConfig::default());
    let name = format!("{}_windows", fixture.name);
    let create = format!(
        "CREATE DATABASE {name} OWNER app ENCODING 'WIN1252' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
    );
    server::psql("postgres", "postgres", &create);
    server::psql("app", &name, r"CREATE TABLE t (c text); INSERT INTO t VALUES (E'\x80\x81')");
    let url = url_of("app", &name);
    let connected = fixture.runtime.block_on(connect(&url, PostgresConfig::default()));
    let database = Database::from(connected.unwrap());
    let run = |operation: &str, arguments: Value| {
        fixture.runtime.block_on(call(&database, operation, arguments))
    };
    let error = run("query_records", json!({ "table_name": "t" })).unwrap_err();
    assert_eq!(error.details().kind, "sql", "{error:?}");
    assert!(error.to_string().contains("convert_to(COLUMN, getdatabaseencoding())"), "{error}");
    let remedy = "SELECT convert_to(c, getdatabaseencoding()), left(c, 1) FROM t";
    let rows = run("execute_raw_query", json!({ "query": remedy })).unwrap();
    assert_eq!(rows["rows"], json!([[{ "$blob": "gIE=", "bytes": 2 }, "€"]]));
}

#[test]
#[ignore = "needs PostgreSQL"]
fn descriptions_list_enums_and_domains() {
    let fixture = fixture();
    fixture
        .look("SET ROLE app; CREATE TABLE d (m mood, ms mood[], c cheer, y modern, t tags, n int)");
    let described = run(&fixture, "describe_table", json!({ "table_name": "d" })).unwrap();
    let facts: Vec<Value> = described["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| json!([column["values"], column["base_type"], column["checks"]]))
        .collect();
    let values = json!(["sad", "happy"]);
    let checks = json!(["CHECK (((VALUE)::integer < 2100))", "NOT NULL", "CHECK ((VALUE > 1900))"]);
    assert_eq!(
        json!(facts),
        json!([
            [values, null, null],
            [values, null, null],
            [values, "mood", null],
            [null, "integer", checks],
            [null, "hstore", null],
            [null, null, null],
        ])
    );
}
