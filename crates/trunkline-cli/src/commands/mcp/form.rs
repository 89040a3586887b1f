//! The fields of an elicited form, and the answers to them.

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::terminal::{cut, line};

/// The maximum number of fields, and of choices of a field.
const MAX_ENTRIES: usize = 100;

/// The maximum width of a text of the server in a question, in columns.
const MAX_WIDTH: usize = 1_000;

#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    title: Option<String>,
    description: Option<String>,
    kind: Kind,
    default: Option<Value>,
    is_required: bool,
}

#[derive(Debug)]
enum Kind {
    Text { range: Range, format: Option<String> },
    Number { is_integer: bool, range: Range },
    Boolean,
    Choice(Vec<Choice>),
    Choices { choices: Vec<Choice>, range: Range },
}

#[derive(Debug)]
struct Choice {
    value: String,
    title: Option<String>,
}

/// The limits of a number, a length or a count.
#[derive(Debug, Clone, Copy)]
struct Range {
    min: Option<f64>,
    max: Option<f64>,
}

#[derive(Deserialize)]
struct Schema {
    #[serde(default)]
    properties: IndexMap<String, Property>,
    #[serde(default)]
    required: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Property {
    #[serde(rename = "type")]
    kind: Option<String>,
    title: Option<String>,
    description: Option<String>,
    default: Option<Value>,
    format: Option<String>,
    minimum: Option<f64>,
    maximum: Option<f64>,
    min_length: Option<f64>,
    max_length: Option<f64>,
    min_items: Option<f64>,
    max_items: Option<f64>,
    enum_names: Option<Vec<String>>,
    items: Option<Enumeration>,
    #[serde(flatten)]
    enumeration: Enumeration,
}

/// The allowed values, in one of the notations of the specification.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Enumeration {
    r#enum: Option<Vec<String>>,
    one_of: Option<Vec<Titled>>,
    any_of: Option<Vec<Titled>>,
}

#[derive(Deserialize)]
struct Titled {
    r#const: String,
    title: Option<String>,
}

/// The fields of a form, in the order of its schema.
///
/// # Errors
///
/// The reason why they cannot be asked for.
pub(super) fn fields(schema: &RawValue) -> Result<Vec<Field>, String> {
    let Schema { properties, required } =
        serde_json::from_str(schema.get()).map_err(|error| error.to_string())?;
    if properties.len() > MAX_ENTRIES {
        return Err(format!("the form has more than {MAX_ENTRIES} fields"));
    }
    let field = |(name, property): (String, Property)| {
        let is_required = required.contains(&name);
        let kind = property.kind().map_err(|reason| format!("field `{name}`: {reason}"))?;
        let Property { title, description, default, .. } = property;
        let default = default.filter(|default| !default.is_null());
        Ok(Field { name, title, description, kind, default, is_required })
    };
    properties.into_iter().map(field).collect()
}

impl Property {
    fn kind(&self) -> Result<Kind, String> {
        let choices = self.enumeration.choices(self.enum_names.as_deref());
        let kind = match (self.kind.as_deref(), choices) {
            (Some("string") | None, Some(choices)) => Kind::Choice(choices),
            (Some("string"), None) => Kind::Text {
                range: Range { min: self.min_length, max: self.max_length },
                format: self.format.clone(),
            },
            (Some(kind @ ("number" | "integer")), None) => Kind::Number {
                is_integer: kind == "integer",
                range: Range { min: self.minimum, max: self.maximum },
            },
            (Some("boolean"), None) => Kind::Boolean,
            (Some("array"), None) => {
                let choices = self.items.as_ref().and_then(|items| items.choices(None));
                let choices = choices.ok_or("the items of the list are not enumerated")?;
                let range = Range { min: self.min_items, max: self.max_items };
                Kind::Choices { choices, range }
            }
            (kind, _) => return Err(format!("unsupported type `{}`", kind.unwrap_or("any"))),
        };
        match &kind {
            Kind::Choice(choices) | Kind::Choices { choices, .. }
                if choices.is_empty() || choices.len() > MAX_ENTRIES =>
            {
                Err(format!("{} choices; 1 to {MAX_ENTRIES} are supported", choices.len()))
            }
            _ => Ok(kind),
        }
    }
}

impl Enumeration {
    fn choices(&self, names: Option<&[String]>) -> Option<Vec<Choice>> {
        if let Some(values) = &self.r#enum {
            let title = |at: usize| names.and_then(|names| names.get(at).cloned());
            let choice =
                |(at, value): (usize, &String)| Choice { value: value.clone(), title: title(at) };
            return Some(values.iter().enumerate().map(choice).collect());
        }
        let titled = self.one_of.as_ref().or(self.any_of.as_ref())?;
        let choice =
            |titled: &Titled| Choice { value: titled.r#const.clone(), title: titled.title.clone() };
        Some(titled.iter().map(choice).collect())
    }
}

