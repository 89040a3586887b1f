//! A copy of a JSON text without its secrets.

use super::super::beginning::beginning;
use super::names::is_plural;
use super::{Passage, REDACTED, prose};
use crate::envelope::{Kind, ScanError, Scanner, Span, Text};

/// A copy, and whether it is one of the whole text.
pub(super) struct Copied {
    pub(super) text: String,
    pub(super) is_whole: bool,
}

/// Whether a name stands before a secret.
pub(super) type IsSecret<'a> = dyn Fn(&str) -> bool + 'a;

/// Deeper than requests may nest by default. Each level takes some of the stack.
const MAX_DEPTH: usize = 128;
/// JSON in a string may hold strings that hold JSON.
const MAX_LAYERS: usize = 3;

/// Copies as much of a passage as fits, without the secrets of its body.
///
/// `params` is what the elements of the body's member `params` are called, where that is an array;
/// none where nobody knows.
pub(super) fn copy(
    passage: Passage<'_>,
    params: Option<&[&'static str]>,
    limit: usize,
    is_secret: &IsSecret<'_>,
) -> Copied {
    let mut copied = Copied { text: String::new(), is_whole: true };
    copied.put(passage.start, limit);
    if copied.is_whole {
        let (body, is_text) = text_of(passage.body);
        let mut copy = Copy { text: body, out: copied.text, limit, params, ..Copy::new(is_secret) };
        let ended = copy.document();
        copied = Copied { text: copy.out, is_whole: ended.is_ok() && is_text };
    }
    if copied.is_whole {
        copied.put(passage.end, limit);
    }
    copied
}

impl Copied {
    /// As much of a passage as fits, secrets and all.
    pub(super) fn plain(passage: Passage<'_>, limit: usize) -> Self {
        let mut copied = Self { text: String::new(), is_whole: true };
        for part in [passage.start, passage.body, passage.end] {
            if copied.is_whole {
                copied.put(part, limit);
            }
        }
        copied
    }

    fn put(&mut self, part: &[u8], limit: usize) {
        let (part, is_text) = text_of(part);
        let kept = beginning(part, limit - self.text.len());
        self.text.push_str(kept);
        self.is_whole = is_text && kept.len() == part.len();
    }
}

/// The text up to the first byte that is not UTF-8, and whether that is all.
fn text_of(bytes: &[u8]) -> (&str, bool) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text, true),
        Err(error) => {
            let text = std::str::from_utf8(&bytes[..error.valid_up_to()]);
            (text.unwrap_or_default(), false)
        }
    }
}

/// A copy that is being made.
struct Copy<'a> {
    text: &'a str,
    out: String,
    limit: usize,
    is_secret: &'a IsSecret<'a>,
    /// What the elements of `params` are called, where those are an array; none where nobody knows.
    params: Option<&'a [&'static str]>,
    /// How many strings this text stands in.
    layers: usize,
    /// Whether a secret was found.
    found: bool,
}

/// Why a copy ends before its text does.
enum Stop {
    /// The text ceases to be JSON.
    Broken,
    /// There is no more room.
    Full,
}

impl From<ScanError> for Stop {
    fn from(_: ScanError) -> Self {
        Self::Broken
    }
}

impl<'a> Copy<'a> {
    fn new(is_secret: &'a IsSecret<'a>) -> Self {
        let (text, out, limit, layers, found) = ("", String::new(), usize::MAX, 0, false);
        Self { text, out, limit, is_secret, params: Some(&[]), layers, found }
    }

    fn document(&mut self) -> Result<(), Stop> {
        let mut scanner = Scanner::new(self.text.as_bytes(), MAX_DEPTH);
        self.value(&mut scanner)?;
        Ok(scanner.finish()?)
    }

