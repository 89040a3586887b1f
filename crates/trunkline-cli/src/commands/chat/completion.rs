//! Completion with Tab.

use std::cell::RefCell;
use std::rc::Rc;

use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

use super::command::COMMANDS;
use crate::terminal::line;

/// Commands, and the names of tools and conversations that the server has listed. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Completion(Rc<RefCell<Names>>);

#[derive(Debug, Default)]
struct Names {
    tools: Vec<String>,
    conversations: Vec<String>,
}

impl Completion {
    pub(super) fn set_tools<'n>(&self, names: impl Iterator<Item = &'n str>) {
        self.0.borrow_mut().tools = printable(names);
    }

    pub(super) fn set_conversations<'n>(&self, ids: impl Iterator<Item = &'n str>) {
        self.0.borrow_mut().conversations = printable(ids);
    }

    /// Returns the start of the last argument of a line, and its completions.
    fn candidates(&self, text: &str) -> (usize, Vec<String>) {
        if !text.starts_with('/') {
            return (text.len(), Vec::new());
        }
        let Some((command, word)) = text.split_once(' ') else {
            let found = COMMANDS.iter().filter(|(name, ..)| name.starts_with(text));
            let blank = |takes: &str| if takes.is_empty() { "" } else { " " };
            return (0, found.map(|(name, takes, _)| format!("{name}{}", blank(takes))).collect());
        };
        let names = self.0.borrow();
        let names = match command {
            "/tools" => &*names.tools,
            "/resume" | "/delete" => &*names.conversations,
            _ => &[],
        };
        let found = names.iter().filter(|name| name.starts_with(word));
        (command.len() + 1, found.cloned().collect())
    }
}

impl Completer for Completion {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.candidates(&line[..at]))
    }
}

impl Helper for Completion {}
impl Highlighter for Completion {}
impl Validator for Completion {}

impl Hinter for Completion {
    type Hint = String;
}

/// The names that need no escaping.
fn printable<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let is_printable = |name: &&str| line(name) == *name && !name.contains(char::is_whitespace);
    names.filter(is_printable).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completes_commands_and_names() {
        let completion = Completion::default();
        completion.set_tools(["list_tables", "list_rows", "\u{1b}[2J", "a b"].into_iter());
        completion.set_conversations(["1-a"].into_iter());
        for (line, at, expected) in [
            ("/con", 0, &["/conversations", "/confirm "][..]),
            ("/to", 0, &["/tools "]),
            ("", 0, &[]),
            ("how", 3, &[]),
            ("how many", 8, &[]),
            ("/tools ", 7, &["list_tables", "list_rows"]),
            ("/tools list_t", 7, &["list_tables"]),
            ("/resume 1", 8, &["1-a"]),
            ("/delete ", 8, &["1-a"]),
            ("/quit ", 6, &[]),
        ] {
            let expected = expected.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(completion.candidates(line), (at, expected), "{line:?}");
        }
    }
}
