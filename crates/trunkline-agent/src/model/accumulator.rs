//! Assembly of a reply from its parts.

use serde_json::Value;

use super::answer::AnswerPlace;
use super::chunk::{CallPart, Choice, Chunk, Usage};
use super::config::ModelConfig;
use super::error::{ModelError, error_message};
use super::extra::ExtraMembers;
use super::tool_call::{self, Arguments, ToolCall};

/// A complete reply of a model.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Completion {
    /// The reasoning at the beginning of the text, with its tags; empty if the server separates it.
    pub reasoning: String,
    /// The text after the reasoning.
    pub content: String,
    /// The requested calls.
    pub calls: Vec<ToolCall>,
    /// Members that the API does not define.
    pub extra: ExtraMembers,
    /// The token usage, if the endpoint reports it.
    pub usage: Option<Usage>,
    /// Whether the calls were found in the text, where they may be a quotation.
    pub calls_in_text: bool,
    /// Whether the reply was truncated at the output limit of the endpoint.
    pub is_truncated: bool,
}

/// A reply that is assembled from parts.
#[derive(Debug)]
pub(super) struct Accumulator {
    content: String,
    answer: AnswerPlace,
    refusal: String,
    calls: Vec<PartialCall>,
    /// The size of the names and arguments of all calls.
    call_bytes: usize,
    extra: ExtraMembers,
    /// The size of the extra members of the message and all calls.
    extra_bytes: usize,
    usage: Option<Usage>,
    finish_reason: Option<String>,
    has_choice: bool,
    /// Whether a part without a choice reports the usage, which is the last part.
    has_final_usage: bool,
    /// Whether parts have arrived; a complete message after them repeats their contents.
    has_parts: bool,
    max_content_bytes: usize,
    max_arguments_bytes: usize,
    max_extra_bytes: usize,
}

#[derive(Debug, Default)]
struct PartialCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    extra: ExtraMembers,
}

impl Accumulator {
    pub(super) fn new(config: &ModelConfig) -> Self {
        let ModelConfig { max_content_bytes, max_arguments_bytes, max_extra_bytes, .. } = *config;
        Self {
            content: String::new(),
            answer: AnswerPlace::default(),
            refusal: String::new(),
            calls: Vec::new(),
            call_bytes: 0,
            extra: ExtraMembers::default(),
            extra_bytes: 0,
            usage: None,
            finish_reason: None,
            has_choice: false,
            has_final_usage: false,
            has_parts: false,
            max_content_bytes,
            max_arguments_bytes,
            max_extra_bytes,
        }
    }

    /// Adds the parts in a text. After the first one, a text that is not JSON ends them: some servers append the end
    /// mark to a reply in one piece, or omit the empty lines between events.
    pub(super) fn add(&mut self, text: &str) -> Result<(), ModelError> {
        let mut parts = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        let first = parts.next().transpose();
        let first = first.map_err(|error| ModelError::malformed(error.to_string()))?;
        let rest = parts.map_while(Result::ok);
        first.into_iter().chain(rest).try_for_each(|part| self.add_chunk(Chunk::new(part)))
    }

    fn add_chunk(&mut self, chunk: Chunk) -> Result<(), ModelError> {
        if let Some(error) = chunk.error {
            let text = serde_json::json!({ "error": error }).to_string();
            return Err(ModelError::Failed { reason: error_message(&text) });
        }
        self.usage = chunk.usage.or(self.usage);
        let Some(mut choice) = chunk.choice else {
            self.has_final_usage |= self.has_choice && chunk.usage.is_some();
            return Ok(());
        };
        self.has_choice = true;
        self.add_extra(&mut choice);
        self.has_parts |= !choice.is_complete;
        self.finish_reason = choice.finish_reason.or(self.finish_reason.take());
        if choice.is_complete {
            self.add_complete_calls(choice.calls)?;
        } else {
            for call in choice.calls {
                self.add_call(call)?;
            }
        }
        if choice.is_complete && self.has_parts {
            extend_to(&mut self.content, &choice.content);
            extend_to(&mut self.refusal, &choice.refusal);
        } else {
            self.content.push_str(&choice.content);
            self.refusal.push_str(&choice.refusal);
        }
        self.answer.read(&self.content, !self.extra.is_empty());
        let limit = self.max_content_bytes;
        if self.content.len() + self.refusal.len() > limit {
            return Err(ModelError::TooLarge { what: "text", limit });
        }
        Ok(())
    }

