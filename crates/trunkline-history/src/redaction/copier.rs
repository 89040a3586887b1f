//! Copies a JSON text without its secrets.

use std::borrow::Cow;

use trunkline_core::envelope::{Kind, ScanError, Scanner, Span, Text};

use super::names::is_secret;
use super::strings::{self, REDACTED, beginning};

/// The maximum nesting depth. It is larger than the default limit of requests; each level uses stack space.
const MAX_DEPTH: usize = 128;

/// A text to record: a body between two parts without secrets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passage<'a> {
    pub(crate) start: &'static [u8],
    pub(crate) body: &'a [u8],
    pub(crate) end: &'a [u8],
}

impl<'a> Passage<'a> {
    pub(crate) fn whole(body: &'a [u8]) -> Self {
        Self { start: b"", body, end: b"" }
    }

    pub(crate) fn to_bytes(self) -> Box<[u8]> {
        match (self.start, self.end) {
            (b"", b"") => self.body.into(),
            (start, end) => [start, self.body, end].concat().into(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.start.len() + self.body.len() + self.end.len()
    }
}

/// A redacted copy in progress.
pub(super) struct Copier<'a> {
    pub(super) out: String,
    limit: usize,
    text: &'a str,
    /// Additional secret names.
    names: &'a [Box<str>],
    /// The names of the params by position.
    params: &'a [&'static str],
    /// Whether the text is JSON inside a string.
    is_nested: bool,
    /// Whether a secret was replaced.
    found: bool,
}

/// The reason to stop copying: the text stops being JSON, or the limit is reached.
pub(super) struct Stop;

impl From<ScanError> for Stop {
    fn from(_: ScanError) -> Self {
        Self
    }
}

impl<'a> Copier<'a> {
    pub(super) fn new(limit: usize, names: &'a [Box<str>], params: &'a [&'static str]) -> Self {
        Self { out: String::new(), limit, text: "", names, params, is_nested: false, found: false }
    }

    /// Copies a passage, redacting its body.
    pub(super) fn redacted(&mut self, passage: Passage<'a>) -> Result<(), Stop> {
        self.reserve(passage);
        self.put_bytes(passage.start)?;
        let (text, is_text) = text_of(passage.body);
        self.text = text;
        let mut scanner = Scanner::new(text.as_bytes(), MAX_DEPTH);
        self.value(&mut scanner)?;
        scanner.finish()?;
        if !is_text {
            return Err(Stop);
        }
        self.put_bytes(passage.end)
    }

    /// Copies a passage unchanged.
    pub(super) fn plain(&mut self, passage: Passage<'_>) -> Result<(), Stop> {
        self.reserve(passage);
        self.put_bytes(passage.start)?;
        self.put_bytes(passage.body)?;
        self.put_bytes(passage.end)
    }

    /// Allocates memory for an unchanged copy.
    fn reserve(&mut self, passage: Passage<'_>) {
        self.out.reserve_exact(passage.len().min(self.limit));
    }

    fn value(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Stop> {
        match scanner.peek() {
            Some(b'{') => self.object(scanner),
            Some(b'[') => self.array(scanner, &[]),
            _ => match scanner.value()? {
                (Kind::String { escaped }, span) => self.string(Text { span, escaped }),
                (_, span) => self.put_span(span),
            },
        }
    }

    fn object(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Stop> {
        let params = if self.out.is_empty() { self.params } else { &[] };
        self.put("{")?;
        let mut separator = "";
        scanner.object(|scanner, name| {
            self.put(separator)?;
            separator = ",";
            self.put_span(name.span)?;
            self.put(":")?;
            let name = self.unescaped(name);
            if is_secret(&name, self.names) {
                self.secret(scanner)
            } else if name == "params" && scanner.peek() == Some(b'[') {
                self.array(scanner, params)
            } else {
                self.value(scanner)
            }
        })?;
        self.put("}")
    }

    /// Copies an array whose first elements have these names.
    fn array(&mut self, scanner: &mut Scanner<'_>, names: &[&str]) -> Result<(), Stop> {
        self.put("[")?;
        let mut separator = "";
        let mut names = names.iter();
        scanner.array(|scanner| {
            self.put(separator)?;
            separator = ",";
            match names.next() {
                Some(name) if is_secret(name, self.names) => self.secret(scanner),
                _ => self.value(scanner),
            }
        })?;
        self.put("]")
    }

    /// Replaces the value of a secret name, also if the value is incomplete.
    fn secret(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Stop> {
        let value = scanner.value();
        if let Ok((Kind::Null | Kind::Bool, span)) = value {
            return self.put_span(span);
        }
        self.found = true;
        self.put("\"")?;
        self.put(REDACTED)?;
        self.put("\"")?;
        value.map(drop).map_err(Stop::from)
    }

    fn string(&mut self, string: Text) -> Result<(), Stop> {
        let value = self.unescaped(string);
        let redacted = self.json_in_string(&value);
        match redacted.or_else(|| strings::redacted(&value, self.limit - self.out.len())) {
            Some(redacted) => {
                self.found = true;
                self.put(&serde_json::Value::from(redacted).to_string())
            }
            None => self.put_span(string.span),
        }
    }

    /// Redacts JSON in a string, as in results of MCP tools. `None` if it contains no secrets.
    fn json_in_string(&self, value: &str) -> Option<String> {
        if self.is_nested || !value.starts_with(['{', '[']) {
            return None;
        }
        let mut scanner = Scanner::new(value.as_bytes(), MAX_DEPTH);
        scanner.value().and_then(|_| scanner.finish()).ok()?;
        let new = Copier::new(self.limit - self.out.len(), self.names, &[]);
        let mut inner = Copier { text: value, is_nested: true, ..new };
        // Text beyond the limit is dropped.
        let _ = inner.value(&mut Scanner::new(value.as_bytes(), MAX_DEPTH));
        inner.found.then_some(inner.out)
    }

    fn unescaped(&self, string: Text) -> Cow<'a, str> {
        let range = string.span.range();
        match string.escaped {
            true => string.value(self.text.as_bytes()),
            false => Cow::Borrowed(&self.text[range.start + 1..range.end - 1]),
        }
    }

    fn put_span(&mut self, span: Span) -> Result<(), Stop> {
        let text = self.text;
        self.put(&text[span.range()])
    }

    fn put_bytes(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        let (text, is_text) = text_of(bytes);
        self.put(text)?;
        if is_text { Ok(()) } else { Err(Stop) }
    }

    fn put(&mut self, text: &str) -> Result<(), Stop> {
        let kept = beginning(text, self.limit - self.out.len());
        self.out.push_str(kept);
        if kept.len() == text.len() { Ok(()) } else { Err(Stop) }
    }
}

/// The text up to the first byte that is not UTF-8, and whether it is complete.
fn text_of(bytes: &[u8]) -> (&str, bool) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text, true),
        Err(error) => {
            let text = std::str::from_utf8(&bytes[..error.valid_up_to()]);
            (text.unwrap_or_default(), false)
        }
    }
}
