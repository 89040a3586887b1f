use crate::declaration::RecordTypes;

/// Expects an error: its place and a part of its reason.
#[track_caller]
fn check(text: &str, place: &str, reason: &str) {
    let error = RecordTypes::parse(text).expect_err("the text is invalid").to_string();
    assert!(error.starts_with(&format!("{place}: ")) && error.contains(reason), "{text}: {error}");
}

/// Expects an error of a field's declaration, in line 2.
#[track_caller]
fn check_field(declaration: &str, column: usize, reason: &str) {
    let text = format!("[records.todo.fields]\nx = {declaration}\n");
    check(&text, &format!("2:{column}"), reason);
}

fn fields(count: usize) -> String {
    (0..count).map(|n| format!("\nf{n} = {{ type = 'string' }}")).collect()
}

#[test]
fn invalid_toml() {
    check("x", "1:2", "key with no value, expected `=`");
    check("é = [", "1:6", "unclosed array, expected `]`");
    check("[records.todo]\n[records.todo]", "2:10", "duplicate key");
    check("[a]\r\nb = 1\r\nb = 2", "3:1", "duplicate key");
    check(&format!("x = {}", "[".repeat(200_000)), "1:85", "max recursion depth");
    check_field("{ type = \"string }", 23, "unclosed inline table, expected `}`");
}

#[test]
fn files() {
    for empty in ["", "# nothing yet"] {
        check(empty, "1:1", "missing field `records`");
    }
    check("[records]", "1:1", "no record type is declared; add [records.NAME.fields]");
    check("records = 1", "1:11", "invalid type: integer `1`, expected a map");
    check("[record.todo]", "1:2", "unknown field `record`, expected `records`");
    check("\u{feff}\"x y\" = 1", "1:1", "unknown field `x y`");
    let many = |count| -> String {
        let fields = fields(1);
        (0..count).map(|n| format!("[records.r{n}.fields]{fields}\n")).collect()
    };
    check(&many(101), "201:10", "more than 100 record types");
    assert_eq!(RecordTypes::parse(&many(100)).unwrap().iter().count(), 100);
}

#[test]
fn record_types() {
    check("records.todo = 'x'", "1:16", "invalid type: string \"x\"");
    check("[records.todo]", "1:1", "missing field `fields`");
    check("[records.todo.fields]", "1:10", "a record type needs at least one field");
    check("[records.todo]\nowner = 'x'", "2:1", "expected `description` or `fields`");
    check("[records.todo]\ndescription = 7", "2:15", "expected a string");
    check("[records.todo]\nfields = 'x'", "2:10", "expected a map");
    check("[records.crm.todo.fields]\nx = { type = 'string' }", "1:14", "unknown field `todo`");
    let text = |count| format!("[records.todo.fields]{}", fields(count));
    check(&text(201), "202:1", "todo has more than 200 fields");
    RecordTypes::parse(&text(200)).unwrap();
}

#[test]
fn names_of_types() {
    let text = |name: &str| format!("[records.\"{name}\".fields]{}", fields(1));
    let long = "x".repeat(65);
    let names =
        ["", ".", "a.", ".a", "a..b", "a.1", "ä", "a b", "a\\\"b", "a/b", "1x", "_a", &long];
    for name in names {
        check(
            &text(name),
            "1:10",
            "the name of a record type consists of up to 64 ASCII letters, digits",
        );
    }
    for name in ["rpc", "rpc.x"] {
        check(&text(name), "1:10", "names that start with the namespace rpc are reserved");
    }
    for name in ["a", "a.b-c.D_9", "rpcs", "x.rpc", &long[1..]] {
        assert_eq!(RecordTypes::parse(&text(name)).unwrap().get(name).unwrap().name(), name);
    }
}

#[test]
fn names_of_fields() {
    let text = |name: &str| format!("[records.todo.fields]\n\"{name}\" = {{ type = 'string' }}");
    let long = "x".repeat(65);
    for name in ["", "a b", "é", "a.b", "a~b", "1", "-a", &long] {
        check(&text(name), "2:1", "a field name consists of up to 64 ASCII letters, digits");
    }
    for name in ["id", "metadata", "version", "createdAt", "updatedAt"] {
        check(
            &text(name),
            "2:1",
            "reserved field name; the reserved names are id, metadata, version,",
        );
    }
    for name in ["a", "_", "a-1", "Id", "created_at", &long[1..]] {
        let types = RecordTypes::parse(&text(name)).unwrap();
        assert_eq!(types.get("todo").unwrap().field(name).unwrap().name(), name);
    }
}

#[test]
fn declarations() {
    check_field("'string'", 5, "invalid type: string \"string\"");
    check_field("{}", 5, "missing field `type`");
    check_field("{ type = 7 }", 14, "wanted string");
    let known = "expected one of `string`, `integer`, `number`, `boolean`, `object`, `array`";
    check_field("{ type = 'strng' }", 14, &format!("unknown variant `strng`, {known}"));
    let known = "expected one of `type`, `required`, `default`, `enum`, `description`";
    check_field("{ type = 'string', min = 1 }", 24, &format!("unknown field `min`, {known}"));
    check_field("{ type = 'string', required = 'yes' }", 35, "expected a boolean");
    check_field("{ type = 'string', description = 2026-11-22 }", 38, "expected a string");
}

#[test]
fn defaults() {
    let text = "{ type = 'string', required = true, default = 'x' }";
    check_field(text, 51, "a required field cannot have a default; remove one of the two");
    check_field("{ default = 7, type = 'string' }", 17, "x must be a string, got a number");
    let whole = "x must be an integer of up to 64 bits without a fraction";
    check_field("{ default = 1.0, type = 'integer' }", 17, whole);
    for number in ["18446744073709551616", "-9223372036854775809"] {
        check_field(&format!("{{ default = {number}, type = 'integer' }}"), 17, "");
    }
    for number in ["nan", "-inf", "+inf", "1e999"] {
        check_field(&format!("{{ default = {number}, type = 'number' }}"), 17, "");
    }
    let time = "JSON has no dates and times; write a string";
    for value in ["2026-11-22", "07:32:00", "2026-11-22T07:32:00Z"] {
        check_field(&format!("{{ default = {value}, type = 'string' }}"), 17, time);
    }
    check_field("{ default = { a = [1, 07:32:00] }, type = 'object' }", 17, time);
    let urgent = "{ default = 'urgent', enum = ['low', 'high'], type = 'string' }";
    check_field(urgent, 17, "x must be one of \"low\", \"high\"");
    let no = "{ default = false, type = 'boolean', enum = [true] }";
    check_field(no, 17, "x must be true");
}

#[test]
fn enums() {
    check_field("{ type = 'string', enum = [] }", 31, "an enum needs at least one value");
    check_field("{ type = 'string', enum = 'low' }", 31, "expected a sequence");
    let text = "{ type = 'string', enum = ['low', 7] }";
    check_field(text, 39, "x must be a string, got a number");
    let twice = "duplicate value";
    check_field("{ type = 'string', enum = ['low', 'high', 'low'] }", 47, twice);
    check_field("{ enum = [1, 1.0], type = 'number' }", 18, twice);
    let values: Vec<String> = (1000..2001).map(|n| n.to_string()).collect();
    let text = format!("{{ type = 'integer', enum = [{}] }}", values.join(","));
    check_field(&text, 5033, "an enum can have up to 1000 values");
}