    /// Adds the extra members of a message. If there are too many, all are dropped, since servers reject a part of them.
    fn add_extra(&mut self, choice: &mut Choice) {
        let extra = std::mem::take(&mut choice.extra);
        let of_calls = choice.calls.iter().map(|call| call.extra.bytes()).sum::<usize>();
        self.extra_bytes += extra.bytes() + of_calls;
        if self.extra_bytes > self.max_extra_bytes {
            self.extra = ExtraMembers::default();
            let known = self.calls.iter_mut().map(|call| &mut call.extra);
            let parts = choice.calls.iter_mut().map(|call| &mut call.extra);
            known.chain(parts).for_each(|extra| *extra = ExtraMembers::default());
        } else if choice.is_complete {
            self.extra.replace(extra);
        } else {
            self.extra.add(extra);
        }
    }

    /// Adds the calls of a complete message. They replace the calls that were assembled from parts.
    fn add_complete_calls(&mut self, calls: Vec<CallPart>) -> Result<(), ModelError> {
        if self.has_parts && !calls.is_empty() {
            self.calls.clear();
        }
        // Another complete message may repeat the calls. Within one message, the ids are often equal.
        let known = self.calls.len();
        for part in calls {
            let is_same = |call: &PartialCall| call.id == part.id && call.name == part.name;
            if part.id.is_empty() || !self.calls[..known].iter().any(is_same) {
                let position = self.begin_call(part.index)?;
                self.add_to(position, part)?;
            }
        }
        Ok(())
    }

    fn add_call(&mut self, part: CallPart) -> Result<(), ModelError> {
        let is_known = |call: &PartialCall| call.index == part.index && call.is_repeated_by(&part);
        if self.calls.iter().any(is_known) {
            return Ok(());
        }
        let position = match self.position(&part) {
            Some(position) => position,
            None => self.begin_call(part.index)?,
        };
        self.add_to(position, part)
    }

    fn begin_call(&mut self, index: Option<u64>) -> Result<usize, ModelError> {
        tool_call::check_count(self.calls.len() + 1)?;
        self.calls.push(PartialCall { index, ..PartialCall::default() });
        Ok(self.calls.len() - 1)
    }

    fn add_to(&mut self, position: usize, part: CallPart) -> Result<(), ModelError> {
        let CallPart { id, name, arguments, extra, .. } = part;
        let call = &mut self.calls[position];
        call.extra.add(extra);
        // Some servers repeat id and name in every part; some split the name, or send a longer prefix each time.
        if call.id.is_empty() {
            call.id = id;
        }
        let is_name_open = call.arguments.is_empty();
        let name = if is_name_open { name.strip_prefix(&*call.name).unwrap_or(&name) } else { "" };
        self.call_bytes += name.len() + arguments.len();
        if self.call_bytes > self.max_arguments_bytes {
            return Err(ModelError::TooLarge { what: "calls", limit: self.max_arguments_bytes });
        }
        call.name.push_str(name);
        call.arguments.push_str(&arguments);
        Ok(())
    }

    /// The call that a part belongs to: the last one with its index, or without an index the last one. `None` if
    /// the part begins a new call: some servers use the same index for all calls.
    fn position(&self, part: &CallPart) -> Option<usize> {
        let position = match part.index {
            Some(_) => self.calls.iter().rposition(|call| call.index == part.index),
            None => self.calls.len().checked_sub(1),
        }?;
        let call = &self.calls[position];
        let is_next = || call.is_complete() && !part.arguments.trim().is_empty();
        let begins = match (part.id.is_empty() || call.id.is_empty(), part.index) {
            (true, None) => true,
            (true, Some(_)) => is_next(),
            // Some servers use the same id, too.
            (false, _) => part.id != call.id || is_next(),
        };
        // Some servers generate a new id for each part: only a part with a name begins a call.
        let begins = begins && !part.name.is_empty();
        (!begins).then_some(position)
    }

