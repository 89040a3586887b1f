//! What a message says in so many words: `key=value`, and quotes.

use serde_json::{Map, Value};

/// The arguments for a schema: `key=value` for properties of that name, and quotes, in their order, for
/// required strings that are not given otherwise.
pub(super) fn arguments(message: &str, schema: &Value) -> Map<String, Value> {
    let said = said(message);
    let property = |name: &str| schema.get("properties")?.get(name);
    let mut arguments = Map::new();
    let mut quotes = Vec::new();
    for said in said {
        match said {
            Said::Pair(name, text) => {
                if let Some(property) = property(&name) {
                    arguments.insert(name, value(&text, property));
                }
            }
            Said::Quote(text) => quotes.push(text),
        }
    }
    let mut quotes = quotes.into_iter();
    for name in required(schema) {
        let is_open = !arguments.contains_key(name) && property(name).is_some_and(takes_text);
        if is_open && let Some(text) = quotes.next() {
            arguments.insert(name.to_owned(), text.into());
        }
    }
    arguments
}

/// The required properties that are not there.
pub(super) fn missing(arguments: &Map<String, Value>, schema: &Value) -> Vec<String> {
    required(schema).filter(|name| !arguments.contains_key(*name)).map(str::to_owned).collect()
}

/// The names that values are given to.
pub(super) fn names(message: &str) -> Vec<String> {
    let names = said(message).into_iter().filter_map(|said| match said {
        Said::Pair(name, _) => Some(name),
        Said::Quote(_) => None,
    });
    names.collect()
}

/// The message without them: the words that are left tell what is wanted.
pub(super) fn without(message: &str) -> String {
    let mut words = String::new();
    read(message, |token| {
        if let Token::Word(word) = token {
            words.push_str(word);
            words.push(' ');
        }
    });
    words
}

enum Said {
    Pair(String, String),
    Quote(String),
}

enum Token<'a> {
    Word(&'a str),
    Pair(&'a str, &'a str),
    Quote(&'a str),
}

fn said(message: &str) -> Vec<Said> {
    let mut said = Vec::new();
    read(message, |token| match token {
        Token::Pair(name, text) => said.push(Said::Pair(name.to_owned(), text.to_owned())),
        Token::Quote(text) => said.push(Said::Quote(text.to_owned())),
        Token::Word(_) => {}
    });
    said
}

fn read<'a>(message: &'a str, mut take: impl FnMut(Token<'a>)) {
    let mut rest = message.trim_start();
    while !rest.is_empty() {
        if let Some((text, behind)) = quoted(rest) {
            take(Token::Quote(text));
            rest = behind.trim_start();
            continue;
        }
        let end = rest.find(|c: char| c.is_whitespace() || c == '=').unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        let Some(value) = behind.strip_prefix('=').filter(|_| is_name(word)) else {
            if !word.is_empty() {
                take(Token::Word(word));
            }
            rest = behind.trim_start_matches('=').trim_start();
            continue;
        };
        let (text, behind) = quoted(value).or_else(|| json(value)).unwrap_or_else(|| {
            let end = value.find(char::is_whitespace).unwrap_or(value.len());
            let (text, behind) = value.split_at(end);
            (without_punctuation(text), behind)
        });
        take(Token::Pair(word, text));
        rest = behind.trim_start();
    }
}

fn is_name(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

/// A quote that begins here, and what is behind it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    const QUOTES: [(char, char); 4] = [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”')];
    let (open, close) = QUOTES.into_iter().find(|(open, _)| text.starts_with(*open))?;
    text[open.len_utf8()..].split_once(close)
}

/// A JSON object or array that begins here, and what is behind it.
fn json(text: &str) -> Option<(&str, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let is_whole = text.starts_with(['{', '[']) && values.next()?.is_ok();
    is_whole.then(|| text.split_at(values.byte_offset()))
}

/// The last value of a sentence without what ends the sentence. `..` is a value, too.
fn without_punctuation(text: &str) -> &str {
    let text = text.trim_end_matches([',', ';', '?', '!']);
    let before = text.strip_suffix('.').filter(|text| text.ends_with(char::is_alphanumeric));
    before.unwrap_or(text)
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn takes_text(property: &Value) -> bool {
    types(property).is_none_or(|mut types| types.any(|one| one == "string"))
}

/// The types of a property, if it says any.
fn types(property: &Value) -> Option<Box<dyn Iterator<Item = &str> + '_>> {
    match property.get("type")? {
        Value::String(one) => Some(Box::new(std::iter::once(&**one))),
        Value::Array(more) => Some(Box::new(more.iter().filter_map(Value::as_str))),
        _ => None,
    }
}

/// A text as what the property takes: JSON where it takes no strings.
fn value(text: &str, property: &Value) -> Value {
    let is_text = types(property).is_some_and(|mut types| types.any(|one| one == "string"));
    match serde_json::from_str(text) {
        Ok(value) if !is_text => value,
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(message: &str, expected: &Value, words: &str) {
        let schema = json!({
            "properties": {
                "table": { "type": "string" },
                "limit": { "type": "integer" },
                "where": {},
            },
            "required": ["table"],
        });
        assert_eq!(Value::Object(arguments(message, &schema)), *expected, "{message}");
        assert_eq!(without(message).trim_end(), words, "{message}");
    }

    #[test]
    fn what_is_said_in_so_many_words() {
        check("read table=Track limit=3", &json!({ "table": "Track", "limit": 3 }), "read");
        check("read \"My Tracks\", please", &json!({ "table": "My Tracks" }), "read , please");
        check("table='a b' 'c'", &json!({ "table": "a b" }), "");
        check("limit=many", &json!({ "limit": "many" }), "");
        check("table=3", &json!({ "table": "3" }), "");
        check("where={\"a\":1}", &json!({ "where": { "a": 1 } }), "");
        check(
            "where={\"a\": [1, \"} 2\"]}, limit=3",
            &json!({ "where": { "a": [1, "} 2"] }, "limit": 3 }),
            ",",
        );
        check("where=[1, 2]. Please!", &json!({ "where": [1, 2] }), ". Please!");
        check("where={a b}", &json!({ "where": "{a" }), "b}");
        check("describe table=nation.", &json!({ "table": "nation" }), "describe");
        check("limit=3.", &json!({ "limit": 3 }), "");
        check("limit=3.5.", &json!({ "limit": 3.5 }), "");
        check("table=a.b. limit=3?", &json!({ "table": "a.b", "limit": 3 }), "");
        check("table=..", &json!({ "table": ".." }), "");
        check("1 = 2, unknown=3", &json!({}), "1 2,");
        check("it's “Track”", &json!({ "table": "Track" }), "it's");
        check("=", &json!({}), "");
    }
}
