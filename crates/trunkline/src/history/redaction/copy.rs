//! A copy of a JSON text without its secrets.

use std::mem;

use super::super::beginning::beginning;
use super::known::{Known, Learned};
use super::names::is_plural;
use super::passage::{IsSecret, Passage, REDACTED, Side};
use super::prose;
use crate::envelope::{Kind, ScanError, Scanner, Span, Text};

/// A copy, and whether it is one of the whole text.
pub(super) struct Copied {
    pub(super) text: String,
    pub(super) is_whole: bool,
}

/// Deeper than requests may nest by default. Each level takes some of the stack.
const MAX_DEPTH: usize = 128;
/// JSON in a string may hold strings that hold JSON.
const MAX_LAYERS: usize = 3;
/// So much of what stands behind a `content` is looked at: tables have their columns first.
const LOOKED_AT: usize = 16 << 10;

/// Copies as much of a passage as fits, without the secrets of its body.
///
/// Secrets that are `known` are taken out wherever they stand.
pub(super) fn copy(
    passage: Passage<'_>,
    side: Side<'_>,
    limit: usize,
    is_secret: &IsSecret<'_>,
    known: &Known,
) -> (Copied, Learned) {
    let mut learned = Learned::of(side);
    let mut copied = Copied { text: String::new(), is_whole: true };
    copied.put(passage.start, limit);
    if copied.is_whole {
        let (body, is_text) = text_of(passage.body);
        let params = match side {
            Side::Request { params } => params,
            Side::Response => Some(&[][..]),
        };
        let new = Copy::new(side, is_secret, known);
        let mut copy = Copy { text: body, out: copied.text, limit, params, ..new };
        let ended = copy.document();
        copied = Copied { text: copy.out, is_whole: ended.is_ok() && is_text };
        learned = copy.learned;
    }
    if copied.is_whole {
        copied.put(passage.end, limit);
    }
    (copied, learned)
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
    side: Side<'a>,
    is_secret: &'a IsSecret<'a>,
    /// What the elements of `params` are called, where those are an array; none where nobody knows.
    params: Option<&'a [&'static str]>,
    /// How many strings this text stands in.
    layers: usize,
    /// Whether a secret was found.
    found: bool,
    /// Whether the object that was copied last has a `name` that is a secret's.
    named: Option<SecretName>,
    /// Secrets that are taken out wherever they stand.
    known: &'a Known,
    /// The texts of those that were found by their names.
    learned: Learned,
}

/// What is known of the name of a secret.
#[derive(Debug, Clone, Copy)]
struct SecretName {
    /// A number behind a plural is none.
    is_plural: bool,
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
    fn new(side: Side<'a>, is_secret: &'a IsSecret<'a>, known: &'a Known) -> Self {
        Self {
            text: "",
            out: String::new(),
            limit: usize::MAX,
            side,
            is_secret,
            params: Some(&[]),
            layers: 0,
            found: false,
            named: None,
            known,
            learned: Learned::of(side),
        }
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
                (Kind::Number, span) if self.known.has(&self.text[span.range()]) => {
                    self.put_redacted()
                }
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
        let mut named = None;
        // Those of the rows that stand beside them: `{"columns":["a","pin"],"rows":[[1,2]]}`.
        let mut columns = Columns::default();
        scanner.object(|scanner, name| {
            self.separate(&mut is_first)?;
            let text = self.text;
            let span = name.span;
            let name = name.value(text.as_bytes());
            match self.known.redacted(&name, true) {
                Some(redacted) => self.put(&json(&redacted))?,
                None => self.put_span(span)?,
            }
            self.put(":")?;
            if (self.is_secret)(&name) || (named.is_some() && name == "value") {
                return self.secret(scanner, is_plural(&name));
            }
            match (&*name, scanner.peek()) {
                ("params", Some(b'[')) if is_request => self.params(scanner),
                ("columns", Some(b'[')) => {
                    columns = self.columns(scanner)?;
                    Ok(())
                }
                ("content", Some(b'[')) if self.says_a_secret(scanner.clone()) => {
                    scanner.value()?;
                    self.put_redacted()
                }
                ("rows", Some(b'[')) if columns.have_secrets() => self.rows(scanner, &columns),
                ("name" | "key", Some(b'"')) => {
                    let start = self.out.len();
                    self.value(scanner)?;
                    named = named.or_else(|| self.has_put_name(start, "\""));
                    Ok(())
                }
                _ => self.value(scanner),
            }
        })?;
        self.named = named;
        self.put("}")
    }

    /// Whether the `content` that is next says in words what stands behind it with a secret in it, as a
    /// tool's result does. Which of the words that is, nothing tells.
    fn says_a_secret(&self, mut ahead: Scanner<'_>) -> bool {
        let Ok((_, content)) = ahead.value() else {
            return false;
        };
        let behind = &self.text[content.range().end..];
        let Some(text) = behind.strip_prefix(",\"structuredContent\":") else {
            return false;
        };
        let none = Known::default();
        let new = Copy::new(self.side, self.is_secret, &none);
        let mut copy = Copy { text, limit: self.limit.min(LOOKED_AT), ..new };
        // It ends with what follows, or where there is no room for more.
        let _ = copy.document();
        copy.found
    }

    /// What was put last, if it is a string that begins so, and is a secret's name.
    fn has_put_name(&self, start: usize, beginning: &str) -> Option<SecretName> {
        let name = self.out[start..].strip_prefix(beginning);
        let name = name.and_then(|name| name.strip_suffix('"'));
        // `--password=…` has its argument, and `- the token` is a line of a list.
        let is_name = |name: &&str| !name.starts_with(' ') && !name.contains([':', '=']);
        let name = name.filter(is_name).filter(|name| (self.is_secret)(name))?;
        Some(SecretName { is_plural: is_plural(name) })
    }

