/// A part of a column's definition.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// In capitals.
    Word(String),
    /// Digits, with an optional sign, decimal point and exponent.
    Number(String),
    /// The content of single quotes.
    Text(String),
    Open,
    Close,
    Comma,
}

/// Splits a definition into tokens. Other text, such as a semicolon, a comment or an operator, is refused.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            ',' => (Token::Comma, 1),
            '\'' => quoted(rest)?,
            '0'..='9' | '+' | '-' | '.' => {
                let length = number_length(rest);
                (Token::Number(rest[..length].to_owned()), length)
            }
            'a'..='z' | 'A'..='Z' | '_' => {
                let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
                let length = rest.bytes().take_while(is_part).count();
                (Token::Word(rest[..length].to_ascii_uppercase()), length)
            }
            other => return Err(format!("unexpected character {other:?}")),
        };
        tokens.push(token);
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

fn quoted(text: &str) -> Result<(Token, usize), String> {
    let mut value = String::new();
    let mut parts = text[1..].char_indices().peekable();
    while let Some((place, part)) = parts.next() {
        match part {
            '\'' if parts.peek().is_some_and(|(_, next)| *next == '\'') => {
                parts.next();
                value.push('\'');
            }
            '\'' => return Ok((Token::Text(value), 1 + place + 1)),
            other => value.push(other),
        }
    }
    Err("unterminated string; double a quote within it".to_owned())
}

fn number_length(text: &str) -> usize {
    let mut previous = b' ';
    let is_part = |byte: &u8| {
        let is_sign = matches!(byte, b'+' | b'-') && matches!(previous, b' ' | b'e' | b'E');
        previous = *byte;
        is_sign || byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E')
    };
    text.bytes().take_while(is_part).count()
}
