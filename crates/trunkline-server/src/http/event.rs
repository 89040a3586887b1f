//! Server-sent events, as the HTML standard's section 9.2 has them.

use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;

use trunkline_core::limits::{MemoryBudget, OutOfMemory, Reservation};

/// An event of an [`EventStream`](super::EventStream), or what clients are told between events.
///
/// Whatever is in it, it is read as this one event: line breaks in a text begin another line of its data,
/// and in a name or an id, line breaks and NUL are sent as spaces.
///
/// ```
/// # use trunkline::http::Event;
/// let event = Event::text("note", "one\ntwo").with_id("7");
/// assert_eq!(event.into_bytes(), "event: note\nid: 7\ndata: one\ndata: two\n\n");
/// ```
#[derive(Debug)]
pub struct Event {
    /// Its lines, without the empty one at the end.
    lines: Vec<u8>,
    /// Where the id is, or would be.
    id_at: usize,
    /// Where those of the data begin.
    data_at: usize,
    memory: Option<Reservation>,
}

impl Event {
    /// A text. Browsers tell it to listeners of `name`.
    #[must_use]
    pub fn text(name: &str, data: &str) -> Self {
        let mut event = Self::named(name, data.len());
        event.lines_of("data: ", data);
        event
    }

    /// A value as JSON, on one line.
    ///
    /// # Errors
    /// When it has no JSON, as maps with keys that are no strings.
    pub fn json(name: &str, value: &impl Serialize) -> serde_json::Result<Self> {
        Ok(Self::json_text(name, &serde_json::to_vec(value)?))
    }

    /// A JSON text, on one line: between tokens, where alone JSON has line breaks, any space will do.
    #[must_use]
    pub fn json_text(name: &str, json: &[u8]) -> Self {
        let mut event = Self::named(name, json.len());
        event.line("data: ", json);
        event
    }

    /// What clients pass over. It shows those between them and the server that the connection is in use.
    #[must_use]
    pub fn comment(text: &str) -> Self {
        let mut event = Self::empty(text.len());
        event.lines_of(": ", text);
        event.ends_here();
        event
    }

    /// After so long, clients whose connection broke shall come again.
    #[must_use]
    pub fn retry(after: Duration) -> Self {
        let mut event = Self::empty(0);
        event.line("retry: ", after.as_millis().to_string().as_bytes());
        event.ends_here();
        event
    }

    /// The same with this id, in the place of one that it may have: a client that comes again sends the last
    /// one that it has seen as `Last-Event-ID`.
    #[must_use]
    pub fn with_id(mut self, id: &str) -> Self {
        let mut line = Self::empty(id.len());
        line.line("id: ", id.as_bytes());
        let before = self.id_at..self.data_at;
        self.data_at = self.id_at + line.lines.len();
        self.lines.splice(before, line.lines);
        self
    }

    /// Keeps memory that is reserved for the event until it is written.
    #[must_use]
    pub fn reserved(mut self, memory: Reservation) -> Self {
        self.memory = Some(memory);
        self
    }

    /// Reserves memory for the event, if none is.
    pub(super) fn reserve(&mut self, budget: &MemoryBudget) -> Result<(), OutOfMemory> {
        if self.memory.is_none() {
            self.memory = Some(budget.reserve(self.lines.len())?);
        }
        Ok(())
    }

    /// As it is sent.
    #[must_use]
    pub fn into_bytes(mut self) -> Bytes {
        self.lines.push(b'\n');
        match self.memory {
            Some(memory) => memory.attach(self.lines),
            None => Bytes::from(self.lines),
        }
    }

    fn named(name: &str, data: usize) -> Self {
        let mut event = Self::empty(name.len() + data);
        event.line("event: ", name.as_bytes());
        event.ends_here();
        event
    }

    fn empty(len: usize) -> Self {
        /// The names of fields, the ends of lines, and an id.
        const AROUND: usize = 64;
        let lines = Vec::with_capacity(len + AROUND);
        Self { lines, id_at: 0, data_at: 0, memory: None }
    }

