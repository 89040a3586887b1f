//! Batches, which only revision 2025-03-26 has.

use std::sync::Arc;

use trunkline::protocol::{Batch, CallFuture, ProtocolMethods, Reply};
use trunkline::{Call, Outcome};

use crate::era::Transport;
use crate::fault::Fault;
use crate::protocol::method;
use crate::request::is_mcp_id;
use crate::server::{Mcp, Server};

/// Runs a batch. If one of its ids is not valid in MCP, nothing is run.
pub(crate) async fn answer(server: Arc<Server>, batch: Batch) -> Result<Reply, Fault> {
    if !batch.ids().all(|id| is_mcp_id(&id)) {
        let fault = Fault::Request(
            "every member of a batch must be a message whose id is a string or an integer",
        );
        batch.refuse(&fault.error());
        return Err(fault);
    }
    let rpc = server.rpc.clone().with_protocol_methods(Arc::new(Member(Mcp(server))));
    Ok(rpc.answer_batch(batch).await)
}

/// A message in a batch.
#[derive(Debug)]
struct Member(Mcp);

impl ProtocolMethods for Member {
    fn has(&self, _method: &str) -> bool {
        true
    }

    fn call(&self, call: Call) -> CallFuture {
        let fault = if call.method() == method::INITIALIZE {
            Fault::Request("`initialize` must not be part of a batch")
        } else {
            match self.0.0.answer(call, Transport::Batch, None).outcome {
                Ok(started) => return started.future,
                Err(fault) => fault,
            }
        };
        CallFuture::ready(Outcome::error(fault.error()))
    }
}
