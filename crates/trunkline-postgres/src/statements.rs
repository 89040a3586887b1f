//! The prepared statements of a connection, as the server sees them (`docs/decisions/0017-poolers.md`).
//!
//! The driver numbers its statements: `s0`, `s1`, … in each process. A connection pooler gives the same session of the
//! server to several processes, so that one would run what another has prepared under the same name. Therefore:
//!
//! * A random suffix makes the names those of one connection.
//! * In shared sessions, only the unnamed statement is used. Its text is sent again before it runs, unless it is still the
//!   one of the same transaction. The driver does not see the replies to that.
//!
//! The driver requests all values in the binary format, which not every type has. The columns that are to be texts are
//! requested as such in its place. It reads the labels of enums as UTF-8, which those of a database without an encoding
//! need not be: its query for them is replaced.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

/// The formats of the columns of a result, if they are not all binary. They apply to the next statement that runs.
#[derive(Debug, Default)]
pub(crate) struct ResultFormats(Mutex<Option<Vec<u8>>>);

/// The end of a message of the driver that runs a statement: one format, the binary one, for all columns.
const ALL_BINARY: [u8; 4] = [0, 1, 0, 1];

impl ResultFormats {
    /// Sets them until the returned value is dropped. `is_text` has an element for each column.
    pub(crate) fn set(&self, is_text: &[bool]) -> impl Drop + use<'_> {
        /// Removes them. The statement may not have been sent.
        struct Reset<'f>(&'f ResultFormats);
        impl Drop for Reset<'_> {
            fn drop(&mut self) {
                self.0.take();
            }
        }
        // A result has at most 1,664 columns.
        let count = u16::try_from(is_text.len()).unwrap_or(u16::MAX);
        let mut end = count.to_be_bytes().to_vec();
        for is_text in is_text.iter().take(usize::from(count)) {
            end.extend_from_slice(&u16::from(!is_text).to_be_bytes());
        }
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(end);
        Reset(self)
    }

    fn take(&self) -> Option<Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The query of the driver for the labels of an enum.
const LABELS: &[u8] =
    b"SELECT enumlabel\nFROM pg_catalog.pg_enum\nWHERE enumtypid = $1\nORDER BY enumsortorder\n";

/// The same with ASCII labels in a database without an encoding. The driver only shows them.
const SHOWN_LABELS: &[u8] = b"SELECT CASE pg_catalog.getdatabaseencoding() WHEN 'SQL_ASCII' \
    THEN pg_catalog.encode(pg_catalog.convert_to(enumlabel::text, 'SQL_ASCII'), 'escape') ELSE enumlabel::text END \
    FROM pg_catalog.pg_enum WHERE enumtypid = $1 ORDER BY enumsortorder";

/// Changes the messages of one client, and finds the replies that it must not see.
pub(crate) struct Statements {
    /// Random, with the characters of an identifier.
    suffix: String,
    /// Whether the first message, which has no type, has been read.
    has_started: bool,
    /// The beginning of a message: its type, its length, and the names and the query at the beginning of its body.
    head: Vec<u8>,
    /// Number of zero bytes in the body so far. Each ends a name or a query.
    names: usize,
    /// Number of bytes of the message to come, which are not changed.
    remaining: usize,
    /// The last bytes of the message, if they replace those of the driver.
    end: Option<Vec<u8>>,
    /// Whether the session is shared. Set between two messages of the client, and never removed.
    pub(crate) is_shared: bool,
    unnamed: Unnamed,
}

/// The statements of a client in shared sessions.
#[derive(Default)]
struct Unnamed {
    /// The text of a statement and the types of its parameters, as in the message that has prepared it.
    texts: HashMap<Vec<u8>, Vec<u8>>,
    /// The statement whose message is being read.
    incomplete: Option<Vec<u8>>,
    /// The statement that is the unnamed one of the session.
    current: Option<Vec<u8>>,
    /// The replies to come.
    replies: VecDeque<Reply>,
}