    /// What comes before an id and data is said.
    fn ends_here(&mut self) {
        self.id_at = self.lines.len();
        self.data_at = self.id_at;
    }

    /// One line, whatever is in the value.
    fn line(&mut self, field: &str, value: &[u8]) {
        let at = self.lines.len() + field.len();
        self.lines.extend_from_slice(field.as_bytes());
        self.lines.extend_from_slice(value);
        for byte in &mut self.lines[at..] {
            if matches!(byte, b'\n' | b'\r' | 0) {
                *byte = b' ';
            }
        }
        self.lines.push(b'\n');
    }

    /// A line for each one of the text.
    fn lines_of(&mut self, field: &str, text: &str) {
        // Each of the three ends a line; the first two together end one.
        for lines in text.split("\r\n") {
            for line in lines.split(['\r', '\n']) {
                self.lines.extend_from_slice(field.as_bytes());
                self.lines.extend_from_slice(line.as_bytes());
                self.lines.push(b'\n');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use serde_json::json;
    use serde_json::value::RawValue;

    use super::Event;

    #[track_caller]
    fn check(event: Event, expected: &str) {
        let sent = event.into_bytes();
        assert_eq!(std::str::from_utf8(&sent).unwrap(), expected);
    }

    #[test]
    fn texts() {
        let text = |data| Event::text("note", data);
        check(text("one"), "event: note\ndata: one\n\n");
        check(text(""), "event: note\ndata: \n\n");
        check(text(" ü\0 "), "event: note\ndata:  ü\0 \n\n");
        check(text("a\nb"), "event: note\ndata: a\ndata: b\n\n");
        check(text("a\rb"), "event: note\ndata: a\ndata: b\n\n");
        check(text("a\r\nb"), "event: note\ndata: a\ndata: b\n\n");
        check(text("a\n\rb"), "event: note\ndata: a\ndata: \ndata: b\n\n");
        check(text("a\r\r\nb"), "event: note\ndata: a\ndata: \ndata: b\n\n");
        check(text("a\n\n"), "event: note\ndata: a\ndata: \ndata: \n\n");
        check(text("a\n\nevent: b"), "event: note\ndata: a\ndata: \ndata: event: b\n\n");
    }

    #[test]
    fn json_is_on_one_line() {
        let json = |value| Event::json("note", &value).unwrap();
        check(json(json!({ "a": "b\nc" })), "event: note\ndata: {\"a\":\"b\\nc\"}\n\n");
        let raw = RawValue::from_string("{\"a\":\r\n1}".to_owned()).unwrap();
        check(Event::json("note", &raw).unwrap(), "event: note\ndata: {\"a\":  1}\n\n");
        check(Event::json_text("note", b"[1,\n2]"), "event: note\ndata: [1, 2]\n\n");
        Event::json("note", &BTreeMap::from([([1, 2], 3)])).unwrap_err();
    }

    #[test]
    fn names_and_ids_end_no_line() {
        check(Event::text("a\ndata: x\r\0", "b"), "event: a data: x  \ndata: b\n\n");
        check(Event::text("a", "b").with_id("1\n\n2"), "event: a\nid: 1  2\ndata: b\n\n");
        let twice = || Event::text("a", "b").with_id("12").with_id("3");
        check(twice(), "event: a\nid: 3\ndata: b\n\n");
        check(twice().with_id("45"), "event: a\nid: 45\ndata: b\n\n");
    }

    #[test]
    fn what_is_no_event() {
        check(Event::comment("still here"), ": still here\n\n");
        check(Event::comment("a\n\ndata: b"), ": a\n: \n: data: b\n\n");
        check(Event::comment("still here").with_id("1-7"), ": still here\nid: 1-7\n\n");
        check(Event::retry(Duration::from_secs(1)), "retry: 1000\n\n");
        check(Event::retry(Duration::from_secs(1)).with_id("0"), "retry: 1000\nid: 0\n\n");
    }
}
