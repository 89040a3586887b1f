use std::path::Path;
use std::time::Duration;

use serde_json::json;
use trunkline::{Effect, Schema};

use super::ToolManifest;
use crate::config::ToolConfig;

/// The required keys of a manifest, except the input schema.
const REQUIRED: &str = "name = 'x'\ndescription = 'd'\ncommand = ['/bin/sh']\n";
const INPUT: &str = "[input_schema]\ntype = 'object'\n";

fn parse(text: &str) -> Result<ToolManifest, String> {
    let path = "relative:/bin".into();
    let config = ToolConfig { path, ..ToolConfig::default() };
    let parsed = ToolManifest::parse(text, Path::new("x.toml"), Path::new("/usr"), &config);
    parsed.map_err(|error| error.to_string())
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(parse(text), Err(expected.to_owned()), "{text}");
}

/// Checks a manifest with the required keys and `line`, its fourth.
#[track_caller]
fn check_line(line: &str, expected: &str) {
    check(&format!("{REQUIRED}{line}\n{INPUT}"), &format!("x.toml:4:{expected}"));
}

/// Checks a manifest with this command, in line 3.
#[track_caller]
fn check_command(command: &str, expected: &str) {
    let text = format!("name = 'x'\ndescription = 'd'\ncommand = {command}\n{INPUT}");
    check(&text, &format!("x.toml:3:{expected}"));
}

/// Checks a manifest with this input schema, from line 4.
#[track_caller]
fn check_input(schema: &str, expected: &str) {
    check(&format!("{REQUIRED}[input_schema]\n{schema}"), expected);
}

#[test]
fn parses_all_keys() {
    let manifest = parse(
        "\u{feff}name = 'shout-2_X'\ntitle = 'Shout'\ndescription = 'Prints it.'\n\
         command = ['./bin/sh', '-c', 'it is $HOME']\n\
         timeout_ms = 5_000\nmax_output_bytes = 100\nenv = ['LANG', '_x1']\nread_only = true\n\
         [input_schema]\ntype = 'object'\nproperties.text.type = 'string'\n[output_schema]\ntype = 'string'",
    );
    let input = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
    let expected = ToolManifest {
        name: "shout-2_X".to_owned(),
        title: Some("Shout".to_owned()),
        description: "Prints it.".to_owned(),
        command: "./bin/sh".to_owned(),
        program: "/usr/bin/sh".into(),
        arguments: vec!["-c".to_owned(), "it is $HOME".to_owned()],
        folder: "/usr".into(),
        timeout: Duration::from_secs(5),
        max_output_bytes: 100,
        env: vec!["LANG".to_owned(), "_x1".to_owned()],
        effect: Some(Effect::ReadOnly),
        input: Schema::from(input),
        output: Some(Schema::from(json!({ "type": "string" }))),
    };
    assert_eq!(manifest, Ok(expected));
}

#[test]
fn applies_defaults() {
    let manifest = parse(&format!("{REQUIRED}{INPUT}")).unwrap();
    assert_eq!(manifest.timeout, Duration::from_secs(30));
    assert_eq!(manifest.max_output_bytes, 1 << 20);
    assert_eq!((manifest.effect, manifest.title, manifest.output), (None, None, None));
    assert!(manifest.env.is_empty() && manifest.arguments.is_empty());
    for (lines, effect) in [
        ("destructive = true", Some(Effect::Destructive)),
        ("destructive = false", Some(Effect::Additive)),
        ("read_only = false", None),
        ("read_only = true\ndestructive = false", Some(Effect::ReadOnly)),
    ] {
        let manifest = parse(&format!("{REQUIRED}{lines}\n{INPUT}")).unwrap();
        assert_eq!(manifest.effect, effect, "{lines}");
    }
    let bare = parse(&format!("name = 'x'\ndescription = 'd'\ncommand = ['sh']\n{INPUT}")).unwrap();
    assert_eq!(bare.program, Path::new("/bin/sh"), "from PATH");
}

#[test]
fn rejects_invalid_toml() {
    check("x", "x.toml:1:2: key with no value, expected `=`");
    check("é = [", "x.toml:1:6: unclosed array, expected `]`");
    check("name = 'x'\nname = 'y'", "x.toml:2:1: duplicate key");
}

#[test]
fn rejects_missing_keys() {
    check("", "x.toml:1:1: missing field `name`");
    check("name = 'x'", "x.toml:1:1: missing field `description`");
    check("name = 'x'\ndescription = 'd'", "x.toml:1:1: missing field `command`");
    check(REQUIRED, "x.toml:1:1: missing field `input_schema`");
}