#[derive(Debug, PartialEq, Eq)]
enum Reply {
    /// To a statement that the client prepares.
    Parsed,
    /// To one that it has prepared before.
    ParsedAgain,
    /// The end of the replies to a group of messages.
    Ready,
}

/// Type and length.
const HEADER: usize = 5;

/// A suffix that no other connection has. Fails if the operating system has no random numbers.
pub(crate) fn random_suffix() -> Result<String, getrandom::Error> {
    let (high, low) = (getrandom::u64()?, getrandom::u64()?);
    // A name then has at most 54 of the 63 bytes that the server distinguishes.
    Ok(format!("_{high:016x}{low:016x}"))
}

/// Messages of the client.
impl Statements {
    pub(crate) fn new(suffix: String) -> Self {
        Self {
            suffix,
            has_started: false,
            head: Vec::new(),
            names: 0,
            remaining: 0,
            end: None,
            is_shared: false,
            unnamed: Unnamed::default(),
        }
    }

    /// Appends the next bytes of the client to those for the server.
    pub(crate) fn send(&mut self, mut bytes: &[u8], formats: &ResultFormats, output: &mut Vec<u8>) {
        while !bytes.is_empty() {
            if self.remaining > 0 {
                let (now, later) = bytes.split_at(self.remaining.min(bytes.len()));
                let replaced = if self.end.is_some() { ALL_BINARY.len() } else { 0 };
                let kept = now.len().min(self.remaining.saturating_sub(replaced));
                output.extend_from_slice(now.get(..kept).unwrap_or_default());
                self.remaining -= now.len();
                self.unnamed.remember(now, self.remaining == 0);
                if self.remaining == 0
                    && let Some(end) = self.end.take()
                {
                    output.extend_from_slice(&end);
                }
                bytes = later;
                continue;
            }
            let (now, later) = bytes.split_at(self.head_part(bytes));
            self.head.extend_from_slice(now);
            bytes = later;
            self.end_head(formats, output);
        }
    }

    /// Number of the next bytes that belong to the head: the missing ones of the type and the length, or those up to the end
    /// of a name.
    fn head_part(&self, bytes: &[u8]) -> usize {
        let part = match (usize::from(self.has_started) + 4).checked_sub(self.head.len()) {
            Some(missing @ 1..) => missing,
            _ => {
                let rest = self.rest();
                bytes.iter().take(rest).position(|byte| *byte == 0).map_or(rest, |end| end + 1)
            }
        };
        part.min(bytes.len())
    }

    /// Number of bytes that follow the head in its message.
    fn rest(&self) -> usize {
        let start = usize::from(self.has_started);
        let length = self.head.get(start..start + 4).and_then(|length| length.try_into().ok());
        // The length includes itself.
        let length = length.map_or(0, u32::from_be_bytes) as usize;
        length.saturating_sub(self.head.len() - start)
    }

    /// Writes the beginning of a message if it is complete.
    fn end_head(&mut self, formats: &ResultFormats, output: &mut Vec<u8>) {
        if self.head.len() < usize::from(self.has_started) + 4 {
            return;
        }
        let rest = self.rest();
        if self.has_started && self.head.len() > HEADER && self.head.last() == Some(&0) {
            self.names += 1;
        }
        let kind = if self.has_started { self.head[0] } else { 0 };
        if self.names < names(kind) && rest > 0 {
            return;
        }
        let query = self.take_query();
        let name = self.statement();
        if self.is_shared {
            self.unnamed.send(kind, name.as_deref(), output);
        }
        if let Some(name) = name {
            self.head.truncate(self.head.len() - name.len() - 1);
            let name =
                if self.is_shared { Vec::new() } else { [&name, self.suffix.as_bytes()].concat() };
            self.head.extend_from_slice(&name);
            self.head.push(0);
            if kind == b'B' && rest >= ALL_BINARY.len() {
                self.end = formats.take();
            }
            let end = self.end.as_ref().map_or(0, |end| end.len() - ALL_BINARY.len());
            // The message is in memory, so its length has four bytes.
            let length = self.head.len() - 1 + query.len() + rest + end;
            let length = u32::try_from(length).unwrap_or(u32::MAX);
            self.head[1..HEADER].copy_from_slice(&length.to_be_bytes());
        }
        self.head.extend_from_slice(&query);
        self.unnamed.remember(&query, false);
        output.append(&mut self.head);
        (self.has_started, self.names, self.remaining) = (true, 0, rest);
        self.unnamed.remember(&[], rest == 0);
    }

