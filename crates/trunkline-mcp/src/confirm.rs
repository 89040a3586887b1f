//! Confirmation of destructive calls by the user.

use std::convert::Infallible;
use std::mem;
use std::task::{Context, Poll};

use futures_util::future::Either;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tower::{Layer, Service};
use trunkline::protocol::{CallFuture, excerpt};
use trunkline::{Call, Effect, ErrorObject, Outcome, RpcError, code};

use crate::peer::{Elicited, Peer, PeerError};

/// A layer that lets the user of an MCP client confirm destructive calls before they run.
///
/// The effect of a call is that of its [description](trunkline::protocol::Description::effect_of). If the client does not
/// support elicitation, or the call came over another protocol, it runs without a question: MCP hosts ask their users
/// according to the annotations of a tool. Add the layer inside of access rules, so that only permitted calls are asked
/// about:
///
/// ```
/// # use trunkline::{Operation, Router};
/// # use trunkline_mcp::ConfirmLayer;
/// let delete = Operation::new("delete", || "deleted").destructive().tool("delete");
/// let router: Router = Router::new().operation(delete).layer(ConfirmLayer);
/// # router.build().unwrap();
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct ConfirmLayer;

/// The service of a [`ConfirmLayer`].
#[derive(Debug, Clone)]
pub struct Confirm<S>(S);

impl<S> Layer<S> for ConfirmLayer {
    type Service = Confirm<S>;

    fn layer(&self, inner: S) -> Confirm<S> {
        Confirm(inner)
    }
}

impl<S> Service<Call> for Confirm<S>
where
    S: Service<Call, Response = Outcome, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Outcome;
    type Error = Infallible;
    type Future = Either<S::Future, CallFuture>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let peer = call.extensions().get::<Peer>().filter(|peer| peer.supports("elicitation"));
        let Some(peer) = peer.cloned().filter(|_| is_destructive(&call)) else {
            return Either::Left(self.0.call(call));
        };
        // The service that is ready makes the call.
        let clone = self.0.clone();
        let mut inner = mem::replace(&mut self.0, clone);
        Either::Right(CallFuture::from_future(async move {
            match confirm(&peer, &call).await {
                Ok(()) => {
                    let Ok(outcome) = inner.call(call).await;
                    outcome
                }
                Err(error) => Outcome::error(error),
            }
        }))
    }
}

fn is_destructive(call: &Call) -> bool {
    let Some(operation) = call.operation() else { return false };
    let params: Map<String, Value> =
        call.params().and_then(|params| serde_json::from_slice(params).ok()).unwrap_or_default();
    operation.description().effect_of(&params) == Some(Effect::Destructive)
}

#[derive(Deserialize)]
struct Answer {
    confirm: bool,
}

/// The key of the question, which no handler should use.
const KEY: &str = "trunkline_confirm";

async fn confirm(peer: &Peer, call: &Call) -> Result<(), ErrorObject> {
    const MAX_CHARS: usize = 500;
    let params = String::from_utf8_lossy(call.params().unwrap_or_default());
    let params = excerpt(&params, MAX_CHARS);
    let message = format!("`{}` changes or removes data. Run it? {params}", call.method());
    let schema = json!({
        "type": "object",
        "properties": { "confirm": { "type": "boolean", "title": "Run it", "default": false } },
        "required": ["confirm"],
    });
    let answer = peer.elicit_form(KEY, &message, schema).await;
    match answer.map_err(PeerError::into_error_object)? {
        Elicited::Accepted(Answer { confirm: true }) => Ok(()),
        _ => Err(ErrorObject::new(code::TOOL_EXECUTION, "The user has not confirmed the call")),
    }
}
