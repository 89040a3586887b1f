//! Regular expressions of ECMA-262, which JSON Schema has.

use std::error::Error;
use std::fmt::Write;
use std::iter::Peekable;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::str::Chars;

use fancy_regex::{CompileError, Regex, RegexBuilder};

/// The maximum size of a compiled regular expression, in bytes.
const MAX_SIZE: usize = 1 << 20;
/// The same for all of a schema.
const MAX_TOTAL: usize = 32 << 20;

/// The maximum number of steps in which a regular expression with lookaround matches.
const MAX_STEPS: usize = 100_000;

const DIGIT: &str = "0-9";
const WORD: &str = "0-9A-Z_a-z";
const SPACE: &str =
    r"\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}";

/// A regular expression.
pub(super) struct Pattern {
    source: String,
    regex: Regex,
    /// Whether it has lookaround or references to groups.
    backtracks: bool,
}

/// A text cannot be compared with a pattern within the limit of steps.
pub(super) struct TooComplex;

impl Pattern {
    /// Compiles one of `count` patterns of a schema, which share the memory.
    ///
    /// # Errors
    /// The reason why it is invalid.
    pub(super) fn new(source: &str, count: usize) -> Result<Self, String> {
        let size = MAX_SIZE.min(MAX_TOTAL / count.max(1));
        let mut translation = Translation::of(source);
        translation.pattern()?;
        let Translation { rust, backtracks, .. } = translation;
        let regex = RegexBuilder::new(&rust)
            .backtrack_limit(MAX_STEPS)
            .delegate_size_limit(size)
            .delegate_dfa_size_limit(size)
            .build()
            .map_err(|error| reason(&error))?;
        Ok(Self { source: source.to_owned(), regex, backtracks })
    }

    /// The pattern as in the schema.
    pub(super) fn as_str(&self) -> &str {
        &self.source
    }

    /// The number of steps that a match takes.
    pub(super) fn cost(&self, text: &str) -> usize {
        let is_expensive = usize::from(self.backtracks);
        1 + text.len() / 16 + is_expensive * MAX_STEPS / 200
    }

    pub(super) fn matches(&self, text: &str) -> Result<bool, TooComplex> {
        // regex-automata panics for some patterns (https://github.com/rust-lang/regex/issues/1344).
        match catch_unwind(AssertUnwindSafe(|| self.regex.is_match(text))) {
            Ok(Ok(is_match)) => Ok(is_match),
            Ok(Err(_)) | Err(_) => Err(TooComplex),
        }
    }
}

/// The cause of an error, without the translated pattern and the place in it.
fn reason(error: &fancy_regex::Error) -> String {
    let mut cause: &dyn Error = error;
    if let fancy_regex::Error::CompileError(error) = error
        && let CompileError::InnerError(error) = &**error
    {
        cause = error;
    }
    while let Some(source) = cause.source() {
        cause = source;
    }
    let text = cause.to_string();
    let line = text.lines().last().unwrap_or_default();
    line.rsplit(": ").next().unwrap_or_default().to_owned()
}

/// The translation of a pattern into the syntax of `fancy_regex`.
struct Translation<'p> {
    rest: Peekable<Chars<'p>>,
    rust: String,
    backtracks: bool,
}

/// A part of a character class.
enum Atom {
    Char(char),
    /// In the syntax of a class.
    Set(String),
}

impl<'p> Translation<'p> {
    fn of(source: &'p str) -> Self {
        let rust = String::with_capacity(source.len());
        Self { rest: source.chars().peekable(), rust, backtracks: false }
    }

    fn pattern(&mut self) -> Result<(), String> {
        while let Some(next) = self.rest.next() {
            match next {
                '\\' => self.escape()?,
                '[' => self.class()?,
                '(' if self.rest.peek() == Some(&'?') => self.group()?,
                '{' => self.brace()?,
                ']' => self.rust += r"\]",
                next => self.rust.push(next),
            }
        }
        Ok(())
    }

    /// The rest of `(?…`.
    fn group(&mut self) -> Result<(), String> {
        self.rust += "(?";
        self.rest.next();
        let mut after = self.rest.clone();
        match (after.next(), after.next()) {
            (Some('=' | '!'), _) | (Some('<'), Some('=' | '!')) => self.backtracks = true,
            (Some(':' | '<' | 'P' | '-'), _) => {}
            (Some(flag), _) if "imsux".contains(flag) => {}
            _ => return Err("unknown kind of group".to_owned()),
        }
        Ok(())
    }

    /// The text after `{`, which is a quantifier or a literal.
    fn brace(&mut self) -> Result<(), String> {
        let text: String = self.rest.clone().take_while(|next| *next != '}').collect();
        let length = text.chars().count();
        let (low, high) = text.split_once(',').unwrap_or((&text, &text));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let has_end = self.rest.clone().nth(length).is_some();
        if !has_end || low.is_empty() || !is_number(low) || !is_number(high) {
            self.rust += r"\{";
            return Ok(());
        }
        let (low, high) = (low.trim_start_matches('0'), high.trim_start_matches('0'));
        if !text.ends_with(',') && (high.len(), high) < (low.len(), low) {
            return Err("numbers of a quantifier in reverse order".to_owned());
        }
        let _ = write!(self.rust, "{{{text}}}");
        self.rest.nth(length);
        Ok(())
    }

