//! Parsing of bodies.

use bytes::Bytes;

use super::{Batch, Dispatcher, Incoming};
use crate::call::Call;
use crate::envelope::{self, BodyError, Entry, InvalidReason, InvalidRequest, Message, Request};
use crate::error::ErrorObject;
use crate::extensions::Extensions;
use crate::format::{Encoding, Format, Formats};
use crate::id::Id;

impl Dispatcher {
    /// Parses a body without running it, for transports that process its calls themselves.
    #[must_use]
    pub fn read(&self, body: Bytes, extensions: Extensions) -> Incoming {
        self.read_json(body, extensions, Vec::new())
    }

    /// Parses a body of a protocol whose clients send `params: null` in place of no params.
    #[must_use]
    pub fn read_with_null_params(&self, body: Bytes, extensions: Extensions) -> Incoming {
        let message = self.parse(&body).map(|message| message.map(without_null_params));
        self.incoming(message, body, extensions, Vec::new())
    }

    /// Parses a body in these formats. The reply to a [refused](Incoming::Refused) body must be converted with
    /// [`Reply::into_format`](crate::reply::Reply::into_format).
    #[must_use]
    pub fn read_in(&self, formats: Formats, body: Bytes, extensions: Extensions) -> Incoming {
        self.read_with_encoding(formats, body, extensions).0
    }

    /// Parses a body in these formats. Also returns the encoding, for the reply to a refused body.
    pub fn read_with_encoding(
        &self,
        formats: Formats,
        body: Bytes,
        extensions: Extensions,
    ) -> (Incoming, Option<Encoding>) {
        let Formats { request, reply } = formats;
        if let (Format::Json, Format::Json) = (request, reply) {
            return (self.read(body, extensions), None);
        }
        let encoding = Encoding::of_json(reply);
        match request {
            Format::Json => {
                let encodings = vec![encoding.clone()];
                (self.read_json(body, extensions, encodings), Some(encoding))
            }
            Format::Other(codec) => match codec.read_requests(&body, &self.limits) {
                Ok((json, requests)) => {
                    let of_request = |sent| Encoding::of_request(sent, reply);
                    let encodings: Vec<Encoding> = requests.into_iter().map(of_request).collect();
                    let first = encodings.first().cloned().unwrap_or(encoding);
                    (self.read_json(json, extensions, encodings), Some(first))
                }
                Err(error) => {
                    let error = error.into();
                    self.observe_invalid(&body, &extensions, &error, None);
                    (Incoming::Refused { error, id: None, body }, Some(encoding))
                }
            },
        }
    }

    fn read_json(&self, body: Bytes, extensions: Extensions, encodings: Vec<Encoding>) -> Incoming {
        let message = self.parse(&body);
        self.incoming(message, body, extensions, encodings)
    }

    fn parse(&self, body: &[u8]) -> Result<Message, BodyError> {
        envelope::parse(body, self.limits.depth, self.limits.batch_requests)
    }

    fn incoming(
        &self,
        message: Result<Message, BodyError>,
        body: Bytes,
        extensions: Extensions,
        encodings: Vec<Encoding>,
    ) -> Incoming {
        let message = match message {
            Ok(message) => message,
            Err(error) => {
                let error = ErrorObject::from(&error);
                self.observe_invalid(&body, &extensions, &error, None);
                return Incoming::Refused { error, id: None, body };
            }
        };
        match message {
            Message::Single(Ok(request)) => {
                let encoding = encodings.into_iter().next();
                let mut call = self.call_of(body, request, extensions).with_encoding(encoding);
                self.observe_single(&mut call);
                Incoming::Call(call)
            }
            Message::Single(Err(invalid)) => {
                let id = invalid.id.map(|id| Id::from_raw(body.slice(id.range())));
                let error = ErrorObject::from(&invalid);
                self.observe_invalid(&body, &extensions, &error, id.as_ref());
                if invalid.reason == InvalidReason::Response {
                    Incoming::Response { body, error, id }
                } else {
                    Incoming::Refused { error, id, body }
                }
            }
            Message::Batch(entries) => {
                let observer = self.observer.clone();
                Incoming::Batch(Batch { body, entries, extensions, observer, encodings })
            }
        }
    }

    pub(super) fn call_of(&self, body: Bytes, request: Request, extensions: Extensions) -> Call {
        let operation = if request.method.escaped {
            self.registry.find(request.method.unescape(&body).as_bytes())
        } else {
            self.registry.find(request.method.inner(&body))
        };
        let mut call = Call::new(body, request, extensions);
        call.resolve(operation);
        call
    }
}

fn without_null_params(entry: Entry) -> Entry {
    match entry {
        Err(InvalidRequest { reason: InvalidReason::NullParams(method), id }) => {
            Ok(Request { method, params: None, id })
        }
        entry => entry,
    }
}
