use std::path::Path;
use std::time::Duration;

use serde_json::json;
use trunkline::{Effect, Schema};

use super::ToolManifest;
use crate::config::ToolConfig;

/// What a manifest has to have.
const LEAST: &str = "name = 'x'\ndescription = 'd'\ncommand = ['/bin/sh']\n";
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

/// A manifest with this line, the fourth, besides what it has to have.
#[track_caller]
fn check_line(line: &str, expected: &str) {
    check(&format!("{LEAST}{line}\n{INPUT}"), &format!("x.toml:4:{expected}"));
}

/// A manifest with this command, in line 3.
#[track_caller]
fn check_command(command: &str, expected: &str) {
    let text = format!("name = 'x'\ndescription = 'd'\ncommand = {command}\n{INPUT}");
    check(&text, &format!("x.toml:3:{expected}"));
}

/// A manifest with this input schema, from line 4.
#[track_caller]
fn check_input(schema: &str, expected: &str) {
    check(&format!("{LEAST}[input_schema]\n{schema}"), expected);
}

#[test]
fn what_a_manifest_says() {
    let manifest = parse(
        "\u{feff}name = 'shout-2_X'\ntitle = 'Shout'\ndescription = 'Says it.'\n\
         command = ['./bin/sh', '-c', 'it is $HOME']\n\
         timeout_ms = 5_000\nmax_output_bytes = 100\nenv = ['LANG', '_x1']\nread_only = true\n\
         [input_schema]\ntype = 'object'\nproperties.text.type = 'string'\n[output_schema]\ntype = 'string'",
    );
    let input = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
    let expected = ToolManifest {
        name: "shout-2_X".to_owned(),
        title: Some("Shout".to_owned()),
        description: "Says it.".to_owned(),
        command: "./bin/sh".to_owned(),
        program: "/usr/bin/sh".into(),
        arguments: vec!["-c".to_owned(), "it is $HOME".to_owned()],
        folder: "/usr".into(),
        timeout: Duration::from_secs(5),
        max_output_bytes: 100,
        env: vec!["LANG".to_owned(), "_x1".to_owned()],
        effect: Some(Effect::Reads),
        input: Schema::from(input),
        output: Some(Schema::from(json!({ "type": "string" }))),
    };
    assert_eq!(manifest, Ok(expected));
}

#[test]
fn what_it_need_not_say() {
    let manifest = parse(&format!("{LEAST}{INPUT}")).unwrap();
    assert_eq!(manifest.timeout, Duration::from_secs(30));
    assert_eq!(manifest.max_output_bytes, 1 << 20);
    assert_eq!((manifest.effect, manifest.title, manifest.output), (None, None, None));
    assert!(manifest.env.is_empty() && manifest.arguments.is_empty());
    for (lines, effect) in [
        ("destructive = true", Some(Effect::Destroys)),
        ("destructive = false", Some(Effect::Adds)),
        ("read_only = false", None),
        ("read_only = true\ndestructive = false", Some(Effect::Reads)),
    ] {
        let manifest = parse(&format!("{LEAST}{lines}\n{INPUT}")).unwrap();
        assert_eq!(manifest.effect, effect, "{lines}");
    }
    let bare = parse(&format!("name = 'x'\ndescription = 'd'\ncommand = ['sh']\n{INPUT}")).unwrap();
    assert_eq!(bare.program, Path::new("/bin/sh"), "from PATH");
}

#[test]
fn what_is_not_toml() {
    check("x", "x.toml:1:2: key with no value, expected `=`");
    check("é = [", "x.toml:1:6: unclosed array, expected `]`");
    check("name = 'x'\nname = 'y'", "x.toml:2:1: duplicate key");
}

#[test]
fn what_is_missing() {
    check("", "x.toml:1:1: missing field `name`");
    check("name = 'x'", "x.toml:1:1: missing field `description`");
    check("name = 'x'\ndescription = 'd'", "x.toml:1:1: missing field `command`");
    check(LEAST, "x.toml:1:1: missing field `input_schema`");
}

