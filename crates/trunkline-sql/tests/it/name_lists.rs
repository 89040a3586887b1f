//! Long lists of names of columns.

use serde_json::json;

use crate::fixture::Fixture;

/// Before a name of them is looked up, which takes time in proportion to the columns of the table.
#[test]
fn lists_of_more_columns_than_a_table_can_have_are_refused() {
    let fixture = Fixture::writable();
    let names = || (0..60_000).map(|number| format!("c{number}"));
    let by_name: serde_json::Map<_, _> = names().map(|name| (name, json!("TEXT"))).collect();
    let list: Vec<String> = names().collect();
    let joined = list.join(", ");
    for (operation, argument, arguments) in [
        ("create_table", "schema", json!({ "table_name": "t", "schema": by_name })),
        ("query_records", "columns", json!({ "table_name": "emp", "columns": list })),
        ("query_records", "columns", json!({ "table_name": "emp", "columns": joined })),
        ("query_records", "order_by", json!({ "table_name": "emp", "order_by": list })),
        ("query_records", "order_by", json!({ "table_name": "emp", "order_by": joined })),
        ("query_records", "filters", json!({ "table_name": "emp", "filters": by_name })),
        ("profile_table", "columns", json!({ "table_name": "emp", "columns": list })),
        (
            "insert_record",
            "returning",
            json!({ "table_name": "emp", "data": { "name": "x" }, "returning": list }),
        ),
        ("delete_record", "filters", json!({ "table_name": "emp", "filters": by_name })),
    ] {
        let error = fixture.call(operation, arguments).unwrap_err();
        let expected = format!("`{argument}` has 60000 columns; a table has at most 500");
        assert!(error.to_string().contains(&expected), "{operation}: {error}");
    }
}
