//! The estimated sizes of tools and messages, and the context of a model.

use super::config::AgentConfig;
use crate::model::{Message, Tool};

/// The assumed size of a token.
const BYTES_PER_TOKEN: usize = 4;

/// The overhead of a message in bytes: its role, and the separators.
const MESSAGE_OVERHEAD: usize = 16;

/// The space reserved for the conversation, in tokens: a short question, a call and its result.
const MIN_CONVERSATION_TOKENS: usize = 512;

/// The minimum size in bytes to which a result is truncated, whatever the context.
const MIN_RESULT_BYTES: usize = 1 << 10;

/// The tools as sent to a model, and the limits that follow from their size and the context.
#[derive(Debug)]
pub(super) struct ToolCatalog {
    pub(super) tools: Vec<Tool>,
    /// The size of `tools` in bytes.
    pub(super) bytes: usize,
    /// The maximum size of a result in bytes as sent to the model.
    pub(super) result_bytes: usize,
    /// The minimum context for these tools in brief, the instructions and a conversation.
    pub(super) required_tokens: u64,
}

impl ToolCatalog {
    /// Offers the first [`AgentConfig::max_tools`]. Sends tools in full if they take at most half of a request and leave space for a conversation, or else
    /// [in brief](Tool::brief).
    pub(super) fn new(tools: impl Iterator<Item = Tool>, config: &AgentConfig) -> Self {
        let tools: Vec<_> = tools.take(config.max_tools).map(Tool::portable).collect();
        let size = |tools: &[Tool]| tools.iter().map(Tool::bytes).sum::<usize>();
        let max_bytes = max_request_bytes(config.context_tokens);
        let overhead = config.instructions.len()
            + MESSAGE_OVERHEAD
            + MIN_CONVERSATION_TOKENS * BYTES_PER_TOKEN;
        let brief: Vec<_> = tools.iter().map(Tool::brief).collect();
        let (full_bytes, brief_bytes) = (size(&tools), size(&brief));
        let fits = full_bytes <= max_bytes.saturating_sub(overhead).min(max_bytes / 2);
        let (tools, bytes) = if fits { (tools, full_bytes) } else { (brief, brief_bytes) };
        let rest = max_bytes.saturating_sub(bytes + config.instructions.len());
        Self {
            tools,
            bytes,
            result_bytes: config.max_shown_bytes.min((rest / 2).max(MIN_RESULT_BYTES)),
            // A request uses three quarters of the context.
            required_tokens: (tokens(brief_bytes + overhead) * 4).div_ceil(3),
        }
    }
}

/// The maximum size of a request in bytes. The rest of the context is for the answer and for estimation errors.
pub(super) fn max_request_bytes(context_tokens: u64) -> usize {
    let tokens = usize::try_from(context_tokens - context_tokens / 4).unwrap_or(usize::MAX);
    tokens.saturating_mul(BYTES_PER_TOKEN)
}

/// The estimated number of tokens.
pub(super) fn tokens(bytes: usize) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN) as u64
}

pub(super) fn size(messages: &[Message]) -> usize {
    messages.iter().map(|message| message.bytes() + MESSAGE_OVERHEAD).sum()
}
