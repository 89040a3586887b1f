use std::io::Write;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Field, RecordTypes, TypesError, Verb};

/// The values of a field's accessors.
fn accessors(field: &Field) -> Value {
    json!([
        field.name(),
        field.kind().as_str(),
        field.required(),
        field.default(),
        field.allowed(),
        field.description(),
    ])
}

/// Compares the accessors of all types: `[[name, description, [field, …]], …]`.
#[track_caller]
fn check(text: &str, expected: Value) {
    let types = RecordTypes::parse(text).unwrap();
    let found: Vec<Value> = types
        .iter()
        .map(|one| {
            assert_eq!(types.get(one.name()), Some(one));
            let fields: Vec<Value> = one.fields().iter().map(accessors).collect();
            json!([one.name(), one.description(), fields])
        })
        .collect();
    assert_eq!(Value::from(found), expected);
}

#[test]
fn every_toml_notation_keeps_the_order() {
    check(
        r#"
        [records.zebra]
        description = "Stripes"
        [records.zebra.fields]
        z = { type = "string" }
        a = { type = "integer", required = true, description = "First?" }
        [records."crm.todo".fields.note]
        type = "string"
        enum = ["a", "b"]
        default = "b"
        [records]
        apple.fields.x.type = "object"
        apple.fields.x.default = { b = [1, 2.5, -3], a = { c = true } }
        "#,
        json!([
            ["zebra", "Stripes", [
                ["z", "string", false, null, null, null],
                ["a", "integer", true, null, null, "First?"],
            ]],
            ["crm.todo", null, [["note", "string", false, "b", ["a", "b"], null]]],
            ["apple", null, [
                ["x", "object", false, { "b": [1, 2.5, -3], "a": { "c": true } }, null, null],
            ]],
        ]),
    );
}

#[test]
fn numbers_of_toml() {
    let integers = "[-9223372036854775808, 18446744073709551615, 0xff, 0o17, 0b11, 1_000, +5]";
    check(
        &format!(
            "[records.r.fields]\ni = {{ type = 'integer', enum = {integers} }}\n\
             n = {{ type = 'number', enum = [1, 1.5, -2e3, 1_0.5] }}"
        ),
        json!([[
            "r",
            null,
            [
                ["i", "integer", false, null, [i64::MIN, u64::MAX, 255, 15, 3, 1000, 5], null],
                ["n", "number", false, null, [1, 1.5, -2000.0, 10.5], null],
            ]
        ]]),
    );
}

#[test]
fn the_default_is_todo() {
    check(
        include_str!("default.toml"),
        json!([[
            "todo",
            "Something to do",
            [
                ["title", "string", true, null, null, "What there is to do"],
                ["done", "boolean", false, false, null, "Whether it is done"],
                [
                    "priority",
                    "string",
                    false,
                    "normal",
                    ["low", "normal", "high"],
                    "How much it matters"
                ],
            ]
        ]]),
    );
    let types = RecordTypes::default();
    assert_eq!(types, RecordTypes::parse(include_str!("default.toml")).unwrap());
    assert_eq!(types.get("tod"), None);
    let todo = types.get("todo").unwrap();
    assert_eq!(todo.field("Title"), None);
    assert_eq!(todo.nearest_field("Titel").map(Field::name), Some("title"));
    assert_eq!(todo.nearest_field("owner"), None);
}

#[test]
fn verbs_parse_their_names() {
    for verb in Verb::ALL {
        assert_eq!(Verb::parse(&verb.to_string()), Some(verb));
    }
    assert_eq!(Verb::parse("Create"), None);
}

/// Compares the error of [`Field::check`] for a value of the field `x`.
#[track_caller]
fn check_value(declaration: &str, value: &str, expected: &str) {
    let text = format!("[records.r.fields]\nx = {{ {declaration} }}");
    let types = RecordTypes::parse(&text).unwrap();
    let value: Value = serde_json::from_str(value).unwrap();
    let found = types.get("r").unwrap().field("x").unwrap().check(&value);
    assert_eq!(found.err().unwrap_or_default(), expected, "{declaration} {value}");
}

#[test]
fn values_fit_their_type() {
    let types = [
        ("string", "\"\""),
        ("integer", "-1"),
        ("integer", "18446744073709551615"),
        ("integer", "-9223372036854775808"),
        ("number", "1"),
        ("number", "-1.5e300"),
        ("boolean", "false"),
        ("object", "{}"),
        ("array", "[null]"),
    ];
    for (kind, value) in types {
        check_value(&format!("type = '{kind}'"), value, "");
    }
    check_value("type = 'string'", "7", "x must be a string, got a number");
    check_value("type = 'string'", "null", "x must be a string, got null");
    check_value("type = 'boolean'", "\"true\"", "x must be a boolean, got a string");
    check_value("type = 'number'", "\"1\"", "x must be a number, got a string");
    check_value("type = 'object'", "[]", "x must be an object, got an array");
    check_value("type = 'array'", "{}", "x must be an array, got an object");
    check_value("type = 'integer'", "true", "x must be an integer, got a boolean");
    for value in ["1.0", "1.5", "18446744073709551616"] {
        let expected = "x must be an integer of up to 64 bits without a fraction";
        check_value("type = 'integer'", value, expected);
    }
}

