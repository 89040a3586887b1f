use crate::declaration::ResourceTypes;

#[track_caller]
fn check(text: &str, expected: &str) {
    let error = ResourceTypes::parse(text).expect_err("it is refused");
    assert_eq!(error.to_string(), expected, "{text}");
}

/// A field of this declaration, in line 2.
#[track_caller]
fn check_field(declaration: &str, expected: &str) {
    check(&format!("[resources.todo.fields]\nx = {declaration}\n"), expected);
}

#[test]
fn what_is_not_toml() {
    check("x", "line 1, column 2: this is not TOML: key with no value, expected `=`");
    check("é = [", "line 1, column 6: this is not TOML: unclosed array, expected `]`");
    check(
        "[resources.todo]\n[resources.todo]",
        "line 2, column 12: this is not TOML: duplicate key",
    );
    check("[a]\r\nb = 1\r\nb = 2", "line 3, column 1: this is not TOML: duplicate key");
    check(
        &format!("x = {}", "[".repeat(200_000)),
        "line 1, column 85: this is not TOML: cannot recurse further; max recursion depth met",
    );
    check_field(
        "{ type = \"string }",
        "line 2, column 23: this is not TOML: unclosed inline table, expected `}`",
    );
}

#[test]
fn files() {
    let none = "line 1, column 1: there is no resource: add [resources.NAME.fields]";
    check("", none);
    check("# nothing yet", none);
    check("[resources]", none);
    check("resources = 1", "line 1, column 13: resources: write a table here, and not an integer");
    check("[[resources]]", "line 1, column 1: resources: write a table here, and not an array");
    check(
        "[resource.todo]",
        "line 1, column 2: resource: a file of types has no such key: did you mean resources?",
    );
    check(
        "\u{feff}\"x y\" = 1",
        "line 1, column 1: \"x y\": a file of types has no such key: it may have resources",
    );
    let many = |count| -> String {
        (0..count)
            .map(|n| format!("[resources.r{n}.fields]\nx = {{ type = 'string' }}\n"))
            .collect()
    };
    check(&many(101), "line 201, column 12: resources.r100: there are more than 100 resources");
    assert_eq!(ResourceTypes::parse(&many(100)).unwrap().iter().count(), 100);
}

#[test]
fn resources() {
    check(
        "resources.todo = 'x'",
        "line 1, column 18: resources.todo: write a table here, and not a string",
    );
    let fieldless = "line 1, column 12: resources.todo: a resource has at least one field: \
                     add it in [resources.todo.fields]";
    check("[resources.todo]", fieldless);
    check("[resources.todo.fields]", fieldless);
    check(
        "[resources.todo]\ndescripton = 'x'",
        "line 2, column 1: resources.todo.descripton: a resource has no such key: did you mean description?",
    );
    check(
        "[resources.todo]\nowner = 'x'",
        "line 2, column 1: resources.todo.owner: a resource has no such key: it may have description, fields",
    );
    check(
        "[resources.todo.field]\nx = { type = 'string' }",
        "line 1, column 17: resources.todo.field: a resource has no such key: did you mean fields?",
    );
    check(
        "[resources.todo]\ndescription = 7",
        "line 2, column 15: resources.todo.description: write a string here, and not an integer",
    );
    check(
        "[resources.todo]\nfields = []",
        "line 2, column 10: resources.todo.fields: write a table here, and not an array",
    );
    let fields = |count| -> String {
        (0..count).map(|n| format!("\nf{n} = {{ type = 'string' }}")).collect()
    };
    check(
        &format!("[resources.todo.fields]{}", fields(201)),
        "line 202, column 1: resources.todo.fields.f200: todo has more than 200 fields",
    );
    ResourceTypes::parse(&format!("[resources.todo.fields]{}", fields(200))).unwrap();
}