impl Field {
    /// The lines before the question: the description and the choices.
    pub(super) fn introduction(&self) -> String {
        let mut out = String::new();
        if let Some(description) = self.description.as_deref().filter(|text| !text.is_empty()) {
            out += &format!("  {}\n", shown(description));
        }
        if let Kind::Choice(choices) | Kind::Choices { choices, .. } = &self.kind {
            for (at, choice) in choices.iter().enumerate() {
                out += &format!("  {:2}  {}\n", at + 1, choice.text());
            }
        }
        out
    }

    /// The name with the type and the default, such as `age (integer, 0 to 150) [30]`.
    pub(super) fn question(&self) -> String {
        let name = match &self.title {
            Some(title) if *title != self.name => format!("{} ({})", title, self.name),
            _ => self.name.clone(),
        };
        let mut hints = vec![self.kind.hint()];
        if !self.is_required && self.default.is_none() {
            hints.push("optional".to_owned());
        }
        let default = self.default.as_ref().map(|default| format!(" [{}]", answer_text(default)));
        format!("{} ({}){}", shown(&name), hints.join(", "), default.unwrap_or_default())
    }

    /// The value of an answer; `None` to omit the field.
    ///
    /// # Errors
    ///
    /// The reason why the answer is invalid.
    pub(super) fn value(&self, answer: &str) -> Result<Option<Value>, String> {
        if answer.trim().is_empty() {
            let is_empty_list = matches!(self.kind, Kind::Choices { .. }) && self.is_required;
            return match &self.default {
                Some(default) => Ok(Some(default.clone())),
                None if is_empty_list => self.kind.value("").map(Some),
                None if self.is_required => Err("a value is required".to_owned()),
                None => Ok(None),
            };
        }
        self.kind.value(answer).map(Some)
    }
}

impl Kind {
    fn hint(&self) -> String {
        match self {
            Self::Text { range, format } => {
                let format = format.as_deref().map_or("text".into(), shown);
                range.hint(&format, " characters")
            }
            Self::Number { is_integer: true, range } => range.hint("integer", ""),
            Self::Number { range, .. } => range.hint("number", ""),
            Self::Boolean => "yes or no".to_owned(),
            Self::Choice(_) => "number of a choice".to_owned(),
            Self::Choices { range, .. } => {
                range.hint("numbers of choices, with commas", " choices")
            }
        }
    }

    fn value(&self, answer: &str) -> Result<Value, String> {
        let trimmed = answer.trim();
        match self {
            Self::Text { range, format } => {
                let text = if format.is_some() { trimmed } else { answer };
                if let Some(format) = format.as_deref().filter(|format| !has_format(text, format)) {
                    return Err(format!("not a valid {}{}", shown(format), example(format)));
                }
                range.check(text.chars().count() as f64, " characters")?;
                Ok(text.into())
            }
            Self::Number { is_integer: true, range } => {
                let number: i64 = trimmed.parse().map_err(|_| "not an integer")?;
                range.check(number as f64, "")?;
                Ok(number.into())
            }
            Self::Number { range, .. } => {
                let number: f64 = trimmed.parse().map_err(|_| "not a number")?;
                if !number.is_finite() {
                    return Err("not a number".to_owned());
                }
                range.check(number, "")?;
                Ok(number.into())
            }
            Self::Boolean => match &*trimmed.to_lowercase() {
                "y" | "yes" | "true" => Ok(true.into()),
                "n" | "no" | "false" => Ok(false.into()),
                _ => Err("answer yes or no".to_owned()),
            },
            Self::Choice(choices) => choice(choices, trimmed).map(Value::from),
            Self::Choices { choices, range } => {
                let mut values: Vec<&str> = Vec::new();
                let words = trimmed.split(',').map(str::trim).filter(|word| !word.is_empty());
                for word in words {
                    let value = choice(choices, word)?;
                    if !values.contains(&value) {
                        values.push(value);
                    }
                }
                range.check(values.len() as f64, " choices")?;
                Ok(values.into())
            }
        }
    }
}

impl Choice {
    fn text(&self) -> String {
        match self.title.as_deref().filter(|title| *title != self.value) {
            Some(title) => format!("{} ({})", shown(title), shown(&self.value)),
            None => shown(&self.value),
        }
    }
}

