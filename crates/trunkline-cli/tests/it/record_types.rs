//! `trunkline records`.

use std::fs;

use serde_json::Value;

use crate::call::check;
use crate::call_peer::{Peer, json as json_answer};
use crate::records::{ALIKE, command, place, serve};
use crate::support::{Server, run, trunkline};

/// A name, arguments, the exit code, and parts of stdout and of stderr.
type Row<'r> = (&'r str, &'r [&'r str], i32, &'r [&'r str], &'r [&'r str]);

/// The output for a file equals that for a server that serves it.
#[test]
fn types_of_a_file_and_of_a_server() {
    let folder = place();
    let server = serve(folder.path(), &[]);
    let url = format!("http://{}", server.address);
    let list = "\
name         fields            description
-----------  ----------------  ---------------
todo         title, done       Something to do
crm.contact  name, age, state
";
    let contact = "\
crm.contact

field  type     required  default  values      description
-----  -------  --------  -------  ----------  -----------
name   string   yes
age    integer
state  string             new      known, new

commands: create, read, update, delete, list, filter, status, revert
";
    let todo = "todo: Something to do\n\nfield  type     required  default  values  description\n";
    let rows: [(&[&str], &str, i32); 4] = [
        (&["list"], list, 0),
        (&["describe", "crm.contact"], contact, 0),
        (&["describe", "todo"], todo, 0),
        (
            &["describe", "nope"],
            "trunkline: unknown type `nope`; the types are todo, crm.contact\n",
            1,
        ),
    ];
    let ask = |wanted: &[&str], source: &[&str]| {
        run(trunkline(folder.path()).arg("records").args(wanted).args(source))
    };
    for (wanted, expected, code) in rows {
        let of_file = ask(wanted, &["--records", "types.toml"]);
        let of_server = ask(wanted, &["--url", &url]);
        for (source, ended) in [("file", &of_file), ("server", &of_server)] {
            assert_eq!(ended.code, Some(code), "{source} {wanted:?}: {ended:?}");
            let text = if code == 0 { &ended.stdout } else { &ended.stderr };
            assert!(text.starts_with(expected), "{source} {wanted:?}: {text}");
        }
        assert_eq!(of_file.stdout, of_server.stdout, "{wanted:?}");
        let of_file = ask(wanted, &["--records", "types.toml", "--json"]);
        let of_server = ask(wanted, &["--url", &url, "--json"]);
        assert_eq!(of_file.stdout, of_server.stdout, "{wanted:?}");
        if code == 0 {
            let json: Value = serde_json::from_str(&of_file.stdout).unwrap();
            let schemas = json.as_array().cloned().unwrap_or_else(|| vec![json]);
            for schema in schemas {
                assert_eq!(schema["properties"]["version"]["type"], "integer", "{schema}");
            }
        }
    }
    let ended = run(trunkline(folder.path()).args(["records", "list"]));
    check("the types without a file", &ended, 0, &["todo  title, done, priority  "], &[]);
    let mut command = trunkline(folder.path());
    let ended = run(command.args(["records", "list"]).env("TRUNKLINE_RECORDS", "types.toml"));
    check("the environment", &ended, 0, &[list], &[]);
}

#[test]
fn missing_types() {
    let folder = place();
    fs::write(folder.path().join("bad.toml"), "[records.a.fields]\na = 1\n").unwrap();
    fs::write(folder.path().join("db.toml"), "[records.db.fields]\na = { type = \"string\" }\n")
        .unwrap();
    let mut guarded = command(folder.path(), &[]);
    guarded.env("TRUNKLINE_BEARER", "t0ken");
    let server = Server::start(guarded);
    let url = format!("http://{}", server.address);
    let other = Peer::always(json_answer(r#"[{"command":"create"}]"#));
    let rows: [Row<'_>; 7] = [
        (
            "a wrong file",
            &["--records", "bad.toml"],
            1,
            &[],
            &["trunkline: bad.toml:2:5: ", "invalid type: integer"],
        ),
        (
            "no file",
            &["--records", "none.toml"],
            1,
            &[],
            &["cannot read none.toml\n  because: No such file"],
        ),
        ("the database's name", &["--records", "db.toml"], 1, &[], &["db.toml", "db.*"]),
        ("no token", &["--url", &url], 1, &[], &["error 401: ", "try: set a valid token"]),
        ("a token", &["--url", &url, "--bearer", "t0ken"], 0, &["crm.contact"], &[]),
        ("another server", &["--url", &other.url], 1, &[], &["does not describe record types"]),
        (
            "another path",
            &["--url", &format!("{url}/health")],
            1,
            &[],
            &["does not describe record types"],
        ),
    ];
    for (name, arguments, code, stdout, stderr) in rows {
        let ended = run(trunkline(folder.path()).args(["records", "list"]).args(arguments));
        check(name, &ended, code, stdout, stderr);
    }
}

/// A flag overrides the variable; two flags are an error.
#[test]
fn a_file_and_a_server() {
    let folder = place();
    let server = serve(folder.path(), &[]);
    let url = format!("http://{}", server.address);
    let ask = |arguments: &[&str], variable: &str| {
        let mut command = trunkline(folder.path());
        run(command.arg("records").args(arguments).env("TRUNKLINE_RECORDS", variable))
    };
    let ended = ask(&["list", "--url", &url], "none.toml");
    check("the variable, and a server", &ended, 0, &["crm.contact"], &[]);
    let ended = ask(&["list", "--records", "types.toml"], "none.toml");
    check("the variable, and a file", &ended, 0, &["crm.contact"], &[]);
    let ended = ask(&["list"], "");
    check("an empty variable", &ended, 0, &["todo"], &[]);
    let conflict = "cannot be used with";
    for wanted in [&["list"][..], &["describe", "todo"]] {
        let flags = ["--records", "types.toml", "--url", &url];
        let ended = ask(&[wanted, &flags].concat(), "types.toml");
        check("both flags", &ended, 2, &[], &["--records <FILE>", conflict, "--url <URL>"]);
    }
}

/// The types can be served, but not as tools.
#[test]
fn types_with_conflicting_tool_names() {
    let folder = place();
    fs::write(folder.path().join("alike.toml"), ALIKE).unwrap();
    let source = ["records", "list", "--records", "alike.toml"];
    let ended = run(trunkline(folder.path()).args(source));
    let said = "trunkline: the record types \"a.b\" and \"a_b\" cannot both be tools: ";
    check("types of like names", &ended, 0, &["a.b ", "a_b "], &[said]);
}
