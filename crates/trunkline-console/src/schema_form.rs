//! Forms from JSON Schemas of params, and params from forms.

use serde_json::{Map, Value};

use crate::json::Json;

/// A field of a form.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) description: String,
    /// The expected type, for people.
    pub(crate) expected: String,
    pub(crate) input: Input,
    pub(crate) is_required: bool,
    pub(crate) value: String,
    pub(crate) error: String,
}

#[derive(Debug)]
pub(crate) enum Input {
    Line,
    Number,
    /// A long text, or JSON.
    Area {
        is_code: bool,
    },
    /// The values, as JSON, and their labels. The empty value leaves the member out.
    Choice(Vec<(String, String)>),
}

impl Field {
    pub(crate) fn is_area(&self) -> bool {
        matches!(self.input, Input::Area { .. })
    }

    pub(crate) fn is_code(&self) -> bool {
        matches!(self.input, Input::Area { is_code: true })
    }

    pub(crate) fn is_number(&self) -> bool {
        matches!(self.input, Input::Number)
    }

    pub(crate) fn choices(&self) -> Option<&[(String, String)]> {
        if let Input::Choice(choices) = &self.input { Some(choices) } else { None }
    }
}

/// The prefix of the names of fields in forms.
pub(crate) const PREFIX: &str = "p.";

/// The fields of the params of an operation, with the values of `params`. Required ones come first.
pub(crate) fn fields(schema: &Value, params: &Map<String, Value>) -> Vec<Field> {
    let Some(members) = schema.get("properties").and_then(Value::as_object) else {
        return Vec::new();
    };
    let required = |name: &str| {
        let required = schema.get("required").and_then(Value::as_array);
        required.into_iter().flatten().any(|one| one == name)
    };
    let (first, others): (Vec<_>, Vec<_>) = members.iter().partition(|(name, _)| required(name));
    let members = first.into_iter().chain(others);
    let field = |(name, member): (&String, &Value)| {
        let member = resolved(schema, member);
        let is_required = required(name);
        let types = Types::of(member);
        let input = input(name, member, &types, is_required);
        let value = params.get(name).map(|value| as_text(value, &input)).unwrap_or_default();
        Field {
            name: name.clone(),
            description: member["description"].as_str().unwrap_or_default().to_owned(),
            expected: expected(member, &types),
            input,
            is_required,
            value,
            error: String::new(),
        }
    };
    members.map(field).collect()
}

/// The params of a submitted form. Fields without a value are left out.
///
/// # Errors
/// The fields, with the errors of those that are invalid.
pub(crate) fn params(
    schema: &Value,
    sent: &[(String, String)],
) -> Result<Map<String, Value>, Vec<Field>> {
    let mut fields = fields(schema, &Map::new());
    let mut params = Map::new();
    for field in &mut fields {
        let text = sent.iter().find(|(name, _)| name.strip_prefix(PREFIX) == Some(&field.name));
        let text = text.map(|(_, text)| text.as_str()).unwrap_or_default();
        text.clone_into(&mut field.value);
        let member = resolved(schema, &schema["properties"][&*field.name]);
        match value(text, field, &Types::of(member)) {
            Ok(Some(value)) => {
                params.insert(field.name.clone(), value);
            }
            Ok(None) => {}
            Err(error) => field.error = error,
        }
    }
    if fields.iter().any(|field| !field.error.is_empty()) { Err(fields) } else { Ok(params) }
}

