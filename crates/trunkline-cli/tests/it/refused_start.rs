//! Commands that end at once: their output and exit codes.

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use crate::support::{files, run, trunkline};

struct Case<'c> {
    name: &'c str,
    arguments: &'c [&'c str],
    environment: &'c [(&'c str, &'c str)],
    code: i32,
    stdout: &'c [&'c str],
    stderr: &'c [&'c str],
}

const REFUSED: Case<'_> =
    Case { name: "", arguments: &[], environment: &[], code: 1, stdout: &[], stderr: &[] };

/// The directory holds `text.db`, which is text, and `folder`.
#[track_caller]
fn check(case: &Case<'_>) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("text.db"), "text, and more than a header has of it").unwrap();
    fs::create_dir(folder.path().join("folder")).unwrap();
    check_in(folder.path(), case);
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(names.len(), 2, "{}: {names:?}", case.name);
    assert!(files(&folder.path().join("folder")).is_empty(), "{}", case.name);
}

#[track_caller]
fn check_in(folder: &Path, case: &Case<'_>) {
    let name = case.name;
    let mut command = trunkline(folder);
    command.args(case.arguments).envs(case.environment.iter().copied());
    let ended = run(&mut command);
    assert_eq!(ended.code, Some(case.code), "{name}: {ended:?}");
    let outputs = [(&ended.stdout, case.stdout), (&ended.stderr, case.stderr)];
    for (output, expected) in outputs {
        assert_eq!(output.is_empty(), expected.is_empty(), "{name}: {ended:?}");
        for part in expected {
            assert!(output.contains(part), "{name}: no {part:?} in {output}");
        }
    }
    for leak in ["panicked", "Error {", "Os {", "s3cret"] {
        assert!(!ended.stderr.contains(leak), "{name}: {}", ended.stderr);
    }
}

#[test]
fn databases() {
    let listen = ["--listen", "127.0.0.1:0"];
    let remedy = "give --writable to create it empty, or --sample to create it with sample data";
    let rows: &[(&str, &[&str], &[&str])] = &[
        ("missing", &["--db", "none.db"], &["file none.db does not exist", remedy]),
        ("missing, serve", &["serve", "--db", "none.db"], &["file none.db does not exist", remedy]),
        ("missing, first argument", &["none.db"], &["file none.db does not exist", remedy]),
        (
            "similar name",
            &["serve", "tex.db"],
            &["file tex.db does not exist; did you mean text.db?"],
        ),
        ("text", &["--db", "text.db"], &["text.db is not a SQLite database"]),
        ("text, sample", &["--sample", "--db", "text.db"], &["text.db is not a SQLite database"]),
        ("text, encrypted?", &["--db", "text.db"], &["or it is encrypted"]),
        ("directory", &["--db", "folder"], &["folder is not a regular file"]),
        (
            "directory, remedy",
            &["--db", "folder"],
            &["but a directory; give the path of a file in it"],
        ),
        ("in a file", &["--db", "text.db/a.db"], &["cannot read text.db/a.db; a part of the path"]),
        ("no directory", &["--db", "none/a.db"], &["nor does its directory none"]),
        ("directory, sample", &["--sample", "--db", "folder"], &["folder is not a regular file"]),
        ("device", &["--db", "/dev/null"], &["/dev/null is not a regular file"]),
        (
            "no directory, sample",
            &["--sample", "--db", "none/a.db"],
            &["cannot fill none/a.db with a sample", "because: ", "No such file or directory"],
        ),
    ];
    for (name, arguments, stderr) in rows {
        let arguments = [*arguments, &listen].concat();
        check(&Case { name, arguments: &arguments, stderr, ..REFUSED });
    }
}

/// The files that SQLite writes next to a database are not suggested.
#[test]
fn files_of_a_similar_database() {
    for suffix in ["-wal", "-journal", "-shm"] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(format!("notes.db{suffix}")), "").unwrap();
        let stderr = ["file notes.db does not exist; check the path"];
        check_in(
            folder.path(),
            &Case { name: suffix, arguments: &["notes.db"], stderr: &stderr, ..REFUSED },
        );
    }
}

#[test]
fn a_locked_database() {
    let folder = tempfile::tempdir().unwrap();
    let lock = rusqlite::Connection::open(folder.path().join("a.db")).unwrap();
    lock.execute_batch("CREATE TABLE t(a); BEGIN EXCLUSIVE").unwrap();
    let stderr = ["a.db is locked by another process; end its transaction"];
    check_in(
        folder.path(),
        &Case { name: "locked", arguments: &["a.db"], stderr: &stderr, ..REFUSED },
    );
}