    /// An escape outside of a class.
    fn escape(&mut self) -> Result<(), String> {
        match self.rest.peek() {
            // Anchors, among them those of other dialects.
            Some(&anchor @ ('b' | 'B' | 'A' | 'z')) => {
                let _ = write!(self.rust, "\\{anchor}");
                self.rest.next();
            }
            Some(&digit @ '1'..='9') => {
                let _ = write!(self.rust, "\\{digit}");
                self.backtracks = true;
                self.rest.next();
            }
            Some('k') => {
                self.rust += r"\k";
                self.backtracks = true;
                self.rest.next();
            }
            _ => match self.atom_escape()? {
                Atom::Char(char) => push_char(&mut self.rust, char),
                Atom::Set(set) => {
                    let _ = write!(self.rust, "[{set}]");
                }
            },
        }
        Ok(())
    }

    /// A class after its `[`.
    fn class(&mut self) -> Result<(), String> {
        let is_negated = self.rest.next_if_eq(&'^').is_some();
        let mut class = String::new();
        while let Some(first) = self.class_atom()? {
            let mut after = self.rest.clone();
            let is_range =
                after.next() == Some('-') && after.next().is_some_and(|next| next != ']');
            if !is_range {
                push_atom(&mut class, first);
                continue;
            }
            self.rest.next();
            match (first, self.class_atom()?) {
                (Atom::Char(first), Some(Atom::Char(last))) if first <= last => {
                    push_char(&mut class, first);
                    class.push('-');
                    push_char(&mut class, last);
                }
                (Atom::Char(_), Some(Atom::Char(_))) => {
                    return Err("range of characters in reverse order".to_owned());
                }
                // A set of characters has no range; the hyphen is a literal.
                (first, last) => {
                    push_atom(&mut class, first);
                    push_char(&mut class, '-');
                    last.into_iter().for_each(|last| push_atom(&mut class, last));
                }
            }
        }
        let _ = match (is_negated, class.is_empty()) {
            (false, false) => write!(self.rust, "[{class}]"),
            (true, false) => write!(self.rust, "[^{class}]"),
            (false, true) => write!(self.rust, r"[^\s\S]"),
            (true, true) => write!(self.rust, r"[\s\S]"),
        };
        Ok(())
    }

    /// The next part of a class, none at its end.
    fn class_atom(&mut self) -> Result<Option<Atom>, String> {
        Ok(Some(match self.rest.next() {
            None => return Err("unclosed character class".to_owned()),
            Some(']') => return Ok(None),
            Some('\\') if self.rest.next_if_eq(&'b').is_some() => Atom::Char('\u{8}'),
            Some('\\') => self.atom_escape()?,
            Some(char) => Atom::Char(char),
        }))
    }

    /// An escape of characters, after the `\`.
    fn atom_escape(&mut self) -> Result<Atom, String> {
        let set = |set: &str| Ok(Atom::Set(set.to_owned()));
        let negated = |set: &str| Ok(Atom::Set(format!("[^{set}]")));
        let char = match self.rest.next() {
            None => return Err(r"`\` at the end".to_owned()),
            Some('d') => return set(DIGIT),
            Some('D') => return negated(DIGIT),
            Some('w') => return set(WORD),
            Some('W') => return negated(WORD),
            Some('s') => return set(SPACE),
            Some('S') => return negated(SPACE),
            Some(property @ ('p' | 'P')) => return self.property(property),
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\u{b}',
            Some('0') => '\0',
            Some('c') => match self.rest.next() {
                Some(letter) if letter.is_ascii_alphabetic() => char::from(letter as u8 % 32),
                _ => return Err(r"`\c` without a letter".to_owned()),
            },
            Some('x') => self.hexadecimal(2).and_then(char::from_u32).ok_or(r"invalid `\x`")?,
            Some('u') => self.code_point().ok_or(r"invalid `\u`")?,
            Some(other) if other.is_alphanumeric() => {
                return Err(format!(r"unknown escape `\{other}`"));
            }
            Some(other) => other,
        };
        Ok(Atom::Char(char))
    }

    /// `{Name}` after `\p`.
    fn property(&mut self, property: char) -> Result<Atom, String> {
        let mut name = String::new();
        if self.rest.next_if_eq(&'{').is_some() {
            while let Some(next) = self.rest.next_if(|next| *next != '}') {
                name.push(next);
            }
        }
        if name.is_empty() || self.rest.next().is_none() {
            return Err(format!(r"`\{property}` without the name of a property"));
        }
        Ok(Atom::Set(format!(r"\{property}{{{name}}}")))
    }

    /// The character of `\u`, which may be a pair of surrogates.
    fn code_point(&mut self) -> Option<char> {
        if self.rest.next_if_eq(&'{').is_some() {
            let mut code = 0_u32;
            while let Some(digit) = self.rest.next_if(char::is_ascii_hexdigit) {
                code = code.checked_mul(16)? + digit.to_digit(16)?;
            }
            self.rest.next_if_eq(&'}')?;
            return char::from_u32(code);
        }
        let high = self.hexadecimal(4)?;
        if !(0xD800..0xDC00).contains(&high) {
            return char::from_u32(high);
        }
        self.rest.next_if_eq(&'\\')?;
        self.rest.next_if_eq(&'u')?;
        let low = self.hexadecimal(4)?.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
        char::from_u32(0x10000 + ((high - 0xD800) << 10) + low)
    }

    fn hexadecimal(&mut self, digits: usize) -> Option<u32> {
        (0..digits).try_fold(0, |value, _| Some(value * 16 + self.rest.next()?.to_digit(16)?))
    }
}

fn push_atom(class: &mut String, atom: Atom) {
    match atom {
        Atom::Char(char) => push_char(class, char),
        Atom::Set(set) => *class += &set,
    }
}

/// Appends a literal character, in a class or outside.
fn push_char(rust: &mut String, char: char) {
    if char.is_alphanumeric() {
        rust.push(char);
    } else {
        let _ = write!(rust, r"\x{{{:x}}}", u32::from(char));
    }
}
