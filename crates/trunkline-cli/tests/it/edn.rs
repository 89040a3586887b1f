//! `trunkline edn`, which converts the documents on stdin one by one.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use crate::support::{PATIENCE, trunkline};

/// A running conversion.
struct Conversion {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
}

impl Conversion {
    fn start(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = trunkline(folder.path());
        let mut child = command.arg("edn").args(arguments).stdin(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                if sender.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        Self { child, stdin, lines }
    }

    fn write(&mut self, text: &str) {
        self.stdin.write_all(text.as_bytes()).unwrap();
    }

    /// The next line that it prints, which it prints before it reads on.
    #[track_caller]
    fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("a line is printed")
    }
}

impl Drop for Conversion {
    fn drop(&mut self) {
        // Both fail if it has ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The exit code, stdout and stderr of a conversion of this input.
fn convert(arguments: &[&str], input: &[u8]) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = trunkline(folder.path());
    let mut child = command.arg("edn").args(arguments).stdin(Stdio::piped()).spawn().unwrap();
    let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_vec());
    // It may end before it has read everything.
    let writing = thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[track_caller]
fn check(arguments: &[&str], input: &str, expected: &str) {
    let (code, stdout, stderr) = convert(arguments, input.as_bytes());
    assert_eq!((stdout.as_str(), stderr.as_str()), (expected, ""), "{arguments:?} {input:?}");
    assert_eq!(code, Some(0), "{arguments:?} {input:?}");
}

/// Checks the output before an error, and the error.
#[track_caller]
fn check_error(arguments: &[&str], input: &[u8], stdout: &str, error: &str) {
    let found = convert(arguments, input);
    let expected = (Some(1), stdout.to_owned(), format!("error: {error}\n"));
    assert_eq!(found, expected, "{arguments:?} {}", input.escape_ascii());
}

const FROM_JSON: [&str; 4] = ["--from", "json", "--to", "edn"];
const EDN: [&str; 2] = ["--to", "edn"];
const JSON: [&str; 2] = ["--from", "json"];

/// The arguments, and more.
fn with<'a>(arguments: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [arguments, more].concat()
}

#[test]
fn converts_edn_to_json() {
    check(&[], "", "");
    check(&[], " ,\n; nothing\n#_nothing", "");
    check(&[], "{:a/b #{1 2N} \"c\" #inst \"2024\"}", {
        "{\"a/b\":[1,2],\"c\":\"2024-01-01T00:00:00Z\"}\n"
    });
    check(&[], "1 :a\\b\"c\"[d](e)#{f} {} nil ;\n #_x ^y [z]", {
        "1\n\"a\"\n\"b\"\n\"c\"\n[\"d\"]\n[\"e\"]\n[\"f\"]\n{}\nnull\n[\"z\"]\n"
    });
    check(&["--pretty"], "{:a [1 {}]} 2", "{\n  \"a\": [\n    1,\n    {}\n  ]\n}\n2\n");
    check(&["--keys", "keyword"], "{:a/b c/d}", "{\"a/b\":\"c/d\"}\n");
    check(&["--keys", "name"], "{:a/b c/d}", "{\"b\":\"d\"}\n");
    check(&["--unwrap-tags"], "#a [#b 1]", "[1]\n");
    // Delimiters in strings, characters and comments.
    check(&[], "\"a ] \\\" b\" [\\] \\\" \\; \";\" ; ]\n] (1)", {
        "\"a ] \\\" b\"\n[\"]\",\"\\\"\",\";\",\";\"]\n[1]\n"
    });
    check(&[], "#_ #_ 1 2 3 #_^{:m [1]} #{} [4] ^{:a 1} ^b [5]", "3\n[4]\n[5]\n");
    check(&[], "#inst \"2024\" #uuid #_x \"f81d4fae-7dec-11d0-a765-00a0c91e6bf6\"", {
        "\"2024-01-01T00:00:00Z\"\n\"f81d4fae-7dec-11d0-a765-00a0c91e6bf6\"\n"
    });
    check(&[], "#:a{:b 1} #: c {:d 2} a#b 1#{2} x\u{2003}y\u{2003}\"z\"", {
        "{\"a/b\":1}\n{\"c/d\":2}\n\"a#b\"\n1\n[2]\n\"x\"\n\"y\"\n\"z\"\n"
    });
}

