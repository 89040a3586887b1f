//! The id of a message that is refused before it is parsed.
//!
//! A client that receives an error without an id cannot assign it, and waits for its timeout. Protocols whose error
//! responses may have the id of a message that is not valid JSON find it here. The replies of JSON-RPC have the id
//! `null` instead (JSON-RPC 2.0, section 5).

use bytes::Bytes;

use crate::envelope::{Kind, Scanner};
use crate::id::Id;

/// The id of a message that was not parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnreadId {
    /// The message has a member `method`: it is a request.
    Request(Id),
    /// The message has a member `result` or `error`: it is a response to the server, and an error with its id could be
    /// mistaken for the response to another request of the client.
    Response(Id),
}

/// A tolerant scanner for the id of a message. It takes the text in any parts, in linear time, and keeps at most
/// [1 KiB](Self::MAX_ID) of it.
///
/// The id counts if it is unambiguous: the message is one object that has one member `id`, a valid string or number, and
/// either `method`, or `result` or `error`. Nested members do not count. The scanner accepts the defects that do not
/// change the structure: bytes that are not UTF-8, control characters and invalid escapes in strings, values such as
/// `NaN`, a comma before a closing bracket, any depth, and a missing end. After another defect, the id does not count.
#[derive(Debug, Default)]
pub struct IdScanner {
    state: State,
    /// The number of open arrays and objects.
    depth: u64,
    /// Whether a value precedes, so that a comma or a closing bracket follows.
    has_value: bool,
    /// The expected part of a member of the message.
    part: Part,
    name: Name,
    /// The text of the current name or id.
    token: Vec<u8>,
    id: FoundId,
    has_method: bool,
    has_outcome: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the message.
    #[default]
    Start,
    /// Between the tokens of the message.
    Between,
    String {
        is_escaped: bool,
    },
    /// In a number, a literal or an invalid word.
    Word,
    /// After the message.
    Ended,
    /// The structure is invalid.
    Broken,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Part {
    #[default]
    Name,
    Colon,
    Value,
    Comma,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Name {
    Id,
    #[default]
    Other,
}

#[derive(Debug, Default)]
enum FoundId {
    #[default]
    None,
    Valid(Id),
    /// There are several, or it is neither a string nor a number.
    Ambiguous,
}

impl IdScanner {
    /// The maximum length of an id in bytes. A longer one is not found.
    pub const MAX_ID: usize = 1 << 10;

    /// The id of a message in this text.
    #[must_use]
    pub fn find(text: &[u8]) -> Option<UnreadId> {
        let mut scanner = Self::default();
        scanner.scan(text);
        scanner.finish()
    }

    /// Scans the next part of a message.
    pub fn scan(&mut self, text: &[u8]) {
        for byte in text {
            if self.state == State::Broken {
                return;
            }
            self.step(*byte);
        }
    }

    /// The id, at the end of the message or of the part that was read.
    #[must_use]
    pub fn finish(self) -> Option<UnreadId> {
        let (FoundId::Valid(id), false) = (self.id, self.state == State::Broken) else {
            return None;
        };
        match (self.has_method, self.has_outcome) {
            (true, false) => Some(UnreadId::Request(id)),
            (false, true) => Some(UnreadId::Response(id)),
            _ => None,
        }
    }

    fn step(&mut self, byte: u8) {
        match self.state {
            State::Start => match byte {
                b'{' => self.open(),
                _ if is_space(byte) => {}
                // A byte-order mark.
                0xEF | 0xBB | 0xBF => {}
                _ => self.state = State::Broken,
            },
            State::Between => self.step_between(byte),
            State::String { is_escaped } => {
                self.keep(byte);
                match byte {
                    b'"' if !is_escaped => self.end_token(),
                    _ => self.state = State::String { is_escaped: byte == b'\\' && !is_escaped },
                }
            }
            State::Word if is_word(byte) => self.keep(byte),
            State::Word => {
                self.end_token();
                self.step_between(byte);
            }
            State::Ended if is_space(byte) => {}
            State::Ended | State::Broken => self.state = State::Broken,
        }
    }

    fn step_between(&mut self, byte: u8) {
        let is_member = self.depth == 1;
        match byte {
            _ if is_space(byte) => {}
            b',' if self.has_value && (!is_member || self.part == Part::Comma) => {
                (self.has_value, self.part) = (false, Part::Name);
            }
            // In a nested array, a colon is accepted, too.
            b':' if self.has_value && (!is_member || self.part == Part::Colon) => {
                (self.has_value, self.part) = (false, Part::Value);
            }
            b'}' if is_member && matches!(self.part, Part::Name | Part::Comma) => {
                self.state = State::Ended;
            }
            b'}' | b']' if !is_member => {
                self.depth -= 1;
                self.has_value = true;
                if self.depth == 1 {
                    self.end_member();
                }
            }
            _ if self.has_value => self.state = State::Broken,
            b'{' | b'[' if !is_member || self.part == Part::Value => self.open(),
            b'"' => self.begin_token(State::String { is_escaped: false }, byte),
            _ if is_word(byte) && (!is_member || self.part == Part::Value) => {
                self.begin_token(State::Word, byte);
            }
            _ => self.state = State::Broken,
        }
    }

    /// Enters an array or object.
    fn open(&mut self) {
        self.token.clear();
        self.state = State::Between;
        self.has_value = false;
        self.depth += 1;
    }

    fn begin_token(&mut self, state: State, byte: u8) {
        self.state = state;
        self.token.clear();
        self.keep(byte);
    }

    /// Keeps a byte of a name or an id.
    fn keep(&mut self, byte: u8) {
        let is_kept = self.depth == 1 && (self.part == Part::Name || self.name == Name::Id);
        // One byte more shows that the token is too long.
        if is_kept && self.token.len() <= Self::MAX_ID {
            self.token.push(byte);
        }
    }

    fn end_token(&mut self) {
        self.state = State::Between;
        self.has_value = true;
        match self.part {
            _ if self.depth > 1 => {}
            Part::Name => self.end_name(),
            _ => self.end_member(),
        }
    }

    fn end_name(&mut self) {
        self.part = Part::Colon;
        self.name = Name::Other;
        // Escaped spellings are the same name. One that is not valid is another name.
        match serde_json::from_slice::<String>(&self.token).as_deref() {
            Ok("id") => self.name = Name::Id,
            Ok("method") => self.has_method = true,
            Ok("result" | "error") => self.has_outcome = true,
            _ => {}
        }
    }

    /// Ends the value of a member of the message.
    fn end_member(&mut self) {
        self.part = Part::Comma;
        if self.name == Name::Id {
            let valid = valid_id(&self.token).filter(|_| matches!(self.id, FoundId::None));
            self.id = valid.map_or(FoundId::Ambiguous, FoundId::Valid);
        }
        self.name = Name::Other;
    }
}

/// The id with this text. An array or object has none.
fn valid_id(text: &[u8]) -> Option<Id> {
    if text.len() > IdScanner::MAX_ID || std::str::from_utf8(text).is_err() {
        return None;
    }
    let mut scanner = Scanner::new(text, 0);
    let (kind, _) = scanner.value().ok()?;
    let is_id = matches!(kind, Kind::String { .. } | Kind::Number) && scanner.finish().is_ok();
    is_id.then(|| Id::from_raw(Bytes::copy_from_slice(text)))
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

/// Whether a byte belongs to a number or a literal, also an invalid one, such as `-Infinity`.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_')
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::{Index, select};

    use super::{IdScanner, UnreadId};
    use crate::envelope::{Message, parse};

    /// `expected` is `#id` for a request, `=id` for a response, and empty without an id.
    #[track_caller]
    fn check(text: impl AsRef<[u8]>, expected: &str) {
        let text = text.as_ref();
        assert_eq!(show(IdScanner::find(text)), expected, "{}", String::from_utf8_lossy(text));
    }

    fn show(id: Option<UnreadId>) -> String {
        match id {
            Some(UnreadId::Request(id)) => format!("#{id}"),
            Some(UnreadId::Response(id)) => format!("={id}"),
            None => String::new(),
        }
    }

    /// A request with this text as an argument, and its id at each position.
    #[track_caller]
    fn check_argument(argument: impl AsRef<[u8]>, expected: &str) {
        for (before, after) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"id":1,"a":"#, "}}"),
            (r#"{"method":"m","params":{"id":1,"a":"#, r#"},"jsonrpc":"2.0","id":7}"#),
            ("\u{feff} {\r\n\"id\" :\t7 , \"method\":\"m\",\"params\":[", "]}\r\n"),
        ] {
            check([before.as_bytes(), argument.as_ref(), after.as_bytes()].concat(), expected);
        }
    }