#[test]
fn addresses() {
    let why = "other machines can reach it, and no token is required";
    let remedy = "set TRUNKLINE_BEARER or --jwks, or listen on 127.0.0.1";
    let rows: &[(&str, &[&str])] = &[
        ("0.0.0.0:0", &["refused to listen on 0.0.0.0:0", why, remedy]),
        ("[::]:0", &["refused to listen on [::]:0", why, remedy]),
        ("8.8.8.8:0", &["refused to listen on 8.8.8.8:0", why, remedy]),
        ("[::ffff:0.0.0.0]:0", &["refused to listen on", why]),
        (
            "nonsense",
            &["cannot look up nonsense; the format is HOST:PORT, like 127.0.0.1:8080", "because: "],
        ),
        ("127.0.0.1", &["cannot look up 127.0.0.1; the format is HOST:PORT, like"]),
        ("127.0.0.1:65536", &["cannot look up 127.0.0.1:65536; the format"]),
    ];
    for (address, stderr) in rows {
        check(&Case { name: address, arguments: &["--listen", address], stderr, ..REFUSED });
        let environment = &[("TRUNKLINE_LISTEN", *address)];
        check(&Case { name: address, arguments: &["serve"], environment, stderr, ..REFUSED });
    }
}

/// Pages of any web site may call only a server that requires a token.
#[test]
fn any_origin_without_a_token() {
    let stderr = &["refused --allow-origin *: pages of any web site", "or list the origins"];
    for origins in ["*", "https://a.example, *"] {
        let arguments = &["--listen", "127.0.0.1:0", "--allow-origin", origins];
        check(&Case { name: origins, arguments, stderr, ..REFUSED });
        let environment = &[("TRUNKLINE_ALLOW_ORIGIN", origins)];
        check(&Case { name: origins, arguments: &arguments[..2], environment, stderr, ..REFUSED });
    }
}

#[test]
fn a_port_in_use() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.db"), "").unwrap();
    let expected = format!("cannot listen on {address}");
    let arguments = ["--db", "a.db", "--listen", &address];
    let stderr = [expected.as_str(), "choose another port with --port", "because: ", "in use"];
    check_in(
        folder.path(),
        &Case { name: "port in use", arguments: &arguments, stderr: &stderr, ..REFUSED },
    );
}

/// A variable with nothing but blanks, as in a file of a service manager, must not disable access control. An empty one
/// counts as not set.
#[test]
fn invalid_tokens() {
    let public = ["--listen", "0.0.0.0:0"];
    let private = ["--listen", "127.0.0.1:0"];
    for listen in [&public, &private] {
        for (name, token) in [
            ("empty", ""),
            ("blank", " "),
            ("a blank inside", "s3cret s3cret"),
            ("a line end", "s3cret\n"),
            ("a letter outside of ASCII", "s3cret-ä"),
        ] {
            let stderr = ["a bearer token is empty or has invalid characters"];
            let environment = [("TRUNKLINE_BEARER", token)];
            let case = Case { name, arguments: listen, stderr: &stderr, ..REFUSED };
            if !token.is_empty() {
                check(&Case { environment: &environment, ..case });
            }
            let arguments = [&listen[..], &["--bearer", token]].concat();
            check(&Case { arguments: &arguments, ..case });
            let arguments = [&arguments[..], &["--bearer", "s3cret"]].concat();
            check(&Case { name: "one of two", arguments: &arguments, ..case });
        }
    }
    let case = Case { name: "an empty variable", arguments: &public, ..REFUSED };
    let stderr = ["TRUNKLINE_BEARER is empty and counts as not set", "no token is required"];
    check(&Case { environment: &[("TRUNKLINE_BEARER", "")], stderr: &stderr, ..case });
}

/// An empty flag of access control is an error, and so is a variable with nothing but blanks. An empty variable counts
/// as not set.
#[test]
fn empty_access_flags() {
    let listen = ["--listen", "127.0.0.1:0"];
    let rows: [(&str, &str, &str, &[&str]); 4] = [
        ("--require", "TRUNKLINE_REQUIRE", "--require is empty", &["", " ", ","]),
        ("--issuer", "TRUNKLINE_ISSUER", "--issuer is empty", &["", " ", ","]),
        ("--audience", "TRUNKLINE_AUDIENCE", "--audience is empty", &["", " ", ","]),
        ("--jwks", "TRUNKLINE_JWKS", "--jwks is empty", &["", " "]),
    ];
    for (flag, variable, expected, empties) in rows {
        for name in empties {
            let stderr = [flag, expected];
            let arguments = [&listen[..], &[flag, *name]].concat();
            check(&Case { name, arguments: &arguments, stderr: &stderr, ..REFUSED });
            if name.is_empty() {
                continue;
            }
            let environment = [(variable, *name)];
            let case = Case { name, arguments: &listen, stderr: &stderr, ..REFUSED };
            check(&Case { environment: &environment, ..case });
            // Another, valid token does not help.
            let arguments = [&listen[..], &["--bearer", "s3cret"]].concat();
            check(&Case { arguments: &arguments, environment: &environment, ..case });
        }
    }
}

