//! Batches, which one revision has (2025-03-26).

use std::sync::Arc;

use trunkline::protocol::{Batch, CallFuture, Projection, Reply};
use trunkline::{Call, Outcome};

use crate::era::Way;
use crate::fault::Fault;
use crate::protocol::method;
use crate::request::is_mcp_id;
use crate::server::{Mcp, Server};

/// Runs a batch of a revision that has them. Nothing of it runs if one of its ids is none of MCP's.
pub(crate) async fn answer(server: Arc<Server>, batch: Batch) -> Result<Reply, Fault> {
    if !batch.ids().all(|id| is_mcp_id(&id)) {
        let fault = Fault::Request(
            "the batch has a member that is no message, or an id that is no string or integer",
        );
        batch.refuse(&fault.error());
        return Err(fault);
    }
    let rpc = server.rpc.clone().projected(Arc::new(Member(Mcp(server))));
    Ok(rpc.answer_batch(batch).await)
}

/// A message in a batch.
#[derive(Debug)]
struct Member(Mcp);

impl Projection for Member {
    fn has(&self, _method: &str) -> bool {
        true
    }

    fn call(&self, call: Call) -> CallFuture {
        let fault = if call.method() == method::INITIALIZE {
            Fault::Request("initialize is not part of a batch")
        } else {
            match self.0.0.answer(call, Way::Batch).outcome {
                Ok(begun) => return begun.future,
                Err(fault) => fault,
            }
        };
        CallFuture::ready(Outcome::error(fault.error()))
    }
}
