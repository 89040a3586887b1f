//! Commands and configurations of the operations guide that need PostgreSQL or nginx.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;
use trunkline_test_postgres::{create_database, free_address, url_of};

use super::proxy::nginx;
use super::{Nodes, create, start};

/// The blocks of a page of the documentation in a language.
pub(crate) fn documented(page: &str, language: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let text = fs::read_to_string(folder.join(page)).unwrap();
    let open = format!("```{language}\n");
    let blocks = text.split(&open).skip(1);
    blocks.map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_store_is_restored_with_the_documented_commands() {
    let nodes = Nodes::start();
    create(&nodes.a, "one");
    let restored = url_of("app", &create_database(""));
    let [dump, restore] =
        <[String; 2]>::try_from(documented("operations/backup.md", "sh")).unwrap();
    assert!(dump.starts_with("pg_dump ") && restore.starts_with("pg_restore "));
    for script in [dump, restore] {
        let mut command = Command::new("sh");
        command.args(["-ec", &script]).current_dir(nodes.folder.path()).stdin(Stdio::null());
        command.env("TRUNKLINE_STORE", &nodes.store).env("RESTORED_STORE", &restored);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let node = start(nodes.folder.path(), &restored, free_address());
    let read = node.call("todo.read", &json!({"id": "one"}));
    assert_eq!(read["result"]["title"], "x", "{read}");
    create(&node, "two");
    assert_eq!(node.stop().code, Some(0));
    nodes.stop();
}

#[test]
#[ignore = "needs nginx"]
fn the_documented_configuration_of_nginx_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = rcgen::generate_simple_self_signed(["tools.example".to_owned()]).unwrap();
    let path = folder.path().join("tools.example");
    fs::write(path.with_extension("example.pem"), certificate.cert.pem()).unwrap();
    fs::write(path.with_extension("example.key"), certificate.signing_key.serialize_pem()).unwrap();
    let blocks = documented("operations/proxies.md", "nginx");
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        let block = block.replace("/etc/ssl/tools.example", path.to_str().unwrap());
        let config = format!(
            "pid nginx.pid; error_log error.log; events {{}} http {{ access_log off; {block} }}"
        );
        fs::write(folder.path().join("nginx.conf"), config).unwrap();
        let output = nginx(folder.path()).arg("-t").output().unwrap();
        assert!(output.status.success(), "{block}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
