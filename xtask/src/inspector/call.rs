//! The calls, and the results that are expected of them.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use self::Outcome::{Contains, Fails, Returns};

/// The tools of a writable server, sorted.
pub(super) const TOOLS: [&str; 8] = [
    "create_table",
    "delete_record",
    "describe_table",
    "execute_raw_query",
    "insert_record",
    "list_tables",
    "query_records",
    "update_record",
];

pub(super) struct Call {
    pub(super) tool: &'static str,
    /// Each as `key=value`.
    pub(super) arguments: &'static [&'static str],
    pub(super) outcome: Outcome,
}

#[derive(Clone, Copy)]
pub(super) enum Outcome {
    /// JSON pointers into the structured result, and the JSON at each.
    Returns(&'static [(&'static str, &'static str)]),
    /// A part of the result's text.
    Contains(&'static str),
    /// A part of the error's text.
    Fails(&'static str),
}

/// On the TPC-H sample, in this order: later calls see what earlier ones wrote.
pub(super) const CALLS: &[Call] = &[
    call(
        "list_tables",
        &[],
        Returns(&[("/tables/0/name", r#""customer""#), ("/tables/7/name", r#""supplier""#)]),
    ),
    // Strings.
    call(
        "list_tables",
        &["pattern=n%", "kind=table"],
        Returns(&[("/tables/0/name", r#""nation""#), ("/tables/0/columns", "4")]),
    ),
    // A string and an integer.
    call("describe_table", &["table_name=region", "sample_rows=2"], Contains("2 sample rows")),
    // An array, an object, integers, and a string where an array is allowed as well.
    call(
        "query_records",
        &[
            "table_name=nation",
            r#"columns=["n_name","n_regionkey"]"#,
            r#"filters={"n_regionkey":{"gte":3},"n_name":{"like":"%A%"}}"#,
            "order_by=n_name desc",
            "limit=2",
            "offset=1",
            "format=json",
        ],
        Returns(&[("/rows", r#"[["RUSSIA",3],["ROMANIA",3]]"#), ("/row_count", "2")]),
    ),
    call(
        "query_records",
        &["table_name=region"],
        Returns(&[("/row_count", "5"), ("/rows/4/1", r#""MIDDLE EAST""#)]),
    ),
    // A boolean with its default, and an integer.
    call(
        "execute_raw_query",
        &[
            "query=SELECT count(*) AS n FROM nation",
            "read_only=true",
            "max_rows=1",
            "timeout_ms=5000",
        ],
        Returns(&[("/columns/0/name", r#""n""#), ("/rows", "[[25]]")]),
    ),
    // An array of values.
    call(
        "execute_raw_query",
        &["query=SELECT r_name FROM region WHERE r_regionkey = ?", "params=[2]"],
        Returns(&[("/rows", r#"[["ASIA"]]"#)]),
    ),
    // An object, an array and a boolean.
    call(
        "create_table",
        &[
            "table_name=Gig",
            r#"schema={"GigId":"INTEGER","City":"TEXT NOT NULL","Seats":"INTEGER"}"#,
            r#"primary_key=["GigId"]"#,
            "if_not_exists=false",
        ],
        Returns(&[("/table", r#""Gig""#), ("/created", "true")]),
    ),
    // A boolean other than its default.
    call(
        "execute_raw_query",
        &[
            "query=INSERT INTO Gig (City, Seats) VALUES ('Oslo', 10), ('São Paulo', 20)",
            "read_only=false",
            "max_affected=2",
        ],
        Returns(&[("/rows_affected", "2")]),
    ),
    // A union of object and array, which Inspector 0.15 sends as a string.
    call(
        "insert_record",
        &[
            "table_name=Gig",
            r#"data={"City":"東京","Seats":7}"#,
            "on_conflict=ignore",
            "returning=true",
        ],
        Returns(&[("/rows_affected", "1"), ("/id", "3"), ("/rows/rows", r#"[[3,"東京",7]]"#)]),
    ),
    call(
        "insert_record",
        &[
            "table_name=Gig",
            r#"data=[{"City":"Rome"},{"City":"Lyon","Seats":null}]"#,
            "returning=true",
        ],
        Returns(&[("/rows_affected", "2"), ("/rows/rows", r#"[[4,"Rome",null],[5,"Lyon",null]]"#)]),
    ),
    call(
        "update_record",
        &[
            "table_name=Gig",
            r#"filters={"City":"São Paulo"}"#,
            r#"data={"Seats":30}"#,
            "dry_run=false",
            "max_affected=1",
        ],
        Returns(&[("/rows_affected", "1")]),
    ),
    call(
        "delete_record",
        &["table_name=Gig", r#"filters={"Seats":{"in":[10,30]}}"#, "all=false"],
        Returns(&[("/rows_affected", "2")]),
    ),
    // Errors name the argument or the table.
    call("describe_table", &["table_name=Gigs"], Fails("Gigs")),
    call("query_records", &["table_name=region", "limit=-1"], Fails("limit")),
    call("update_record", &["table_name=region"], Fails("filters")),
];

const fn call(tool: &'static str, arguments: &'static [&'static str], outcome: Outcome) -> Call {
    Call { tool, arguments, outcome }
}

impl Outcome {
    pub(super) fn is_error(self) -> bool {
        matches!(self, Fails(_))
    }

    pub(super) fn check(self, result: &Value) -> Result<()> {
        let is_error = result["isError"].as_bool().unwrap_or(false);
        ensure!(is_error == self.is_error(), "unexpected `isError`: {result}");
        let text = result["content"][0]["text"].as_str().context("the text is missing")?;
        match self {
            Fails(part) | Contains(part) => {
                ensure!(text.contains(part), "`{part}` is missing in the text: {text}");
            }
            Returns(members) => {
                for (pointer, json) in members {
                    let found = result["structuredContent"].pointer(pointer);
                    let expected: Value = serde_json::from_str(json)?;
                    ensure!(
                        found == Some(&expected),
                        "`{pointer}`: expected {expected}, got {result}"
                    );
                }
            }
        }
        Ok(())
    }
}
