use std::collections::VecDeque;
use std::mem::take;

/// Takes a `text/event-stream` apart, as the HTML standard's section 9.2.6 tells to.
///
/// Of an event, only its data counts here; what is not of type `message` is left out.
#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    /// A line feed right behind this carriage return belongs to it.
    after_return: bool,
    is_begun: bool,
    data: String,
    kind: String,
    complete: VecDeque<String>,
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

    /// The data of the next event that has come whole.
    pub(super) fn next(&mut self) -> Option<String> {
        self.complete.pop_front()
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
                self.data += value;
                self.data.push('\n');
            }
            "event" => value.clone_into(&mut self.kind),
            // A comment has no name; ids and times to wait are for streams that can be resumed.
            _ => {}
        }
    }

    fn end_event(&mut self) {
        let mut data = take(&mut self.data);
        let kind = take(&mut self.kind);
        data.pop();
        if !data.is_empty() && (kind.is_empty() || kind == "message") {
            self.complete.push_back(data);
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
}
