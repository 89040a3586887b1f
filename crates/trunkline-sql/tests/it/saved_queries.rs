//! Queries of the operator.

use serde_json::value::RawValue;
use serde_json::{Value, json};
use trunkline::{ErrorObject, Rpc};
use trunkline_sql::saved_query::{ParamKind, SavedParam, SavedQuery};
use trunkline_sql::{Databases, saved_queries};

use crate::fixture::Fixture;

fn query(sql: &str, params: impl IntoIterator<Item = SavedParam>) -> SavedQuery {
    let mut query = SavedQuery::new("staff", sql);
    query.params = params.into_iter().collect();
    query
}

fn param(name: &str, kind: ParamKind, default: Option<Value>) -> SavedParam {
    let mut param = SavedParam::new(name, kind);
    param.default = default;
    param
}

fn serve(fixture: &Fixture, query: SavedQuery) -> Result<Rpc, String> {
    let databases = Databases::from(fixture.database.clone());
    let router = fixture.runtime.block_on(saved_queries(&databases, [query]));
    router.map(|router| router.build().unwrap()).map_err(|error| error.to_string())
}

#[test]
fn calls() {
    let fixture = Fixture::new();
    let by_name = query(
        "SELECT count(*) FROM emp WHERE id <= :max AND name LIKE :name",
        [
            param("max", ParamKind::Integer, None),
            param("name", ParamKind::String, Some(json!("%"))),
        ],
    );
    let by_position =
        query("SELECT count(*) FROM emp WHERE id <= ? AND name LIKE ?", by_name.params.clone());
    for query in [by_name, by_position] {
        let rpc = serve(&fixture, query).unwrap();
        for (params, expected) in [
            (json!({"max": 2}), Ok(json!([[2]]))),
            (json!({"max": 2, "name": "nobody"}), Ok(json!([[0]]))),
            (json!({"max": 2, "name": null}), Ok(json!([[2]]))),
            (json!({}), Err("query parameters: `max` is missing")),
            (json!({"max": "9007199254740993"}), Ok(json!([[5]]))),
            (json!({"max": "2"}), Ok(json!([[2]]))),
            (json!({"max": 2.0}), Ok(json!([[2]]))),
            (json!({"max": "two"}), Err("query parameters: `max` must be an integer")),
            (json!({"max": 2, "mx": 1}), Err("query parameters: unknown parameter `mx`")),
        ] {
            let outcome: Result<Value, ErrorObject> =
                fixture.runtime.block_on(rpc.call("staff", &params));
            let reason = |error: ErrorObject| {
                let data: Value = serde_json::from_str(error.data().unwrap().get()).unwrap();
                data["reason"].as_str().unwrap().to_owned()
            };
            let outcome = outcome.map(|rowset| rowset["rows"].clone()).map_err(reason);
            assert_eq!(outcome, expected.map_err(str::to_owned), "{params}");
        }
        let raw = RawValue::from_string(r#"{"max": 12345678901234567890123}"#.to_owned()).unwrap();
        let outcome: Result<Value, ErrorObject> = fixture.runtime.block_on(rpc.call("staff", &raw));
        let data = outcome.unwrap_err().data().unwrap().get().to_owned();
        assert!(data.contains("would be rounded"), "{data}");
    }
}

#[test]
fn invalid_queries_are_reported_at_the_start() {
    let fixture = Fixture::writable();
    let integer = |name| param(name, ParamKind::Integer, None);
    for (query, expected) in [
        (query("SELECT * FROM empp", []), "no such table: empp; did you mean `emp`?"),
        (query("DELETE FROM emp", []), "not allowed"),
        (query("SELECT 1; SELECT 2", []), "only one statement"),
        (query("SELECT :a", [integer("b")]), "\":a\" has no value"),
        (query("SELECT :a, :b", [integer("b")]), "\":a\" has no value"),
        (query("SELECT :a", [integer("a"), integer("a")]), "duplicate parameter `a`"),
        (
            query("SELECT :a", [param("a", ParamKind::Boolean, Some(json!(1)))]),
            "the default of parameter `a` must be a boolean",
        ),
        (
            {
                let mut elsewhere = query("SELECT 1", []);
                elsewhere.database = Some("sales".to_owned());
                elsewhere
            },
            "unknown database `sales`; the databases are `main`",
        ),
    ] {
        let error = serve(&fixture, query.clone()).err().unwrap_or_default();
        assert!(error.contains(expected), "{query:?}: {error}");
        assert!(error.starts_with("query `staff`: "), "{error}");
    }
}
