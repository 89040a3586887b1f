//! The example program `convert`.

use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;

/// Checks the exit code, stdout, and the start of stderr.
#[track_caller]
fn check(arguments: &[&str], input: &[u8], code: i32, stdout: &str, stderr: &str) {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().unwrap().with_file_name("examples").join("convert");
    assert!(path.exists(), "{} is missing: cargo build --examples", path.display());
    let mut command = Command::new(path);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_vec());
    // With wrong arguments, the program does not read stdin.
    let writing = thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {told}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), stdout, "{arguments:?}: {told}");
    assert!(told.starts_with(stderr), "{arguments:?}: {told}");
    assert_eq!(told.is_empty(), stderr.is_empty(), "{arguments:?}: {told}");
}

#[test]
fn documents() {
    check(&["edn-to-json"], b"{:a/b #{1} ; c\n}\n", 0, "{\"a/b\":[1]}\n", "");
    let nested = "{:a [1.0 {\"b c\" nil}]}\n";
    check(&["json-to-edn"], b"{\"a\": [1.0, {\"b c\": null}]}", 0, nested, "");
    check(&["json-to-edn", "--keys", "string"], b"{\"a\":1}", 0, "{\"a\" 1}\n", "");
    check(&["json-to-edn", "--keys", "keyword"], b"{\"a\":1}", 0, "{:a 1}\n", "");
}

#[test]
fn errors() {
    check(&["edn-to-json"], b"[1\n :a/]", 1, "", {
        "error: line 2, column 2, in /1: `:a/` is not a keyword\n"
    });
    check(&["edn-to-json"], b"[1\n {:a ##NaN}]", 1, "", {
        "error: line 2, column 6, in /1/a: JSON cannot represent ##NaN\n"
    });
    check(&["edn-to-json"], b"", 1, "", "error: line 1, column 1: the text contains no form\n");
    check(&["json-to-edn"], b"[1] 2", 1, "", {
        "error: line 1, column 5: invalid JSON: unexpected text after the value\n"
    });
    check(&["json-to-edn"], b"\"\xff\"", 1, "", "error: stream did not contain valid UTF-8\n");
}

#[test]
fn wrong_arguments() {
    for arguments in [
        [].as_slice(),
        &["edn-to-yaml"],
        &["edn-to-json", "--keys", "string"],
        &["json-to-edn", "--keys"],
        &["json-to-edn", "--keys", "symbol"],
    ] {
        check(arguments, b"1", 2, "", "usage: convert edn-to-json\n");
    }
}