fn value(text: &str, field: &Field, types: &Types) -> Result<Option<Value>, String> {
    let trimmed = text.trim();
    let json = || serde_json::from_str::<Value>(trimmed);
    match &field.input {
        Input::Line | Input::Area { is_code: false } if text.is_empty() => {
            Ok(field.is_required.then(|| Value::from("")))
        }
        _ if trimmed.is_empty() && field.is_required => Err("a value is required".to_owned()),
        _ if trimmed.is_empty() => Ok(None),
        Input::Line | Input::Area { is_code: false } => Ok(Some(text.replace("\r\n", "\n").into())),
        Input::Number => match json() {
            Ok(number @ Value::Number(_)) => Ok(Some(number)),
            _ => Err("expected a number".to_owned()),
        },
        Input::Choice(_) => json().map(Some).map_err(|_| "unknown choice".to_owned()),
        Input::Area { is_code: true } => match json() {
            Ok(value) => Ok(Some(value)),
            Err(_) if types.string && !trimmed.starts_with(['{', '[', '"']) => {
                Ok(Some(trimmed.into()))
            }
            Err(error) => Err(format!("invalid JSON: {error}")),
        },
    }
}

/// The text of a value in its field.
fn as_text(value: &Value, input: &Input) -> String {
    match (value, input) {
        (Value::String(text), Input::Line | Input::Area { .. }) => text.clone(),
        (value, Input::Area { .. }) => {
            let text = value.to_string();
            Json::parse(text.as_bytes()).map(|json| json.pretty()).unwrap_or(text)
        }
        (value, _) => value.to_string(),
    }
}

fn input(name: &str, member: &Value, types: &Types, is_required: bool) -> Input {
    if let Some(choices) = member.get("enum").and_then(Value::as_array) {
        return choice(choices, member, is_required);
    }
    match types {
        Types { boolean: true, other: false, string: false, number: false, .. } => {
            choice(&[true.into(), false.into()], member, is_required)
        }
        Types { number: true, other: false, string: false, boolean: false } => Input::Number,
        // Ids may be numbers, which are converted to strings.
        Types { string: true, other: false, boolean: false, .. } => {
            let is_long = ["query", "sql", "message", "text", "content", "body", "prompt"]
                .iter()
                .any(|long| name.eq_ignore_ascii_case(long));
            if is_long { Input::Area { is_code: false } } else { Input::Line }
        }
        _ => Input::Area { is_code: true },
    }
}

fn choice(values: &[Value], member: &Value, is_required: bool) -> Input {
    let label = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let unset = match member.get("default") {
        Some(default) if !default.is_null() => format!("default ({})", label(default)),
        _ if is_required => "choose…".to_owned(),
        _ => "not set".to_owned(),
    };
    let choices = values.iter().map(|value| (value.to_string(), label(value)));
    Input::Choice(std::iter::once((String::new(), unset)).chain(choices).collect())
}

/// The type in the schema, and its bounds.
fn expected(member: &Value, types: &Types) -> String {
    if member.get("enum").is_some() {
        return String::new();
    }
    let mut names = Vec::new();
    let items = member["items"]["type"].as_str();
    match member.get("type") {
        Some(Value::String(name)) => names.push(name.as_str()),
        Some(Value::Array(types)) => names.extend(types.iter().filter_map(Value::as_str)),
        _ => names.push(if types.other { "JSON" } else { "value" }),
    }
    names.retain(|name| *name != "null");
    let mut expected = names.join(" or ");
    if let (true, Some(items)) = (expected == "array", items) {
        expected = format!("array of {items}s, as JSON");
    } else if expected == "array" || expected == "object" {
        expected += ", as JSON";
    }
    let bounds = [("minimum", "from"), ("maximum", "to"), ("default", "default")];
    for (keyword, word) in bounds {
        if let Some(bound) = member.get(keyword).filter(|bound| !bound.is_null()) {
            expected += &format!(", {word} {bound}");
        }
    }
    expected
}

/// The types that a schema allows.
#[derive(Debug, Default)]
struct Types {
    boolean: bool,
    number: bool,
    string: bool,
    /// An object, an array, or any value.
    other: bool,
}

impl Types {
    fn of(member: &Value) -> Self {
        let mut types = Self::default();
        types.add(member);
        if !(types.boolean || types.number || types.string) {
            types.other = true;
        }
        types
    }