#[test]
fn converts_json_to_edn() {
    check(&FROM_JSON, "{\"a\":[1.0,null]}[]\n3 \"b\"true", "{:a [1.0 nil]}\n[]\n3\n\"b\"\ntrue\n");
    check(&with(&FROM_JSON, &["--keys", "string"]), "{\"a\":1}", "{\"a\" 1}\n");
    check(&with(&FROM_JSON, &["--keys", "keyword"]), "{\"a\":1}", "{:a 1}\n");
    check(&FROM_JSON, "[\"a ] \\\" b\", \"\\\\\"] \"[\" -1e400", {
        "[\"a ] \\\" b\" \"\\\\\"]\n\"[\"\n-1E+400M\n"
    });
}

#[test]
fn rewrites_a_format() {
    check(&EDN, "{:a\n#{1}, ; c\n :b #my/t 1/3} 1.50M", "{:a #{1}, :b #my/t 1/3}\n1.50M\n");
    let json = "{ \"a \\\" b\" : [ 1.50 , 1e400 ] ,\n \"\\u0061\" : 12345678901234567890.10 } [ ]";
    let compact = "{\"a \\\" b\":[1.50,1e400],\"\\u0061\":12345678901234567890.10}\n[]\n";
    check(&JSON, json, compact);
    check(&with(&JSON, &["--pretty"]), "[1.50,{}]", "[\n  1.50,\n  {}\n]\n");
}

/// Pretty EDN reads back.
#[test]
fn pretty_edn() {
    let document = "{:a [1 2 {:b #{3}}], \"c\" (d e), :f {:g {:h \"ijklmnopqrstuvwxyz\"}}, :long [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16]}";
    let (code, pretty, _) = convert(&with(&EDN, &["--pretty"]), document.as_bytes());
    assert_eq!(code, Some(0));
    assert!(pretty.lines().count() > 1, "{pretty}");
    check(&EDN, &pretty, &format!("{document}\n"));
}

#[test]
fn reports_errors() {
    check_error(&[], b"1 {:a 2}\n  {:b [3 ##NaN]} 4", "1\n{\"a\":2}\n", {
        "document 3, line 2, column 10, in /b/1: JSON cannot represent ##NaN"
    });
    check_error(&[], b"[1]\n\n ; c\n[2 08] 3", "[1]\n", {
        "document 2, line 4, column 4, in /1: `08` is not a number"
    });
    check_error(&[], "\"é\" [\"é\" 1a]".as_bytes(), "\"é\"\n", {
        "document 2, line 1, column 10, in /1: `1a` is not a number"
    });
    check_error(&[], b"[1] [2", "[1]\n", {
        "document 2, line 1, column 7, in /1: the text ends within a vector"
    });
    check_error(&[], b"1 ]", "1\n", "document 2, line 1, column 3: unmatched `]`");
    check_error(&[], b"#my/t [1]", "", {
        "document 1, line 1, column 1: JSON cannot represent the tag #my/t"
    });
    check_error(
        &[],
        b"#_",
        "",
        "document 1, line 1, column 3: the text ends within a discarded form",
    );
    check_error(&JSON, b"{\"a\":1}\n{\"a\":1,\"a\":2}", "{\"a\":1}\n", {
        "document 2, line 2, column 8: duplicate key: \"a\""
    });
    check_error(&FROM_JSON, b"[1]\n[nul]", "[1]\n", {
        "document 2, line 2, column 2, in /0: invalid JSON: expected a value"
    });
    check_error(
        &FROM_JSON,
        b"1,2",
        "1\n",
        "document 2, line 1, column 2: invalid JSON: expected a value",
    );
    check_error(&FROM_JSON, b"[\"a", "", {
        "document 1, line 1, column 4, in /0: the text ends within a string"
    });
    check_error(
        &[],
        b"1\n [\"\xff\"]",
        "1\n",
        "document 2, line 2, column 4: the text is not valid UTF-8",
    );
    check_error(&["--max-bytes", "5"], b"[123]\n [1234]", "[123]\n", {
        "document 2, line 2, column 2: larger than 5 bytes; increase --max-bytes"
    });
    check_error(&["--max-bytes", "5"], b" \"1234567", "", {
        "document 1, line 1, column 2: larger than 5 bytes; increase --max-bytes"
    });
    for from in ["edn", "json"] {
        check_error(&["--from", from], "\u{feff}[1]".as_bytes(), "", {
            "document 1, line 1, column 1: the text begins with a byte-order mark"
        });
    }
    let deep = "[".repeat(2_000);
    let place = format!("line 1, column 1025, in {}", "/0".repeat(1_024));
    let error = format!("document 1, {place}: nested deeper than 1024 forms");
    check_error(&[], deep.as_bytes(), "", &error);
}

