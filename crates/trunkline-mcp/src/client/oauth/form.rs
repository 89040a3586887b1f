//! `application/x-www-form-urlencoded`: the bodies of token requests, and the queries of URLs.

use percent_encoding::percent_decode_str;

use crate::percent::encode;

/// The maximum number of parameters that are read from a query.
const MAX_PARAMETERS: usize = 100;

/// Parameters. They may contain secrets.
#[derive(Default)]
pub(super) struct Form(String);

impl Form {
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        if !self.0.is_empty() {
            self.0.push('&');
        }
        self.0.push_str(name);
        self.0.push('=');
        self.0.push_str(&encode(value));
        self
    }

    pub(super) fn with_optional(self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(super) fn into_body(self) -> String {
        self.0
    }

    /// The URL with these parameters in addition to its own.
    pub(super) fn append_to(&self, url: &str) -> String {
        let url = url.split('#').next().unwrap_or_default();
        let separator = match url.split_once('?') {
            None => "?",
            Some((_, "")) => "",
            Some(_) => "&",
        };
        format!("{url}{separator}{}", self.0)
    }
}

/// The parameters of a query. `None` if it is not UTF-8 or has too many parameters.
pub(super) fn parse(query: &str) -> Option<Vec<(String, String)>> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    let parameters: Option<Vec<_>> = parts
        .take(MAX_PARAMETERS + 1)
        .map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            Some((decode(name)?, decode(value)?))
        })
        .collect();
    parameters.filter(|parameters| parameters.len() <= MAX_PARAMETERS)
}

fn decode(text: &str) -> Option<String> {
    let text = text.replace('+', " ");
    Some(percent_decode_str(&text).decode_utf8().ok()?.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_parameters() {
        let form = Form::default().with("a", "b c&d=é").with_optional("e", None).with("f", "~");
        assert_eq!(form.append_to("https://h/p"), "https://h/p?a=b%20c%26d%3D%C3%A9&f=~");
        assert_eq!(form.append_to("https://h/p?x=y#z"), "https://h/p?x=y&a=b%20c%26d%3D%C3%A9&f=~");
        assert_eq!(Form::default().with("a", "").append_to("http://h?"), "http://h?a=");
    }

    #[track_caller]
    fn check(query: &str, expected: Option<&[(&str, &str)]>) {
        let expected = expected.map(|pairs| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        });
        assert_eq!(parse(query), expected, "{query}");
    }

    #[test]
    fn parses_queries() {
        check("", Some(&[]));
        check("a=b&&c=d+e%20f&g", Some(&[("a", "b"), ("c", "d e f"), ("g", "")]));
        check("a=b=c", Some(&[("a", "b=c")]));
        check("a=%ff", None);
        check(&"a&".repeat(101), None);
    }
}
