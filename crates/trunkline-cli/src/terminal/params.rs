//! Params of the command line.

use std::io::Read;

use serde_json::Value;
use serde_json::value::RawValue;

/// The maximum number of bytes that are read from stdin.
const MAX_STDIN: u64 = 64 << 20;

/// Params in one of the forms of the command line.
#[derive(Debug)]
pub(crate) enum Params {
    None,
    /// A JSON object or array.
    Json(Box<RawValue>),
    Named(Vec<(String, ParamValue)>),
}

/// The value of one param.
#[derive(Debug)]
pub(crate) enum ParamValue {
    Json(Box<RawValue>),
    /// JSON or a string, depending on the type of the param.
    Plain(String),
}

impl Params {
    /// # Errors
    ///
    /// The reason why the arguments are invalid.
    pub(crate) fn read(arguments: &[&str], stdin: impl Read) -> Result<Self, String> {
        match arguments {
            [] => Ok(Self::None),
            [word] if *word == "-" || word.trim_start().starts_with(['{', '[']) => {
                document(word, stdin).map(Self::Json)
            }
            arguments => named(arguments),
        }
    }

    /// Converts to JSON. `is_text` returns whether a param accepts strings only.
    pub(crate) fn into_json(self, is_text: impl Fn(&str) -> bool) -> Option<Box<RawValue>> {
        let words = match self {
            Self::None => return None,
            Self::Json(json) => return Some(json),
            Self::Named(words) => words,
        };
        let mut text = String::from("{");
        for (name, word) in words {
            if text.len() > 1 {
                text.push(',');
            }
            text += &Value::from(name.as_str()).to_string();
            text.push(':');
            match word {
                ParamValue::Json(json) => text += json.get(),
                ParamValue::Plain(value) => match raw(&value).filter(|_| !is_text(&name)) {
                    Some(json) => text += json.get(),
                    None => text += &Value::from(value).to_string(),
                },
            }
        }
        text.push('}');
        Some(RawValue::from_string(text).expect("members in braces are an object"))
    }
}

/// Parses a JSON object or array. `-` reads it from stdin.
///
/// # Errors
///
/// The reason why it is invalid.
pub(crate) fn document(word: &str, stdin: impl Read) -> Result<Box<RawValue>, String> {
    if word != "-" {
        return json(word).map_err(|error| format!("`{word}` {error}"));
    }
    let mut text = String::new();
    let read = stdin.take(MAX_STDIN).read_to_string(&mut text);
    read.map_err(|error| format!("cannot read stdin: {error}"))?;
    json(&text).map_err(|error| format!("stdin {error}"))
}

fn named(arguments: &[&str]) -> Result<Params, String> {
    let mut named: Vec<(String, ParamValue)> = Vec::new();
    for word in arguments {
        let Some((name, value)) = word.split_once('=') else {
            return Err(format!("`{word}` is neither key=value nor a JSON object or array"));
        };
        let (name, value) = match name.strip_suffix(':') {
            Some(name) => {
                let json = raw(value).ok_or_else(|| format!("`{word}`: `{value}` is not JSON"))?;
                (name, ParamValue::Json(json))
            }
            None => (name, ParamValue::Plain(value.to_owned())),
        };
        if name.is_empty() {
            return Err(format!("`{word}` has no key"));
        }
        if named.iter().any(|(known, _)| known == name) {
            return Err(format!("duplicate key `{name}`"));
        }
        named.push((name.to_owned(), value));
    }
    Ok(Params::Named(named))
}

fn json(text: &str) -> Result<Box<RawValue>, String> {
    let text = text.trim();
    let json: Box<RawValue> =
        serde_json::from_str(text).map_err(|error| format!("is not JSON: {error}"))?;
    if !text.starts_with(['{', '[']) {
        return Err("is not a JSON object or array".to_owned());
    }
    Ok(json)
}

/// Parses JSON. Text with blanks around it is not JSON.
fn raw(text: &str) -> Option<Box<RawValue>> {
    if text.trim() != text {
        return None;
    }
    serde_json::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The param `text` accepts strings only.
    #[track_caller]
    fn check(arguments: &[&str], expected: Result<Option<&str>, &str>) {
        match (Params::read(arguments, r#" {"from": "stdin"} "#.as_bytes()), expected) {
            (Ok(found), Ok(expected)) => {
                let json = found.into_json(|name| name == "text");
                assert_eq!(json.as_deref().map(RawValue::get), expected, "{arguments:?}");
            }
            (Err(found), Err(part)) => assert!(found.contains(part), "{arguments:?}: {found}"),
            (found, _) => panic!("{arguments:?}: {found:?}"),
        }
    }

    #[test]
    fn reads_documents() {
        check(&[], Ok(None));
        check(&["-"], Ok(Some(r#"{"from": "stdin"}"#)));
        check(&[r#"{"a": 1e400}"#], Ok(Some(r#"{"a": 1e400}"#)));
        check(&[" [1, 2] "], Ok(Some("[1, 2]")));
        check(&["[1,"], Err("is not JSON"));
        check(&["{} {}"], Err("is not JSON"));
        check(&["5"], Err("neither key=value"));
        check(&["{}", "a=1"], Err("neither key=value"));
        check(&["-", "a=1"], Err("neither key=value"));
    }

    #[test]
    fn reads_named_values() {
        check(&["a=users", "b=10"], Ok(Some(r#"{"a":"users","b":10}"#)));
        check(&["a=-1.50", "b=1e400"], Ok(Some(r#"{"a":-1.50,"b":1e400}"#)));
        check(&["a=true", "b=null"], Ok(Some(r#"{"a":true,"b":null}"#)));
        check(&["a=True", "b=007"], Ok(Some(r#"{"a":"True","b":"007"}"#)));
        check(&[r#"a="42""#], Ok(Some(r#"{"a":"42"}"#)));
        check(&[r#"a=a "b""#], Ok(Some(r#"{"a":"a \"b\""}"#)));
        check(&[r#"a={"b":[1]}"#, "c=[1]"], Ok(Some(r#"{"a":{"b":[1]},"c":[1]}"#)));
        check(&["a={b", "c="], Ok(Some(r#"{"a":"{b","c":""}"#)));
        check(&["a= 1", "b=@file"], Ok(Some(r#"{"a":" 1","b":"@file"}"#)));
        check(&["a=b=c", "d=e:=1"], Ok(Some(r#"{"a":"b=c","d":"e:=1"}"#)));
        check(&["a:=1", "b:=[]"], Ok(Some(r#"{"a":1,"b":[]}"#)));
        check(&["text=42", "text2=42"], Ok(Some(r#"{"text":"42","text2":42}"#)));
        check(&["text:=42"], Ok(Some(r#"{"text":42}"#)));
        check(&["a:=b"], Err("is not JSON"));
        check(&["=1"], Err("no key"));
        check(&["a=1", "a=2"], Err("duplicate key `a`"));
    }
}
