//! The files are outputs of cargo 1.95: of two crates with failing tests and a binary that is killed, and of a crate that
//! does not compile.

use super::*;

/// A target, a test, and a part of its output.
type Expected = (&'static str, Option<&'static str>, &'static str);

#[track_caller]
fn check(text: &str, succeeded: bool, expected: &[Expected]) {
    let failures = parse(text, succeeded).failures;
    let found: Vec<_> =
        failures.iter().map(|failure| (&*failure.target, failure.test.as_deref())).collect();
    let tests: Vec<_> = expected.iter().map(|(target, test, _)| (*target, *test)).collect();
    assert_eq!(found, tests);
    for (failure, (.., output)) in failures.iter().zip(expected) {
        assert!(failure.output.contains(output), "{failure:?} has no {output:?}");
    }
}

#[test]
fn failures_are_found_with_their_outputs() {
    check(
        include_str!("failures.txt"),
        false,
        &[
            ("-p a --lib", Some("tests::fails"), "to stdout\nto stderr\n"),
            ("-p a --lib", Some("tests::fails_too"), "Error: \"no\""),
            ("-p a --lib", Some("tests::should"), "note: test did not panic as expected"),
            ("-p a --test it", None, "(signal: 6, SIGABRT: process abort signal)"),
            ("-p b --lib", Some("tests::fails"), "flaky"),
            ("-p a --doc", Some("a/src/lib.rs - (line 1)"), "Test executable failed"),
            ("-p a --doc", Some("a/src/lib.rs - f (line 5)"), "error[E0308]: mismatched types"),
        ],
    );
}

#[test]
fn a_failure_without_tests_has_the_errors() {
    check(include_str!("not_compiled.txt"), false, &[("", None, "could not compile `c` (lib)")]);
    check("", false, &[("", None, "")]);
    // A binary that is killed after a test has failed does not print the list of failures.
    let killed = "running 2 tests\ntest a ... FAILED\n\
        error: test failed, to rerun pass `-p a --lib`\n\nCaused by:\n  \
        process didn't exit successfully: `a` (signal: 9, SIGKILL: kill)";
    check(killed, false, &[("-p a --lib", None, "SIGKILL")]);
}

#[test]
fn tests_that_pass_are_listed() {
    let text = "running 3 tests\ntest a ... ok\ntest b - should panic ... ok\ntest c ... ignored\n\
        \ntest result: ok. 2 passed; 0 failed; 1 ignored";
    assert_eq!(parse(text, true).passed, ["a", "b"]);
    check(text, true, &[]);
}

#[test]
fn captured_output_is_not_a_result() {
    let text = "failures:\n\n---- a stdout ----\ntest b ... ok\n    c\n\nfailures:\n    a\n\n\
        test result: FAILED. 0 passed; 1 failed\n\nerror: test failed, to rerun pass `--lib`";
    check(text, false, &[("--lib", Some("a"), "test b ... ok\n    c")]);
}
