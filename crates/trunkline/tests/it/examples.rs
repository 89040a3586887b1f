//! The output of the examples.

use std::process::Command;

use crate::process::example;

/// Runs an example and compares the lines of its output.
#[track_caller]
fn check(name: &str, expected: &[&str]) {
    let output = Command::new(example(name)).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = printed.lines().collect();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {stderr}");
    assert_eq!(lines, expected, "{name}: {stderr}");
}

#[test]
fn examples_print_the_expected_output() {
    check(
        "client_batch",
        &[
            "the server logs: a batch was received",
            "add: 42",
            "upper: QUIET",
            "no_such_method: Method not found (-32601)",
        ],
    );
    check(
        "custom_extractor",
        &[
            r#"{"jsonrpc":"2.0","result":"hello, acme","id":1}"#,
            r#"{"jsonrpc":"2.0","error":{"code":1,"message":"missing header `X-Tenant`"},"id":1}"#,
        ],
    );
    check("stdio_child", &["6 words"]);
    check(
        "typed_client",
        &[
            "7 / 2 = 3.5",
            "7 / the default = 3.5",
            "7 / 0 is an application error",
            "in one message: 0.5 and 6",
        ],
    );
    check(
        "jwt",
        &[
            "alice: whoami: alice of blue",
            "alice: admin.stop: stopped",
            "bob: whoami: bob of blue",
            "bob: admin.stop: Forbidden (-32008): the caller may not call this method",
        ],
    );
}