#[test]
fn keys_and_types() {
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
fn names_and_texts() {
    let rule = "a name is 1 to 64 of the characters A-Z a-z 0-9 _ -";
    for name in ["", "a.b", "a b", "ä", "a/b", &"x".repeat(65)] {
        check(
            &format!("name = '{name}'\ndescription = 'd'\ncommand = ['/bin/sh']\n{INPUT}"),
            &format!("x.toml:1:8: {rule}"),
        );
    }
    let longest = "x".repeat(64);
    let text = format!("name = '{longest}'\ndescription = 'd'\ncommand = ['/bin/sh']\n{INPUT}");
    assert_eq!(parse(&text).unwrap().name, longest);
    check_line("title = ' '", "9: this is empty: say something");
    let long = "x".repeat(257);
    check_line(&format!("title = '{long}'"), "9: at most 256 bytes: 257 are too many");
}

#[test]
fn commands() {
    check_command("[]", "11: a command has a program: add it, in quotes");
    check_command("['']", "12: no program can be started with this");
    check_command(r#"['/bin/sh', "a\u0000b"]"#, "23: no program can be started with this");
    check_command("'ls -l'", "11: invalid type: string \"ls -l\", expected a sequence");
    let leaves = "12: a relative program stays in the folder of its manifest: \
                  write an absolute path";
    for program in ["../bin/sh", "./../bin/sh", "bin/../../bin/sh"] {
        check_command(&format!("['{program}']"), leaves);
    }
    check_command(
        "['./bin/no-such']",
        "12: there is no program ./bin/no-such: No such file or directory (os error 2)",
    );
    check_command("['./bin']", "12: ./bin is not a file");
    check_command(
        "['/etc/passwd']",
        "12: /etc/passwd may not be executed by this user: chmod +x /etc/passwd",
    );
    check_command(
        "['no-such']",
        "12: there is no program no-such in PATH: install it, or write where it is",
    );
    let words = ["'/bin/sh'"; 65].join(",");
    check_command(&format!("[{words}]"), "11: a command has at most 64 words");
}

#[test]
fn bounds() {
    check_line("timeout_ms = 0", "14: this is from 1 to 3600000");
    check_line("timeout_ms = 3600001", "14: this is from 1 to 3600000");
    check_line("max_output_bytes = 0", "20: this is from 1 to 67108864");
    check_line("max_output_bytes = 67108865", "20: this is from 1 to 67108864");
    let rule = "a variable's name is of letters of ASCII, digits and _; its value is that of the server's \
                environment";
    check_line("env = ['A', 'B=1']", &format!("13: {rule}"));
    check_line("env = ['']", &format!("8: {rule}"));
    check_line("env = ['1A']", &format!("8: {rule}"));
    check_line("env = ['A', 'A']", "13: duplicate name: leave it out");
    check_line(
        "destructive = true\nread_only = true",
        "15: what only reads destroys nothing: leave out one of the two",
    );
}

#[test]
fn schemas() {
    let object = "x.toml:4:1: arguments are an object: add type = \"object\"";
    check_input("", object);
    check_input("type = 'string'", object);
    check_input("type = ['object', 'null']", object);
    let wrong = "x.toml:4:1: invalid JSON Schema (draft 2020-12): ";
    check_input(
        "type = 'object'\nproperties.a.type = 'text'",
        &format!(
            "{wrong}\"text\" is not valid under any of the schemas listed in the 'anyOf' keyword"
        ),
    );
    check_input(
        "type = 'object'\nproperties.a.default = 2026-11-22",
        "x.toml:4:1: JSON has no dates and times: write them as strings, in quotes",
    );
    let remote = parse(&format!("{LEAST}{INPUT}properties.a.\"$ref\" = 'https://example.com/a'"));
    assert!(remote.unwrap_err().starts_with(wrong), "nothing is fetched");
    let text = format!("{LEAST}{INPUT}[output_schema]\nminimum = 'x'");
    let error = parse(&text).unwrap_err();
    assert!(error.starts_with("x.toml:6:1: invalid JSON Schema"), "{error}");
}
