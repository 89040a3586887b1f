//! What Tab completes.

use std::sync::{Arc, Mutex, PoisonError};

use super::command::COMMANDS;
use crate::terminal::line;

/// Commands, and the names that they take, as far as the server has told of them. Clones are one.
#[derive(Debug, Clone, Default)]
pub(super) struct Completion(Arc<Mutex<Names>>);

#[derive(Debug, Default)]
struct Names {
    tools: Vec<String>,
    conversations: Vec<String>,
}

impl Completion {
    pub(super) fn set_tools<'n>(&self, names: impl Iterator<Item = &'n str>) {
        self.names(|known| known.tools = harmless(names));
    }

    pub(super) fn set_conversations<'n>(&self, ids: impl Iterator<Item = &'n str>) {
        self.names(|known| known.conversations = harmless(ids));
    }

    /// Where the last word of a line begins, and what it may become.
    pub(super) fn of(&self, text: &str) -> (usize, Vec<String>) {
        if !text.starts_with('/') {
            return (text.len(), Vec::new());
        }
        let Some((command, word)) = text.split_once(' ') else {
            let found = COMMANDS.iter().filter(|(name, ..)| name.starts_with(text));
            let blank = |takes: &str| if takes.is_empty() { "" } else { " " };
            return (0, found.map(|(name, takes, _)| format!("{name}{}", blank(takes))).collect());
        };
        let at = command.len() + 1;
        let found = self.names(|names| {
            let names = match command {
                "/tools" => &*names.tools,
                "/resume" | "/delete" => &*names.conversations,
                _ => &[],
            };
            beginning(word, names.iter().map(String::as_str))
        });
        (at, found)
    }

    fn names<T>(&self, act: impl FnOnce(&mut Names) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn beginning<'n>(word: &str, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    names.filter(|name| name.starts_with(word)).map(str::to_owned).collect()
}

/// Those that can be shown as they are.
fn harmless<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let is_harmless = |name: &&str| line(name) == *name && !name.contains(char::is_whitespace);
    names.filter(is_harmless).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
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
            assert_eq!(completion.of(line), (at, expected), "{line:?}");
        }
    }
}
