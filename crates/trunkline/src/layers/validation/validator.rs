use std::fmt;
use std::sync::OnceLock;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{Draft, PatternOptions, ValidationError};
use serde_json::Value;
use trunkline_core::schema::Schema;

use super::cost::Cost;
use super::faults::{Fault, Faults};
use super::shape::Shape;

/// A compiled [`Schema`] of params. It fetches nothing: a schema refers only to its own parts.
pub struct Validator {
    whole: jsonschema::Validator,
    /// None if the schema has other keywords.
    shape: Option<Shape>,
    schema: Schema,
    /// The schemas of single params, by name. Compiled by the first check that needs them.
    each: OnceLock<Vec<(String, jsonschema::Validator)>>,
    cost: Cost,
}

/// An invalid or unsupported JSON Schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid schema: {reason}")]
pub struct SchemaError {
    reason: String,
}

/// The maximum number of subschemas that are applied in one check, to all values together. They take 100 ms
/// at most: 6 ns each were measured for integers and 20 ns for patterns.
const MAX_APPLIED: usize = 5_000_000;

/// The same for a list of all faults.
const MAX_LISTED: usize = 50_000;

/// The maximum size of a compiled regular expression of a schema, in bytes.
const MAX_PATTERN: usize = 1 << 20;

/// The maximum number of steps in which a regular expression with lookaround matches.
const MAX_STEPS: usize = 100_000;

/// The maximum size of params whose faults are listed, in bytes. Each fault takes memory, and there may be
/// one for each value.
const MAX_LISTED_BYTES: usize = 8 << 10;

impl SchemaError {
    /// The reason.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl Validator {
    /// Compiles a schema, of draft 2020-12.
    ///
    /// # Errors
    /// If it is not a JSON Schema, refers outside of itself, is nested deeper than 128, or applies more than
    /// 1,000 subschemas to one value (references expanded).
    pub fn new(schema: &Schema) -> Result<Self, SchemaError> {
        let cost = Cost::of(schema.validated()).map_err(|reason| SchemaError { reason })?;
        let whole = compile(schema.validated())?;
        let shape = Shape::of(schema.validated());
        Ok(Self { whole, shape, schema: schema.clone(), each: OnceLock::new(), cost })
    }

    /// Whether a scan of the JSON text of params by name shows that it matches the schema and has no duplicate
    /// members. Scans are limited to simple schemas and texts: if this is false, params may still
    /// pass [`check`](Self::check).
    ///
    /// `params` is valid UTF-8.
    #[must_use]
    pub fn accepts(&self, params: &[u8]) -> bool {
        let is_small = self.cost.of_check.saturating_mul(params.len()) <= MAX_APPLIED;
        let shape = self.shape.as_ref().filter(|_| is_small && params.starts_with(b"{"));
        shape.is_some_and(|shape| shape.matches(params))
    }

    /// Checks params by name, whose JSON text has `size` bytes. The faults of large params are the names of
    /// the invalid ones, without the places inside of them.
    ///
    /// # Errors
    /// If params do not match the schema, or if the check would apply over 5,000,000 subschemas.
    pub fn check(&self, params: &Value, size: usize) -> Result<(), Faults> {
        let Cost { of_check, of_list } = self.cost;
        // The size is a cheap upper bound: there are fewer values than bytes.
        let is_over = |cost: usize, most| {
            cost.saturating_mul(size) > most && cost.saturating_mul(values(params)) > most
        };
        if is_over(of_check, MAX_APPLIED) {
            let reason = "too many values for this schema; send fewer";
            return Err(Faults::whole(reason.to_owned()));
        }
        if self.whole.is_valid(params) {
            Ok(())
        } else if size > MAX_LISTED_BYTES || of_list.is_none_or(|cost| is_over(cost, MAX_LISTED)) {
            Err(self.places(params))
        } else {
            Err(self.whole.iter_errors(params).map(|error| fault(&error)).collect())
        }
    }

    fn places(&self, params: &Value) -> Faults {
        let is_at_fault = |(name, validator): &&(String, jsonschema::Validator)| {
            params.get(name).is_some_and(|param| !validator.is_valid(param))
        };
        let at_fault = self.each.get_or_init(|| each(&self.schema)).iter().filter(is_at_fault);
        let faults: Faults = at_fault.map(|(name, _)| Fault::of_param(name)).collect();
        if faults.is_empty() {
            Faults::whole("a required param is missing, or a name is unknown".to_owned())
        } else {
            faults
        }
    }
}

/// Compiles the schemas of single params.
fn each(schema: &Schema) -> Vec<(String, jsonschema::Validator)> {
    let properties = schema.validated().get("properties").and_then(Value::as_object);
    // A schema that refers to another part of the whole does not compile alone.
    let own = |(name, schema): (&String, &Value)| Some((name.clone(), compile(schema).ok()?));
    properties.into_iter().flatten().filter_map(own).collect()
}