/// Names that no request can have.
#[test]
fn invalid_hosts_and_origins() {
    let hosts: &[(&str, &str)] = &[
        ("example.com:8080", "use `example.com`"),
        ("db.example, ::1", "use `[::1]`"),
        ("https://example.com", "use `example.com`"),
        ("*.example.com", "expected"),
    ];
    let origins: &[(&str, &str)] = &[
        ("https://app.example.com/", "use `https://app.example.com`"),
        ("https://a.example,app.example.com", "use `https://app.example.com`"),
        ("https://app.example.com:443", "use `https://app.example.com`"),
        ("https://*.example.com", "expected"),
        ("null", "sandboxed"),
    ];
    for (flag, variable, rows) in [
        ("--allow-host", "TRUNKLINE_ALLOW_HOST", hosts),
        ("--allow-origin", "TRUNKLINE_ALLOW_ORIGIN", origins),
    ] {
        for (list, remedy) in rows {
            let wrong = list.rsplit(',').next().unwrap().trim();
            let stderr = [flag, wrong, "because: ", remedy];
            let arguments = ["--listen", "127.0.0.1:0", flag, list];
            check(&Case { name: list, arguments: &arguments, stderr: &stderr, ..REFUSED });
            let environment = [(variable, *list)];
            let arguments = ["--listen", "127.0.0.1:0"];
            let case = Case { name: list, arguments: &arguments, stderr: &stderr, ..REFUSED };
            check(&Case { environment: &environment, ..case });
        }
    }
}

#[test]
fn usage() {
    let wrong: [(&str, &[&str], &[&str]); 12] = [
        ("unknown flag", &["--bogus"], &["'--bogus'", "Usage: trunkline", "--help"]),
        ("similar flag", &["serve", "--prot", "1"], &["'--prot'", "similar", "'--port'"]),
        (
            "unknown command",
            &["bogus"],
            &["'bogus'", "write ./bogus for a file of that name", "Usage: trunkline"],
        ),
        (
            "options before the subcommand",
            &["--writable", "serve"],
            &["'serve' must be before its options: trunkline serve [OPTIONS]"],
        ),
        ("similar command", &["sevre"], &["'sevre' is neither a subcommand nor a file", "'serve'"]),
        ("no file, writable", &["bogus", "--writable"], &["'bogus'"]),
        ("two files", &["text.db", "--db", "text.db"], &["[FILE]", "--db"]),
        ("two files, serve", &["serve", "text.db", "--db", "text.db"], &["[FILE]", "--db"]),
        ("two ports", &["--port", "0", "--listen", "127.0.0.1:0"], &["--port", "--listen"]),
        ("port out of range", &["--port", "65536"], &["'65536'", "--port", "0..=65535"]),
        ("flag without value", &["--db"], &["--db"]),
        ("sample of something", &["--sample=7"], &["--sample"]),
    ];
    for (name, arguments, stderr) in wrong {
        check(&Case { name, arguments, code: 2, stderr, ..REFUSED });
    }
    let asked: [(&str, &[&str], &[&str]); 6] = [
        ("version", &["--version"], &[concat!("trunkline ", env!("CARGO_PKG_VERSION"))]),
        ("version, short", &["-V"], &["trunkline "]),
        ("help", &["--help"], &["serve", "--db", "--listen", "TRUNKLINE_BEARER"]),
        ("help of serve", &["serve", "--help"], &["--sample", "TRUNKLINE_DB"]),
        ("completions", &["completions", "bash"], &["_trunkline()", "--max-rows", "monitor"]),
        ("completions of another shell", &["completions", "zsh"], &["#compdef trunkline"]),
    ];
    for (name, arguments, stdout) in asked {
        check(&Case { name, arguments, code: 0, stdout, ..REFUSED });
    }
}

#[test]
fn log_files() {
    let case = Case { name: "--log", arguments: &["--log", "--no-history"], ..REFUSED };
    let stderr = ["--no-history", "remove one of them"];
    check(&Case { stderr: &stderr, ..case });
    let case = Case { name: "--log-bytes", code: 2, stderr: &["--log", "required"], ..REFUSED };
    check(&Case { arguments: &["--log-bytes", "65536"], ..case });
    check(&Case { environment: &[("TRUNKLINE_LOG_BYTES", "65536")], ..case });
}