    /// Removes the query after the name of a statement from the head. Returns the one to send, with the zero byte at its
    /// end.
    fn take_query(&mut self) -> Vec<u8> {
        if self.names < 2 || self.head.first() != Some(&b'P') {
            return Vec::new();
        }
        let name = self.head.iter().skip(HEADER).position(|byte| *byte == 0);
        let query = self.head.split_off(HEADER + name.map_or(0, |end| end + 1));
        match query.strip_suffix(&[0]) {
            Some(LABELS) if name > Some(0) => [SHOWN_LABELS, &[0]].concat(),
            _ => query,
        }
    }

    /// The name of a statement at the end of the head, unless it is empty.
    fn statement(&self) -> Option<Vec<u8>> {
        let [kind, .., 0] = self.head.as_slice() else { return None };
        let names = match kind {
            b'P' | b'B' => self.head.get(HEADER..)?,
            b'C' | b'D' => self.head.get(HEADER..)?.strip_prefix(b"S")?,
            _ => return None,
        };
        let name = names.strip_suffix(&[0])?.rsplit(|byte| *byte == 0).next()?;
        (self.has_started && !name.is_empty()).then(|| name.to_vec())
    }
}

/// Messages of the server.
impl Statements {
    /// Whether the client must not see a message, which has no body.
    pub(crate) fn is_hidden(&mut self, kind: u8) -> bool {
        match kind {
            b'1' => self.unnamed.replies.pop_front() == Some(Reply::ParsedAgain),
            b'E' => {
                self.unnamed.current = None;
                false
            }
            _ => false,
        }
    }

    /// Notes the end of the replies to a group of messages. After an error, some are missing.
    pub(crate) fn note_ready(&mut self, status: u8) {
        let replies = &mut self.unnamed.replies;
        while replies.pop_front().is_some_and(|reply| reply != Reply::Ready) {}
        // The next message may be sent to another session.
        if status != b'T' {
            self.unnamed.current = None;
        }
    }
}

impl Unnamed {
    /// Sends what must precede a message with the name of a statement, and notes the replies to come.
    fn send(&mut self, kind: u8, name: Option<&[u8]>, output: &mut Vec<u8>) {
        match (kind, name) {
            (b'P', _) => {
                self.current = name.map(<[u8]>::to_vec);
                self.incomplete = self.current.clone();
                if let Some(name) = name {
                    self.texts.insert(name.to_vec(), Vec::new());
                }
                self.replies.push_back(Reply::Parsed);
            }
            (b'B' | b'D', Some(name)) if self.current.as_deref() != Some(name) => {
                let Some(text) = self.texts.get(name) else { return };
                let length = u32::try_from(text.len() + HEADER).unwrap_or(u32::MAX);
                output.push(b'P');
                output.extend_from_slice(&length.to_be_bytes());
                output.push(0);
                output.extend_from_slice(text);
                self.current = Some(name.to_vec());
                self.replies.push_back(Reply::ParsedAgain);
            }
            // It closes the unnamed one.
            (b'C', Some(name)) => {
                self.texts.remove(name);
                self.current = None;
            }
            // A simple query replaces the unnamed statement.
            (b'Q', _) => {
                self.current = None;
                self.replies.push_back(Reply::Ready);
            }
            (b'S' | b'F', _) => self.replies.push_back(Reply::Ready),
            _ => {}
        }
    }

