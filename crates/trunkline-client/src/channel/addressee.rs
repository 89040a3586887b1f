//! Whom a message from the server is for. What it says is not looked at: whoever waits for it does.

use bytes::Bytes;
use trunkline_core::envelope::{self, Kind, Message, ScanError, Scanner, Span};
use trunkline_core::limits::calls::Limits;

use crate::error::ProtocolError;
use crate::frame::Key;
use crate::response::beginning;

/// Whom a message is for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Addressee {
    /// The call with this id.
    Call(Key),
    /// The batch that has one of these ids.
    Batch(Vec<Key>),
    /// A call that the server could not read, whichever that is.
    Unknown,
    /// Not a call of ours: the server wants something from us. A request has this id.
    Server(Option<Key>),
}

impl Addressee {
    /// Reads whom a message is for.
    ///
    /// # Errors
    /// When it is for nobody: it is no message at all.
    pub(super) fn of(body: &Bytes) -> Result<Self, ProtocolError> {
        read(body).map_err(|reason| ProtocolError::Malformed { reason, beginning: beginning(body) })
    }
}

fn read(body: &Bytes) -> Result<Addressee, String> {
    if std::str::from_utf8(body).is_err() {
        return Err("it is not UTF-8".to_owned());
    }
    if u32::try_from(body.len()).is_err() {
        return Err("it has 4 GiB or more".to_owned());
    }
    let said = |error: ScanError| error.to_string();
    let mut scanner = Scanner::new(body, Limits::MAX_DEPTH);
    match scanner.peek() {
        Some(b'{') => {
            let found = object(&mut scanner, body).map_err(said)?;
            scanner.finish().map_err(said)?;
            match found {
                Found { has_method: true, .. } => server(body),
                Found { id: Some(id), .. } => Ok(Addressee::Call(key(id, body))),
                Found { id: None, .. } => Ok(Addressee::Unknown),
            }
        }
        Some(b'[') => {
            let mut keys = Vec::new();
            let members = scanner.array(|scanner| {
                if scanner.peek() != Some(b'{') {
                    return scanner.value().map(drop);
                }
                let found = object(scanner, body)?;
                keys.extend(found.id.map(|id| key(id, body)));
                Ok(())
            });
            members.and_then(|()| scanner.finish()).map_err(said)?;
            Ok(Addressee::Batch(keys))
        }
        Some(_) => Err("it is neither an object nor an array".to_owned()),
        None => Err("it is empty".to_owned()),
    }
}

struct Found {
    id: Option<Span>,
    has_method: bool,
}

fn object(scanner: &mut Scanner<'_>, body: &[u8]) -> Result<Found, ScanError> {
    let mut found = Found { id: None, has_method: false };
    scanner.object(|scanner, name| {
        let (kind, value) = scanner.value()?;
        match &*name.value(body) {
            "id" if matches!(kind, Kind::Number | Kind::String { .. }) => found.id = Some(value),
            "method" => found.has_method = true,
            _ => {}
        }
        Ok::<_, ScanError>(())
    })?;
    Ok(found)
}

fn key(id: Span, body: &[u8]) -> Key {
    Key::of(std::str::from_utf8(id.of(body)).unwrap_or_default())
}

/// What has a method is no response, and a request only if all of it is right.
fn server(body: &Bytes) -> Result<Addressee, String> {
    match envelope::parse(body, Limits::MAX_DEPTH, 1) {
        Ok(Message::Single(Ok(request))) => {
            Ok(Addressee::Server(request.id.map(|id| key(id, body))))
        }
        Ok(Message::Single(Err(invalid))) => Err(invalid.reason.text().to_owned()),
        _ => Err("it is neither a response nor a request".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &'static str, expected: Result<Addressee, &str>) {
        match (Addressee::of(&Bytes::from(body)), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{body}"),
            (Err(error), Err(expected)) => {
                assert!(error.to_string().contains(expected), "{body}: {error}");
            }
            (found, expected) => panic!("{body}: found {found:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn messages_are_for_whom_their_ids_say() {
        let number = |number| Key::of(number);
        check(r#"{"jsonrpc":"2.0","id":1,"result":2}"#, Ok(Addressee::Call(number("1"))));
        check(r#"{"id":1.0}"#, Ok(Addressee::Call(number("1"))));
        check(r#"{"\u0069d":"a\/b"}"#, Ok(Addressee::Call(Key::of("\"a/b\""))));
        check(r#"{"id":null,"error":{}}"#, Ok(Addressee::Unknown));
        check(r#"{"id":[1]}"#, Ok(Addressee::Unknown));
        check("{}", Ok(Addressee::Unknown));
        let both = vec![number("2"), number("1")];
        check(r#"[{"id":2},7,{"result":{"id":5}},{"id":1}]"#, Ok(Addressee::Batch(both)));
        check("[]", Ok(Addressee::Batch(Vec::new())));
        check(r#"{"jsonrpc":"2.0","method":"log"}"#, Ok(Addressee::Server(None)));
        let request = r#"{"jsonrpc":"2.0","method":"ask","id":7}"#;
        check(request, Ok(Addressee::Server(Some(number("7")))));

        check(r#"{"method":"log"}"#, Err("is missing"));
        check(r#"{"id":1"#, Err("at byte 7"));
        check(r#"{"id":1} x"#, Err("at byte 9"));
        check("hello", Err("neither an object nor an array"));
        check("1", Err("neither an object nor an array"));
        check(r#"[{"id":1}"#, Err("at byte 9"));
    }
}
