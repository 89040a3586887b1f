//! What a model is told of a conversation that is larger than its context.

use super::turn::Turn;
use crate::model::Message;

/// What a token is taken for, where nobody counts them.
pub(super) const BYTES_OF_TOKEN: u64 = 4;

/// What is around the text of a message: who says it, and what is between messages.
const AROUND: usize = 16;

impl Turn<'_> {
    /// Leaves out the oldest turns of those before this one, until what is left and the tools fit into the
    /// model's context. It leaves out whole turns: a result without its call, which servers refuse, is never
    /// sent. Tells how many.
    pub(super) fn fit(&mut self) -> usize {
        let room = room(self.agent.settings.context_tokens);
        let mut bytes = self.capabilities.tool_bytes() + size(&self.messages);
        // The first one tells the task.
        let (mut end, mut turns) = (1, 0);
        while bytes > room && end < self.begun_at {
            let earlier = &self.messages[end..self.begun_at];
            let next = earlier.iter().skip(1).position(|one| matches!(one, Message::User { .. }));
            let turn = &earlier[..next.map_or(earlier.len(), |next| next + 1)];
            bytes -= size(turn);
            end += turn.len();
            turns += 1;
        }
        self.messages.drain(1..end);
        self.begun_at -= end - 1;
        turns
    }
}

/// How many bytes may be sent. The rest is for the answer, and for what the estimate is wrong by.
fn room(context_tokens: u64) -> usize {
    let tokens = context_tokens - context_tokens / 4;
    usize::try_from(tokens.saturating_mul(BYTES_OF_TOKEN)).unwrap_or(usize::MAX)
}

fn size(messages: &[Message]) -> usize {
    messages.iter().map(|message| message.bytes() + AROUND).sum()
}
