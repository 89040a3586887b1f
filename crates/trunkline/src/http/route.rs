use http::header::ALLOW;
use http::{HeaderValue, Method, Response, StatusCode};
use trunkline_core::extensions::JSON_RPC;
use trunkline_core::format::Format;

use super::door::Door;
use super::refusal::Refusal;
use super::reply_body::ReplyBody;

/// Who answers at a path.
#[derive(Clone, Copy)]
pub(super) enum Route<'a> {
    Calls,
    Door(&'a dyn Door, &'static [Method]),
    Nowhere,
}

impl Route<'_> {
    /// The methods that are answered, besides OPTIONS.
    pub(super) fn methods(self) -> &'static [Method] {
        match self {
            Self::Door(_, methods) => methods,
            Self::Calls | Self::Nowhere => &[Method::POST],
        }
    }

    /// What messages are written in here.
    pub(super) fn formats(self) -> &'static [Format] {
        match self {
            Self::Door(door, _) => door.formats(),
            Self::Calls | Self::Nowhere => Format::ALL,
        }
    }

    /// What the door is called that answers here.
    pub(super) fn door(self) -> &'static str {
        match self {
            Self::Door(door, _) => door.name(),
            Self::Calls | Self::Nowhere => "json-rpc",
        }
    }

    /// What is spoken here.
    pub(super) fn protocol(self) -> &'static str {
        match self {
            Self::Door(door, _) => door.protocol(),
            Self::Calls | Self::Nowhere => JSON_RPC,
        }
    }

    pub(super) fn refuse(self, refusal: &Refusal, format: Format) -> Response<ReplyBody> {
        let mut response = match self {
            Self::Door(door, _) => refusal.response(|error| door.refusal(error), format),
            Self::Calls | Self::Nowhere => refusal.json_rpc_response(format),
        };
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            response.headers_mut().insert(ALLOW, allow(self.methods()));
        }
        response
    }
}

/// The value of `Allow`, and of its likes.
pub(super) fn allow(methods: &[Method]) -> HeaderValue {
    let names = methods.iter().map(|method| format!("{method}, "));
    let names = names.collect::<String>() + "OPTIONS";
    HeaderValue::try_from(names).expect("methods are tokens, which headers can carry")
}
