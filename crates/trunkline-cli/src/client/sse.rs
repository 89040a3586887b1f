use std::collections::VecDeque;
use std::mem::take;

/// Takes a `text/event-stream` apart, as the HTML standard's section 9.2.6 tells to.
///
/// Times to wait before one comes again are left out.
#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    /// A line feed right behind this carriage return belongs to it.
    after_return: bool,
    is_begun: bool,
    next: Event,
    complete: VecDeque<Event>,
}

/// One event.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// Empty for one of no name.
    pub(super) kind: String,
    /// What a client that comes again says that it has read; none if it stays as it was.
    pub(super) id: Option<String>,
    /// Empty if there is nothing but an id.
    pub(super) data: String,
}

impl Events {
    /// Takes the next bytes of the stream.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            let is_rest_of_end = byte == b'\n' && take(&mut self.after_return);
            self.after_return = byte == b'\r';
            match byte {
                _ if is_rest_of_end => {}
                b'\r' | b'\n' => self.end_line(),
                _ => self.line.push(byte),
            }
        }
    }

    /// The data of the next message that has come whole. Events of other types are left out.
    pub(super) fn next(&mut self) -> Option<String> {
        let is_message = |event: &Event| event.kind.is_empty() || event.kind == "message";
        let mut events = std::iter::from_fn(|| self.complete.pop_front());
        let found = events.find(|event| is_message(event) && !event.data.is_empty());
        found.map(|event| event.data)
    }

    /// The next event that has come whole.
    pub(super) fn next_event(&mut self) -> Option<Event> {
        self.complete.pop_front()
    }

    /// How many bytes there are of an event that has not come whole.
    pub(super) fn held(&self) -> usize {
        self.line.len() + self.next.data.len()
    }

    fn end_line(&mut self) {
        let line = take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        let line = if is_first { line.trim_start_matches('\u{feff}') } else { &line };
        if line.is_empty() {
            return self.end_event();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                self.next.data += value;
                self.next.data.push('\n');
            }
            "event" => value.clone_into(&mut self.next.kind),
            "id" if !value.contains('\0') => self.next.id = Some(value.to_owned()),
            // A comment has no name.
            _ => {}
        }
    }

    fn end_event(&mut self) {
        let mut event = take(&mut self.next);
        event.data.pop();
        if !event.data.is_empty() || event.id.is_some() {
            self.complete.push_back(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The events are the same wherever the stream is cut.
    #[track_caller]
    fn check(stream: &str, expected: &[&str]) {
        for size in 1..=stream.len() {
            let mut events = Events::default();
            stream.as_bytes().chunks(size).for_each(|chunk| events.push(chunk));
            let found: Vec<String> = std::iter::from_fn(|| events.next()).collect();
            assert_eq!(found, expected, "{stream:?} in pieces of {size}");
        }
    }

    #[test]
    fn streams() {
        check("data: a\n\n", &["a"]);
        check("data:a\r\rdata: b\r\n\r\ndata:  c\n\n", &["a", "b", " c"]);
        check("data: a\ndata: b\n\n", &["a\nb"]);
        check("\u{feff}data: a\n\n", &["a"]);
        check(": comment\n\nid: 1\nretry: 5\ndata: a\n\n", &["a"]);
        check("event: message\ndata: a\n\nevent: endpoint\ndata: /b\n\ndata: c\n\n", &["a", "c"]);
        check("id: 0\ndata:\n\ndata\n\ndata: a\n\n", &["a"]);
        check("data: cut off", &[]);
        check("data: cut off\n", &[]);
        check("dat: a\nDATA: b\n\n", &[]);
        check("data: ä\n\n", &["ä"]);
    }

    #[test]
    fn events_of_all_types() {
        let stream =
            "id: 1\n\nevent: entry\nid: 2\ndata: a\n\nevent: none\n\nid: cut off\ndata: b\n";
        let event = |kind: &str, id: &str, data: &str| Event {
            kind: kind.to_owned(),
            id: Some(id.to_owned()),
            data: data.to_owned(),
        };
        let mut events = Events::default();
        events.push(stream.as_bytes());
        let found: Vec<Event> = std::iter::from_fn(|| events.next_event()).collect();
        assert_eq!(found, [event("", "1", ""), event("entry", "2", "a")]);
        assert_eq!(events.held(), "b\n".len());
    }
}
