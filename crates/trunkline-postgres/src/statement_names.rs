//! The names of prepared statements, as the server sees them.
//!
//! The driver numbers its statements: `s0`, `s1`, … in each process. A connection pooler gives the same session of the
//! server to several processes, so that one would run what another has prepared under the same name. A random suffix
//! makes the names those of one connection. See `docs/decisions/0017-poolers.md`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Adds a suffix to the names of statements in the messages of one client.
pub(crate) struct StatementNames {
    /// Random, with the characters of an identifier.
    suffix: String,
    /// Number of statements with a name that the client has prepared.
    prepared: Arc<AtomicUsize>,
    /// Whether the first message, which has no type, has been read.
    has_started: bool,
    /// The beginning of a message: its type, its length, and the names at the beginning of its body.
    head: Vec<u8>,
    /// Number of zero bytes in the body so far. Each ends a name.
    names: usize,
    /// Number of bytes of the message to come, which are not changed.
    remaining: usize,
}

/// Type and length.
const HEADER: usize = 5;

/// A suffix that no other connection has. Fails if the operating system has no random numbers.
pub(crate) fn random_suffix() -> Result<String, getrandom::Error> {
    let (high, low) = (getrandom::u64()?, getrandom::u64()?);
    // A name then has at most 54 of the 63 bytes that the server distinguishes.
    Ok(format!("_{high:016x}{low:016x}"))
}

impl StatementNames {
    /// `prepared` becomes the number of statements with a name that the client has prepared.
    pub(crate) fn new(suffix: String, prepared: Arc<AtomicUsize>) -> Self {
        let (has_started, head) = (false, Vec::new());
        Self { suffix, prepared, has_started, head, names: 0, remaining: 0 }
    }

    /// Appends the next bytes of the client to those for the server.
    pub(crate) fn rename(&mut self, mut bytes: &[u8], output: &mut Vec<u8>) {
        while let Some((first, rest)) = bytes.split_first() {
            if self.remaining > 0 {
                let (now, later) = bytes.split_at(self.remaining.min(bytes.len()));
                output.extend_from_slice(now);
                self.remaining -= now.len();
                bytes = later;
                continue;
            }
            self.head.push(*first);
            bytes = rest;
            self.end_head(output);
        }
    }

    /// Writes the beginning of a message if it is complete.
    fn end_head(&mut self, output: &mut Vec<u8>) {
        let start = if self.has_started { 1 } else { 0 };
        let Some(Ok(length)) = self.head.get(start..start + 4).map(<[u8; 4]>::try_from) else {
            return;
        };
        // The length includes itself.
        let rest = (u32::from_be_bytes(length) as usize).saturating_sub(self.head.len() - start);
        if self.has_started && self.head.len() > HEADER && self.head.last() == Some(&0) {
            self.names += 1;
        }
        let expected = if self.has_started { names(self.head[0]) } else { 0 };
        if self.names < expected && rest > 0 {
            return;
        }
        if self.has_statement() {
            if self.head[0] == b'P' {
                self.prepared.fetch_add(1, Ordering::Release);
            }
            let length = u32::from_be_bytes(length) as usize + self.suffix.len();
            // Longer messages than 4 GiB cannot be sent in any case.
            let length = u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
            self.head[1..HEADER].copy_from_slice(&length);
            self.head.pop();
            self.head.extend_from_slice(self.suffix.as_bytes());
            self.head.push(0);
        }
        output.append(&mut self.head);
        (self.has_started, self.names, self.remaining) = (true, 0, rest);
    }

    /// Whether the head ends with the name of a statement that is not empty.
    fn has_statement(&self) -> bool {
        let [kind, .., before, 0] = self.head.as_slice() else { return false };
        let is_statement = match kind {
            b'P' | b'B' => self.head.len() > HEADER + 1,
            b'C' | b'D' => self.head.get(HEADER) == Some(&b'S') && self.head.len() > HEADER + 2,
            _ => false,
        };
        self.has_started && is_statement && *before != 0
    }
}

/// Number of names up to that of the statement at the beginning of a message: Parse, Close and Describe have one, and
/// Bind has that of the portal before it.
fn names(kind: u8) -> usize {
    match kind {
        b'P' | b'C' | b'D' => 1,
        b'B' => 2,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::Ordering;

    use super::{StatementNames, random_suffix};

    /// A message with its length.
    fn message(kind: &str, body: &str) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
        [kind.as_bytes(), &length, body.as_bytes()].concat()
    }

    /// Renames in messages that arrive in parts of any size. `#` is the suffix in the expected bodies.
    #[track_caller]
    fn check(prepared: usize, messages: &[(&str, &str, &str)]) {
        let startup = message("", "\0\x03\0\0user\0app\0\0");
        let sent = messages.iter().map(|(kind, body, _)| message(kind, body));
        let sent = [startup.clone(), sent.collect::<Vec<_>>().concat()].concat();
        let expected =
            messages.iter().map(|(kind, _, body)| message(kind, &body.replace('#', "_07")));
        let expected = [startup, expected.collect::<Vec<_>>().concat()].concat();
        for size in 1..=sent.len() {
            let count = Arc::default();
            let mut names = StatementNames::new("_07".to_owned(), Arc::clone(&count));
            let mut output = Vec::new();
            sent.chunks(size).for_each(|part| names.rename(part, &mut output));
            assert_eq!(output, expected, "{messages:?} in parts of {size}");
            assert_eq!(count.load(Ordering::Relaxed), prepared, "{messages:?}");
        }
    }

    #[test]
    fn statements_have_the_suffix() {
        check(1, &[("P", "s0\0SELECT 1\0\0\0", "s0#\0SELECT 1\0\0\0"), ("D", "Ss0\0", "Ss0#\0")]);
        check(
            0,
            &[("B", "\0s12\0\0\0\0\0\0\0", "\0s12#\0\0\0\0\0\0\0"), ("C", "Ss12\0", "Ss12#\0")],
        );
        check(0, &[("B", "p1\0s1\0\0\0\0\0\0\0", "p1\0s1#\0\0\0\0\0\0\0")]);
    }

    #[test]
    fn other_messages_are_not_changed() {
        for (kind, body) in [
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
            check(1, &[(kind, body, body), ("P", "s1\0\0\0\0", "s1#\0\0\0\0")]);
        }
    }

    #[test]
    fn names_of_connections_differ() {
        let [one, other] = [random_suffix().unwrap(), random_suffix().unwrap()];
        assert_ne!(one, other);
        assert_eq!(one.len(), 33);
    }
}
