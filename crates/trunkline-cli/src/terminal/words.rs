//! Params as a person types them.

use std::io::Read;

use serde_json::Value;
use serde_json::value::RawValue;

/// The most bytes that are read from stdin.
const MAX_STDIN: u64 = 64 << 20;

/// Params as the command line has them.
#[derive(Debug)]
pub(crate) enum Words {
    None,
    /// A JSON object or array.
    Json(Box<RawValue>),
    Named(Vec<(String, Word)>),
}

/// The value of one param.
#[derive(Debug)]
pub(crate) enum Word {
    Json(Box<RawValue>),
    /// JSON, or a string; who asks may know.
    Plain(String),
}

impl Words {
    /// # Errors
    ///
    /// What is wrong, for people.
    pub(crate) fn read(words: &[String], stdin: impl Read) -> Result<Self, String> {
        match words {
            [] => Ok(Self::None),
            [word] if word == "-" || word.trim_start().starts_with(['{', '[']) => {
                document(word, stdin).map(Self::Json)
            }
            words => named(words),
        }
    }

    /// As JSON. `is_text` knows the params that take nothing but strings.
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
                Word::Json(json) => text += json.get(),
                Word::Plain(value) => match raw(&value).filter(|_| !is_text(&name)) {
                    Some(json) => text += json.get(),
                    None => text += &Value::from(value).to_string(),
                },
            }
        }
        text.push('}');
        Some(RawValue::from_string(text).expect("members in braces are an object"))
    }
}

/// A JSON object or array, which is in stdin if the word is `-`.
///
/// # Errors
///
/// What is wrong, for people.
pub(crate) fn document(word: &str, stdin: impl Read) -> Result<Box<RawValue>, String> {
    if word != "-" {
        return json(word).map_err(|error| format!("{word:?} {error}"));
    }
    let mut text = String::new();
    let read = stdin.take(MAX_STDIN).read_to_string(&mut text);
    read.map_err(|error| format!("cannot read stdin: {error}"))?;
    json(&text).map_err(|error| format!("stdin {error}"))
}

fn named(words: &[String]) -> Result<Words, String> {
    let mut named: Vec<(String, Word)> = Vec::new();
    for word in words {
        let Some((name, value)) = word.split_once('=') else {
            return Err(format!("{word:?} is not like key=value, and not a JSON object or array"));
        };
        let (name, word) = match name.strip_suffix(':') {
            Some(name) => {
                let json = raw(value).ok_or_else(|| format!("{word:?}: {value:?} is not JSON"))?;
                (name, Word::Json(json))
            }
            None => (name, Word::Plain(value.to_owned())),
        };
        if name.is_empty() {
            return Err(format!("{:?} has no key", format!("{name}={value}")));
        }
        if named.iter().any(|(known, _)| known == name) {
            return Err(format!("{name:?} is there twice"));
        }
        named.push((name.to_owned(), word));
    }
    Ok(Words::Named(named))
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

/// Blanks around it are a sign of text.
fn raw(text: &str) -> Option<Box<RawValue>> {
    if text.trim() != text {
        return None;
    }
    serde_json::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `text` takes strings only.
    #[track_caller]
    fn check(words: &[&str], expected: Result<Option<&str>, &str>) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        match (Words::read(&words, r#" {"from": "stdin"} "#.as_bytes()), expected) {
            (Ok(found), Ok(expected)) => {
                let json = found.into_json(|name| name == "text");
                assert_eq!(json.as_deref().map(RawValue::get), expected, "{words:?}");
            }
            (Err(found), Err(part)) => assert!(found.contains(part), "{words:?}: {found}"),
            (found, _) => panic!("{words:?}: {found:?}"),
        }
    }

    #[test]
    fn forms() {
        check(&[], Ok(None));
        check(&["-"], Ok(Some(r#"{"from": "stdin"}"#)));
        check(&[r#"{"a": 1e400}"#], Ok(Some(r#"{"a": 1e400}"#)));
        check(&[" [1, 2] "], Ok(Some("[1, 2]")));
        check(&["[1,"], Err("is not JSON"));
        check(&["{} {}"], Err("is not JSON"));
        check(&["5"], Err("not like key=value"));
        check(&["{}", "a=1"], Err("not like key=value"));
        check(&["-", "a=1"], Err("not like key=value"));
    }

    #[test]
    fn values() {
        check(&["a=users", "b=10"], Ok(Some(r#"{"a":"users","b":10}"#)));
        check(&["a=-1.50", "b=1e400"], Ok(Some(r#"{"a":-1.50,"b":1e400}"#)));
        check(&["a=true", "b=null"], Ok(Some(r#"{"a":true,"b":null}"#)));
        check(&["a=True", "b=007"], Ok(Some(r#"{"a":"True","b":"007"}"#)));
        check(&[r#"a="42""#], Ok(Some(r#"{"a":"42"}"#)));
        check(&[r#"a=say "hi""#], Ok(Some(r#"{"a":"say \"hi\""}"#)));
        check(&[r#"a={"b":[1]}"#, "c=[1]"], Ok(Some(r#"{"a":{"b":[1]},"c":[1]}"#)));
        check(&["a={b", "c="], Ok(Some(r#"{"a":"{b","c":""}"#)));
        check(&["a= 1", "b=@file"], Ok(Some(r#"{"a":" 1","b":"@file"}"#)));
        check(&["a=b=c", "d=e:=1"], Ok(Some(r#"{"a":"b=c","d":"e:=1"}"#)));
        check(&["a:=1", "b:=[]"], Ok(Some(r#"{"a":1,"b":[]}"#)));
        check(&["text=42", "text2=42"], Ok(Some(r#"{"text":"42","text2":42}"#)));
        check(&["text:=42"], Ok(Some(r#"{"text":42}"#)));
        check(&["a:=b"], Err("is not JSON"));
        check(&["=1"], Err("no key"));
        check(&["a=1", "a=2"], Err("twice"));
    }
}