/// The value of a choice, by its number, its value or its title.
fn choice<'c>(choices: &'c [Choice], answer: &str) -> Result<&'c str, String> {
    let number = answer.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let by_number = number.and_then(|at| choices.get(at));
    let by_value = || choices.iter().find(|choice| choice.value == answer);
    let by_title = || {
        let title = |choice: &&Choice| choice.title.as_deref() == Some(answer);
        choices.iter().find(title)
    };
    let found = by_number.or_else(by_value).or_else(by_title);
    found.map(|choice| &*choice.value).ok_or_else(|| {
        format!("`{answer}` is not a choice; enter a number from 1 to {}", choices.len())
    })
}

impl Range {
    fn hint(self, name: &str, unit: &str) -> String {
        match (self.min, self.max) {
            (Some(min), Some(max)) => format!("{name}, {min} to {max}{unit}"),
            (Some(min), None) => format!("{name}, at least {min}{unit}"),
            (None, Some(max)) => format!("{name}, up to {max}{unit}"),
            (None, None) => name.to_owned(),
        }
    }

    fn check(self, value: f64, unit: &str) -> Result<(), String> {
        match self {
            Self { min: Some(min), .. } if value < min => Err(format!("less than {min}{unit}")),
            Self { max: Some(max), .. } if value > max => Err(format!("more than {max}{unit}")),
            _ => Ok(()),
        }
    }
}

/// A text of the server in one line, cut if it is long.
pub(super) fn shown(text: &str) -> String {
    cut(&line(text), MAX_WIDTH).into_owned()
}

/// A value in a question or a summary.
pub(super) fn answer_text(value: &Value) -> String {
    match value {
        Value::String(text) => shown(text),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Array(items) => items.iter().map(answer_text).collect::<Vec<_>>().join(", "),
        other => shown(&other.to_string()),
    }
}

/// Whether a text has a format of the specification. The server checks others.
fn has_format(text: &str, format: &str) -> bool {
    match format {
        "email" => {
            let parts = text.rsplit_once('@');
            let is_valid = |(user, host): (&str, &str)| !user.is_empty() && !host.is_empty();
            !text.contains(char::is_whitespace) && parts.is_some_and(is_valid)
        }
        "uri" => {
            let scheme = text.split_once(':').map(|(scheme, _)| scheme);
            let is_scheme = |scheme: &str| {
                scheme.starts_with(|first: char| first.is_ascii_alphabetic())
                    && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
            };
            !text.contains(char::is_whitespace) && scheme.is_some_and(is_scheme)
        }
        "date" => is_date(text),
        "date-time" => text.split_once(['T', 't', ' ']).is_some_and(|(date, time)| {
            let end = time.find(['Z', 'z', '+', '-']);
            is_date(date) && end.is_some_and(|end| is_time(&time[..end]))
        }),
        _ => true,
    }
}

fn example(format: &str) -> &'static str {
    match format {
        "email" => ", such as me@example.com",
        "uri" => ", such as https://example.com/",
        "date" => ", such as 2026-07-28",
        "date-time" => ", such as 2026-07-28T12:00:00Z",
        _ => "",
    }
}

