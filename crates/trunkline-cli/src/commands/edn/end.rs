//! Where documents may end, found while they arrive: each byte is looked at once. Whether they do end
//! there is for the readers to say.

use super::arguments::Format;

/// The search for the end of a document.
pub(super) struct End {
    format: Format,
    state: State,
    /// How many brackets are open.
    depth: usize,
    /// How many forms make the document, as far as is known: one, and one more for each `#_` and `^`.
    wanted: usize,
    /// Whether there is more of it than white space and comments.
    has_begun: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Between tokens.
    Between,
    /// In a number, a name or a literal.
    Token,
    /// In a name that is no form by itself: a tag, or the namespace of a map.
    Prefix,
    /// Behind `#:`.
    BeforeNamespace,
    /// Behind `#`.
    Hash,
    /// Behind the backslash of a character.
    Backslash,
    String,
    /// Behind a backslash in a string.
    Escape,
    Comment,
}

impl End {
    /// Of documents in a format.
    pub(super) fn of(format: Format) -> Self {
        Self { format, state: State::Between, depth: 0, wanted: 1, has_begun: false }
    }

    /// Whether a byte between documents is white space.
    pub(super) fn is_space(&self, byte: u8) -> bool {
        is_white(byte) || (byte == b',' && self.format == Format::Edn)
    }

    /// Goes on with these bytes: where behind them the document may end. All of them, if none.
    pub(super) fn find(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            if matches!(self.state, State::Token | State::Prefix) && self.ends_token(*byte) {
                // The byte is looked at once more, as what follows the token.
                let is_form = self.state == State::Token;
                self.state = State::Between;
                if is_form && self.ends_form() {
                    return Some(at);
                }
                continue;
            }
            at += 1;
            if self.passes(*byte) {
                return Some(at);
            }
        }
        None
    }

    fn ends_token(&self, byte: u8) -> bool {
        self.is_space(byte)
            || matches!(byte, b'"' | b'[' | b']' | b'{' | b'}')
            || match self.format {
                Format::Edn => matches!(byte, b'(' | b')' | b';' | b'^' | b'\\'),
                Format::Json => matches!(byte, b',' | b':'),
            }
    }

    /// Takes one byte, and tells whether the document may end behind it.
    fn passes(&mut self, byte: u8) -> bool {
        match self.state {
            State::Between => return self.begins(byte),
            State::Token | State::Prefix => {}
            State::BeforeNamespace if self.is_space(byte) => {}
            State::BeforeNamespace => self.state = State::Prefix,
            State::Hash => return self.dispatches(byte),
            State::Backslash => self.state = State::Token,
            State::String if byte == b'\\' => self.state = State::Escape,
            State::String if byte == b'"' => {
                self.state = State::Between;
                return self.ends_form();
            }
            State::String => {}
            State::Escape => self.state = State::String,
            State::Comment if matches!(byte, b'\n' | b'\r') => {
                self.state = State::Between;
                return !self.has_begun;
            }
            State::Comment => {}
        }
        false
    }

    /// What a byte between tokens begins.
    fn begins(&mut self, byte: u8) -> bool {
        let is_edn = self.format == Format::Edn;
        match byte {
            b';' if is_edn => {
                self.state = State::Comment;
                return false;
            }
            _ if self.is_space(byte) => return false,
            _ => self.has_begun = true,
        }
        match byte {
            b'"' => self.state = State::String,
            b'[' | b'{' => self.depth += 1,
            b'(' if is_edn => self.depth += 1,
            b']' | b'}' => return self.closes(),
            b')' if is_edn => return self.closes(),
            b'\\' if is_edn => self.state = State::Backslash,
            b'^' if is_edn => self.wants_another(),
            b'#' if is_edn => self.state = State::Hash,
            // Within arrays and objects they stand between values.
            b',' | b':' if !is_edn => return self.depth == 0 && self.ends_form(),
            _ => self.state = State::Token,
        }
        false
    }

    /// What a byte behind `#` begins.
    fn dispatches(&mut self, byte: u8) -> bool {
        self.state = State::Between;
        match byte {
            b'_' | b'^' => self.wants_another(),
            // A symbolic value follows.
            b'#' => {}
            b':' => self.state = State::BeforeNamespace,
            _ if byte.is_ascii_alphabetic() || !byte.is_ascii() => self.state = State::Prefix,
            _ => return self.begins(byte),
        }
        false
    }

    fn wants_another(&mut self) {
        if self.depth == 0 {
            self.wanted += 1;
        }
    }

    fn closes(&mut self) -> bool {
        self.depth = self.depth.saturating_sub(1);
        self.ends_form()
    }

    /// At the end of a form: whether that of the document is there.
    fn ends_form(&mut self) -> bool {
        if self.depth > 0 {
            return false;
        }
        self.wanted -= 1;
        if self.wanted > 0 {
            return false;
        }
        *self = Self::of(self.format);
        true
    }
}

/// White space of both formats, and what only EDN takes for it: no JSON has that between tokens.
fn is_white(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | 0x1c..=0x1f | b' ')
}
