//! The input and output of tools.

use serde_json::{Value, json};
use trunkline_command_tools::ToolConfig;

use super::support::Folder;

/// Checks the result of a script with these arguments.
#[track_caller]
fn check(name: &str, script: &str, params: &Value, expected: &str) {
    let tools = Folder::new();
    tools.tool("t", script, "env = ['CARGO_PKG_NAME', 'NOT_SET_ANYWHERE']");
    let service = tools.serve(ToolConfig::default());
    let expected = expected.replace("FOLDER", &service.path().display().to_string());
    assert_eq!(run(service.call("t", params)).unwrap(), expected, "{name}");
}

/// Checks the error code and the data of a script that fails.
#[track_caller]
fn check_failure(name: &str, script: &str, lines: &str, code: i64, data: &Value) {
    let tools = Folder::new();
    tools.tool("t", script, lines);
    let service = tools.serve(ToolConfig::default());
    assert_eq!(run(service.failure("t", &json!({}))), (code, data.clone()), "{name}");
}

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future)
}

#[test]
fn passes_arguments_and_results() {
    let text = json!({ "text": "h\u{e9} \"quoted\"\n" });
    check("arguments", "cat", &text, r#"{"text":"hé \"quoted\"\n"}"#);
    let script = r#"test "$(cat)" = '{"a":"\u0001/","b":1000}' && echo 1"#;
    let written = serde_json::from_str::<Value>(r#"{"a":"\u0001\/","b":1000}"#).unwrap();
    check("no unnecessary escapes", script, &written, "1");
    check("no arguments", "cat", &json!({}), "{}");
    check(
        "one line",
        "read -r line; printf '%s' \"$line\"",
        &json!({ "a": [1, 2] }),
        r#"{"a":[1,2]}"#,
    );
    let pretty = r#"printf '{\n  "b": 12345678901234567890123,\n  "a": "x  y"\n}\n'"#;
    check("order and numbers", pretty, &json!({}), r#"{"b":12345678901234567890123,"a":"x  y"}"#);
    check("null", "echo null", &json!({}), "null");
    check("the folder", r#"printf '"%s"' "$(pwd)""#, &json!({}), "\"FOLDER\"");
    check("stderr output", "echo careful >&2; echo 1", &json!({}), "1");
}

#[test]
fn serves_pipes_concurrently() {
    let much = json!({ "text": "x".repeat(500_000) });
    check("stdin that is ignored", "echo 1", &much, "1");
    check("stdin that is closed", "exec <&-; echo 1", &much, "1");
    let writes_first =
        "printf '\"'; head -c 300000 /dev/zero | tr '\\0' a; printf '\"'; cat >/dev/null";
    check("writes first", writes_first, &much, &format!("\"{}\"", "a".repeat(300_000)));
    let both = "head -c 300000 /dev/zero >&2; cat >/dev/null; echo 1";
    check("stderr first", both, &much, "1");
}

#[test]
fn the_environment_does_not_leak() {
    // Cargo sets many variables for tests. Those that a shell sets are excluded.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let names = "env | sed 's/=.*//' | grep -v -x -e PWD -e SHLVL -e _ | sort | tr '\\n' ' '";
    check(
        "names",
        &format!("printf '\"%s\"' \"$({names})\""),
        &json!({}),
        "\"CARGO_PKG_NAME PATH \"",
    );
    let value = "printf '\"%s\"' \"$CARGO_PKG_NAME\"";
    check("a value", value, &json!({}), "\"trunkline-command-tools\"");
}

#[test]
#[cfg(target_os = "linux")]
fn tools_inherit_no_open_files() {
    let tools = Folder::new();
    tools.tool("t", "set -- /proc/$$/fd/*; echo $#", "");
    // This process may have inherited files itself, so compare with another program.
    let others = std::process::Command::new(tools.path().join("t.sh"))
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let others = String::from_utf8(others.stdout).unwrap();
    let service = tools.serve(ToolConfig::default());
    assert_eq!(run(service.call("t", &json!({}))).unwrap(), others.trim_end());
}

#[test]
fn reports_exit_codes_and_signals() {
    check_failure(
        "an exit code",
        "echo reading >&2; echo '  no such city ' >&2; exit 3",
        "",
        -32002,
        &json!({
            "kind": "exit_code",
            "reason": "the tool failed with exit code 3: no such city",
            "exit_code": 3,
            "stderr": "reading\n  no such city \n",
        }),
    );
    check_failure(
        "silence",
        "echo '\"fine\"'; exit 1",
        "",
        -32002,
        &json!({
            "kind": "exit_code",
            "reason": "the tool failed with exit code 1",
            "exit_code": 1,
            "stderr": "",
        }),
    );
    check_failure(
        "a signal",
        "kill -SEGV $$",
        "",
        -32002,
        &json!({
            "kind": "signal",
            "reason": "signal 11 ended the tool (SIGSEGV: it crashed)",
            "signal": 11,
            "stderr": "",
        }),
    );
    check_failure(
        "the end of stderr",
        "head -c 100000 /dev/zero | tr '\\0' x >&2; printf '\\377é\\nlast' >&2; exit 1",
        "",
        -32002,
        &json!({
            "kind": "exit_code",
            "reason": "the tool failed with exit code 1: last",
            "exit_code": 1,
            "stderr": format!("{}\u{fffd}é\nlast", "x".repeat(4096 - 8)),
        }),
    );
}

#[test]
fn rejects_invalid_results() {
    let check = |name, script, reason: &str| {
        let reason = format!("the output of the tool is not one JSON value: {reason}");
        let data = json!({ "kind": "not_json", "reason": reason, "stderr": "" });
        check_failure(name, script, "", -32002, &data);
    };
    check("empty", "exit 0", "stdout is empty");
    check("white space", "printf ' \\n'", "stdout is empty");
    check("text", "echo hello", "expected value at line 1 column 1");
    check("two values", "echo 1; echo 2", "trailing characters at line 2 column 1");
    check("half a value", "printf '{\"a\":'", "EOF while parsing a value at line 1 column 5");
    check("a duplicate key", r#"echo '{"a":"x","a":1}'"#, "duplicate key `a` at line 1 column 12");
    check("not UTF-8", "printf '\"ab\\377\"'", "byte 3 is not UTF-8");
    check(
        "deep",
        "head -c 1000 /dev/zero | tr '\\0' '['",
        "recursion limit exceeded at line 1 column 128",
    );
}

#[test]
fn limits_the_size_of_results() {
    let data = |most: u32| {
        let reason = format!("the output of the tool exceeded {most} bytes; the tool was killed");
        json!({ "kind": "too_much_output", "reason": reason, "max_output_bytes": most })
    };
    check_failure("endless", "yes", "max_output_bytes = 10000", -32002, &data(10_000));
    check_failure("one byte", "printf '1234'", "max_output_bytes = 3", -32002, &data(3));
    check_failure("the default", "exec yes", "", -32002, &data(1 << 20));
    let tools = Folder::new();
    tools.tool("t", "printf '123'", "max_output_bytes = 3");
    let service = tools.serve(ToolConfig::default());
    assert_eq!(run(service.call("t", &json!({}))).unwrap(), "123", "exactly the maximum");
}

#[test]
fn validates_arguments_and_results() {
    let tools = Folder::new();
    tools.script("t.sh", "echo ran >> ran; cat");
    tools.write(
        "t.toml",
        "name = 't'\ndescription = 'd'\ncommand = ['./t.sh']\n\
         [input_schema]\ntype = 'object'\nadditionalProperties = false\nproperties.count.type = 'integer'\n\
         [output_schema]\ntype = 'object'\nproperties.count.minimum = 1\n",
    );
    let service = tools.serve(ToolConfig::default());
    let errors = |pointer, reason| json!([{ "pointer": pointer, "reason": reason }]);

    let (code, data) = run(service.failure("t", &json!({ "count": "two" })));
    assert_eq!(code, -32602);
    assert_eq!(data["errors"], errors("/count", "this value is not of type \"integer\""));
    assert_eq!(run(service.failure("t", &json!([2]))).0, -32602, "by position");
    assert_eq!(run(service.failure("t", &json!({ "number": 2 }))).0, -32602, "unknown");
    assert!(!service.path().join("ran").exists(), "the tool ran with invalid arguments");

    assert_eq!(run(service.call("t", &json!({ "count": 1 }))).unwrap(), r#"{"count":1}"#);
    let (code, data) = run(service.failure("t", &json!({ "count": 0 })));
    let fault = "this value is less than the minimum of 1";
    assert_eq!(code, -32002);
    assert_eq!(
        data,
        json!({
            "kind": "misfit",
            "reason": format!("the result of the tool does not match its output schema: /count: {fault}"),
            "errors": errors("/count", fault),
        })
    );
}

#[test]
fn reports_a_missing_program() {
    let tools = Folder::new();
    tools.tool("t", "echo 1", "");
    let service = tools.serve(ToolConfig::default());
    std::fs::remove_file(service.path().join("t.sh")).unwrap();
    let data = json!({ "kind": "unstarted", "reason": "the tool could not be started" });
    assert_eq!(run(service.failure("t", &json!({}))), (-32002, data));
}
