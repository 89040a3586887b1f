//! What a reply adds up to.

use super::chunk::{CallPart, Chunk, Usage};
use super::config::ModelConfig;
use super::error::{ModelError, said};
use super::tool_call::{self, Arguments, ToolCall};

/// A whole reply of a model.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Completion {
    /// What it says.
    pub content: String,
    /// What it wants to have called.
    pub calls: Vec<ToolCall>,
    /// What it took, if the endpoint tells.
    pub usage: Option<Usage>,
    /// Whether the calls were written as a text: they may as well be a quotation.
    pub is_written: bool,
    /// Whether the model had more to say than it was allowed to.
    pub is_cut: bool,
}

/// A reply that comes in parts.
#[derive(Debug)]
pub(super) struct Accumulator {
    content: String,
    refusal: String,
    calls: Vec<Partial>,
    /// Those of the calls' names and arguments.
    bytes_of_calls: usize,
    usage: Option<Usage>,
    finish: Option<String>,
    has_choice: bool,
    /// Parts have come: a whole message behind them says it all again.
    has_parts: bool,
    max_content_bytes: usize,
    max_arguments_bytes: usize,
}

#[derive(Debug, Default)]
struct Partial {
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
            bytes_of_calls: 0,
            usage: None,
            finish: None,
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
            return Err(ModelError::Failed { reason: said(&text) });
        }
        self.usage = chunk.usage.or(self.usage);
        let Some(choice) = chunk.choice else { return Ok(()) };
        self.has_choice = true;
        self.has_parts |= !choice.is_whole;
        self.finish = choice.finish.or(self.finish.take());
        if choice.is_whole {
            self.add_whole_calls(choice.calls)?;
        } else {
            for call in choice.calls {
                self.add_call(call)?;
            }
        }
        if choice.is_whole && self.has_parts {
            extend(&mut self.content, &choice.content);
            extend(&mut self.refusal, &choice.refusal);
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

    /// Those of a whole message: behind parts, they take the place of what was put together.
    fn add_whole_calls(&mut self, calls: Vec<CallPart>) -> Result<(), ModelError> {
        if self.has_parts && !calls.is_empty() {
            self.calls.clear();
        }
        // Another message may repeat them. Within one, ids are often all the same.
        let known = self.calls.len();
        for part in calls {
            let is_same = |call: &Partial| call.id == part.id && call.name == part.name;
            if part.id.is_empty() || !self.calls[..known].iter().any(is_same) {
                let place = self.begin_call(part.index)?;
                self.add_to(place, part)?;
            }
        }
        Ok(())
    }

    fn add_call(&mut self, part: CallPart) -> Result<(), ModelError> {
        let place = match self.place(&part) {
            Some(place) if self.calls[place].is_repeated_by(&part) => return Ok(()),
            Some(place) => place,
            None => self.begin_call(part.index)?,
        };
        self.add_to(place, part)
    }

    fn begin_call(&mut self, index: Option<u64>) -> Result<usize, ModelError> {
        tool_call::check_count(self.calls.len() + 1)?;
        self.calls.push(Partial { index, ..Partial::default() });
        Ok(self.calls.len() - 1)
    }

    fn add_to(&mut self, place: usize, part: CallPart) -> Result<(), ModelError> {
        let CallPart { id, name, arguments, .. } = part;
        let call = &mut self.calls[place];
        // Some servers repeat both in every part; some cut the name into pieces, or send more of it each time.
        if call.id.is_empty() {
            call.id = id;
        }
        let is_name_open = call.arguments.is_empty();
        let name = if is_name_open { name.strip_prefix(&*call.name).unwrap_or(&name) } else { "" };
        self.bytes_of_calls += name.len() + arguments.len();
        if self.bytes_of_calls > self.max_arguments_bytes {
            return Err(ModelError::TooLarge { what: "calls", limit: self.max_arguments_bytes });
        }
        call.name.push_str(name);
        call.arguments.push_str(&arguments);
        Ok(())
    }

    /// The call that a part belongs to: the last one of its index; without one, the last one. Unless it begins
    /// another: some servers give all calls the same index.
    fn place(&self, part: &CallPart) -> Option<usize> {
        let place = match part.index {
            Some(_) => self.calls.iter().rposition(|call| call.index == part.index),
            None => self.calls.len().checked_sub(1),
        }?;
        let call = &self.calls[place];
        let begins = if part.id.is_empty() || call.id.is_empty() {
            part.index.is_none() || (call.is_complete() && !part.arguments.trim().is_empty())
        } else {
            part.id != call.id
        };
        // Some servers make up another id for each part: the name tells.
        let begins = begins && !part.name.is_empty();
        (!begins).then_some(place)
    }

    /// Whether a stream that ends here was complete.
    pub(super) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// What it says by now, without what the model only thinks.
    pub(super) fn said(&self) -> &str {
        after_thought(&self.content).unwrap_or_default()
    }

    /// The whole.
    pub(super) fn finish(self) -> Result<Completion, ModelError> {
        if !self.has_choice {
            return Err(ModelError::malformed("it has no choices"));
        }
        if !self.refusal.trim().is_empty() {
            return Err(ModelError::Declined { reason: self.refusal });
        }
        if self.finish.as_deref() == Some("content_filter") {
            let reason = "a filter of its endpoint has cut the answer".to_owned();
            return Err(ModelError::Declined { reason });
        }
        let mut calls: Vec<ToolCall> = Vec::with_capacity(self.calls.len());
        for call in self.calls {
            let arguments = Arguments::of_text(&call.arguments);
            // Results are told by id, so each has one, and of its own.
            let is_own =
                tool_call::is_id(&call.id) && calls.iter().all(|other| other.id != call.id);
            let id = if is_own { call.id } else { tool_call::id() };
            calls.push(ToolCall::new(id, &call.name, arguments));
        }
        let is_cut = self.finish.as_deref() == Some("length");
        let content = match after_thought(&self.content) {
            Some(said) => said.to_owned(),
            None if is_cut => String::new(),
            // It was no thought, then.
            None => self.content,
        };
        Ok(Completion { content, calls, usage: self.usage, is_written: false, is_cut })
    }
}

impl Partial {
    /// Whether the arguments are all there.
    fn is_complete(&self) -> bool {
        self.arguments.trim_end().ends_with('}')
            && serde_json::from_str::<serde::de::IgnoredAny>(&self.arguments).is_ok()
    }

    /// Whether a part says all of it again.
    fn is_repeated_by(&self, part: &CallPart) -> bool {
        !part.id.is_empty()
            && part.id == self.id
            && part.name == self.name
            && part.arguments == self.arguments
            && self.is_complete()
    }
}

/// Makes a text the whole that it is the beginning of. What was given out cannot be taken back: another whole
/// is left out.
fn extend(text: &mut String, whole: &str) {
    if let Some(rest) = whole.strip_prefix(&**text) {
        text.push_str(rest);
    }
}

const OPENING: &str = "<think>";
const CLOSING: &str = "</think>";

/// The text after the thought at its beginning, which some servers do not remove; the whole text if there is no
/// thought. `None` while that is not known.
fn after_thought(text: &str) -> Option<&str> {
    let beginning = text.trim_start();
    if let Some(thought) = beginning.strip_prefix(OPENING) {
        return thought.split_once(CLOSING).map(|(_, rest)| rest.trim_start());
    }
    let may_open = !beginning.is_empty() && OPENING.starts_with(beginning);
    (!may_open).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::after_thought;

    #[test]
    fn thoughts_are_taken_off() {
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
            assert_eq!(after_thought(text), expected, "{text:?}");
        }
    }
}
