//! Assembly of a reply from its parts.

use super::chunk::{CallPart, Chunk, Usage};
use super::config::ModelConfig;
use super::error::{ModelError, error_message};
use super::tool_call::{self, Arguments, ToolCall};

/// A complete reply of a model.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Completion {
    /// The text.
    pub content: String,
    /// The requested calls.
    pub calls: Vec<ToolCall>,
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
    refusal: String,
    calls: Vec<PartialCall>,
    /// The size of the names and arguments of all calls.
    call_bytes: usize,
    usage: Option<Usage>,
    finish_reason: Option<String>,
    has_choice: bool,
    /// Whether parts have arrived; a complete message after them repeats their contents.
    has_parts: bool,
    max_content_bytes: usize,
    max_arguments_bytes: usize,
}

#[derive(Debug, Default)]
struct PartialCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Accumulator {
    pub(super) fn new(config: &ModelConfig) -> Self {
        let ModelConfig { max_content_bytes, max_arguments_bytes, .. } = *config;
        Self {
            content: String::new(),
            refusal: String::new(),
            calls: Vec::new(),
            call_bytes: 0,
            usage: None,
            finish_reason: None,
            has_choice: false,
            has_parts: false,
            max_content_bytes,
            max_arguments_bytes,
        }
    }

    /// Adds a part.
    pub(super) fn add(&mut self, json: &str) -> Result<(), ModelError> {
        let chunk = Chunk::read(json).map_err(|error| ModelError::malformed(error.to_string()))?;
        if let Some(error) = chunk.error {
            let text = serde_json::json!({ "error": error }).to_string();
            return Err(ModelError::Failed { reason: error_message(&text) });
        }
        self.usage = chunk.usage.or(self.usage);
        let Some(choice) = chunk.choice else { return Ok(()) };
        self.has_choice = true;
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
        let limit = self.max_content_bytes;
        if self.content.len() + self.refusal.len() > limit {
            return Err(ModelError::TooLarge { what: "text", limit });
        }
        Ok(())
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
        let position = match self.position(&part) {
            Some(position) if self.calls[position].is_repeated_by(&part) => return Ok(()),
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
        let CallPart { id, name, arguments, .. } = part;
        let call = &mut self.calls[position];
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
        let begins = if part.id.is_empty() || call.id.is_empty() {
            part.index.is_none() || (call.is_complete() && !part.arguments.trim().is_empty())
        } else {
            part.id != call.id
        };
        // Some servers generate a new id for each part: only a part with a name begins a call.
        let begins = begins && !part.name.is_empty();
        (!begins).then_some(position)
    }

    /// Whether the reply is complete if the stream ends here.
    pub(super) fn is_finished(&self) -> bool {
        self.finish_reason.is_some()
    }

    /// The text so far, without the model's reasoning.
    pub(super) fn visible_text(&self) -> &str {
        after_reasoning(&self.content).unwrap_or_default()
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
        let mut calls: Vec<ToolCall> = Vec::with_capacity(self.calls.len());
        for call in self.calls {
            let arguments = Arguments::parse(&call.arguments);
            // Results refer to calls by id, so each call needs a unique one.
            let is_unique =
                tool_call::is_id(&call.id) && calls.iter().all(|other| other.id != call.id);
            let id = if is_unique { call.id } else { tool_call::id() };
            calls.push(ToolCall::new(id, &call.name, arguments));
        }
        let is_truncated = self.finish_reason.as_deref() == Some("length");
        let content = match after_reasoning(&self.content) {
            Some(text) => text.to_owned(),
            None if is_truncated => String::new(),
            // Without a closing tag, it was not reasoning.
            None => self.content,
        };
        Ok(Completion { content, calls, usage: self.usage, calls_in_text: false, is_truncated })
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

const OPENING: &str = "<think>";
const CLOSING: &str = "</think>";

/// The text after the reasoning at its beginning, which some servers do not remove; the whole text if there is no
/// reasoning. `None` while that is undecided.
fn after_reasoning(text: &str) -> Option<&str> {
    let beginning = text.trim_start();
    if let Some(reasoning) = beginning.strip_prefix(OPENING) {
        return reasoning.split_once(CLOSING).map(|(_, rest)| rest.trim_start());
    }
    let may_open = !beginning.is_empty() && OPENING.starts_with(beginning);
    (!may_open).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::after_reasoning;

    #[test]
    fn reasoning_is_removed() {
        for (text, expected) in [
            ("", Some("")),
            (" Yes", Some(" Yes")),
            ("\n<think>Well.</think>\n\nYes", Some("Yes")),
            ("<think></think>", Some("")),
            ("<think>Well.</think>Yes </think>", Some("Yes </think>")),
            ("Yes <think>no</think>", Some("Yes <think>no</think>")),
            ("<thinking>", Some("<thinking>")),
            ("<", None),
            (" <think", None),
            ("<think>Well.</thin", None),
        ] {
            assert_eq!(after_reasoning(text), expected, "{text:?}");
        }
    }
}