    #[test]
    fn defects_of_values_do_not_hide_the_id() {
        for argument in [
            "1",
            r#""\ud83d""#,
            r#""\ude00\ud83d""#,
            r#""\x41\u12""#,
            "\"a\tb\u{0}\u{1f}\"",
            "NaN",
            "[-Infinity, +1, .5, 0x1F, undefined, True]",
            "[1,2,]",
            "{\"a\":1,}",
            r#""}],{\"id\":9,""#,
            r#""\\""#,
            "{\"id\":2,\"id\":3,\"method\":{\"id\":4}}",
        ] {
            check_argument(argument, "#7");
        }
        check_argument(b"\"a\x97b\xff\"", "#7");
        check_argument(b"{\"\xe9\":1}", "#7");
        check_argument("[".repeat(200) + &"]".repeat(200), "#7");
        check_argument("[".repeat(100_000) + &"]".repeat(100_000), "#7");
        check_argument(format!("\"{}\"", "x".repeat(100_000)), "#7");
    }

    #[test]
    fn an_ambiguous_structure_has_no_id() {
        for argument in
            [r#""say "hi"""#, "'a'", "1 2", "\"a\" \"b\"", "// a\n1", "\u{a0}1", "{,}", "]", "}"]
        {
            check_argument(argument, "");
        }
        for text in [
            "",
            " ",
            "\u{feff}",
            "7",
            "\"id\"",
            r#"[{"jsonrpc":"2.0","id":7,"method":"m"}]"#,
            r#"{"id":7,"method":"m"}{"id":8,"method":"m"}"#,
            r#"{"id":7,"method":"m"}}"#,
            r#"{"id":7,"method":"m"},"#,
            r#"x{"id":7,"method":"m"}"#,
            r#"{"id":7,"method":"m","id":7}"#,
            r#"{"id":7,"method":"m","\u0069d":8}"#,
            r#"{"id":7 "method":"m"}"#,
            r#"{"id",7,"method":"m"}"#,
            r#"{id:7,"method":"m"}"#,
            r#"{"id":7]"#,
            r#"{"id":}"#,
            r#"{"id":7,"method":"m","x"}"#,
            r#"{"id":7,"method":"m",:1}"#,
            "{\"id\":7,\u{b}\"method\":\"m\"}",
        ] {
            check(text, "");
        }
        // UTF-16.
        let wide: Vec<u8> = r#"{"id":7,"method":"m"}"#.bytes().flat_map(|byte| [byte, 0]).collect();
        check(wide, "");
    }

    #[test]
    fn ids_are_strings_and_numbers_of_limited_length() {
        let with = |id: &str| format!("{{\"id\":{id},\"method\":\"m\",\"x\":NaN}}");
        for id in ["0", "-7", "1.5", "1e400", "\"\"", "\"a\"", r#""\u00e9\/""#, "\"é\"", "\"7\""] {
            check(with(id), &format!("#{id}"));
        }
        for id in
            ["null", "true", "[7]", "{}", "NaN", "07", "-", r#""\ud83d""#, "\"\t\"", "\"\\x\""]
        {
            check(with(id), "");
        }
        check(b"{\"id\":\"\xff\",\"method\":\"m\"}", "");
        let long = |length: usize| format!("\"{}\"", "i".repeat(length - 2));
        check(with(&long(IdScanner::MAX_ID)), &format!("#{}", long(IdScanner::MAX_ID)));
        check(with(&long(IdScanner::MAX_ID + 1)), "");
        check(with(&long(100_000)), "");
        check(r#"{"\u0069\u0064":7,"m\u0065thod":"m","x":NaN}"#, "#7");
    }

    #[test]
    fn requests_differ_from_responses() {
        check(r#"{"id":7,"result":{"a":"\ud83d"}}"#, "=7");
        check(r#"{"error":{"code":1,"message":"\ud83d"},"id":"a"}"#, "=\"a\"");
        check(r#"{"id":7,"method":"m","result":"\ud83d"}"#, "");
        check(r#"{"id":7,"params":"\ud83d"}"#, "");
        check(r#"{"method":"m","params":"\ud83d"}"#, "");
    }

    #[test]
    fn a_part_of_a_message_has_the_id_that_it_contains() {
        let text = r#"{"jsonrpc":"2.0","id":77,"method":"m","params":{"a":[1,"x"]}}"#;
        for end in 0..=text.len() {
            let has_method = end >= text.find(":\"m\"").unwrap();
            check(&text[..end], if has_method { "#77" } else { "" });
        }
        check(r#"{"method":"m","id":7"#, "");
        check(r#"{"method":"m","id":"a"#, "");
        check(r#"{"method":"m","id":"a""#, "#\"a\"");
    }

    /// A message, with defects that do not change its structure or with changed bytes.
    fn texts() -> impl Strategy<Value = Vec<u8>> {
        let values =
            ["1", "null", "\"\\ud83d\"", "[{}]", "{\"id\":1}", "NaN", "\"a\\\"b\"", "\"\u{1}\""];
        let member =
            (select(vec!["id", "method", "params", "result", "\\u0069d"]), select(values.to_vec()));
        let member = member.prop_map(|(name, value)| format!("\"{name}\":{value}"));
        let object = vec(member, 0..6).prop_map(|members| format!("{{{}}}", members.join(",")));
        let bytes = select(b"\"\\{}[]:,x1 \n\xff\xef".to_vec());
        (object, vec((any::<Index>(), bytes), 0..3)).prop_map(|(object, changes)| {
            let mut text = object.into_bytes();
            for (index, byte) in changes {
                let at = index.index(text.len());
                text[at] = byte;
            }
            text
        })
    }

    fn in_parts(text: &[u8], size: usize) -> Option<UnreadId> {
        let mut scanner = IdScanner::default();
        text.chunks(size).for_each(|part| scanner.scan(part));
        scanner.finish()
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_parts(text in vec(any::<u8>(), 0..200), size in 1_usize..9) {
            prop_assert_eq!(in_parts(&text, size), IdScanner::find(&text));
        }

        /// The id of a message that can be parsed is that of the parser.
        #[test]
        fn agrees_with_the_parser(text in texts(), size in 1_usize..9) {
            let found = IdScanner::find(&text);
            prop_assert_eq!(&in_parts(&text, size), &found);
            let Ok(Message::Single(entry)) = parse(&text, usize::MAX, 1) else { return Ok(()) };
            let known = match &entry {
                Ok(request) => request.id,
                Err(invalid) => invalid.id,
            };
            let known = known.map(|span| span.of(&text)).filter(|id| *id != b"null");
            let value: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
            let has = |name| value.get(name).is_some();
            let has_kind = has("method") != (has("result") || has("error"));
            let expected = known.filter(|_| has_kind);
            let found = found.map(|(UnreadId::Request(id) | UnreadId::Response(id))| id);
            prop_assert_eq!(found.as_ref().map(|id| id.as_raw().as_bytes()), expected);
        }
    }
}