    /// Keeps the next bytes of the message that prepares a statement.
    fn remember(&mut self, bytes: &[u8], is_end: bool) {
        if let Some(text) = self.incomplete.as_ref().and_then(|name| self.texts.get_mut(name)) {
            text.extend_from_slice(bytes);
        }
        if is_end {
            self.incomplete = None;
        }
    }
}

/// Number of texts at the beginning of a message: Close and Describe have the name of the statement, Parse has its query
/// after it, and Bind has the name of the portal before it.
fn names(kind: u8) -> usize {
    match kind {
        b'C' | b'D' => 1,
        b'P' | b'B' => 2,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::{ResultFormats, Statements, random_suffix};

    /// A message with its length.
    fn message(kind: &str, body: &str) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
        [kind.as_bytes(), &length, body.as_bytes()].concat()
    }

    fn messages(of: &[(&str, &str)]) -> Vec<u8> {
        of.iter().flat_map(|(kind, body)| message(kind, body)).collect()
    }

    const STARTUP: &str = "\0\x03\0\0user\0app\0\0";

    /// Sends messages in parts of any size. `#` is the suffix in the expected ones.
    #[track_caller]
    fn check(sent: &[(&str, &str)], expected: &[(&str, &str)]) {
        let sent = [message("", STARTUP), messages(sent)].concat();
        let expected: Vec<_> =
            expected.iter().map(|(kind, body)| (*kind, body.replace('#', "_07"))).collect();
        let expected: Vec<_> = expected.iter().map(|(kind, body)| (*kind, body.as_str())).collect();
        let expected = [message("", STARTUP), messages(&expected)].concat();
        for size in 1..=sent.len() {
            let mut statements = Statements::new("_07".to_owned());
            let mut output = Vec::new();
            sent.chunks(size)
                .for_each(|part| statements.send(part, &ResultFormats::default(), &mut output));
            assert_eq!(output, expected, "in parts of {size}");
        }
    }

    #[test]
    fn names_have_the_suffix() {
        check(
            &[("P", "s0\0SELECT 1\0\0\0"), ("D", "Ss0\0"), ("S", "")],
            &[("P", "s0#\0SELECT 1\0\0\0"), ("D", "Ss0#\0"), ("S", "")],
        );
        check(
            &[("B", "\0s12\0\0\0\0\0\0\0"), ("E", "\0\0\0\0\0"), ("C", "Ss12\0")],
            &[("B", "\0s12#\0\0\0\0\0\0\0"), ("E", "\0\0\0\0\0"), ("C", "Ss12#\0")],
        );
        check(&[("B", "p1\0s1\0\0\0\0\0\0\0")], &[("B", "p1\0s1#\0\0\0\0\0\0\0")]);
    }

    #[test]
    fn the_query_for_labels_is_replaced() {
        let labels =
            |query: &[u8]| format!("\0{}\0\0\0", String::from_utf8(query.to_vec()).unwrap());
        let (sent, shown) = (labels(super::LABELS), labels(super::SHOWN_LABELS));
        check(&[("P", &format!("s0{sent}"))], &[("P", &format!("s0#{shown}"))]);
        // Only the query of the driver, which is a named statement of the whole text.
        let others = sent.replace("ORDER BY", "AND true ORDER BY");
        check(&[("P", &format!("s0{others}"))], &[("P", &format!("s0#{others}"))]);
    }

    #[test]
    fn other_messages_are_not_changed() {
        for other in [
            ("P", "\0SELECT 's0'\0\0\0"),
            ("B", "\0\0\0\0\0\0\0\0"),
            ("B", "p1\0\0\0\0\0\0\0\0"),
            ("D", "S\0"),
            ("D", "Pp1\0"),
            ("C", "Pp1\0"),
            ("E", "\0\0\0\0\0"),
            ("Q", "DEALLOCATE s0\0"),
            ("S", ""),
            ("p", "s0\0"),
            ("d", "s0\0"),
            ("X", ""),
            // Invalid ones: the server reports them.
            ("P", "s0"),
            ("D", ""),
        ] {
            check(&[other, ("P", "s1\0\0\0\0")], &[other, ("P", "s1#\0\0\0\0")]);
        }
    }

    /// Two of three columns are requested as text, in messages that arrive in parts of any size.
    #[test]
    fn formats_apply_to_one_statement() {
        const NAMED: (&str, &str) = ("B", "\0s1\0\0\x01\0\0\0\x01\0\0\0\x01x\0\x01\0\x01");
        let next = [("E", "\0\0\0\0\0"), ("S", ""), NAMED];
        let unnamed = [("Q", "BEGIN\0"), ("B", "\0\0\0\0\0\0\0\x01\0\x01")];
        let binary = "\0s1_07\0\0\x01\0\0\0\x01\0\0\0\x01x\0\x01\0\x01";
        let text = "\0s1_07\0\0\x01\0\0\0\x01\0\0\0\x01x\0\x03\0\0\0\x01\0\0";
        let sent = messages(&[&unnamed[..], &[NAMED], &next].concat());
        let ends = [("E", "\0\0\0\0\0"), ("S", ""), ("B", binary)];
        let expected = messages(&[&unnamed[..], &[("B", text)], &ends].concat());
        for size in 1..=sent.len() {
            let mut statements = Statements::new("_07".to_owned());
            let formats = ResultFormats::default();
            statements.send(&message("", STARTUP), &formats, &mut Vec::new());
            let set = formats.set(&[true, false, true]);
            let mut output = Vec::new();
            sent.chunks(size).for_each(|part| statements.send(part, &formats, &mut output));
            assert_eq!(output, expected, "in parts of {size}");
            drop(set);
        }
        let formats = ResultFormats::default();
        drop(formats.set(&[true]));
        assert_eq!(formats.take(), None);
    }

    #[test]
    fn suffixes_of_connections_differ() {
        let [one, other] = [random_suffix().unwrap(), random_suffix().unwrap()];
        assert_ne!(one, other);
        assert_eq!(one.len(), 33);
    }

    /// A step of a connection with shared sessions.
    #[derive(Clone, Copy)]
    enum Step<'s> {
        /// Messages of the client, and those that the server receives.
        Send(&'s [(&'s str, &'s str)], &'s [(&'s str, &'s str)]),
        /// The types of messages of the server, of which those that the client does not see are in parentheses. `I`, `T`
        /// and `X` are the end of the replies with the state of the transaction (`X` is a failed one).
        Receive(&'s str),
    }
    use Step::{Receive, Send};

    #[track_caller]
    fn check_shared(steps: &[Step<'_>]) {
        for size in 1..40 {
            let mut statements = Statements::new("_07".to_owned());
            statements.send(&message("", STARTUP), &ResultFormats::default(), &mut Vec::new());
            statements.is_shared = true;
            for (number, step) in steps.iter().enumerate() {
                match step {
                    Send(sent, expected) => {
                        let mut output = Vec::new();
                        let sent = messages(sent);
                        sent.chunks(size).for_each(|part| {
                            statements.send(part, &ResultFormats::default(), &mut output);
                        });
                        assert_eq!(output, messages(expected), "step {number}, parts of {size}");
                    }
                    Receive(kinds) => {
                        let mut is_hidden = false;
                        for kind in kinds.bytes() {
                            match kind {
                                b'(' | b')' => is_hidden = kind == b'(',
                                b'I' | b'T' => statements.note_ready(kind),
                                b'X' => statements.note_ready(b'E'),
                                _ => {
                                    let found = statements.is_hidden(kind);
                                    assert_eq!(found, is_hidden, "step {number}: {}", kind as char);
                                }
                            }
                        }
                    }
                }
            }
            assert!(statements.unnamed.replies.is_empty(), "{:?}", statements.unnamed.replies);
        }
    }

    const BEGIN: Step<'_> = Send(&[("Q", "BEGIN\0")], &[("Q", "BEGIN\0")]);
    const PREPARE: Step<'_> = Send(
        &[("P", "s0\0SELECT 1\0\0\0"), ("D", "Ss0\0"), ("S", "")],
        &[("P", "\0SELECT 1\0\0\0"), ("D", "S\0"), ("S", "")],
    );
    const RUN: &[(&str, &str)] = &[("B", "\0s0\0\0\0\0\0\0\0"), ("E", "\0\0\0\0\0"), ("S", "")];
    const RUN_CURRENT: &[(&str, &str)] =
        &[("B", "\0\0\0\0\0\0\0\0"), ("E", "\0\0\0\0\0"), ("S", "")];
    const RUN_AGAIN: &[(&str, &str)] =
        &[("P", "\0SELECT 1\0\0\0"), ("B", "\0\0\0\0\0\0\0\0"), ("E", "\0\0\0\0\0"), ("S", "")];

    #[test]
    fn shared_sessions_have_unnamed_statements() {
        let other = Send(
            &[("P", "s1\0SELECT 2\0\0\0"), ("D", "Ss1\0"), ("S", "")],
            &[("P", "\0SELECT 2\0\0\0"), ("D", "S\0"), ("S", "")],
        );
        let typed =
            Send(&[("P", "\0SELECT 3\0\0\0"), ("S", "")], &[("P", "\0SELECT 3\0\0\0"), ("S", "")]);
        let close = Send(&[("C", "Ss1\0"), ("S", "")], &[("C", "S\0"), ("S", "")]);
        // In the transaction that has prepared it, unless something else has become the unnamed statement.
        check_shared(&[
            BEGIN,
            Receive("CT"),
            PREPARE,
            Receive("1tTT"),
            Send(RUN, RUN_CURRENT),
            Receive("2DCT"),
            Send(RUN, RUN_CURRENT),
            Receive("2DCT"),
            BEGIN,
            Receive("CT"),
            Send(RUN, RUN_AGAIN),
            Receive("(1)2DCT"),
            other,
            Receive("1tTT"),
            Send(RUN, RUN_AGAIN),
            Receive("(1)2DCT"),
            typed,
            Receive("1T"),
            Send(RUN, RUN_AGAIN),
            Receive("(1)2DCT"),
            close,
            Receive("3T"),
            Send(RUN, RUN_AGAIN),
            Receive("(1)2DCT"),
        ]);
        // In another transaction, which may be in another session.
        check_shared(&[
            PREPARE,
            Receive("1tTI"),
            Send(RUN, RUN_AGAIN),
            Receive("(1)2DCI"),
            BEGIN,
            Receive("CT"),
            Send(RUN, RUN_AGAIN),
            Receive("(1)2DCT"),
            Send(RUN, RUN_CURRENT),
            Receive("2DCT"),
        ]);
    }

    #[test]
    fn errors_in_shared_sessions() {
        let typed =
            Send(&[("P", "\0SELECT 3\0\0\0"), ("S", "")], &[("P", "\0SELECT 3\0\0\0"), ("S", "")]);
        // The statement does not exist any more in its text, and other replies follow in the same group.
        check_shared(&[
            PREPARE,
            Receive("1tTI"),
            Send(RUN, RUN_AGAIN),
            typed,
            Receive("EI1I"),
            Send(RUN, RUN_AGAIN),
            typed,
            Receive("(1)2EI1I"),
        ]);
        check_shared(&[
            BEGIN,
            Receive("CT"),
            PREPARE,
            Receive("EX"),
            Send(RUN, RUN_AGAIN),
            Receive("EX"),
            BEGIN,
            Receive("EX"),
        ]);
    }
}