#[test]
fn names_with_dots_stand_in_quotes() {
    check(
        "[resources.crm.todo.fields]\nx = { type = 'string' }",
        "line 1, column 12: resources.crm: a name with dots stands in quotes: [resources.\"crm.todo\"]",
    );
    check(
        "[resources.a.b.c]\ndescription = 'x'",
        "line 1, column 12: resources.a: a name with dots stands in quotes: [resources.\"a.b.c\"]",
    );
    check(
        "[resources.crm.fields]\nx = { type = 'string' }\n[resources.crm.file.fields]\nx = { type = 'string' }",
        "line 1, column 12: resources.crm: a name with dots stands in quotes: [resources.\"crm.file\"]",
    );
}

#[test]
fn names_of_resources() {
    let rule = "a resource's name is of letters of ASCII, digits, _ and -, and begins with a letter; \
                namespaces end with a dot, as in \"crm.todo\"";
    for name in ["", ".", "a.", ".a", "a..b", "a.1", "ä", "a b", "a\\\"b", "a/b"] {
        let path = format!("line 1, column 12: resources.\"{name}\"");
        check(&format!("[resources.\"{name}\".fields]"), &format!("{path}: {rule}"));
    }
    check("[resources.1x.fields]", &format!("line 1, column 12: resources.1x: {rule}"));
    check("[resources._a.fields]", &format!("line 1, column 12: resources._a: {rule}"));
    let reserved = "rpc is reserved: begin the name otherwise";
    check("[resources.rpc.fields]", &format!("line 1, column 12: resources.rpc: {reserved}"));
    check(
        "[resources.\"rpc.x\".fields]",
        &format!("line 1, column 12: resources.\"rpc.x\": {reserved}"),
    );
    let long = "x".repeat(65);
    check(
        &format!("[resources.{long}.fields]"),
        &format!(
            "line 1, column 12: resources.{long}: a resource's name has at most 64 bytes: 65 are too many"
        ),
    );
    for name in ["a", "a.b-c.D_9", "rpcs", "x.rpc", &long[1..]] {
        let text = format!("[resources.\"{name}\".fields]\nx = {{ type = 'string' }}");
        assert_eq!(ResourceTypes::parse(&text).unwrap().get(name).unwrap().name(), name);
    }
}

#[test]
fn names_of_fields() {
    #[track_caller]
    fn check_name(name: &str, path: &str, expected: &str) {
        check(
            &format!("[resources.todo.fields]\n{name} = {{ type = 'string' }}"),
            &format!("line 2, column 1: resources.todo.fields.{path}: {expected}"),
        );
    }
    let rule =
        "a field's name is of letters of ASCII, digits, _ and -, and begins with a letter or _";
    for name in ["\"\"", "\"a b\"", "\"é\"", "\"a.b\"", "\"a~b\""] {
        check_name(name, name, rule);
    }
    check_name("1", "1", rule);
    check_name("-a", "-a", rule);
    for name in ["id", "metadata", "version", "createdAt", "updatedAt"] {
        let reserved = "this name is reserved, as all of id, metadata, version, createdAt, updatedAt are: \
                        give the field another name";
        check_name(name, name, reserved);
    }
    let long = "x".repeat(65);
    check_name(&long, &long, "a field's name has at most 64 bytes: 65 are too many");
    for name in ["a", "_", "a-1", "Id", "created_at", &long[1..]] {
        let text = format!("[resources.todo.fields]\n{name} = {{ type = 'string' }}");
        let types = ResourceTypes::parse(&text).unwrap();
        assert_eq!(types.get("todo").unwrap().field(name).unwrap().name(), name);
    }
}

