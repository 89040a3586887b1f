//! Batches, which only revision 2025-03-26 has.

use std::sync::Arc;

use trunkline::protocol::{Batch, CallFuture, ProtocolMethods, Reply};
use trunkline::{Call, Outcome};

use crate::era::Transport;
use crate::fault::{DUPLICATE_ID, Fault};
use crate::protocol::method;
use crate::request::is_mcp_id;
use crate::server::{Mcp, Server};
use crate::session::{Session, unavailable};

/// Runs a batch of a client, which may have a session. If one of its ids is not valid in MCP, nothing is run.
pub(crate) async fn answer(
    server: Arc<Server>,
    batch: Batch,
    session: Option<Arc<Session>>,
) -> Result<Reply, Fault> {
    if !batch.ids().all(|id| is_mcp_id(&id)) {
        let fault = Fault::Request(
            "every member of a batch must be a message whose id is a string or an integer",
        );
        batch.refuse(&fault.error());
        return Err(fault);
    }
    let rpc = server.rpc.clone();
    let members = Members { server: Mcp(server), session };
    Ok(rpc.with_protocol_methods(Arc::new(members)).answer_batch(batch).await)
}

/// The messages in a batch.
#[derive(Debug)]
struct Members {
    server: Mcp,
    session: Option<Arc<Session>>,
}

impl ProtocolMethods for Members {
    fn has(&self, _method: &str) -> bool {
        true
    }

    fn call(&self, call: Call) -> CallFuture {
        self.answer(call).unwrap_or_else(|fault| CallFuture::ready(Outcome::error(fault.error())))
    }
}

impl Members {
    fn answer(&self, call: Call) -> Result<CallFuture, Fault> {
        if call.has_method(method::INITIALIZE) {
            return Err(Fault::Request("`initialize` must not be part of a batch"));
        }
        let (id, session) = (call.id(), self.session.as_ref());
        if let Some(session) = session
            && call.has_method(method::CANCELLED)
        {
            let other = session.cancel(&call);
            if let (Some(request), Some(shared)) = (other, session.shared().cloned()) {
                return Ok(CallFuture::from_future(async move {
                    match shared.cancel(request).await {
                        Ok(()) => Outcome::result(&()),
                        Err(error) => Outcome::error(unavailable(&error)),
                    }
                }));
            }
        }
        let started = self.server.0.answer(call, Transport::Batch, session).outcome?;
        match (started.future.into_outcome(), session, id) {
            (Ok(outcome), ..) => Ok(CallFuture::ready(outcome)),
            (Err(future), Some(session), Some(id)) => {
                session.run(&id, future).ok_or(Fault::Request(DUPLICATE_ID))
            }
            (Err(future), ..) => Ok(future),
        }
    }
}
