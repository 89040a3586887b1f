//! Events of a stream (WHATWG HTML, section 9.2.6): of each, its data.

use std::collections::VecDeque;

/// Splits bytes into events. It holds what has come of one event, at most: who feeds it bounds the stream.
#[derive(Debug, Default)]
pub(super) struct Parser {
    line: Vec<u8>,
    data: Option<String>,
    /// The last line ended with a carriage return, which a line feed may belong to.
    after_return: bool,
    ready: VecDeque<String>,
}

impl Parser {
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            let after_return = std::mem::replace(&mut self.after_return, byte == b'\r');
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => self.end_line(),
                byte => self.line.push(byte),
            }
        }
    }

    /// The stream has ended. An event without an empty line behind it counts: servers forget it.
    pub(super) fn end(&mut self) {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.ready.extend(self.data.take());
    }

    /// The data of the next event.
    pub(super) fn next(&mut self) -> Option<String> {
        self.ready.pop_front()
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            self.ready.extend(self.data.take());
            return;
        }
        // Comments, names and ids say nothing here.
        let Some(value) = line.strip_prefix(b"data:") else { return };
        let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
        match &mut self.data {
            Some(data) => {
                data.push('\n');
                data.push_str(&value);
            }
            None => self.data = Some(value.into_owned()),
        }
    }
}

/// Whether a body that begins so is a stream, whatever its media type: some servers call it a plain text.
pub(super) fn is_stream(beginning: &[u8]) -> bool {
    const FIELDS: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
    let beginning = beginning.trim_ascii_start();
    FIELDS.into_iter().any(|field| beginning.starts_with(field))
}

#[cfg(test)]
mod tests {
    use super::Parser;

    /// Whatever the pieces are that it comes in.
    #[track_caller]
    fn check(stream: &str, expected: &[&str]) {
        for size in 1..=stream.len() {
            let mut parser = Parser::default();
            stream.as_bytes().chunks(size).for_each(|piece| parser.feed(piece));
            parser.end();
            let found: Vec<_> = std::iter::from_fn(|| parser.next()).collect();
            assert_eq!(found, expected, "{stream:?} in pieces of {size}");
        }
    }

    #[test]
    fn streams() {
        check("data: a\n\ndata: b\n\n", &["a", "b"]);
        check("data: a\r\n\r\ndata:b\r\rdata: c\n\n", &["a", "b", "c"]);
        check(": ping\n\nevent: x\nid: 1\ndata: é\n\n", &["é"]);
        check("data: a\ndata: b\n\n", &["a\nb"]);
        check("data: a", &["a"]);
        check("\n\n", &[]);
    }
}
