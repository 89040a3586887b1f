use std::time::Duration;

use bytes::{Buf, BytesMut};
use memchr::memchr2;

/// A parser of `text/event-stream` (WHATWG HTML, section 9.2.6): bytes in, events out.
///
/// Lines end with LF, CR or CRLF. A byte order mark at the beginning, comments and unknown fields are skipped. As
/// the standard requires, an incomplete event at the end of the stream is discarded; to accept it, push
/// `b"\n\n"` at the end.
///
/// ```
/// # use trunkline::http::EventReader;
/// # fn main() -> Result<(), trunkline::http::EventTooLarge> {
/// let mut reader = EventReader::new(1 << 20);
/// reader.push(b"event: note\nid: 7\ndata: one\nda");
/// assert_eq!(reader.next_event()?, None);
/// reader.push(b"ta: two\n\n");
/// let event = reader.next_event()?.unwrap();
/// assert_eq!((&*event.name, &*event.data), ("note", "one\ntwo"));
/// assert_eq!(reader.last_event_id(), Some("7"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct EventReader {
    buffer: BytesMut,
    /// The number of bytes at the beginning of the buffer without a line end.
    scanned: usize,
    /// Whether the last line ended with CR: a following LF belongs to it.
    after_return: bool,
    has_begun: bool,
    name: String,
    /// The lines of data, each followed by LF.
    data: String,
    /// The id of the event that is being read.
    id: Option<String>,
    last_event_id: Option<String>,
    retry: Option<Duration>,
    max_bytes: usize,
}

/// An event returned by an [`EventReader`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageEvent {
    /// The type of the event. Default: `message`.
    pub name: String,
    /// The lines of data, joined by line feeds.
    pub data: String,
}

/// The error for an event that exceeds the limit of its [`EventReader`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("event exceeds {limit} bytes")]
#[non_exhaustive]
pub struct EventTooLarge {
    /// The limit, in bytes.
    pub limit: usize,
}