#[test]
fn rejects_invalid_command_lines() {
    for (arguments, expected) in [
        (["--keys", "name", "--from", "json", "--to", "edn"].as_slice(), "--keys name requires"),
        (&["--keys", "string"], "--keys string requires"),
        (&["--unwrap-tags", "--from", "json"], "--unwrap-tags requires"),
        (&["--from", "yaml"], "possible values: edn, json"),
        (&["file.edn"], "unexpected argument"),
    ] {
        let (code, stdout, stderr) = convert(arguments, b"1");
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{arguments:?}: {stderr}");
        assert!(stderr.contains(expected), "{arguments:?}: {stderr}");
    }
}

/// A document is converted before the next one arrives.
#[test]
fn converts_each_document_at_once() {
    let mut conversion = Conversion::start(&[]);
    for (written, expected) in [
        ("[1 [2]]", "[1,[2]]"),
        (" \"a\"", "\"a\""),
        (":b ", "\"b\""),
        ("#_[1] #inst \"2024\"", "\"2024-01-01T00:00:00Z\""),
        ("^m {}", "{}"),
        ("12\n", "12"),
    ] {
        conversion.write(written);
        assert_eq!(conversion.line(), expected, "{written:?}");
    }
    let long = format!("[{}]", "\"0123456789\" ".repeat(30_000));
    conversion.write(&long);
    assert_eq!(conversion.line().len(), long.len() - 1, "a long document");

    let mut conversion = Conversion::start(&FROM_JSON);
    for (written, expected) in [("{\"a\":1}", "{:a 1}"), ("\"a\"", "\"a\""), ("1 ", "1")] {
        conversion.write(written);
        assert_eq!(conversion.line(), expected, "{written:?}");
    }
}

/// Memory does not grow with the number of documents, nor time with the square of the length of one.
#[test]
fn converts_many_and_long_documents() {
    const MIB: usize = 1 << 20;
    let mut conversion = Conversion::start(&[]);
    let document = format!("[\"{}\"]\n", "a".repeat(MIB));
    for _ in 0..64 {
        conversion.write(&document);
        assert_eq!(conversion.line().len(), document.len() - 1);
    }
    conversion.write(&" ".repeat(8 * MIB));
    // Text that seems complete many times.
    conversion.write(&format!("{}[1]", "#_ a ".repeat(200_000)));
    assert_eq!(conversion.line(), "[1]");
    let status = fs::read_to_string(format!("/proc/{}/status", conversion.child.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: usize = peak.trim().strip_suffix("kB").unwrap().trim().parse().unwrap();
    assert!(kib < 40 << 10, "{kib} KiB");
}

#[test]
fn ends_when_stdout_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = trunkline(folder.path());
    let mut child = command.arg("edn").stdin(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    // It ends before it has read everything.
    while stdin.write_all(b"[1]\n").is_ok() {}
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}
