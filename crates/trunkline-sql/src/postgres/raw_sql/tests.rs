use super::{Scoped, check_only, expression_name, folded, in_place_of, spans};
use crate::model::schema::{Column, Dialect, Table, TableKind, Visibility};
use crate::model::visibility::Mask;
use crate::postgres::catalog::VisibleTable;

fn table(name: &str) -> Table {
    let column = |name: &str, mask| Column {
        name: name.to_owned(),
        declared_type: "text".to_owned(),
        base_type: None,
        not_null: false,
        default: None,
        key_place: 0,
        visibility: Visibility::Normal,
        mask,
    };
    Table {
        dialect: Dialect::Postgres,
        schema: Some("public".to_owned()),
        name: name.to_owned(),
        kind: TableKind::Table,
        without_rowid: true,
        columns: vec![column("a", None), column("b", Some(Mask::Null))],
        unreadable_columns: Vec::new(),
        unique_key: Vec::new(),
        constraints: Vec::new(),
    }
}

#[track_caller]
fn check(sql: &str, expected: &str) {
    let found = VisibleTable { table: table("t"), is_in_search_path: true };
    let scoped = Scoped::of(sql, &spans(sql).unwrap(), vec![found], Vec::new(), "k").unwrap();
    let definition = r#"WITH "t" AS NOT MATERIALIZED (SELECT "a" FROM "public"."t") "#;
    assert_eq!(scoped.text, expected.replace("#", definition), "{sql}");
}

#[test]
fn definitions_are_put_before_the_statement() {
    check("SELECT * FROM t;", "#SELECT * FROM t;");
    check("/* c */ TABLE t -- x", "/* c */ #TABLE t -- x");
    check("EXPLAIN SELECT 1", "EXPLAIN #SELECT 1");
    check(
        "EXPLAIN (ANALYZE, FORMAT JSON) VALUES (1)",
        "EXPLAIN (ANALYZE, FORMAT JSON) #VALUES (1)",
    );
    check("explain analyze verbose select 1", "explain analyze verbose #select 1");
    check(
        "WITH t AS (SELECT 1) TABLE t ; ",
        "#SELECT * FROM (WITH t AS (SELECT 1) TABLE t\n) AS statement",
    );
    check("EXPLAIN (SELECT 1)", "EXPLAIN #SELECT * FROM ((SELECT 1)\n) AS statement");
    check("SHOW search_path", "SHOW search_path");
}

/// The name with a schema at the token with this index is replaced, in the text and in the places of errors.
/// `expected` is `None` if it is refused.
#[track_caller]
fn check_qualified(sql: &str, index: usize, expected: Option<&str>) {
    let spans = spans(sql).unwrap();
    let edit = in_place_of(&table("t"), &expression_name("k", 0), &spans, index);
    let found = VisibleTable { table: table("t"), is_in_search_path: false };
    let scoped = edit.map(|edit| Scoped::of(sql, &spans, vec![found], vec![edit], "k").unwrap());
    let definition = r#"WITH "table_0_k" AS NOT MATERIALIZED (SELECT "a" FROM "public"."t") "#;
    let expected = expected.map(|text| text.replace('#', definition).replace('$', "\"table_0_k\""));
    assert_eq!(scoped.as_ref().map(|scoped| &scoped.text), expected.as_ref(), "{sql}");
    let Some(scoped) = scoped else { return };
    let (place, last) = (scoped.text.find("zz").unwrap(), scoped.text.rfind("zz").unwrap());
    assert_eq!(scoped.original(place).0, sql.find("zz").unwrap(), "{sql}");
    assert_eq!(scoped.original(last).0, sql.rfind("zz").unwrap(), "{sql}");
}

#[test]
fn names_with_a_schema_are_those_of_definitions() {
    let check = |sql: &str, index, text: &str| check_qualified(sql, index, Some(text));
    check("SELECT zz FROM public.t", 3, r#"#SELECT zz FROM  $ AS "t" "#);
    check("SELECT zz FROM public . t x", 3, "#SELECT zz FROM  $  x");
    check("SELECT zz FROM public.t AS x", 3, "#SELECT zz FROM  $  AS x");
    check("SELECT zz FROM public.t\"x\"", 3, "#SELECT zz FROM  $ \"x\"");
    check("SELECT zz FROM public.t WHERE zz", 3, r#"#SELECT zz FROM  $ AS "t"  WHERE zz"#);
    check("SELECT zz FROM public.t, u", 3, r#"#SELECT zz FROM  $ AS "t" , u"#);
    check("SELECT zz FROM u JOIN\"public\".t ON 1", 5, r#"#SELECT zz FROM u JOIN $ AS "t"  ON 1"#);
    check("SELECT zz FROM (TABLE public.t)", 5, r#"#SELECT zz FROM ( SELECT * FROM $ AS "t" )"#);
    check("TABLE public.t ORDER BY t.zz", 1, r#"# SELECT * FROM $ AS "t"  ORDER BY t.zz"#);
    for (sql, index) in [
        ("SELECT zz FROM U&public.t", 5),
        ("SELECT zz FROM x.public.t", 5),
        ("SELECT zz FROM public.t.a", 3),
        ("SELECT zz FROM public..t", 3),
        ("SELECT zz FROM public.t(1)", 3),
        ("SELECT zz FROM public.t *", 3),
        ("SELECT zz FROM ONLY public.t", 4),
        ("SELECT zz FROM \"x\"public.t", 4),
        ("SELECT public.t.a, zz FROM public.t", 1),
        ("SELECT zz::public.t FROM u", 4),
        ("SELECT zz FROM u AS public.t", 5),
        ("WITH public.t AS (SELECT zz) SELECT 1", 1),
    ] {
        check_qualified(sql, index, None);
    }
}

#[test]
fn child_tables_cannot_be_left_out() {
    for (sql, is_refused) in [
        ("SELECT 1 FROM ONLY t", true),
        ("SELECT 1 FROM ONLY (t)", true),
        ("TABLE ONLY public.t", true),
        ("SELECT 1 FROM ONLY u", false),
        ("SELECT 1 FROM t FETCH FIRST 1 ROWS ONLY", false),
    ] {
        let found = VisibleTable { table: table("t"), is_in_search_path: true };
        assert_eq!(check_only(&spans(sql).unwrap(), &[found]).is_err(), is_refused, "{sql}");
    }
}

#[test]
fn names_of_schemas_in_any_case() {
    for (name, expected) in
        [("Sales", "sales"), ("ÄÖ", "äö"), ("ΟΔΟΣ", "οδοσ"), ("\u{130}", "i\u{307}")]
    {
        assert_eq!(folded(name), expected);
    }
}
