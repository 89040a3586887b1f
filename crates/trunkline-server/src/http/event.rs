//! Server-sent events (WHATWG HTML, section 9.2).

use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;

use trunkline_core::limits::{MemoryBudget, OutOfMemory, Reservation};

/// An event, comment or retry time of an [`EventStream`](super::EventStream).
///
/// The content cannot break the framing: line breaks in a text start another line of data; line breaks and NUL
/// in a name or an id are replaced with spaces.
///
/// ```
/// # use trunkline::http::Event;
/// let event = Event::text("note", "one\ntwo").with_id("7");
/// assert_eq!(event.into_bytes(), "event: note\nid: 7\ndata: one\ndata: two\n\n");
/// ```
#[derive(Debug)]
pub struct Event {
    /// The lines, without the empty line at the end.
    lines: Vec<u8>,
    /// The position of the id, or where it would be inserted.
    id_at: usize,
    /// The position of the data.
    data_at: usize,
    memory: Option<Reservation>,
}

impl Event {
    /// An event with a text. Browsers dispatch it to listeners of `name`.
    #[must_use]
    pub fn text(name: &str, data: &str) -> Self {
        let mut event = Self::named(name, data.len());
        event.lines_of("data: ", data);
        event
    }

    /// An event with a value as JSON, on one line.
    ///
    /// # Errors
    /// When the value cannot be serialised as JSON, for example a map with keys other than strings.
    pub fn json(name: &str, value: &impl Serialize) -> serde_json::Result<Self> {
        Ok(Self::json_text(name, &serde_json::to_vec(value)?))
    }

    /// An event with a JSON text, on one line. Line breaks between tokens are replaced with spaces.
    #[must_use]
    pub fn json_text(name: &str, json: &[u8]) -> Self {
        let mut event = Self::named(name, json.len());
        event.line("data: ", json);
        event
    }

    /// A comment, which clients ignore. It shows proxies that the connection is in use.
    #[must_use]
    pub fn comment(text: &str) -> Self {
        let mut event = Self::empty(text.len());
        event.lines_of(": ", text);
        event.set_positions();
        event
    }

    /// The time after which clients reconnect when the connection is lost.
    #[must_use]
    pub fn retry(after: Duration) -> Self {
        let mut event = Self::empty(0);
        event.line("retry: ", after.as_millis().to_string().as_bytes());
        event.set_positions();
        event
    }

    /// Sets the id, replacing an existing one. A client that reconnects sends the last id it has received as
    /// `Last-Event-ID`.
    #[must_use]
    pub fn with_id(mut self, id: &str) -> Self {
        let mut line = Self::empty(id.len());
        line.line("id: ", id.as_bytes());
        let before = self.id_at..self.data_at;
        self.data_at = self.id_at + line.lines.len();
        self.lines.splice(before, line.lines);
        self
    }

    /// Attaches a memory reservation, which is held until the event is written.
    #[must_use]
    pub fn with_reservation(mut self, memory: Reservation) -> Self {
        self.memory = Some(memory);
        self
    }

    /// Reserves memory for the event, unless it has a reservation.
    pub(super) fn reserve(&mut self, budget: &MemoryBudget) -> Result<(), OutOfMemory> {
        if self.memory.is_none() {
            self.memory = Some(budget.reserve(self.lines.len())?);
        }
        Ok(())
    }

    /// The encoded event.
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
        event.set_positions();
        event
    }

    fn empty(len: usize) -> Self {
        /// The space for field names, line ends and an id.
        const OVERHEAD: usize = 64;
        let lines = Vec::with_capacity(len + OVERHEAD);
        Self { lines, id_at: 0, data_at: 0, memory: None }
    }

    /// Sets the positions of the id and the data to the end of the lines.
    fn set_positions(&mut self) {
        self.id_at = self.lines.len();
        self.data_at = self.id_at;
    }

    /// Adds one line. Line breaks in the value are replaced with spaces.
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

    /// Adds a line for each line of the text.
    fn lines_of(&mut self, field: &str, text: &str) {
        // CR, LF and CRLF end a line.
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
    fn encodes_texts() {
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
    fn encodes_json_on_one_line() {
        let json = |value| Event::json("note", &value).unwrap();
        check(json(json!({ "a": "b\nc" })), "event: note\ndata: {\"a\":\"b\\nc\"}\n\n");
        let raw = RawValue::from_string("{\"a\":\r\n1}".to_owned()).unwrap();
        check(Event::json("note", &raw).unwrap(), "event: note\ndata: {\"a\":  1}\n\n");
        check(Event::json_text("note", b"[1,\n2]"), "event: note\ndata: [1, 2]\n\n");
        Event::json("note", &BTreeMap::from([([1, 2], 3)])).unwrap_err();
    }

    #[test]
    fn replaces_line_breaks_in_names_and_ids() {
        check(Event::text("a\ndata: x\r\0", "b"), "event: a data: x  \ndata: b\n\n");
        check(Event::text("a", "b").with_id("1\n\n2"), "event: a\nid: 1  2\ndata: b\n\n");
        let twice = || Event::text("a", "b").with_id("12").with_id("3");
        check(twice(), "event: a\nid: 3\ndata: b\n\n");
        check(twice().with_id("45"), "event: a\nid: 45\ndata: b\n\n");
    }

    #[test]
    fn encodes_comments_and_retry_times() {
        check(Event::comment("still here"), ": still here\n\n");
        check(Event::comment("a\n\ndata: b"), ": a\n: \n: data: b\n\n");
        check(Event::comment("still here").with_id("1-7"), ": still here\nid: 1-7\n\n");
        check(Event::retry(Duration::from_secs(1)), "retry: 1000\n\n");
        check(Event::retry(Duration::from_secs(1)).with_id("0"), "retry: 1000\nid: 0\n\n");
    }
}