    fn value(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Stop> {
        match scanner.peek() {
            Some(b'{') => self.object(scanner),
            Some(b'[') => self.array(scanner),
            _ => match scanner.value()? {
                (Kind::String { escaped }, span) => self.string(Text { span, escaped }),
                (_, span) => self.put_span(span),
            },
        }
    }

    fn object(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Stop> {
        let is_request = match self.params {
            Some(names) => self.out.is_empty() && !names.is_empty(),
            // Any object of a text that is no request may have been meant for one.
            None => true,
        };
        self.put("{")?;
        let mut is_first = true;
        // Whether the object itself is a member of another kind: `{"name":"password","value":…}`.
        let mut names_secret = false;
        scanner.object(|scanner, name| {
            self.separate(&mut is_first)?;
            self.put_span(name.span)?;
            self.put(":")?;
            let text = self.text;
            let name = name.value(text.as_bytes());
            if (self.is_secret)(&name) || (names_secret && name == "value") {
                self.secret(scanner, &name)
            } else if is_request && name == "params" && scanner.peek() == Some(b'[') {
                self.params(scanner)
            } else {
                let start = self.out.len();
                self.value(scanner)?;
                names_secret |= matches!(&*name, "name" | "key") && self.has_put_name(start, "\"");
                Ok(())
            }
        })?;
        self.put("}")
    }

    /// Copies params that came by position.
    fn params(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Stop> {
        let Some(names) = self.params else {
            return self.unknown_params(scanner);
        };
        let mut names = names.iter();
        self.put("[")?;
        let mut is_first = true;
        scanner.array(|scanner| {
            self.separate(&mut is_first)?;
            match names.next().filter(|name| (self.is_secret)(name)) {
                Some(name) => self.secret(scanner, name),
                None => self.value(scanner),
            }
        })?;
        self.put("]")
    }

    /// Copies params that came by position, and of which nobody knows what they are.
    fn unknown_params(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Stop> {
        self.put("[")?;
        let mut is_first = true;
        scanner.array(|scanner| {
            self.separate(&mut is_first)?;
            match scanner.peek() {
                Some(b'"') => self.secret(scanner, ""),
                Some(b'[') => self.unknown_params(scanner),
                _ => self.value(scanner),
            }
        })?;
        self.put("]")
    }

    fn array(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Stop> {
        self.put("[")?;
        let mut is_first = true;
        // Whether the argument of an option is next: `["--password","…"]`.
        let mut names_secret = false;
        scanner.array(|scanner| {
            self.separate(&mut is_first)?;
            if names_secret && scanner.peek() == Some(b'"') {
                names_secret = false;
                return self.secret(scanner, "");
            }
            let start = self.out.len();
            self.value(scanner)?;
            names_secret = self.has_put_name(start, "\"-");
            Ok(())
        })?;
        self.put("]")
    }

    /// Whether what was put last is a string that begins so, and is a secret's name.
    fn has_put_name(&self, start: usize, beginning: &str) -> bool {
        let name = self.out[start..].strip_prefix(beginning);
        let name = name.and_then(|name| name.strip_suffix('"'));
        // `--password=…` has its argument, and `- the token` is a line of a list.
        let is_name = |name: &&str| !name.starts_with(' ') && !name.contains([':', '=']);
        name.filter(is_name).is_some_and(self.is_secret)
    }

    /// Copies what a secret's name stands before, if it cannot be one.
    fn secret(&mut self, scanner: &mut Scanner<'_>, name: &str) -> Result<(), Stop> {
        // A secret that does not end is still one.
        let value = scanner.value();
        match value {
            Ok((Kind::Null | Kind::Bool, span)) => return self.put_span(span),
            Ok((Kind::Number, span)) if is_plural(name) => return self.put_span(span),
            Ok(_) | Err(_) => {}
        }
        self.found = true;
        self.put("\"")?;
        self.put(REDACTED)?;
        self.put("\"")?;
        value.map(drop).map_err(Stop::from)
    }

    fn string(&mut self, string: Text) -> Result<(), Stop> {
        let room = self.limit - self.out.len();
        if string.span.range().len() > room {
            // Only what there is room for is looked at.
            let value = value_of_beginning(&self.text[string.span.range()], room);
            let redacted = self.redacted(&value, false).unwrap_or(value);
            let json = json(&redacted);
            self.put(json.strip_suffix('"').unwrap_or(&json))?;
            return Err(Stop::Full);
        }
        let value = string.value(self.text.as_bytes());
        match self.redacted(&value, true) {
            Some(redacted) => self.put(&json(&redacted)),
            None => self.put_span(string.span),
        }
    }

    /// The value of a string without its secrets; none if it has none.
    fn redacted(&mut self, value: &str, is_whole: bool) -> Option<String> {
        if self.layers < MAX_LAYERS && value.trim_start().starts_with(['{', '[']) {
            let mut inner =
                Copy { text: value, layers: self.layers + 1, ..Copy::new(self.is_secret) };
            let ended = inner.document();
            if ended.is_ok() || (inner.found && !is_whole) {
                self.found |= inner.found;
                return inner.found.then_some(inner.out);
            }
        }
        let redacted = prose::redacted(value, is_whole, self.is_secret)?;
        self.found = true;
        Some(redacted)
    }

    fn separate(&mut self, is_first: &mut bool) -> Result<(), Stop> {
        if std::mem::take(is_first) { Ok(()) } else { self.put(",") }
    }

    fn put_span(&mut self, span: Span) -> Result<(), Stop> {
        let text = self.text;
        self.put(&text[span.range()])
    }

    fn put(&mut self, text: &str) -> Result<(), Stop> {
        let kept = beginning(text, self.limit - self.out.len());
        self.out.push_str(kept);
        if kept.len() == text.len() { Ok(()) } else { Err(Stop::Full) }
    }
}

fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The value of the beginning of a string, so many bytes of its text.
fn value_of_beginning(text: &str, bytes: usize) -> String {
    let mut kept = beginning(text, bytes);
    loop {
        match serde_json::from_str(&format!("{kept}\"")) {
            Ok(value) => return value,
            // In the middle of an escape, which has twelve bytes at most.
            Err(_) if !kept.is_empty() && bytes - kept.len() < 16 => {
                kept = beginning(kept, kept.len() - 1);
            }
            Err(_) => return String::new(),
        }
    }
}
