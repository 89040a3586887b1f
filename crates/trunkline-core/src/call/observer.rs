//! Observers of calls.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use super::Call;
use crate::error::ErrorObject;
use crate::extensions::Extensions;
use crate::id::Id;
use crate::outcome::Outcome;

/// An observer of the calls of a service. It cannot change or reject calls; layers can.
pub trait Observer: Any + fmt::Debug + Send + Sync {
    /// A call was parsed and will be run.
    fn begin(&self, call: &Call, message: MessageInfo<'_>) -> Arc<dyn Observation>;

    /// A message was rejected before it became a call.
    fn refuse(
        &self,
        extensions: &Extensions,
        message: MessageInfo<'_>,
        error: &ErrorObject,
        id: Option<&Id>,
    );
}

/// The observation of one call. If it is dropped before the call ends, the call was cancelled.
///
/// The call and the code that replies to it share an observation. The first end counts. Protocols that write their own
/// responses [take](Call::take_observation) it from the call, and end it with their response.
pub trait Observation: Send + Sync {
    /// The call is run, with this operation and trace. The first ones count: an operation may make further calls.
    fn run(&self, call: &Call);

    /// Params were converted, and this is the new message.
    fn convert(&self, message: &Bytes);

    /// The operation has failed with this code, even if the client gets a result. The first code counts.
    fn fail(&self, code: i64);

    /// The call ended with this outcome.
    fn end(&self, outcome: &Outcome);

    /// The call ended with this response, or with none for a notification.
    fn end_with_response(&self, response: Option<&[u8]>, code: Option<i64>);
}

/// A received message.
#[derive(Debug, Clone, Copy)]
pub struct MessageInfo<'a> {
    /// The text of the message. Params that were [converted](crate::operation::Operation::strict_params) are so here, too.
    pub text: &'a [u8],
    /// The index in its batch, if any.
    pub batch_index: Option<usize>,
    /// The maximum size of the reply in bytes. A larger one is replaced by -32006.
    pub reply_bytes: usize,
}
