//! Dry runs and the limit of changed rows, with constraints and triggers that are deferred to the end of a transaction.

use serde_json::{Value, json};

use crate::fixture::{Fixture, call, kind};
use trunkline_sql::postgres::PostgresConfig;

const SCHEMA: &str = "
    CREATE TABLE team (id integer PRIMARY KEY);
    CREATE TABLE member (
        id integer PRIMARY KEY,
        team integer REFERENCES team DEFERRABLE INITIALLY DEFERRED,
        rank integer UNIQUE DEFERRABLE INITIALLY DEFERRED
    );
    INSERT INTO team VALUES (1), (2), (3);
    INSERT INTO member VALUES (1, 1, 1), (2, 2, 2), (3, 2, 3);
    CREATE FUNCTION check_rank() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF NEW.rank < 0 THEN
                RAISE check_violation USING MESSAGE = 'the rank is negative';
            END IF;
            RETURN NULL;
        END $$;
    CREATE CONSTRAINT TRIGGER ranked AFTER INSERT OR UPDATE ON member
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_rank();
    -- Deletes of `parent` cascade at the end of the transaction, and 20 rows are inserted by a deferred trigger.
    CREATE TABLE parent (id integer PRIMARY KEY);
    CREATE TABLE child (parent integer REFERENCES parent ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED);
    INSERT INTO parent VALUES (1), (2);
    INSERT INTO child SELECT 1 FROM generate_series(1, 30);
    CREATE TABLE removed (id integer);
    CREATE FUNCTION note_removal() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO removed SELECT OLD.id FROM generate_series(1, 20);
            RETURN NULL;
        END $$;
    CREATE CONSTRAINT TRIGGER noted AFTER DELETE ON parent
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note_removal();
    CREATE TABLE part (id integer, kind text) PARTITION BY LIST (kind);
    CREATE TABLE part_a PARTITION OF part FOR VALUES IN ('a');
    CREATE TABLE part_b PARTITION OF part FOR VALUES IN ('b');
    INSERT INTO part SELECT n, 'a' FROM generate_series(1, 30) n;
";

const STATE: &str = "SELECT (SELECT count(*) FROM team), (SELECT string_agg(m::text, ' ' ORDER BY id) FROM member m), \
                     (SELECT count(*) FROM parent), (SELECT count(*) FROM child), (SELECT count(*) FROM removed), \
                     (SELECT count(*) FROM part_b)";

fn fixture() -> Fixture {
    Fixture::with(SCHEMA, PostgresConfig { writable: true, ..PostgresConfig::default() })
}

#[test]
fn a_dry_run_reports_the_errors_of_deferred_constraints() {
    let update = |id: u64, data: Value| {
        ("update_record", json!({"table_name": "member", "filters": {"id": id}, "data": data}))
    };
    let delete = |table: &str, id: u64| {
        ("delete_record", json!({"table_name": table, "filters": {"id": id}}))
    };
    for ((operation, arguments), expected) in [
        // A deferred foreign key.
        (delete("team", 1), "constraint"),
        (delete("team", 3), "ok"),
        (update(1, json!({"team": 9})), "constraint"),
        (update(1, json!({"team": 3})), "ok"),
        // A deferred unique constraint.
        (update(1, json!({"rank": 2})), "constraint"),
        (update(1, json!({"rank": 9})), "ok"),
        // A deferred constraint trigger.
        (update(1, json!({"rank": -1})), "constraint"),
        // Deferred triggers that change further rows.
        (delete("parent", 1), "ok"),
        (delete("parent", 2), "ok"),
    ] {
        let fixture = fixture();
        let before = fixture.look(STATE);
        let mut dry = arguments.clone();
        dry["dry_run"] = json!(true);
        let promised = fixture.runtime.block_on(call(&fixture.database, operation, dry));
        assert_eq!(kind(&promised), expected, "dry {operation} {arguments}: {promised:?}");
        assert_eq!(fixture.look(STATE), before, "dry {operation} {arguments}");
        let kept = fixture.runtime.block_on(call(&fixture.database, operation, arguments.clone()));
        assert_eq!(kind(&kept), expected, "{operation} {arguments}: {kept:?}");
        assert_eq!(fixture.look(STATE) == before, expected != "ok", "{operation} {arguments}");
        if let (Ok(promised), Ok(kept)) = (promised, kept) {
            for count in ["rows_affected", "cascaded"] {
                assert_eq!(promised[count], kept[count], "{operation} {arguments}");
            }
        }
    }
}

#[test]
fn the_limit_of_changed_rows_includes_cascades_and_deferred_triggers() {
    let raw = |sql: &str| ("execute_raw_query", json!({"query": sql, "read_only": false}));
    let delete = ("delete_record", json!({"table_name": "parent", "filters": {"id": 1}}));
    for ((operation, arguments), rows) in [
        // The row, 30 of the foreign key and 20 of the trigger.
        (delete, 51),
        (raw("DELETE FROM parent WHERE id = 1"), 51),
        (raw("DELETE FROM parent WHERE id = 1 RETURNING id"), 51),
        (
            raw("WITH gone AS (DELETE FROM parent WHERE id = 1 RETURNING id) SELECT id FROM gone"),
            51,
        ),
        (raw("DELETE FROM parent"), 72),
        (raw("INSERT INTO removed SELECT generate_series(1, 40)"), 40),
        (raw("UPDATE child SET parent = 2"), 30),
        (
            raw("MERGE INTO team USING (SELECT generate_series(3, 40) AS id) s ON team.id = s.id \
                 WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.id)"),
            38,
        ),
        (raw("DELETE FROM part"), 30),
        (raw("INSERT INTO part SELECT n, 'b' FROM generate_series(1, 12) n"), 12),
    ] {
        let fixture = fixture();
        let before = fixture.look(STATE);
        let run = |max: u64| {
            let mut arguments = arguments.clone();
            arguments["max_affected"] = max.into();
            fixture.runtime.block_on(call(&fixture.database, operation, arguments))
        };
        let refused = run(rows - 1);
        assert_eq!(kind(&refused), "too_many_rows", "{arguments}: {refused:?}");
        assert_eq!(fixture.look(STATE), before, "{arguments}");
        let kept = run(rows);
        assert_eq!(kind(&kept), "ok", "{arguments}: {kept:?}");
    }
}
