//! The sizes of tools and messages, in relation to the context of a model.

use super::config::AgentConfig;
use crate::model::{Message, Tool};

/// What a token is taken for, where nobody counts them.
const BYTES_OF_TOKEN: usize = 4;

/// What is around the text of a message: who says it, and what is between messages.
const AROUND: usize = 16;

/// The space that tools must leave to a conversation, in tokens: a short question, a call and its result.
const LEAST_CONVERSATION: usize = 512;

/// The least that is shown of a result, in bytes, whatever the context.
const LEAST_SHOWN: usize = 1 << 10;

/// The tools as a model is offered them, and the sizes that follow from them and its context.
#[derive(Debug)]
pub(super) struct Offered {
    pub(super) tools: Vec<Tool>,
    /// The size of `tools`.
    pub(super) bytes: usize,
    /// The maximum size of a result in bytes, as the model is shown it.
    pub(super) shown_bytes: usize,
    /// The least context that can hold these tools in brief, the instructions and a conversation.
    pub(super) required_tokens: u64,
}

impl Offered {
    /// In full if that takes half of what may be sent at most, else [in brief](Tool::brief).
    pub(super) fn new(tools: Vec<Tool>, config: &AgentConfig) -> Self {
        let size = |tools: &[Tool]| tools.iter().map(Tool::bytes).sum::<usize>();
        let room = room(config.context_tokens);
        let around = config.instructions.len() + AROUND + LEAST_CONVERSATION * BYTES_OF_TOKEN;
        let brief: Vec<_> = tools.iter().map(Tool::brief).collect();
        let (full_bytes, brief_bytes) = (size(&tools), size(&brief));
        let has_room = full_bytes <= room.saturating_sub(around).min(room / 2);
        let (tools, bytes) = if has_room { (tools, full_bytes) } else { (brief, brief_bytes) };
        let free = room.saturating_sub(bytes + config.instructions.len());
        Self {
            tools,
            bytes,
            shown_bytes: config.max_shown_bytes.min((free / 2).max(LEAST_SHOWN)),
            // Three quarters of a context may be sent.
            required_tokens: (tokens(brief_bytes + around) * 4).div_ceil(3),
        }
    }
}

/// How many bytes may be sent. The rest is for the answer, and for what the estimate is wrong by.
pub(super) fn room(context_tokens: u64) -> usize {
    let tokens = usize::try_from(context_tokens - context_tokens / 4).unwrap_or(usize::MAX);
    tokens.saturating_mul(BYTES_OF_TOKEN)
}

/// The estimated number of tokens.
pub(super) fn tokens(bytes: usize) -> u64 {
    bytes.div_ceil(BYTES_OF_TOKEN) as u64
}

pub(super) fn size(messages: &[Message]) -> usize {
    messages.iter().map(|message| message.bytes() + AROUND).sum()
}
