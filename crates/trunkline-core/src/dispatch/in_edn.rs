//! Replies in EDN.

use super::Dispatcher;
use crate::call::Call;
use crate::format::Encoding;
use crate::id::Id;
use crate::outcome::Outcome;
use crate::reply::{Reply, Response};

impl Dispatcher {
    pub(super) async fn answer_in_edn(
        &self,
        mut call: Call,
        id: &Id,
        encoding: &Encoding,
    ) -> Reply {
        // The outcome may have no EDN representation, or a too large one. The observer gets the reply that is sent.
        let observation = call.take_observation();
        let Ok(outcome) = self.run_message(call).await;
        let reply = self.reply_in_edn(outcome, id, encoding);
        if let Some(observation) = observation {
            observation.end_with_response(reply.json(), reply.code());
        }
        reply
    }

    fn reply_in_edn(&self, outcome: Outcome, id: &Id, encoding: &Encoding) -> Reply {
        let limit = self.limits.reply_bytes;
        let written = |outcome: Outcome| {
            Response::of(outcome, id.as_raw().as_bytes(), Some(encoding)).into_reply()
        };
        let too_large = || written(Outcome::reply_too_large(limit));
        // A result that is too large in JSON is not converted to EDN.
        if outcome.len() > limit {
            return too_large();
        }
        let reply = written(outcome);
        if reply.text_len() > limit { too_large() } else { reply }
    }
}
