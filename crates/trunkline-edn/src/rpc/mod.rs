//! JSON-RPC messages in EDN, and params and results of handlers in EDN.
//!
//! A message of the media type `application/edn` is read as EDN, and the reply is in EDN unless the client
//! prefers JSON: `{:jsonrpc "2.0", :method "math.add", :params [1 2], :id 1}`. Keys may be keywords or
//! strings. Any method can be called this way; [`json`] describes the conversion to JSON.
//!
//! Handlers that take [`Edn<T>`](Edn) receive EDN without conversion. Handlers that return [`Edn<T>`](Edn), a
//! [`Value`], or a `Result` with [`Edn<T>`](Edn) reply with it. They can be called in JSON, too.
//!
//! Invalid EDN is -32700. Values without a representation in JSON (an unknown tag, `##Inf`, two keys with
//! the same text) are -32603, "JSON conversion error", with `data.path` and `data.reason`, in messages and in
//! results, whatever the format of the client.

mod codec;
mod deserializer;
mod fault;
mod request;

use ::serde::Serialize;
use ::serde::de::DeserializeOwned;
use trunkline_core::call::Call;
use trunkline_core::error::ErrorObject;
use trunkline_core::extract::FromCall;
use trunkline_core::format::{Encoding, Format};
use trunkline_core::operation::{IntoOutcome, IntoResult};
use trunkline_core::outcome::Outcome;
use trunkline_core::params::{check_names, declared_fields};

use crate::json;
use crate::serde::to_value;
use crate::value::Value;
use codec::EdnCodec;
use deserializer::ParamsDeserializer;

pub use fault::unconvertible;

/// The format of messages in EDN, for streams and clients.
pub const FORMAT: Format = Format::Other(&EdnCodec);

/// Extracts the params from EDN. As a result, returns a value as EDN.
///
/// `T` is [`Value`] or any `Deserialize` type. It accepts params like `Params`: a struct
/// by name and by position, a map by name, a tuple or a `Vec` by position. Errors have the same `data`, with the
/// `reason` of EDN. Without params, a `Value` is nil.
///
/// Params that were sent in EDN are unchanged: keywords are keywords, `#inst` is an `Inst`. Params that were sent
/// in JSON are converted with [`json`]: objects become maps with keywords as keys.
#[derive(Debug, Clone, Copy, Default)]
pub struct Edn<T>(pub T);

impl<S, T: DeserializeOwned> FromCall<S> for Edn<T> {
    const READS_PARAMS: bool = true;

    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        let sent = call.encoding().and_then(Encoding::params);
        let converted = match (sent, call.params()) {
            (None, Some(text)) => Some(of_json::<T>(text)?),
            _ => None,
        };
        Ok(Self(T::deserialize(ParamsDeserializer::new(sent.or(converted.as_ref())))?))
    }

    fn declared() -> Vec<&'static str> {
        declared_fields::<T>().to_vec()
    }
}

/// Converts params that were sent in JSON.
fn of_json<T: DeserializeOwned>(text: &[u8]) -> Result<Value, ErrorObject> {
    json::from_str(&String::from_utf8_lossy(text)).or_else(|error| {
        let fields = declared_fields::<T>();
        if !fields.is_empty() {
            check_names(text, fields)?;
        }
        Err(unconvertible(error, Some("params")))
    })
}

/// Marker of results in EDN.
#[derive(Debug)]
pub enum Exact {}

/// A value without a representation in JSON is -32603, since every protocol must be able to send the result.
impl IntoOutcome for Value {
    fn into_outcome(self) -> Outcome {
        match json::to_string(&self) {
            Ok(json) => Outcome::from_native(json.as_bytes(), Box::new(self)),
            Err(error) => Outcome::error(unconvertible(error, Some("result"))),
        }
    }
}

impl<T: Serialize> IntoOutcome for Edn<T> {
    fn into_outcome(self) -> Outcome {
        match to_value(&self.0) {
            Ok(value) => value.into_outcome(),
            Err(error) => Outcome::error(ErrorObject::internal(&error)),
        }
    }
}

/// Makes a `Result` with a [`Value`] ambiguous, so that it is not serialised and keeps its keywords: return
/// `Result<Edn<Value>, E>`.
impl IntoResult<Exact> for Value {
    fn into_result(self) -> Outcome {
        self.into_outcome()
    }
}

impl<T: Serialize> IntoResult<Exact> for Edn<T> {
    fn into_result(self) -> Outcome {
        self.into_outcome()
    }
}