impl EventReader {
    /// Creates a reader that limits the data of each event, and each line, to `max_bytes` bytes.
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            scanned: 0,
            after_return: false,
            has_begun: false,
            name: String::new(),
            data: String::new(),
            id: None,
            last_event_id: None,
            retry: None,
            max_bytes,
        }
    }

    /// Adds the next bytes of the stream. They are held until [`next_event`](Self::next_event) reads them.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next complete event. `None` if more bytes are needed.
    ///
    /// # Errors
    /// When the event is too large. The rest of the stream cannot be read.
    pub fn next_event(&mut self) -> Result<Option<MessageEvent>, EventTooLarge> {
        while let Some(line) = self.next_line() {
            self.check_size(line.len())?;
            if !line.is_empty() {
                self.read_field(&String::from_utf8_lossy(&line));
            } else if let Some(event) = self.end_event() {
                return Ok(Some(event));
            }
        }
        self.check_size(self.buffer.len())?;
        Ok(None)
    }

    /// The last event id, for `Last-Event-ID`: `None` if the stream has not set an id, empty if it has reset it.
    #[must_use]
    pub fn last_event_id(&self) -> Option<&str> {
        self.last_event_id.as_deref()
    }

    /// The reconnection time requested by the server.
    #[must_use]
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// The next line, without its end.
    fn next_line(&mut self) -> Option<BytesMut> {
        if self.after_return && !self.buffer.is_empty() {
            self.after_return = false;
            if self.buffer.starts_with(b"\n") {
                self.buffer.advance(1);
            }
        }
        let Some(len) = memchr2(b'\r', b'\n', &self.buffer[self.scanned..]) else {
            self.scanned = self.buffer.len();
            return None;
        };
        let mut line = self.buffer.split_to(self.scanned + len);
        self.scanned = 0;
        self.after_return = self.buffer.get_u8() == b'\r';
        if !std::mem::replace(&mut self.has_begun, true) && line.starts_with(b"\xef\xbb\xbf") {
            line.advance(3);
        }
        Some(line)
    }

    fn check_size(&self, line: usize) -> Result<(), EventTooLarge> {
        let limit = self.max_bytes;
        if self.data.len().saturating_add(line) > limit {
            return Err(EventTooLarge { limit });
        }
        Ok(())
    }

    fn read_field(&mut self, line: &str) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                self.data.push_str(value);
                self.data.push('\n');
            }
            "event" => value.clone_into(&mut self.name),
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            "retry" if value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry = value.parse().ok().map(Duration::from_millis).or(self.retry);
            }
            // Comments have an empty field name.
            _ => {}
        }
    }

    /// Dispatches the event before an empty line. An event without data only sets the last id.
    fn end_event(&mut self) -> Option<MessageEvent> {
        let mut name = std::mem::take(&mut self.name);
        let mut data = std::mem::take(&mut self.data);
        self.last_event_id = self.id.take().or(self.last_event_id.take());
        data.pop()?;
        if name.is_empty() {
            "message".clone_into(&mut name);
        }
        Some(MessageEvent { name, data })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{EventReader, EventTooLarge};

    /// Checks the names and the data of the events, wherever the stream is cut.
    #[track_caller]
    fn check(stream: &str, expected: &[(&str, &str)]) {
        for size in 1..=stream.len() {
            let mut reader = EventReader::new(64);
            let mut found = Vec::new();
            for chunk in stream.as_bytes().chunks(size) {
                reader.push(chunk);
                while let Some(event) = reader.next_event().unwrap() {
                    found.push((event.name, event.data));
                }
            }
            let found: Vec<_> = found.iter().map(|(name, data)| (&**name, &**data)).collect();
            assert_eq!(found, expected, "{stream:?} in pieces of {size}");
        }
    }

    /// Checks the data of unnamed events.
    #[track_caller]
    fn check_data(stream: &str, expected: &[&str]) {
        let expected: Vec<_> = expected.iter().map(|&data| ("message", data)).collect();
        check(stream, &expected);
    }

    #[test]
    fn reads_data() {
        check_data("data: a\n\ndata: b\n\n", &["a", "b"]);
        check_data("data:a\r\rdata: b\r\n\r\ndata:  c\n\n", &["a", "b", " c"]);
        check_data("data: a\r\n\r\ndata:b\r\rdata: c\n\n", &["a", "b", "c"]);
        check_data("data: a\ndata: b\n\n", &["a\nb"]);
        check_data("data\n\ndata\ndata\n\ndata:\n\n", &["", "\n", ""]);
        check_data("data: ä\n\n", &["ä"]);
        check_data("\u{feff}data: a\n\n\u{feff}data: b\n\n", &["a"]);
        check_data("\n\n", &[]);
        check_data("data: cut off", &[]);
        check_data("data: cut off\n", &[]);
    }

    #[test]
    fn reads_fields() {
        check_data(": comment\n\nid: 1\nretry: 5\ndata: a\n\n", &["a"]);
        check_data("dat: a\nDATA: b\n\n", &[]);
        check("event: message\ndata: a\n\n", &[("message", "a")]);
        check(
            "event: endpoint\ndata: /b\n\nevent: none\n\ndata: c\n\n",
            &[("endpoint", "/b"), ("message", "c")],
        );
    }

    #[test]
    fn accepts_an_incomplete_event_after_two_line_feeds() {
        for end in ["data: a", "data: a\n", "data: a\r", "data: a\r\n", "data: a\n\n"] {
            check_data(&format!("{end}\n\n"), &["a"]);
        }
    }

    #[track_caller]
    fn check_id(stream: &str, expected: Option<&str>) {
        let mut reader = EventReader::new(64);
        reader.push(stream.as_bytes());
        while reader.next_event().unwrap().is_some() {}
        assert_eq!(reader.last_event_id(), expected, "{stream:?}");
    }

    #[test]
    fn reads_ids() {
        check_id("data: a\n\n", None);
        check_id("id: 1\n\n", Some("1"));
        check_id("id: 1\ndata: a\n\ndata: b\n\n", Some("1"));
        check_id("id: 1\n\nid\n\n", Some(""));
        check_id("id: 1\n\nid: 2\0\n\n", Some("1"));
        check_id("id: 1\n\nid: cut off\ndata: b\n", Some("1"));

        let mut reader = EventReader::new(64);
        reader.push(b"id: 1\ndata: a\n\nid: 2\ndata: b\n\n");
        reader.next_event().unwrap();
        assert_eq!(reader.last_event_id(), Some("1"), "the next event is not read yet");
    }

    #[track_caller]
    fn check_retry(stream: &str, expected: Option<u64>) {
        let mut reader = EventReader::new(64);
        reader.push(stream.as_bytes());
        reader.next_event().unwrap();
        assert_eq!(reader.retry(), expected.map(Duration::from_millis), "{stream:?}");
    }

    #[test]
    fn reads_retry_times() {
        check_retry("data: a\n\n", None);
        check_retry("retry: 1000\n", Some(1000));
        check_retry("retry: 5\nretry: +6\nretry: 1s\nretry\n", Some(5));
        check_retry("retry: 99999999999999999999\n", None);
    }

    #[track_caller]
    fn check_limit(stream: &str, is_accepted: bool) {
        for size in 1..=stream.len() {
            let mut reader = EventReader::new(10);
            let outcome = stream.as_bytes().chunks(size).try_for_each(|chunk| {
                reader.push(chunk);
                while reader.next_event()?.is_some() {}
                Ok(())
            });
            let expected = if is_accepted { Ok(()) } else { Err(EventTooLarge { limit: 10 }) };
            assert_eq!(outcome, expected, "{stream:?} in pieces of {size}");
        }
    }

    #[test]
    fn limits_the_size_of_events() {
        check_limit("data: 1234\n\ndata: 1234\n\n", true);
        check_limit("data:a\ndata:b\n\n", true);
        check_limit("data: 12345", false);
        check_limit("data: 12345\n\n", false);
        check_limit("data:1\ndata:2\ndata:3\ndata\n\n", true);
        check_limit("data:1\ndata:2\ndata:3\ndata:\n\n", false);
        check_limit(": a comment", false);
    }
}