fn is_date(text: &str) -> bool {
    let [year, month, day] = numbers(text, '-', [4, 2, 2]).unwrap_or_default();
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

fn is_time(text: &str) -> bool {
    let whole = text.split('.').next().unwrap_or_default();
    numbers(whole, ':', [2, 2, 2])
        .is_some_and(|[hour, minute, second]| hour < 24 && minute < 60 && second <= 60)
}

/// The numbers of a text, with these numbers of digits.
fn numbers(text: &str, separator: char, digits: [usize; 3]) -> Option<[u32; 3]> {
    let parts: Vec<&str> = text.split(separator).collect();
    let parts: [&str; 3] = parts.try_into().ok()?;
    let is_number = |(part, digits): (&&str, &usize)| {
        part.len() == *digits && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_valid = parts.iter().zip(&digits).all(is_number);
    is_valid.then(|| parts.map(|part| part.parse().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn field(schema: &Value, is_required: bool) -> Result<Field, String> {
        let required = if is_required { json!(["a"]) } else { json!([]) };
        let schema =
            json!({ "type": "object", "properties": { "a": schema }, "required": required });
        let schema = RawValue::from_string(schema.to_string()).unwrap();
        fields(&schema).map(|mut fields| fields.remove(0))
    }

    /// Checks the question for an optional field, and answers: each with its value, or a part of the error.
    #[track_caller]
    fn check(schema: Value, question: &str, answers: &[(&str, Result<Value, &str>)]) {
        let field = field(&schema, false).unwrap();
        assert_eq!(field.question(), question);
        for (answer, expected) in answers {
            match (field.value(answer), expected) {
                (Ok(found), Ok(expected)) => {
                    assert_eq!(&found.unwrap_or_default(), expected, "{answer:?}");
                }
                (Err(found), Err(part)) => assert!(found.contains(part), "{answer:?}: {found}"),
                (found, _) => panic!("{answer:?}: {found:?}"),
            }
        }
    }

    #[test]
    fn reads_texts() {
        check(
            json!({"type": "string", "title": "Name\u{1b}[2J", "minLength": 2, "maxLength": 3}),
            "Name\\u{1b}[2J (a) (text, 2 to 3 characters, optional)",
            &[
                ("", Ok(Value::Null)),
                (" b", Ok(json!(" b"))),
                ("äöü", Ok(json!("äöü"))),
                ("x", Err("less than 2 characters")),
                ("xxxx", Err("more than 3 characters")),
            ],
        );
        check(
            json!({"type": "string", "default": "x"}),
            "a (text) [x]",
            &[("", Ok(json!("x"))), ("y", Ok(json!("y")))],
        );
    }

    #[test]
    fn checks_formats() {
        let rows: [(&str, &[&str], &[&str]); 4] = [
            ("email", &["a@b", " a.b@c.d "], &["a", "@b", "a@", "a b@c"]),
            ("uri", &["https://a", "mailto:a@b"], &["a", ":a", "1:a", "a b:c", "https://a b"]),
            (
                "date",
                &["2024-02-29", "2026-12-31"],
                &["2023-02-29", "2026-13-01", "2026-1-1", "2026-01-00", "+026-01-01", "x"],
            ),
            (
                "date-time",
                &["2026-07-28T12:00:00Z", "2026-07-28t23:59:60.5+02:00"],
                &["2026-07-28", "2026-07-28T12:00:00", "2026-07-28T24:00:00Z", "T"],
            ),
        ];
        for (format, valid, invalid) in rows {
            let field = field(&json!({"type": "string", "format": format}), true).unwrap();
            for answer in valid {
                assert_eq!(field.value(answer).unwrap().unwrap(), answer.trim(), "{format}");
            }
            for answer in invalid {
                let reason = field.value(answer).unwrap_err();
                assert!(reason.contains(&format!("not a valid {format}, such as")), "{answer}");
            }
        }
    }

    #[test]
    fn reads_numbers_and_booleans() {
        check(
            json!({"type": "integer", "minimum": 0, "maximum": 150, "default": 30}),
            "a (integer, 0 to 150) [30]",
            &[
                ("", Ok(json!(30))),
                (" 150 ", Ok(json!(150))),
                ("1.5", Err("not an integer")),
                ("-1", Err("less than 0")),
                ("151", Err("more than 150")),
            ],
        );
        check(
            json!({"type": "number"}),
            "a (number, optional)",
            &[("1.5", Ok(json!(1.5))), ("inf", Err("not a number")), ("x", Err("not a number"))],
        );
        check(
            json!({"type": "boolean", "default": true}),
            "a (yes or no) [yes]",
            &[("", Ok(json!(true))), ("NO", Ok(json!(false))), ("maybe", Err("yes or no"))],
        );
    }

    #[test]
    fn reads_choices() {
        let titled = json!([{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]);
        check(
            json!({"type": "string", "oneOf": titled}),
            "a (number of a choice, optional)",
            &[
                ("2", Ok(json!("g"))),
                ("r", Ok(json!("r"))),
                ("Red", Ok(json!("r"))),
                ("0", Err("from 1 to 2")),
                ("3", Err("from 1 to 2")),
            ],
        );
        check(
            json!({"type": "array", "items": {"anyOf": titled}, "minItems": 1, "default": ["r", "g"]}),
            "a (numbers of choices, with commas, at least 1 choices) [r, g]",
            &[
                ("2, 1,2", Ok(json!(["g", "r"]))),
                (",", Err("less than 1")),
                ("", Ok(json!(["r", "g"]))),
            ],
        );
        let legacy = json!({"type": "string", "enum": ["x", "y"], "enumNames": ["Ex"]});
        let legacy = field(&legacy, true).unwrap();
        assert_eq!(legacy.introduction(), "   1  Ex (x)\n   2  y\n");
        assert_eq!(legacy.value(""), Err("a value is required".to_owned()));
        let list = json!({"type": "array", "items": {"enum": ["x"]}});
        assert_eq!(field(&list, true).unwrap().value(""), Ok(Some(json!([]))));
    }

    #[test]
    fn rejects_other_schemas() {
        for (schema, part) in [
            (json!({"type": "object"}), "field `a`: unsupported type `object`"),
            (json!({"type": "array", "items": {"type": "string"}}), "not enumerated"),
            (json!({"type": "string", "enum": []}), "0 choices"),
            (json!({"type": "string", "enum": vec!["a"; 101]}), "101 choices"),
            (json!(7), "invalid type"),
        ] {
            let reason = field(&schema, true).unwrap_err();
            assert!(reason.contains(part), "{schema}: {reason}");
        }
    }
}
