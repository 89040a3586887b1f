use std::borrow::Cow;
use std::env;

use super::terminal;

/// How text stands out on a terminal that has colours.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paint {
    has_colours: bool,
}

impl Paint {
    pub(super) fn new(is_terminal: bool) -> Self {
        // As https://no-color.org has it.
        let is_unwanted = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { has_colours: is_terminal && !is_unwanted && !terminal::is_plain() }
    }

    pub(super) fn prompt(self, text: &str) -> Cow<'_, str> {
        self.with("1", text)
    }

    pub(super) fn aside(self, text: &str) -> Cow<'_, str> {
        self.with("2", text)
    }

    pub(super) fn call(self, text: &str) -> Cow<'_, str> {
        self.with("36", text)
    }

    pub(super) fn failure(self, text: &str) -> Cow<'_, str> {
        self.with("31", text)
    }

    pub(super) fn question(self, text: &str) -> Cow<'_, str> {
        self.with("33", text)
    }

    fn with<'t>(self, style: &str, text: &'t str) -> Cow<'t, str> {
        match self.has_colours {
            true => format!("\x1b[{style}m{text}\x1b[0m").into(),
            false => text.into(),
        }
    }
}