#[test]
fn rejects_unknown_keys_and_types() {
    let known = "expected one of `name`, `title`, `description`, `command`, `timeout_ms`, \
                 `max_output_bytes`, `env`, `read_only`, `destructive`, `input_schema`, `output_schema`";
    check_line("timeout = 5", &format!("1: unknown field `timeout`, {known}"));
    check_line("[limits]\ncpu = 5", &format!("2: unknown field `limits`, {known}"));
    check_line("timeout_ms = '5'", "14: invalid type: string \"5\", expected u64");
    check_line("timeout_ms = -5", "14: invalid value: integer `-5`, expected u64");
    check_line("env = ['A', 7]", "13: invalid type: integer `7`, expected a string");
    check_line("read_only = 1", "13: invalid type: integer `1`, expected a boolean");
    check("name = 7", "x.toml:1:8: invalid type: integer `7`, expected a string");
}

#[test]
fn checks_names_and_texts() {
    let rule = "a name must have 1 to 64 of the characters A-Z a-z 0-9 _ -";
    for name in ["", "a.b", "a b", "ä", "a/b", &"x".repeat(65)] {
        check(
            &format!("name = '{name}'\ndescription = 'd'\ncommand = ['/bin/sh']\n{INPUT}"),
            &format!("x.toml:1:8: {rule}"),
        );
    }
    let longest = "x".repeat(64);
    let text = format!("name = '{longest}'\ndescription = 'd'\ncommand = ['/bin/sh']\n{INPUT}");
    assert_eq!(parse(&text).unwrap().name, longest);
    check_line("title = ' '", "9: the text must not be empty");
    let long = "x".repeat(257);
    check_line(&format!("title = '{long}'"), "9: the text has 257 bytes; the maximum is 256");
}

#[test]
fn checks_commands() {
    check_command("[]", "11: the program is missing; add it in quotes");
    let empty = "the program must not be empty, and no element may contain NUL";
    check_command("['']", &format!("12: {empty}"));
    check_command(r#"['/bin/sh', "a\u0000b"]"#, &format!("23: {empty}"));
    check_command("'ls -l'", "11: invalid type: string \"ls -l\", expected a sequence");
    let leaves = "12: a relative path must not leave the folder of the manifest; \
                  write an absolute path";
    for program in ["../bin/sh", "./../bin/sh", "bin/../../bin/sh"] {
        check_command(&format!("['{program}']"), leaves);
    }
    check_command(
        "['./bin/no-such']",
        "12: program `./bin/no-such` not found: No such file or directory (os error 2)",
    );
    check_command("['./bin']", "12: `./bin` is not a file");
    check_command(
        "['/etc/passwd']",
        "12: `/etc/passwd` is not executable; run `chmod +x /etc/passwd`",
    );
    check_command(
        "['no-such']",
        "12: program `no-such` not found in PATH; install it, or write its path",
    );
    let words = ["'/bin/sh'"; 65].join(",");
    check_command(&format!("[{words}]"), "11: a command must have at most 64 elements");
}

#[test]
fn checks_limits() {
    check_line("timeout_ms = 0", "14: the value must be from 1 to 3600000");
    check_line("timeout_ms = 3600001", "14: the value must be from 1 to 3600000");
    check_line("max_output_bytes = 0", "20: the value must be from 1 to 67108864");
    check_line("max_output_bytes = 67108865", "20: the value must be from 1 to 67108864");
    let rule = "invalid variable name: use ASCII letters, digits and `_`; the value is taken from the \
                environment of the server";
    check_line("env = ['A', 'B=1']", &format!("13: {rule}"));
    check_line("env = ['']", &format!("8: {rule}"));
    check_line("env = ['1A']", &format!("8: {rule}"));
    check_line("env = ['A', 'A']", "13: duplicate variable name");
    check_line(
        "destructive = true\nread_only = true",
        "15: `read_only` and `destructive` exclude each other; remove one of them",
    );
}

#[test]
fn checks_schemas() {
    let object = "x.toml:4:1: the input schema must have `type = \"object\"`";
    check_input("", object);
    check_input("type = 'string'", object);
    check_input("type = ['object', 'null']", object);
    let wrong = "x.toml:4:1: invalid JSON Schema (draft 2020-12): ";
    check_input(
        "type = 'object'\nproperties.a.type = 'text'",
        &format!("{wrong}/properties/a/type: unknown type \"text\""),
    );
    check_input(
        "type = 'object'\nproperties.a.default = 2026-11-22",
        "x.toml:4:1: JSON Schema has no dates and times; write them as strings in quotes",
    );
    let remote =
        parse(&format!("{REQUIRED}{INPUT}properties.a.\"$ref\" = 'https://example.com/a'"));
    assert!(remote.unwrap_err().starts_with(wrong), "nothing is fetched");
    let text = format!("{REQUIRED}{INPUT}[output_schema]\nminimum = 'x'");
    let error = parse(&text).unwrap_err();
    assert!(error.starts_with("x.toml:6:1: invalid JSON Schema"), "{error}");
}
