//! The recipient of a message from the server, determined by its ids. The message is not parsed further.

use bytes::Bytes;
use trunkline_core::envelope::{self, Kind, Message, ScanError, Scanner, Span};
use trunkline_core::limits::calls::Limits;

use crate::error::ProtocolError;
use crate::frame::Key;
use crate::response::beginning;

/// The recipient of a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Recipient {
    /// The call with this id.
    Call(Key),
    /// The batch that has one of these ids.
    Batch(Vec<Key>),
    /// An unknown call, which the server could not parse.
    Unknown,
    /// The client: the message is a request of the server with this id, or a notification.
    Client(Option<Key>),
}

impl Recipient {
    /// Determines the recipient of a message.
    ///
    /// # Errors
    /// When the body is not a message.
    pub(super) fn of(body: &Bytes) -> Result<Self, ProtocolError> {
        read(body).map_err(|reason| ProtocolError::Malformed { reason, beginning: beginning(body) })
    }
}

fn read(body: &Bytes) -> Result<Recipient, String> {
    if std::str::from_utf8(body).is_err() {
        return Err("not UTF-8".to_owned());
    }
    if u32::try_from(body.len()).is_err() {
        return Err("4 GiB or larger".to_owned());
    }
    let reason = |error: ScanError| error.to_string();
    let mut scanner = Scanner::new(body, Limits::MAX_DEPTH);
    match scanner.peek() {
        Some(b'{') => {
            let members = object(&mut scanner, body).map_err(reason)?;
            scanner.finish().map_err(reason)?;
            match members {
                Members { has_method: true, .. } => client(body),
                Members { id: Some(id), .. } => Ok(Recipient::Call(key(id, body))),
                Members { id: None, .. } => Ok(Recipient::Unknown),
            }
        }
        Some(b'[') => {
            let mut keys = Vec::new();
            let members = scanner.array(|scanner| {
                if scanner.peek() != Some(b'{') {
                    return scanner.value().map(drop);
                }
                keys.extend(object(scanner, body)?.id.map(|id| key(id, body)));
                Ok(())
            });
            members.and_then(|()| scanner.finish()).map_err(reason)?;
            Ok(Recipient::Batch(keys))
        }
        Some(_) => Err("neither an object nor an array".to_owned()),
        None => Err("empty body".to_owned()),
    }
}

struct Members {
    id: Option<Span>,
    has_method: bool,
}

fn object(scanner: &mut Scanner<'_>, body: &[u8]) -> Result<Members, ScanError> {
    let mut members = Members { id: None, has_method: false };
    scanner.object(|scanner, name| {
        let (kind, value) = scanner.value()?;
        match &*name.value(body) {
            "id" if matches!(kind, Kind::Number | Kind::String { .. }) => members.id = Some(value),
            "method" => members.has_method = true,
            _ => {}
        }
        Ok::<_, ScanError>(())
    })?;
    Ok(members)
}

fn key(id: Span, body: &[u8]) -> Key {
    Key::of(std::str::from_utf8(id.of(body)).unwrap_or_default())
}

/// A message with a method is not a response. It must be a valid request or notification.
fn client(body: &Bytes) -> Result<Recipient, String> {
    match envelope::parse(body, Limits::MAX_DEPTH, 1) {
        Ok(Message::Single(Ok(request))) => {
            Ok(Recipient::Client(request.id.map(|id| key(id, body))))
        }
        Ok(Message::Single(Err(invalid))) => Err(invalid.reason.text().to_owned()),
        _ => Err("neither a response nor a request".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &'static str, expected: Result<Recipient, &str>) {
        match (Recipient::of(&Bytes::from(body)), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{body}"),
            (Err(error), Err(expected)) => {
                assert!(error.to_string().contains(expected), "{body}: {error}");
            }
            (found, expected) => panic!("{body}: found {found:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn determines_recipients_by_ids() {
        let number = |number| Key::of(number);
        check(r#"{"jsonrpc":"2.0","id":1,"result":2}"#, Ok(Recipient::Call(number("1"))));
        check(r#"{"id":1.0}"#, Ok(Recipient::Call(number("1"))));
        check(r#"{"\u0069d":"a\/b"}"#, Ok(Recipient::Call(Key::of("\"a/b\""))));
        check(r#"{"id":null,"error":{}}"#, Ok(Recipient::Unknown));
        check(r#"{"id":[1]}"#, Ok(Recipient::Unknown));
        check("{}", Ok(Recipient::Unknown));
        let both = vec![number("2"), number("1")];
        check(r#"[{"id":2},7,{"result":{"id":5}},{"id":1}]"#, Ok(Recipient::Batch(both)));
        check("[]", Ok(Recipient::Batch(Vec::new())));
        check(r#"{"jsonrpc":"2.0","method":"log"}"#, Ok(Recipient::Client(None)));
        let request = r#"{"jsonrpc":"2.0","method":"ask","id":7}"#;
        check(request, Ok(Recipient::Client(Some(number("7")))));

        check(r#"{"method":"log"}"#, Err("is missing"));
        check(r#"{"id":1"#, Err("at byte 7"));
        check(r#"{"id":1} x"#, Err("at byte 9"));
        check("hello", Err("neither an object nor an array"));
        check("1", Err("neither an object nor an array"));
        check(r#"[{"id":1}"#, Err("at byte 9"));
    }
}
