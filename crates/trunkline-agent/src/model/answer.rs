//! The answer in a text that begins with reasoning, which some servers do not separate.

/// The tags around reasoning.
const TAGS: [(&str, &str); 9] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
];

/// Tags that some chat templates open in the prompt, so that the text has only the closing one.
const OPENED_IN_PROMPT: [(&str, &str); 4] = [TAGS[0], TAGS[1], TAGS[4], TAGS[5]];

/// The length of the longest tag in bytes.
const MAX_TAG_LENGTH: usize = 32;

/// The place of the answer in a text that is being received.
#[derive(Debug, Default)]
pub(super) struct AnswerPlace {
    state: State,
    /// The number of bytes that were searched.
    searched: usize,
}

#[derive(Debug, Default, Clone, Copy)]
enum State {
    /// The text may begin with a tag.
    #[default]
    Beginning,
    /// The text begins with reasoning that ends with this tag.
    Reasoning(&'static str),
    /// The text begins with the answer, unless a closing tag follows.
    Answer,
    /// The answer follows a tag that ends here.
    After(usize),
    /// The same, without the tag that begins the reasoning. The tag begins and ends here.
    AfterUnopened(usize, usize),
}

impl AnswerPlace {
    /// Reads the text so far, which begins with the text that was read before. If the server separates the reasoning, a
    /// closing tag after other text is part of the answer.
    pub(super) fn read(&mut self, text: &str, is_separate: bool) {
        if let State::Beginning = self.state {
            let beginning = text.trim_start();
            let opened = TAGS.iter().find(|(opening, _)| beginning.starts_with(opening));
            let may_open = TAGS.iter().any(|(opening, _)| opening.starts_with(beginning));
            match opened {
                Some((_, closing)) => self.state = State::Reasoning(closing),
                None if may_open => return,
                None => self.state = State::Answer,
            }
        }
        let mut from = self.searched.saturating_sub(MAX_TAG_LENGTH);
        while !text.is_char_boundary(from) {
            from -= 1;
        }
        self.searched = text.len();
        match self.state {
            State::Reasoning(closing) => {
                if let Some(place) = text[from..].find(closing) {
                    self.state = State::After(from + place + closing.len());
                }
            }
            State::Answer => {
                let found = unopened(text, from);
                let is_tag = |begin: usize| !is_separate || text[..begin].trim().is_empty();
                if let Some((begin, end)) = found.filter(|&(begin, _)| is_tag(begin)) {
                    self.state = State::AfterUnopened(begin, end);
                }
            }
            _ => {}
        }
    }

    /// The number of bytes before the answer. `None` while that is undecided.
    pub(super) fn start(&self, text: &str) -> Option<usize> {
        let trimmed = |end: usize| text.len() - text[end..].trim_start().len();
        match self.state {
            State::Beginning | State::Reasoning(_) => None,
            State::Answer => Some(0),
            State::After(end) | State::AfterUnopened(_, end) => Some(trimmed(end)),
        }
    }

    /// The place of a closing tag without its opening one.
    pub(super) fn unopened_tag(&self) -> Option<usize> {
        match self.state {
            State::AfterUnopened(begin, _) => Some(begin),
            _ => None,
        }
    }
}

/// The place of the first closing tag from `from` on that no opening one precedes. Quoted tags do not count.
fn unopened(text: &str, from: usize) -> Option<(usize, usize)> {
    let places = OPENED_IN_PROMPT.iter().flat_map(|&(opening, closing)| {
        let found = text[from..].match_indices(closing);
        let places = found.map(move |(place, _)| (from + place, from + place + closing.len()));
        places.filter(move |&(begin, _)| !text[..begin].contains(opening))
    });
    let is_quoted = |&(begin, _): &(usize, usize)| {
        let before = &text[..begin];
        before.ends_with(['`', '"', '\'']) || before.matches("```").count() % 2 == 1
    };
    places.filter(|place| !is_quoted(place)).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        check_as(false, text, expected);
    }

    /// Checks the answer, however the text is cut.
    #[track_caller]
    fn check_as(is_separate: bool, text: &str, expected: Option<&str>) {
        for length in 1..=text.len().max(1) {
            let mut place = AnswerPlace::default();
            let ends = (0..text.len()).step_by(length).chain([text.len()]);
            for end in ends.filter(|&end| text.is_char_boundary(end)) {
                place.read(&text[..end], is_separate);
            }
            let found = place.start(text).map(|start| &text[start..]);
            assert_eq!(found, expected, "{text:?} in pieces of {length}");
        }
    }

    #[test]
    fn finds_the_answer() {
        check("", None);
        check(" Yes", Some(" Yes"));
        check("\n<think>Well.</think>\n\nYes", Some("Yes"));
        check("<think></think>", Some(""));
        check("<think>Well.</think>Yes </think>", Some("Yes </think>"));
        check("Yes <think>no</think>", Some("Yes <think>no</think>"));
        check("<thinkers>", Some("<thinkers>"));
        check("<", None);
        check(" <think", None);
        check("<think>Well.</thin", None);
        for (opening, closing) in TAGS {
            assert!(opening.len().max(closing.len()) <= MAX_TAG_LENGTH);
            check(&format!("{opening}Well.{closing}Yes"), Some("Yes"));
            check(&format!("{opening}Well."), None);
        }
    }

    #[test]
    fn finds_the_answer_after_a_closing_tag() {
        for (_, closing) in OPENED_IN_PROMPT {
            check(&format!("Well, é.\n{closing}\n\nYes"), Some("Yes"));
            check(&format!("Well.{closing}"), Some(""));
        }
        check("</think>\nYes", Some("Yes"));
        check("a </think> b </think> c", Some("b </think> c"));
        for quoted in [
            "`</think>` ends it.",
            "The tag \"</think>\" ends it.",
            "It is '</think>'.",
            "```\na</think>\n```\n",
            "</reasoning> is no tag.",
        ] {
            check(quoted, Some(quoted));
        }
        check("`</think>` ends it.</think>Yes", Some("Yes"));
        check_as(true, "It is </think> there.", Some("It is </think> there."));
        check_as(true, "\n</think>\n\nYes", Some("Yes"));
        check_as(true, "<think>Well.</think>Yes", Some("Yes"));
    }
}