    fn add(&mut self, member: &Value) {
        let names = match member.get("type") {
            Some(Value::String(name)) => vec![name.as_str()],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        for name in names {
            match name {
                "boolean" => self.boolean = true,
                "integer" | "number" => self.number = true,
                "string" => self.string = true,
                "null" => {}
                _ => self.other = true,
            }
        }
        for alternatives in ["anyOf", "oneOf"].iter().filter_map(|name| member.get(name)) {
            for alternative in alternatives.as_array().into_iter().flatten() {
                self.add(alternative);
                self.other |= alternative.get("$ref").is_some();
            }
        }
    }
}

/// The schema that a local reference refers to.
fn resolved<'s>(root: &'s Value, member: &'s Value) -> &'s Value {
    let pointer =
        member.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix('#'));
    pointer.and_then(|pointer| root.pointer(pointer)).unwrap_or(member)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "required": ["query", "count"],
            "properties": {
                "all": { "type": "boolean", "default": false },
                "count": { "type": "integer", "minimum": 1 },
                "data": { "type": ["object", "array"] },
                "id": { "type": ["string", "number"] },
                "kind": { "enum": ["a", null, 1] },
                "query": { "type": "string" },
                "same": { "$ref": "#/properties/count" },
                "value": {},
            },
        })
    }

    #[track_caller]
    fn check(sent: &[(&str, &str)], expected: Result<Value, &[(&str, &str)]>) {
        let sent: Vec<_> =
            sent.iter().map(|(name, text)| (format!("p.{name}"), (*text).to_owned())).collect();
        match (params(&schema(), &sent), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(Value::from(found), expected),
            (Err(fields), Err(expected)) => {
                let errors = fields.iter().filter(|field| !field.error.is_empty());
                let errors: Vec<_> = errors.map(|field| (&*field.name, &*field.error)).collect();
                assert_eq!(errors.len(), expected.len(), "{errors:?}");
                for (found, expected) in errors.iter().zip(expected) {
                    assert_eq!(found.0, expected.0);
                    assert!(found.1.starts_with(expected.1), "{found:?}");
                }
            }
            (found, expected) => panic!("{found:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn params_have_the_types_of_the_schema() {
        let minimal = [("query", "SELECT 1"), ("count", " 2 ")];
        check(&minimal, Ok(json!({"query": "SELECT 1", "count": 2})));
        let mut all = minimal.to_vec();
        all.extend([("all", "true"), ("data", r#"{"a":[1]}"#), ("id", "7"), ("kind", "null")]);
        all.extend([("same", "1.5"), ("value", "\"x\"")]);
        check(
            &all,
            Ok(json!({"query": "SELECT 1", "count": 2, "all": true, "data": {"a": [1]}, "id": "7",
                "kind": null, "same": 1.5, "value": "x"})),
        );
        check(&[("query", ""), ("count", "1")], Ok(json!({"query": "", "count": 1})));
    }

    #[test]
    fn invalid_fields_have_errors() {
        check(&[("query", "a")], Err(&[("count", "a value is required")]));
        check(
            &[("count", "x"), ("data", "{"), ("kind", "b"), ("value", "{")],
            Err(&[
                ("count", "expected a number"),
                ("data", "invalid JSON"),
                ("kind", "unknown choice"),
                ("value", "invalid JSON"),
            ]),
        );
    }

    #[test]
    fn fields_show_the_values_of_params() {
        let params = json!({"count": 3, "data": {"a": 1}, "query": "a\nb", "all": true});
        let fields = fields(&schema(), params.as_object().unwrap());
        let shown: Vec<_> = fields.iter().map(|field| (&*field.name, &*field.value)).collect();
        assert_eq!(
            shown[..4],
            [("count", "3"), ("query", "a\nb"), ("all", "true"), ("data", "{\n  \"a\": 1\n}")]
        );
        assert_eq!(fields[0].expected, "integer, from 1");
        assert!(fields[1].is_area() && !fields[1].is_code() && fields[3].is_code());
    }
}
