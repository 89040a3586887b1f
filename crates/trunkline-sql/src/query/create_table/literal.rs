use serde_json::Value as Json;

use super::tokens::Token;

/// A default value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    /// A keyword that SQLite evaluates when a row is inserted.
    Now(&'static str),
}

const NOW: [&str; 3] = ["CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME"];

impl Literal {
    pub(super) fn from_token(token: Option<Token>) -> Result<Self, String> {
        match token {
            Some(Token::Number(text)) => number(&text),
            Some(Token::Text(text)) => Self::text(text),
            Some(Token::Word(word)) => match word.as_str() {
                "NULL" => Ok(Self::Null),
                "TRUE" => Ok(Self::Integer(1)),
                "FALSE" => Ok(Self::Integer(0)),
                word => now(word).ok_or_else(|| EXPECTED.to_owned()),
            },
            _ => Err(EXPECTED.to_owned()),
        }
    }

    pub(super) fn from_json(json: &Json) -> Result<Self, String> {
        match json {
            Json::Null => Ok(Self::Null),
            Json::Bool(value) => Ok(Self::Integer(i64::from(*value))),
            Json::Number(value) => number(&value.to_string()),
            Json::String(text) => match now(text) {
                Some(now) => Ok(now),
                None => Self::text(text.clone()),
            },
            _ => Err("a default must be null, a boolean, a number or a string".to_owned()),
        }
    }

    fn text(text: String) -> Result<Self, String> {
        if text.contains('\0') {
            return Err("the default contains a NUL character".to_owned());
        }
        Ok(Self::Text(text))
    }

    pub(super) fn sql(&self) -> String {
        match self {
            Self::Null => "NULL".to_owned(),
            Self::Integer(value) => value.to_string(),
            // With a decimal point or an exponent, so that it remains a REAL.
            Self::Real(value) => format!("{value:?}"),
            Self::Text(text) => format!("'{}'", text.replace('\'', "''")),
            Self::Now(word) => (*word).to_owned(),
        }
    }
}

const EXPECTED: &str = "DEFAULT requires a number, a 'string', NULL, TRUE, FALSE, CURRENT_TIMESTAMP, \
                        CURRENT_DATE or CURRENT_TIME";

fn now(word: &str) -> Option<Literal> {
    NOW.into_iter().find(|known| known.eq_ignore_ascii_case(word)).map(Literal::Now)
}

fn number(text: &str) -> Result<Literal, String> {
    if let Ok(value) = text.parse() {
        return Ok(Literal::Integer(value));
    }
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(Literal::Real(value)),
        _ => Err(format!("{text:?} is not a finite number")),
    }
}
