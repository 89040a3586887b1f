//! Imports that are interrupted, and continued in another environment.

use std::fs;

use trunkline_test_postgres::{create_database, psql, url_of};

use crate::support::{run, trunkline};

/// The insertion of 1500, in the second transaction, ends its connection while the table `failing` has a row.
const CONTENT: &str = "\
    CREATE SCHEMA other; CREATE TABLE t (id integer NOT NULL); CREATE TABLE other.t (id integer NOT NULL);
    CREATE TABLE failing (id integer); INSERT INTO failing VALUES (1);
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.id = 1500 AND EXISTS (SELECT FROM public.failing) THEN
            PERFORM pg_terminate_backend(pg_backend_pid());
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER fail BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION fail();";

#[test]
#[ignore = "needs PostgreSQL"]
fn an_interrupted_import_continues_in_its_database() {
    let (one, two) = (create_database(CONTENT), create_database(CONTENT));
    let folder = tempfile::tempdir().unwrap();
    let records: String = (0..2_000).map(|id| format!("{id}\n")).collect();
    fs::write(folder.path().join("t.csv"), format!("id\n{records}")).unwrap();
    let url = url_of("app", &one);
    let (_, address) = url.split_once('@').unwrap();
    let (host, port) = address.split_once('/').unwrap().0.rsplit_once(':').unwrap();
    let import = |db: &str, variables: &[(&str, &str)]| {
        let mut command = trunkline(folder.path());
        command.args(["import", "--db", db, "--table", "t", "t.csv"]);
        command.envs([("PGHOST", host), ("PGPORT", port), ("PGUSER", "app"), ("PGDATABASE", &one)]);
        run(command.envs(variables.iter().copied()))
    };
    let interrupted = import("postgres:///", &[]);
    assert_eq!(interrupted.code, Some(1), "{interrupted:?}");
    assert!(interrupted.stderr.contains("the same command continues"), "{interrupted:?}");
    for (db, variables, message) in [
        ("postgres:///", &[("PGDATABASE", two.as_str())][..], "another database"),
        ("postgres:///", &[("PGUSER", "postgres")], "another database"),
        ("postgres:///", &[("PGHOST", "localhost")], "another database"),
        ("postgres:///?options=-csearch_path%3Dother", &[], "has no checkpoint"),
    ] {
        let ended = import(db, variables);
        assert_eq!(ended.code, Some(1), "{db} {variables:?}: {ended:?}");
        assert!(ended.stderr.contains(message), "{db} {variables:?}: {ended:?}");
    }
    psql("app", &one, "DELETE FROM failing");
    // The same database.
    let ended = import(&url, &[("PGDATABASE", &two), ("PGUSER", "nobody")]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let rows = "SELECT count(*), count(DISTINCT id) FROM t";
    assert_eq!(
        (psql("app", &one, rows), psql("app", &two, rows)),
        (vec!["2000|2000".to_owned()], vec!["0|0".to_owned()])
    );
}
