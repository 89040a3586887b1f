//! Conversion of documents from one format to another.

use std::ops::Range;

use trunkline::protocol::compact;
use trunkline_edn::json::{self, FromJson, ToJson};
use trunkline_edn::{Error, Reader, Reason, Value};

use super::arguments::{Arguments, Format, Keys};
use super::failure::Problem;
use crate::terminal::indented;

/// The formats and options of a conversion.
pub(super) struct Conversion {
    from: Format,
    to: Format,
    pretty: bool,
    to_json: ToJson,
    from_json: FromJson,
}

/// A document that was converted.
pub(super) struct Document {
    pub(super) text: String,
    /// Its range in the source text.
    pub(super) span: Range<usize>,
}

impl Conversion {
    /// # Errors
    ///
    /// When the arguments conflict.
    pub(super) fn new(arguments: &Arguments) -> Result<Self, &'static str> {
        let Arguments { from, to, pretty, keys, unwrap_tags, .. } = *arguments;
        let is_to_json = from == Format::Edn && to == Format::Json;
        let is_from_json = from == Format::Json && to == Format::Edn;
        match keys {
            Some(Keys::Name) if !is_to_json => {
                return Err("--keys name requires --from edn --to json");
            }
            Some(Keys::String) if !is_from_json => {
                return Err("--keys string requires --from json --to edn");
            }
            _ if unwrap_tags && !is_to_json => {
                return Err("--unwrap-tags requires --from edn --to json");
            }
            _ => {}
        }
        let to_json = ToJson { names: keys == Some(Keys::Name), unwrap_tags };
        let keys = match keys {
            Some(Keys::String) => json::Keys::String,
            _ => json::Keys::Keyword,
        };
        let from_json = FromJson { keys, ..FromJson::default() };
        Ok(Self { from, to, pretty, to_json, from_json })
    }

    /// Converts the documents of a text, up to the first invalid one.
    pub(super) fn documents<'a>(&'a self, text: &'a str) -> Documents<'a> {
        let reader = match self.from {
            Format::Edn => Either::Edn(Reader::new(text)),
            Format::Json => Either::Json(json::Reader::with_options(text, self.from_json.clone())),
        };
        Documents { conversion: self, text, reader }
    }

    /// Removes leading white space.
    pub(super) fn trim_start<'t>(&self, text: &'t str) -> &'t str {
        let is_edn = self.from == Format::Edn;
        text.trim_start_matches(|c: char| c.is_ascii_whitespace() || (c == ',' && is_edn))
    }

    fn written(&self, value: &Value, source: &str) -> Result<String, Error> {
        match (self.from, self.to) {
            (_, Format::Edn) if self.pretty => Ok(format!("{value:#}")),
            (_, Format::Edn) => Ok(value.to_string()),
            (Format::Edn, Format::Json) => {
                let json = json::to_string_with(value, &self.to_json)?;
                Ok(if self.pretty { indented(&json) } else { json })
            }
            // Parsed numbers would lose digits.
            (Format::Json, Format::Json) if self.pretty => Ok(indented(source)),
            (Format::Json, Format::Json) => Ok(compact(source)),
        }
    }
}

pub(super) struct Documents<'a> {
    conversion: &'a Conversion,
    text: &'a str,
    reader: Either<'a>,
}

enum Either<'a> {
    Edn(Reader<'a>),
    Json(json::Reader<'a>),
}

impl Iterator for Documents<'_> {
    type Item = Result<Document, Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        let (read, span) = match &mut self.reader {
            Either::Edn(reader) => (reader.next()?, reader.span()),
            Either::Json(reader) => (reader.next()?, reader.span()),
        };
        let value = match read {
            Ok(value) => value,
            Err(error) => {
                let is_incomplete = matches!(error.reason(), Reason::UnexpectedEnd { .. });
                return Some(Err(Problem { is_incomplete, ..Problem::from_error(&error, 0) }));
            }
        };
        let source = &self.text[span.clone()];
        Some(match self.conversion.written(&value, source) {
            Ok(text) => Ok(Document { text, span }),
            Err(error) => Err(Problem::from_error(&error.located_in(source), span.start)),
        })
    }
}