#[test]
fn values_are_one_of_an_enum() {
    let priority = "type = 'string', enum = ['low', 'normal', 'high']";
    check_value(priority, "\"low\"", "");
    let one = "x must be one of \"low\", \"normal\", \"high\"";
    check_value(priority, "\"Low\"", one);
    check_value(priority, "\"urgent\"", one);
    check_value(priority, "1", "x must be a string, got a number");
    check_value("type = 'number', enum = [1, 2.0]", "1.0", "");
    check_value("type = 'number', enum = [1, 2.0]", "2", "");
    check_value("type = 'number', enum = [1, 2.0]", "3", "x must be one of 1, 2.0");
    check_value("type = 'array', enum = [[1], []]", "[2]", "x must be one of [1], []");
    check_value("type = 'string', enum = ['a']", "\"b\"", "x must be \"a\"");
}

#[test]
fn long_values_are_truncated_in_errors() {
    let long = "é".repeat(1000);
    let shown = format!("\"{}…", "é".repeat(63));
    let expected = format!("x must be {shown}");
    check_value(&format!("type = 'string', enum = ['{long}']"), "\"b\"", &expected);
    let many: Vec<String> = (1..=12).map(|n| n.to_string()).collect();
    check_value(
        &format!("type = 'integer', enum = [{}]", many.join(", ")),
        "0",
        "x must be one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more",
    );
}

/// Reads a file of these bytes.
fn read(bytes: &[u8]) -> (String, Result<RecordTypes, TypesError>) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    (file.path().display().to_string(), RecordTypes::read(file.path()))
}

#[test]
fn files_have_a_maximum_size() {
    let text = include_str!("default.toml");
    assert_eq!(read(text.as_bytes()).1.unwrap(), RecordTypes::default());
    assert_eq!(read(format!("\u{feff}{text}").as_bytes()).1.unwrap(), RecordTypes::default());

    let mut full = text.as_bytes().to_vec();
    full.resize(RecordTypes::MAX_BYTES, b'\n');
    assert_eq!(read(&full).1.unwrap(), RecordTypes::default());
    full.push(b'\n');
    let (file, error) = read(&full);
    assert_eq!(error.unwrap_err().to_string(), format!("{file} is larger than 1048576 bytes"));
}

#[test]
fn errors_contain_the_file() {
    #[track_caller]
    fn check(bytes: &[u8], expected: &str) {
        let (file, error) = read(bytes);
        assert_eq!(error.unwrap_err().to_string(), format!("{file}:{expected}"));
    }
    check(b"\n x = 1", "2:2: unknown field `x`, expected `records`");
    check(b"\na = [", "2:6: unclosed array, expected `]`");
    let (file, error) = read(b"# \xff");
    assert_eq!(error.unwrap_err().to_string(), format!("cannot read {file}"));

    let nowhere = tempfile::tempdir().unwrap().path().join("types.toml");
    let error = RecordTypes::read(&nowhere).unwrap_err();
    assert_eq!(error.to_string(), format!("cannot read {}", nowhere.display()));
    assert!(std::error::Error::source(&error).is_some());
}

proptest! {
    /// Every text is parsed, or rejected with a place in the text.
    #[test]
    fn parsing_never_panics(parts in prop::collection::vec(part(), 0..30)) {
        let text = parts.concat();
        match RecordTypes::parse(&text) {
            Ok(types) => {
                for one in types.iter() {
                    prop_assert!(!one.fields().is_empty());
                    for field in one.fields() {
                        prop_assert_eq!(field.default().map_or(Ok(()), |value| field.check(value)), Ok(()));
                    }
                }
            }
            Err(TypesError::Invalid { line, column, reason, .. }) => {
                prop_assert!((1..=text.matches('\n').count() + 1).contains(&line), "{}", text);
                let within = text.split('\n').nth(line - 1).map(|line| line.chars().count() + 1);
                prop_assert!(within.is_some_and(|most| (1..=most).contains(&column)), "{}", text);
                prop_assert!(!reason.is_empty());
            }
            Err(other) => prop_assert!(false, "{}", other),
        }
    }
}

/// A fragment of a file of types, or of similar text.
fn part() -> impl Strategy<Value = String> {
    let pieces = [
        "[records.todo.fields]\n",
        "[records.\"crm.todo\"]\n",
        "[records.r.fields]\nx = { type = \"string\" }\n",
        "[records.a.b.fields]\n",
        "[[records]]\n",
        "records.é = ",
        "x = ",
        "id = ",
        "{ type = \"string\", enum = [\"low\", \"high\"], default = \"low\" }\n",
        "{ type = \"integer\", default = 7 }\n",
        "{ type = \"number\", default = nan }\n",
        "type = \"object\"\n",
        "default = { a = [1, 2026-11-22] }\n",
        "enum = [",
        "]",
        "}",
        "\"",
        "\"\"\"",
        "\n",
        "\r\n",
        "# é",
        "\u{feff}",
        "\\u00",
    ];
    prop_oneof![8 => prop::sample::select(pieces.to_vec()).prop_map(str::to_owned), 1 => ".{0,5}"]
}
