//! The SQL of the documentation.

use serde_json::json;
use trunkline_test_postgres::{create_database, create_roles, psql, url_of};

use super::start;
use crate::nodes::documented;
use crate::support::{run, trunkline};

#[test]
#[ignore = "needs PostgreSQL"]
fn documented_roles_are_accepted() {
    create_roles(&[], &["tenant_a", "tenant_b"]);
    let blocks = documented("guides/postgresql.md", "sql");
    assert_eq!(blocks.len(), 2);
    for (number, block) in blocks.iter().enumerate() {
        let name = create_database("");
        psql("postgres", &name, "CREATE TABLE document (id integer PRIMARY KEY, tenant text)");
        let role = format!("{name}_{number}");
        let sql = block.replace("DATABASE shop", &format!("DATABASE {name}"));
        psql("postgres", &name, &sql.replace("trunkline", &role));
        let folder = tempfile::tempdir().unwrap();
        let url = url_of(&role, &name);
        let ended = run(trunkline(folder.path()).args(["doctor", "--port", "0", "--db", &url]));
        assert_eq!(ended.code, Some(0), "{block}: {}", ended.stdout);
        assert!(!ended.stdout.contains(": role `"), "{block}: {}", ended.stdout);
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn the_documented_role_owns_a_store() {
    let name = format!("{}_store", create_database(""));
    let blocks = documented("operations/nodes.md", "sql");
    assert_eq!(blocks.len(), 1);
    psql("postgres", "postgres", &blocks[0].replace("trunkline", &name));
    let (server, _folder) = start(&["--sample", "--store", &url_of(&name, &name)], "");
    let created = server.call("todo.create", &json!({"title": "tea"}));
    assert_eq!(created["result"]["title"], "tea", "{created}");
}