    /// Whether the reply is complete if the stream ends here.
    pub(super) fn is_finished(&self) -> bool {
        self.finish_reason.is_some() || self.has_final_usage
    }

    /// Whether the model has written something.
    pub(super) fn has_output(&self) -> bool {
        let texts = [&self.content, &self.refusal];
        self.is_finished()
            || self.extra_bytes > 0
            || !self.calls.is_empty()
            || texts.iter().any(|text| !text.is_empty())
    }

    /// The text so far, and the number of its bytes before the answer. `None` while that is undecided.
    pub(super) fn text(&self) -> (&str, Option<usize>) {
        (&self.content, self.answer.start(&self.content))
    }

    /// Whether the reasoning in the text ends with a tag, but does not begin with one.
    pub(super) fn has_unopened_reasoning(&self) -> bool {
        self.answer.unopened_tag().is_some()
    }

    /// The complete reply.
    pub(super) fn finish(self) -> Result<Completion, ModelError> {
        if !self.has_choice {
            return Err(ModelError::malformed("no choices"));
        }
        if !self.refusal.trim().is_empty() {
            return Err(ModelError::Declined { reason: self.refusal });
        }
        if self.finish_reason.as_deref() == Some("content_filter") {
            let reason = "blocked by the content filter of the endpoint".to_owned();
            return Err(ModelError::Declined { reason });
        }
        let reason = self.finish_reason.as_deref().unwrap_or_default();
        if reason.contains("MALFORMED_FUNCTION_CALL") || reason.contains("UNEXPECTED_TOOL_CALL") {
            return Err(ModelError::MalformedCall);
        }
        if reason == "error" {
            let reason = "the endpoint ended the reply with `error`".to_owned();
            return Err(ModelError::Failed { reason });
        }
        if self.extra_bytes > self.max_extra_bytes {
            tracing::warn!(
                bytes = self.extra_bytes,
                limit = self.max_extra_bytes,
                "the reasoning of the model is too large to be returned to it"
            );
        }
        let is_truncated = reason == "length";
        let (mut content, mut extra) = (self.content, self.extra);
        let answer = match self.answer.start(&content) {
            Some(start) => content.split_off(start),
            None if is_truncated => String::new(),
            // Without a closing tag, it was not reasoning.
            None => std::mem::take(&mut content),
        };
        let mut reasoning = content;
        let (answer, reasoning) = match self.answer.unopened_tag() {
            // Nothing follows the tag, so the text is the answer.
            Some(tag) if answer.is_empty() && self.calls.is_empty() => {
                reasoning.truncate(tag);
                (reasoning, String::new())
            }
            _ => (answer, reasoning),
        };
        let mut calls: Vec<ToolCall> = Vec::with_capacity(self.calls.len());
        for call in self.calls {
            let arguments = Arguments::parse(&call.arguments);
            // Results refer to calls by id, so each call needs a unique one.
            let is_unique =
                tool_call::is_id(&call.id) && calls.iter().all(|other| other.id != call.id);
            let id = if is_unique { call.id.clone() } else { tool_call::id() };
            if !is_unique && !call.id.is_empty() {
                extra.rename_call(&call.id, &id);
            }
            let extra = call.extra;
            calls.push(ToolCall { extra, ..ToolCall::new(id, &call.name, arguments) });
        }
        let usage = self.usage;
        Ok(Completion {
            reasoning,
            content: answer,
            calls,
            extra,
            usage,
            calls_in_text: false,
            is_truncated,
        })
    }
}

impl PartialCall {
    /// Whether the arguments are complete.
    fn is_complete(&self) -> bool {
        self.arguments.trim_end().ends_with('}')
            && serde_json::from_str::<serde::de::IgnoredAny>(&self.arguments).is_ok()
    }

    /// Whether a part repeats the whole call.
    fn is_repeated_by(&self, part: &CallPart) -> bool {
        !part.id.is_empty()
            && part.id == self.id
            && part.name == self.name
            && part.arguments == self.arguments
            && self.is_complete()
    }
}

/// Extends a text to `whole` if it is a prefix of `whole`. Any other text stays unchanged, since it may have been sent.
fn extend_to(text: &mut String, whole: &str) {
    if let Some(rest) = whole.strip_prefix(&**text) {
        text.push_str(rest);
    }
}