/// The number of values in a value, including itself.
fn values(value: &Value) -> usize {
    1 + match value {
        Value::Array(elements) => elements.iter().map(values).sum(),
        Value::Object(members) => members.values().map(values).sum(),
        _ => 0,
    }
}

fn compile(schema: &Value) -> Result<jsonschema::Validator, SchemaError> {
    let patterns = PatternOptions::fancy_regex()
        .backtrack_limit(MAX_STEPS)
        .size_limit(MAX_PATTERN)
        .dfa_size_limit(MAX_PATTERN);
    let options = jsonschema::options();
    let options = options.with_draft(Draft::Draft202012).with_pattern_options(patterns);
    options.build(schema).map_err(|error| SchemaError { reason: error.to_string() })
}

impl fmt::Debug for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Validator")
    }
}

/// Converts an error of the validator. Values may be secrets, and faults are stored in logs and histories, so
/// only the schema is quoted.
fn fault(error: &ValidationError<'_>) -> Fault {
    if let Some(intended) = intended(error) {
        return fault(intended);
    }
    let mut allowed = Vec::new();
    let place = error.instance_path();
    let is_type = matches!(error.kind(), ValidationErrorKind::Type { .. });
    if (is_type || lists_choices(error.kind())) && collect(error, &mut allowed) {
        match &allowed[..] {
            [] => {}
            [only] if is_type => {
                return Fault::new(place, &format_args!("this value is not of type \"{only}\""));
            }
            allowed => {
                let allowed = allowed.join(", ");
                return Fault::new(place, &format_args!("this value is not one of: {allowed}"));
            }
        }
    }
    Fault::new(place, &error.masked_with("this value"))
}

/// The first error of the intended alternative: the only one that matches the kind of the value.
fn intended<'e>(error: &'e ValidationError<'_>) -> Option<&'e ValidationError<'static>> {
    let (ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context }) =
        error.kind()
    else {
        return None;
    };
    let is_inside = |inner: &ValidationError<'_>| inner.instance_path() != error.instance_path();
    let fits = |errors: &&Vec<ValidationError<'static>>| {
        let mut errors = errors.iter();
        errors
            .all(|inner| is_inside(inner) || !is_of_kind(inner.kind()) || intended(inner).is_some())
    };
    let mut fitting = context.iter().filter(fits);
    match (fitting.next(), fitting.next()) {
        (Some(errors), None) => errors.first(),
        _ => None,
    }
}

/// Whether an error is about the kind of a value, not its content.
fn is_of_kind(kind: &ValidationErrorKind) -> bool {
    let is_of_type =
        matches!(kind, ValidationErrorKind::Type { .. } | ValidationErrorKind::Constant { .. });
    is_of_type || lists_choices(kind)
}

fn lists_choices(kind: &ValidationErrorKind) -> bool {
    matches!(
        kind,
        ValidationErrorKind::AnyOf { .. }
            | ValidationErrorKind::OneOfNotValid { .. }
            | ValidationErrorKind::Enum { .. }
    )
}

