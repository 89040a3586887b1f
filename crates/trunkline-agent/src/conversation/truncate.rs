//! Truncation of a turn to a maximum size.

use crate::model::{Message, MessageToolCall, truncate};

/// The maximum length of the mark at the end of a truncated text.
const MAX_MARK_LENGTH: usize = 80;

/// Truncates the longest texts of the messages: first the results of tools, then the texts of the user and the model,
/// and finally the arguments of calls.
pub(super) fn truncate_messages(mut messages: Vec<Message>, limit: usize) -> Vec<Message> {
    let size = |messages: &[Message]| messages.iter().map(Message::bytes).sum::<usize>();
    // Extra members, which cannot be truncated, are dropped if the rest does not fit without the results of tools.
    let results: usize = messages.iter_mut().filter_map(result_text).map(|text| text.len()).sum();
    if size(&messages) - results > limit {
        messages.iter_mut().for_each(Message::drop_extra);
    }
    for part in [result_text, spoken_text] {
        let all = size(&messages);
        if all <= limit {
            break;
        }
        let mut texts: Vec<_> = messages.iter_mut().filter_map(part).collect();
        let lengths: Vec<_> = texts.iter().map(|text| text.len()).collect();
        let others = all - lengths.iter().sum::<usize>();
        let max_length = max_text_length(lengths, limit.saturating_sub(others));
        for text in texts.iter_mut().filter(|text| text.len() > max_length) {
            **text = match max_length.checked_sub(MAX_MARK_LENGTH) {
                Some(shown) => truncate(std::mem::take(*text), shown),
                None => String::new(),
            };
        }
    }
    if size(&messages) > limit {
        messages
            .iter_mut()
            .flat_map(tool_calls)
            .for_each(|call| "{}".clone_into(&mut call.function.arguments));
    }
    messages
}

/// The maximum length of a text with which all texts together fit into `available`.
fn max_text_length(mut lengths: Vec<usize>, mut available: usize) -> usize {
    lengths.sort_unstable();
    let count = lengths.len();
    for (index, length) in lengths.into_iter().enumerate() {
        let share = available / (count - index);
        if length > share {
            return share;
        }
        available -= length;
    }
    usize::MAX
}

fn result_text(message: &mut Message) -> Option<&mut String> {
    match message {
        Message::Tool { content, .. } => Some(content),
        _ => None,
    }
}

fn spoken_text(message: &mut Message) -> Option<&mut String> {
    match message {
        Message::User { content } | Message::Assistant { content, .. } => Some(content),
        _ => None,
    }
}

fn tool_calls(message: &mut Message) -> &mut [MessageToolCall] {
    match message {
        Message::Assistant { tool_calls, .. } => tool_calls,
        _ => &mut [],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lengths are those of a question, of arguments, of two results and of an answer.
    #[track_caller]
    fn check(limit: usize, lengths: [usize; 5], expected: [usize; 5]) {
        let text = |index: usize| "é".repeat(lengths[index] / 2);
        let call = MessageToolCall::new(String::new(), String::new(), text(1));
        let tool = |content| Message::Tool { tool_call_id: String::new(), content };
        let messages = vec![
            Message::user(text(0)),
            Message::with_calls(String::new(), vec![call]),
            tool(text(2)),
            tool(text(3)),
            Message::assistant(text(4)),
        ];
        let found: Vec<_> = truncate_messages(messages, limit).iter().map(Message::bytes).collect();
        let case = format!("{limit}: {found:?}");
        assert!(found.iter().sum::<usize>() <= limit.max(2), "{case}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                (expected.saturating_sub(MAX_MARK_LENGTH)..=expected).contains(found),
                "{case}"
            );
        }
    }

    #[test]
    fn truncates_the_longest_texts() {
        check(1_000, [200; 5], [200; 5]);
        check(1_000, [200, 200, 100, 1_000, 200], [200, 200, 100, 300, 200]);
        check(1_000, [200, 200, 1_000, 1_000, 200], [200; 5]);
        check(1_000, [1_000, 200, 1_000, 1_000, 200], [600, 200, 0, 0, 200]);
        check(1_000, [10, 2_000, 10, 10, 10], [0, 2, 0, 0, 0]);
        check(0, [10; 5], [0, 2, 0, 0, 0]);
    }
}