#[test]
fn fields() {
    check_field(
        "'string'",
        "line 2, column 5: resources.todo.fields.x: a field is a table: write { type = \"string\" }",
    );
    check_field(
        "{}",
        "line 2, column 1: resources.todo.fields.x: a field has a type: add type = \"string\"",
    );
    check_field(
        "{ type = 7 }",
        "line 2, column 14: resources.todo.fields.x.type: write a string here, and not an integer",
    );
    check_field(
        "{ type = 'strng' }",
        "line 2, column 14: resources.todo.fields.x.type: there is no such type: did you mean string?",
    );
    check_field(
        "{ type = 'date' }",
        "line 2, column 14: resources.todo.fields.x.type: there is no such type: \
         it is one of string, integer, number, boolean, object, array",
    );
    check_field(
        "{ type = 'string', requird = true }",
        "line 2, column 24: resources.todo.fields.x.requird: a field has no such key: did you mean required?",
    );
    check_field(
        "{ type = 'string', min = 1 }",
        "line 2, column 24: resources.todo.fields.x.min: a field has no such key: \
         it may have type, required, default, enum, description",
    );
    check_field(
        "{ type = 'string', required = 'yes' }",
        "line 2, column 35: resources.todo.fields.x.required: write true or false here, and not a string",
    );
    check_field(
        "{ type = 'string', description = 2026-11-22 }",
        "line 2, column 38: resources.todo.fields.x.description: \
         write a string here, and not a date or a time",
    );
}

#[test]
fn defaults() {
    check_field(
        "{ type = 'string', required = true, default = 'x' }",
        "line 2, column 41: resources.todo.fields.x.default: \
         a required field has no default: leave out one of the two",
    );
    #[track_caller]
    fn check_default(declaration: &str, expected: &str) {
        let column = "[resources.todo.fields]\nx = { ".len() - "[resources.todo.fields]\n".len();
        let column = column + declaration.find("default = ").unwrap() + "default = ".len() + 1;
        check_field(
            &format!("{{ {declaration} }}"),
            &format!("line 2, column {column}: resources.todo.fields.x.default: {expected}"),
        );
    }
    check_default("type = 'string', default = 7", "x is a string, and this is a number");
    check_default(
        "default = 1.0, type = 'integer'",
        "x is an integer of 64 bits at most and without a fraction, and this is another number",
    );
    let range = "an integer is from -2^63 to 2^64 - 1";
    check_default("type = 'integer', default = 18446744073709551616", range);
    check_default("type = 'integer', default = -9223372036854775809", range);
    let finite = "JSON has no such number: a finite one would do";
    for number in ["nan", "-inf", "+inf", "1e999"] {
        check_default(&format!("type = 'number', default = {number}"), finite);
    }
    let time = "JSON has no dates and times: write it as a string, in quotes";
    for value in ["2026-11-22", "07:32:00", "2026-11-22T07:32:00Z"] {
        check_default(&format!("type = 'string', default = {value}"), time);
    }
    check_field(
        "{ type = 'object', default = { a = [1, 07:32:00] } }",
        &format!("line 2, column 44: resources.todo.fields.x.default.a[1]: {time}"),
    );
    check_default(
        "enum = ['low', 'high'], type = 'string', default = 'urgent'",
        "x is one of \"low\", \"high\"",
    );
    check_default("type = 'boolean', enum = [true], default = false", "x can only be true");
}

#[test]
fn enums() {
    check_field(
        "{ type = 'string', enum = [] }",
        "line 2, column 31: resources.todo.fields.x.enum: \
         an enum has at least one value: add one, or leave the enum out",
    );
    check_field(
        "{ type = 'string', enum = 'low' }",
        "line 2, column 31: resources.todo.fields.x.enum: write an array here, and not a string",
    );
    check_field(
        "{ type = 'string', enum = ['low', 7] }",
        "line 2, column 39: resources.todo.fields.x.enum[1]: x is a string, and this is a number",
    );
    let twice = "this value stands here already: leave it out";
    check_field(
        "{ type = 'string', enum = ['low', 'high', 'low'] }",
        &format!("line 2, column 47: resources.todo.fields.x.enum[2]: {twice}"),
    );
    check_field(
        "{ enum = [1, 1.0], type = 'number' }",
        &format!("line 2, column 18: resources.todo.fields.x.enum[1]: {twice}"),
    );
    let values: Vec<String> = (1000..2001).map(|n| n.to_string()).collect();
    check_field(
        &format!("{{ type = 'integer', enum = [{}] }}", values.join(",")),
        "line 2, column 5033: resources.todo.fields.x.enum[1000]: an enum has at most 1000 values",
    );
}
