//! Where results end.

use serde_json::json;
use trunkline_sql::Settings;

use crate::fixture::{Fixture, reply, request};

const MANY: &str =
    "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";

#[test]
fn rows_and_bytes() {
    let fixture = Fixture::with(Settings { max_rows: 4, max_bytes: 25, ..Settings::default() });
    let rows = [
        ("as many as allowed", format!("{MANY} LIMIT 4"), json!(null), json!([4, false, null])),
        ("one more", format!("{MANY} LIMIT 5"), json!(null), json!([4, true, "rows"])),
        ("endless", MANY.to_owned(), json!(null), json!([4, true, "rows"])),
        ("fewer wanted", MANY.to_owned(), json!(2), json!([2, true, "rows"])),
        ("more wanted", MANY.to_owned(), json!(1_000), json!([4, true, "rows"])),
        (
            "just fits",
            "SELECT 'aaaaaaaaaaaaaaaaaaa'".to_owned(),
            json!(null),
            json!([1, false, null]),
        ),
        (
            "one byte over",
            "SELECT 'aaaaaaaaaaaaaaaaaaaa'".to_owned(),
            json!(null),
            json!([0, true, "bytes"]),
        ),
        (
            "escapes count",
            "SELECT '\"\"\"\"\"\"\"\"\"\"\"\"'".to_owned(),
            json!(null),
            json!([0, true, "bytes"]),
        ),
        (
            "second row over",
            "VALUES ('aaaaaa'), ('bbbbbbbbbbb')".to_owned(),
            json!(null),
            json!([1, true, "bytes"]),
        ),
        ("blob", "SELECT zeroblob(1000000)".to_owned(), json!(null), json!([0, true, "bytes"])),
    ];
    for (name, query, max_rows, expected) in rows {
        let query = request(json!({"query": query, "max_rows": max_rows}));
        let rowset = fixture.raw(query).unwrap();
        assert!(rowset.rows.get().len() <= 25, "{name}");
        let rowset = reply(rowset);
        assert_eq!(rowset["rows"].as_array().unwrap().len(), rowset["row_count"], "{name}");
        let end = json!([rowset["row_count"], rowset["truncated"], rowset["truncated_by"]]);
        assert_eq!(end, expected, "{name}");
    }
}
