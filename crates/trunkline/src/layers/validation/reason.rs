use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};

use super::faults::Fault;

/// Converts an error of the validator. A value may be a secret, and faults are kept in logs and histories, so
/// only the schema is quoted.
pub(super) fn fault(error: &ValidationError<'_>) -> Fault {
    if let Some(meant) = meant(error) {
        return fault(meant);
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

/// The first error of the alternative that the value was meant for: the only one that it fits by its kind.
fn meant<'e>(error: &'e ValidationError<'_>) -> Option<&'e ValidationError<'static>> {
    let (ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context }) =
        error.kind()
    else {
        return None;
    };
    let is_inside = |inner: &ValidationError<'_>| inner.instance_path() != error.instance_path();
    let fits = |errors: &&Vec<ValidationError<'static>>| {
        let mut errors = errors.iter();
        errors.all(|inner| is_inside(inner) || !is_of_kind(inner.kind()) || meant(inner).is_some())
    };
    let mut fitting = context.iter().filter(fits);
    match (fitting.next(), fitting.next()) {
        (Some(errors), None) => errors.first(),
        _ => None,
    }
}

/// Whether an error is about the kind of a value, not about what it holds.
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

/// Collects what the schema allows in place of a value: types, and JSON values. False if it is more than that.
fn collect(error: &ValidationError<'_>, allowed: &mut Vec<String>) -> bool {
    let mut add = |text: String| {
        // An optional argument may be null, but clients leave it out.
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

    use super::super::validator::Validator;

    #[track_caller]
    fn check(schema: &Value, value: &Value, expected: &str) {
        let schema = json!({ "properties": { "a": schema } });
        let params = json!({ "a": value });
        let faults = Validator::new(&schema.into()).unwrap().check(&params, 0).unwrap_err();
        let faults: Vec<String> = faults.told().iter().map(ToString::to_string).collect();
        assert_eq!(faults.join("; "), expected, "{value}");
    }

    #[test]
    fn what_is_allowed_is_named() {
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
}