/// By flag and by variable; the message names the flag, the value and the range.
#[test]
fn numbers_out_of_range() {
    let rows: [(&str, &str, &[&str], &str); 9] = [
        ("--max-rows", "TRUNKLINE_MAX_ROWS", &["0", "10000001"], "1..=10000000"),
        ("--max-affected", "TRUNKLINE_MAX_AFFECTED", &["0", "9999999999999"], "1..=1000000000000"),
        ("--query-timeout-ms", "TRUNKLINE_QUERY_TIMEOUT_MS", &["0", "86400001"], "1..=86400000"),
        ("--heap-limit", "TRUNKLINE_HEAP_LIMIT", &["0", "1000"], "33554432..=1099511627776"),
        ("--max-body", "TRUNKLINE_MAX_BODY", &["0", "63", "1073741825"], "64..=1073741824"),
        ("--rate-limit", "TRUNKLINE_RATE_LIMIT", &["0", "4294967295"], "1..=1000000"),
        ("--history-entries", "TRUNKLINE_HISTORY_ENTRIES", &["0", "10000001"], "1..=10000000"),
        (
            "--history-bytes",
            "TRUNKLINE_HISTORY_BYTES",
            &["0", "1099511627777"],
            "1..=1099511627776",
        ),
        ("--log-bytes", "TRUNKLINE_LOG_BYTES", &["0", "65535"], "65536..=1125899906842624"),
    ];
    for (flag, variable, values, range) in rows {
        for value in values.iter().copied().chain(["18446744073709551615"]) {
            let quoted = format!("'{value}'");
            let stderr = ["invalid value", &quoted, flag, range];
            let case = Case { name: flag, code: 2, stderr: &stderr, ..REFUSED };
            check(&Case { arguments: &[flag, value], ..case });
            check(&Case { arguments: &["serve", flag, value], ..case });
            check(&Case { environment: &[(variable, value)], ..case });
        }
        for value in ["-1", "1.5", "many", ""] {
            let argument = format!("{flag}={value}");
            let case = Case { name: flag, code: 2, stderr: &[flag], ..REFUSED };
            check(&Case { arguments: &[&argument], ..case });
        }
    }
    for (arguments, range) in [
        (["mcp", "--max-rows", "0"], "1..=10000000"),
        (["edn", "--max-bytes", "0"], "1..=1099511627776"),
    ] {
        check(&Case { arguments: &arguments, code: 2, stderr: &[arguments[1], range], ..REFUSED });
    }
}

/// Each flag is one line of the short help, below the heading of its group.
#[test]
fn short_help_has_groups_and_one_line_per_flag() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [&["-h"][..], &["serve", "-h"]] {
        let ended = run(trunkline(folder.path()).args(arguments));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let lines: Vec<_> = ended.stdout.lines().collect();
        let groups = lines.iter().filter_map(|line| line.strip_suffix(':'));
        let groups: Vec<_> = groups.filter(|group| !group.starts_with("Usage")).collect();
        let expected = [
            "Database",
            "Records",
            "Tools",
            "Agent",
            "Network",
            "Access",
            "TLS",
            "History",
            "Audit",
            "Limits",
            "Observability",
        ];
        assert!(groups.ends_with(&expected), "{groups:?}");
        let is_wrapped = |line: &&&str| line.starts_with("          ");
        assert_eq!(lines.iter().find(is_wrapped), None);
        for line in lines.iter().filter(|line| line.contains("--")) {
            assert!(line.len() <= 100 && !line.contains("TRUNKLINE_"), "{line}");
        }
        let flag =
            "      --max-rows <ROWS>         Maximum rows that one call returns [default: 1000]";
        assert!(lines.contains(&flag), "{}", ended.stdout);
    }
}

#[test]
fn man_pages() {
    let folder = tempfile::tempdir().unwrap();
    let ended = run(trunkline(folder.path()).args(["man", "a/man"]));
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""));
    let written = files(&folder.path().join("a/man"));
    let page = String::from_utf8_lossy(&written["trunkline-serve.1"]);
    assert!(page.contains("TRUNKLINE_MAX_ROWS") && page.contains("Maximum rows"), "{page}");
    assert!(written.contains_key("trunkline.1") && !written.contains_key("trunkline-tool.1"));
    fs::write(folder.path().join("file"), "").unwrap();
    let ended = run(trunkline(folder.path()).args(["man", "file"]));
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("cannot write man pages to file"), "{}", ended.stderr);
}

#[test]
fn help_shows_no_token() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [&["--help"][..], &["-h"], &["serve", "--help"], &["help", "serve"]] {
        let mut command = trunkline(folder.path());
        let ended = run(command.args(arguments).env("TRUNKLINE_BEARER", "s3cret"));
        assert_eq!(ended.code, Some(0));
        assert!(!(ended.stdout + &ended.stderr).contains("s3cret"), "{arguments:?}");
    }
}