    /// Copies what a secret's name stands before, if it cannot be one.
    fn secret(&mut self, scanner: &mut Scanner<'_>, is_plural: bool) -> Result<(), Stop> {
        // A secret that does not end is still one.
        let value = scanner.value();
        match value {
            Ok((Kind::Null | Kind::Bool, span)) => return self.put_span(span),
            Ok((Kind::Number, span)) if is_plural => return self.put_span(span),
            Ok((_, span)) => self.learned.learn_json(&self.text[span.range()]),
            Err(_) => {}
        }
        self.put_redacted()?;
        value.map(drop).map_err(Stop::from)
    }

    fn put_redacted(&mut self) -> Result<(), Stop> {
        self.found = true;
        self.put("\"")?;
        self.put(REDACTED)?;
        self.put("\"")
    }

    fn string(&mut self, string: Text) -> Result<(), Stop> {
        let room = self.limit - self.out.len();
        if string.span.range().len() > room {
            // Only what there is room for is looked at, and where a known secret ends that begins there.
            let looked_at = room.saturating_add(self.known.longest());
            let value = value_of_beginning(&self.text[string.span.range()], looked_at);
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
            let new = Copy::new(self.side, self.is_secret, self.known);
            let mut inner = Copy { text: value, layers: self.layers + 1, ..new };
            let ended = inner.document();
            // Behind where it ceases to be JSON, nothing tells which text is a secret.
            if ended.is_ok() || inner.found {
                self.found |= inner.found;
                self.learned.append(inner.learned);
                return inner.found.then_some(inner.out);
            }
        }
        let redacted = prose::redacted(value, is_whole, self.is_secret, &mut self.learned);
        let redacted = match redacted {
            Some(text) => Some(self.known.redacted(&text, is_whole).unwrap_or(text)),
            None => self.known.redacted(value, is_whole),
        };
        self.found |= redacted.is_some();
        redacted
    }

    fn separate(&mut self, is_first: &mut bool) -> Result<(), Stop> {
        if mem::take(is_first) { Ok(()) } else { self.put(",") }
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

/// The columns of rows, up to the last one that holds secrets.
#[derive(Debug, Default)]
struct Columns {
    names: Vec<Option<SecretName>>,
    count: usize,
}

impl Columns {
    fn push(&mut self, name: Option<SecretName>) {
        if name.is_some() {
            // Those before it hold none.
            self.names.resize(self.count, None);
            self.names.push(name);
        }
        self.count += 1;
    }

    fn have_secrets(&self) -> bool {
        !self.names.is_empty()
    }
}

impl Copy<'_> {
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
                Some(name) => self.secret(scanner, is_plural(name)),
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
                Some(b'"') => self.secret(scanner, false),
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
        let mut is_argument = false;
        // Whether the second of two is next: `["X-Api-Key","…"]`.
        let mut is_of_pair = false;
        scanner.array(|scanner| {
            let is_before_pair = is_first;
            self.separate(&mut is_first)?;
            let (was_argument, was_of_pair) =
                (mem::take(&mut is_argument), mem::take(&mut is_of_pair));
            match scanner.peek() {
                Some(b'"') if was_argument => return self.secret(scanner, false),
                Some(b'"') if was_of_pair => return self.second(scanner),
                _ => {}
            }
            let start = self.out.len();
            self.value(scanner)?;
            is_argument = self.has_put_name(start, "\"-").is_some();
            is_of_pair = is_before_pair && self.has_put_name(start, "\"").is_some();
            Ok(())
        })?;
        self.put("]")
    }

    /// Copies the string behind a secret's name, which is the secret if nothing else is in the array.
    fn second(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Stop> {
        match scanner.string() {
            Ok(text) if scanner.peek() != Some(b']') => self.string(text),
            Ok(text) => {
                self.learned.learn_json(&self.text[text.span.range()]);
                self.put_redacted()
            }
            Err(error) => {
                self.put_redacted()?;
                Err(error.into())
            }
        }
    }

    /// Copies the columns of rows, which are names, or objects that have one.
    fn columns(&mut self, scanner: &mut Scanner<'_>) -> Result<Columns, Stop> {
        let mut columns = Columns::default();
        self.put("[")?;
        let mut is_first = true;
        scanner.array(|scanner| {
            self.separate(&mut is_first)?;
            let (start, is_name) = (self.out.len(), scanner.peek() == Some(b'"'));
            self.named = None;
            self.value(scanner)?;
            let named = if is_name { self.has_put_name(start, "\"") } else { self.named };
            columns.push(named);
            Ok::<_, Stop>(())
        })?;
        self.put("]")?;
        Ok(columns)
    }

    /// Copies rows, without what stands in the columns of secrets.
    fn rows(&mut self, scanner: &mut Scanner<'_>, columns: &Columns) -> Result<(), Stop> {
        self.put("[")?;
        let mut is_first = true;
        scanner.array(|scanner| {
            self.separate(&mut is_first)?;
            match scanner.peek() {
                Some(b'[') => self.row(scanner, columns),
                _ => self.value(scanner),
            }
        })?;
        self.put("]")
    }

    fn row(&mut self, scanner: &mut Scanner<'_>, columns: &Columns) -> Result<(), Stop> {
        let mut names = columns.names.iter();
        self.put("[")?;
        let mut is_first = true;
        scanner.array(|scanner| {
            self.separate(&mut is_first)?;
            match names.next() {
                Some(Some(name)) => self.secret(scanner, name.is_plural),
                _ => self.value(scanner),
            }
        })?;
        self.put("]")
    }
}