/// Collects the types and JSON values that the schema allows for a value. False if it allows others.
fn collect(error: &ValidationError<'_>, allowed: &mut Vec<String>) -> bool {
    let mut add = |text: String| {
        // Null is an omitted optional param.
        if text != "null" && !allowed.contains(&text) {
            allowed.push(text);
        }
    };
    match error.kind() {
        ValidationErrorKind::Type { kind: TypeKind::Single(kind) } => add(kind.to_string()),
        ValidationErrorKind::Type { kind: TypeKind::Multiple(kinds) } => {
            kinds.iter().for_each(|kind| add(kind.to_string()));
        }
        ValidationErrorKind::Constant { expected_value } => add(expected_value.to_string()),
        ValidationErrorKind::Enum { options } => {
            options.as_array().into_iter().flatten().for_each(|option| add(option.to_string()));
        }
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            return context.iter().all(|errors| {
                // Prefer the values of an alternative to its type.
                let choices = errors.iter().find(|error| lists_choices(error.kind()));
                let of_kind = || errors.iter().find(|error| is_of_kind(error.kind()));
                let telling = choices.or_else(of_kind);
                telling.is_some_and(|error| collect(error, allowed))
            });
        }
        _ => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use trunkline_core::limits::DistinctKeys;

    use super::Validator;

    #[track_caller]
    fn check(schema: &Value, value: &Value, expected: &str) {
        let schema = json!({ "properties": { "a": schema } });
        let params = json!({ "a": value });
        let faults = Validator::new(&schema.into()).unwrap().check(&params, 0).unwrap_err();
        let faults: Vec<String> = faults.as_slice().iter().map(ToString::to_string).collect();
        assert_eq!(faults.join("; "), expected, "{value}");
    }

    #[test]
    fn errors_name_allowed_values() {
        let word = json!({ "type": "string", "oneOf": [{ "const": "tsv" }, { "const": "json" }] });
        let optional = json!({ "anyOf": [word, { "type": "null" }] });
        let record = json!({ "type": "object", "required": ["id"], "properties": { "id": { "type": "integer" } } });
        let records =
            json!({ "anyOf": [record, { "type": "array", "items": record, "minItems": 1 }] });
        let many: Vec<u8> = (1..=9).collect();
        for (schema, value, expected) in [
            (&word, json!("xml"), "/a: this value is not one of: \"tsv\", \"json\""),
            (&optional, json!("xml"), "/a: this value is not one of: \"tsv\", \"json\""),
            (&optional, json!(5), "/a: this value is not one of: \"tsv\", \"json\""),
            (&records, json!(5), "/a: this value is not one of: object, array"),
            // The kind selects the alternative.
            (&records, json!({ "id": "x" }), "/a/id: this value is not of type \"integer\""),
            (&records, json!([]), "/a: this value has less than 1 item"),
            (
                &records,
                json!([{ "id": 1 }, { "id": "x" }]),
                "/a/1/id: this value is not of type \"integer\"",
            ),
            (
                &json!({ "enum": many }),
                json!(0),
                "/a: this value is not one of: 1, 2, 3, 4, 5, 6, 7, 8, 9",
            ),
            (&json!({ "const": 1 }), json!(0), "/a: 1 was expected"),
            (
                &json!({ "type": ["integer", "null"] }),
                json!("5"),
                "/a: this value is not of type \"integer\"",
            ),
            (
                &json!({ "anyOf": [{ "minimum": 1 }, { "multipleOf": 2 }] }),
                json!(-3),
                "/a: this value is not valid under any of the schemas listed in the 'anyOf' keyword",
            ),
        ] {
            check(schema, &value, expected);
        }
    }

    /// Checks that the scan accepts exactly `accepted`, and that these match as values, too.
    #[track_caller]
    fn check_text(schema: Value, accepted: &[&str], others: &[&str]) {
        let validator = Validator::new(&schema.clone().into()).unwrap();
        for text in [accepted, others].concat() {
            let is_accepted = validator.accepts(text.as_bytes());
            assert_eq!(is_accepted, accepted.contains(&text), "{text} of {schema}");
            if is_accepted {
                let DistinctKeys(value) = serde_json::from_str(text).unwrap();
                validator.check(&value, text.len()).unwrap();
            }
        }
    }

    fn of_member(schema: Value) -> Value {
        json!({ "type": "object", "properties": { "a": schema } })
    }

    #[test]
    fn scans_members_by_unescaped_name() {
        let schema = json!({
            "type": "object",
            "title": "t",
            "properties": {
                "a": { "type": "integer", "description": "d" },
                "b": { "type": ["string", "null"], "format": "date" },
            },
            "required": ["a"],
            "additionalProperties": false,
        });
        let accepted = [
            r#"{"a":1}"#,
            r#"{ "b" : "x" , "a" : -1 }"#,
            r#"{"\u0061":1}"#,
            r#"{"a":0,"b":null}"#,
            r#"{"a":1,"b":"\u0041\\"}"#,
        ];
        let others = [
            "{}",
            r#"{"b":"x"}"#,
            r#"{"a":"1"}"#,
            r#"{"a":null}"#,
            r#"{"a":1.0}"#,
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"\u0061":1}"#,
            r#"{"a":1,"c":1}"#,
            r#"{"a":{}}"#,
            r#"{"a":1} 1"#,
            r#"{"a":1"#,
            " {}",
            "[1]",
            "1",
        ];
        check_text(schema, &accepted, &others);
    }

    #[test]
    fn scans_types_and_ranges() {
        let unsigned = json!({ "type": "integer", "minimum": 0, "maximum": 255 });
        let others = [r#"{"a":-1}"#, r#"{"a":256}"#, r#"{"a":0.0}"#, r#"{"a":1e2}"#];
        check_text(of_member(unsigned), &[r#"{"a":0}"#, r#"{"a":255}"#], &others);
        check_text(
            of_member(json!({ "type": "number" })),
            &[r#"{"a":-1.5}"#, r#"{"a":12345678901234567890123}"#],
            &[r#"{"a":1e400}"#, r#"{"a":"1"}"#, r#"{"a":true}"#],
        );
        check_text(
            of_member(json!({ "type": "array", "items": { "type": "boolean" } })),
            &[r#"{"a":[]}"#, r#"{"a":[true,false]}"#],
            &[r#"{"a":[1]}"#, r#"{"a":[[true]]}"#, r#"{"a":{}}"#],
        );
        // A name is the value of a string, not its text.
        let schema = json!({ "properties": { "a\\nb": true } });
        check_text(schema, &[r#"{"a\\nb":1}"#], &[r#"{"a\nb":1}"#]);
        check_text(
            of_member(json!({ "properties": { "b": true }, "required": ["b"] })),
            &[r#"{"a":{"b":1}}"#, r#"{"a":1}"#],
            &[r#"{"a":{}}"#, r#"{"a":{"b":1,"b":2}}"#, r#"{"a":{"b":[]}}"#, r#"{"a":[]}"#],
        );
    }
}
