use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::ReadBuf;

use super::*;

/// A reader that returns its bytes in pieces of a fixed size.
struct Pieces<'a>(&'a [u8], usize);

impl AsyncRead for Pieces<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let (piece, rest) = self.0.split_at(self.0.len().min(self.1).min(buffer.remaining()));
        buffer.put_slice(piece);
        self.0 = rest;
        Poll::Ready(Ok(()))
    }
}

const LIMIT: usize = 10;

/// `!` for a message that is too large, `?` for one that exceeds the memory budget, and its id.
fn show(Skipped { reason, id }: Skipped) -> String {
    let mark = if reason == Reason::TooLarge { "!" } else { "?" };
    match id {
        Some(UnreadId::Request(id)) => format!("{mark}{id}"),
        Some(UnreadId::Response(id)) => format!("{mark}={id}"),
        None => mark.to_owned(),
    }
}

/// Checks the messages read from `input` for several piece sizes. The last item may be an error.
#[track_caller]
fn check(framing: Framing, input: &str, expected: &[&str]) {
    check_reader(input, expected, |input| FrameReader::new(input, framing, LIMIT));
}

#[track_caller]
fn check_reader<'a>(
    input: &'a str,
    expected: &[&str],
    reader: impl Fn(Pieces<'a>) -> FrameReader<Pieces<'a>>,
) {
    for size in [1, 2, 3, 7, 1000] {
        let read = async {
            let mut reader = reader(Pieces(input.as_bytes(), size));
            let mut found = Vec::new();
            loop {
                match reader.next().await {
                    Ok(Some(Frame::Message(text, _))) => {
                        found.push(String::from_utf8_lossy(&text).into_owned());
                    }
                    Ok(Some(Frame::Skipped(skipped, _))) => found.push(show(skipped)),
                    Ok(None) => return found,
                    Err(error) => {
                        found.push(error.to_string());
                        return found;
                    }
                }
            }
        };
        let found = futures_util::FutureExt::now_or_never(read).unwrap();
        assert_eq!(found, expected, "{input:?} in pieces of {size}");
    }
}

#[test]
fn reads_lines() {
    let check = |input, expected: &[&str]| check(Framing::Lines, input, expected);
    check("", &[]);
    check("\n \r\n", &[]);
    check("a\nb\n", &["a", "b"]);
    check("a\r\n\n  b", &["a", "b"]);
    check("0123456789\n", &["0123456789"]);
    check("0123456789a\nb\n", &["!", "b"]);
    check("0123456789abcdefghijklmnopqrstuvwxyz\nb\n", &["!", "b"]);
    check("0123456789abcdefghijklmnopqrstuvwxyz", &["!"]);
}

#[test]
fn finds_ids_of_skipped_lines() {
    let check = |input: &str, expected: &[&str]| {
        check_reader(input, expected, |input| {
            FrameReader::new(input, Framing::Lines, LIMIT).finding_ids()
        });
    };
    let first = r#"{"id":7,"method":"m"}"#;
    let last = r#"{"method":"m","params":["a long text"],"id":"a"}"#;
    check("0123456789\nb\n", &["0123456789", "b"]);
    check("0123456789a\nb\n", &["!", "b"]);
    check(&format!("{first}\nb\n{last}\r\n{first}"), &["!7", "b", "!\"a\"", "!7"]);
    check(r#"{"id":7,"result":[1,2,3]}"#, &["!=7"]);
    check(r#"{"method":"m","id":7,"params":["#, &["!7"]);
    check(r#"{"method":"m","params":["#, &["!"]);
}

#[test]
fn finds_ids_of_lines_over_the_memory_budget() {
    let text = format!(r#"{{"method":"m","params":["{}"],"id":7}}"#, "x".repeat(3 * CHUNK));
    check_reader(&format!("{text}\na\n"), &["?7", "a"], |input| {
        let memory = MemoryBudget::new(2 * CHUNK);
        FrameReader::new(input, Framing::Lines, usize::MAX).with_memory_budget(memory).finding_ids()
    });
}

#[test]
fn reads_messages_with_headers() {
    let check = |input: &str, expected: &[&str]| check(Framing::Headers, input, expected);
    check("", &[]);
    check("Content-Length: 1\r\n\r\na", &["a"]);
    check("content-length:2\r\nX: y\r\n\r\na\nContent-Length: 1\r\n\r\nb", &["a\n", "b"]);
    check("Content-Length: 0\r\n\r\nContent-Length: 1\r\n\r\nb", &["b"]);
    check("Content-Type: a/b; charset=utf8\r\nContent-Length: 1\r\n\r\na", &["a"]);
    check("Content-Length: 11\r\n\r\n0123456789aContent-Length: 1\r\n\r\nb", &["!", "b"]);

    let malformed = |input: &str, what: &str| {
        check(input, &[&format!("malformed message header: {what}")]);
    };
    malformed("Content-Length: -1\r\n\r\na", "invalid Content-Length");
    malformed("Content-Length: +1\r\n\r\na", "invalid Content-Length");
    malformed("Content-Length: \r\n\r\na", "invalid Content-Length");
    malformed("Content-Length: 1\r\nContent-Length: 1\r\n\r\na", "duplicate Content-Length");
    malformed("Length: 1\r\n\r\na", "missing Content-Length");
    malformed("{\"jsonrpc\"\r\n\r\na", "line without a colon");
    malformed(
        "Content-Type: a; charset=latin1\r\nContent-Length: 1\r\n\r\na",
        "charset is not UTF-8",
    );
    malformed(&format!("X: {}\r\n\r\n", "x".repeat(5000)), "longer than 4 KiB");
    malformed(&"x".repeat(5000), "longer than 4 KiB");
    check("Content-Length: 2\r\n\r\na", &["unexpected end of file"]);
    check("Content-Length: 2", &["unexpected end of file"]);
}
