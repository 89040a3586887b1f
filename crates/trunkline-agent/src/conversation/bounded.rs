//! A turn in no more than so many bytes.

use crate::model::{Called, Message, cut};

/// The longest mark of a text that is cut.
const MARK: usize = 80;

/// The messages with their longest texts cut: the results of tools, and if that is not enough, what was said,
/// and what tools were called with.
pub(super) fn bounded(mut messages: Vec<Message>, limit: usize) -> Vec<Message> {
    let size = |messages: &[Message]| messages.iter().map(Message::bytes).sum::<usize>();
    for part in [results, sayings] {
        let all = size(&messages);
        if all <= limit {
            break;
        }
        let mut texts: Vec<_> = messages.iter_mut().filter_map(part).collect();
        let lengths: Vec<_> = texts.iter().map(|text| text.len()).collect();
        let others = all - lengths.iter().sum::<usize>();
        let longest = longest(lengths, limit.saturating_sub(others));
        for text in texts.iter_mut().filter(|text| text.len() > longest) {
            **text = match longest.checked_sub(MARK) {
                Some(shown) => cut(std::mem::take(*text), shown),
                None => String::new(),
            };
        }
    }
    if size(&messages) > limit {
        messages
            .iter_mut()
            .flat_map(calls)
            .for_each(|call| "{}".clone_into(&mut call.function.arguments));
    }
    messages
}

/// How long a text may be at most, so that all of them have room.
fn longest(mut lengths: Vec<usize>, mut room: usize) -> usize {
    lengths.sort_unstable();
    let count = lengths.len();
    for (index, length) in lengths.into_iter().enumerate() {
        let share = room / (count - index);
        if length > share {
            return share;
        }
        room -= length;
    }
    usize::MAX
}

fn results(message: &mut Message) -> Option<&mut String> {
    match message {
        Message::Tool { content, .. } => Some(content),
        _ => None,
    }
}

fn sayings(message: &mut Message) -> Option<&mut String> {
    match message {
        Message::User { content } | Message::Assistant { content, .. } => Some(content),
        _ => None,
    }
}

fn calls(message: &mut Message) -> &mut [Called] {
    match message {
        Message::Assistant { tool_calls, .. } => tool_calls,
        _ => &mut [],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts of these lengths, which are those of a question, of arguments, of two results and of an answer.
    #[track_caller]
    fn check(limit: usize, lengths: [usize; 5], expected: [usize; 5]) {
        let text = |index: usize| "é".repeat(lengths[index] / 2);
        let called = Called::new(String::new(), String::new(), text(1));
        let tool = |content| Message::Tool { tool_call_id: String::new(), content };
        let messages = vec![
            Message::user(text(0)),
            Message::Assistant { content: String::new(), tool_calls: vec![called] },
            tool(text(2)),
            tool(text(3)),
            Message::assistant(text(4)),
        ];
        let found: Vec<_> = bounded(messages, limit).iter().map(Message::bytes).collect();
        let case = format!("{limit}: {found:?}");
        assert!(found.iter().sum::<usize>() <= limit.max(2), "{case}");
        for (found, expected) in found.iter().zip(expected) {
            assert!((expected.saturating_sub(MARK)..=expected).contains(found), "{case}");
        }
    }

    #[test]
    fn the_longest_texts_are_cut() {
        check(1_000, [200; 5], [200; 5]);
        check(1_000, [200, 200, 100, 1_000, 200], [200, 200, 100, 300, 200]);
        check(1_000, [200, 200, 1_000, 1_000, 200], [200; 5]);
        check(1_000, [1_000, 200, 1_000, 1_000, 200], [600, 200, 0, 0, 200]);
        check(1_000, [10, 2_000, 10, 10, 10], [0, 2, 0, 0, 0]);
        check(0, [10; 5], [0, 2, 0, 0, 0]);
    }
}
