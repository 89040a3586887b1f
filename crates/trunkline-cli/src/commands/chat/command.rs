//! The lines of a chat: messages and commands.

use std::borrow::Cow;

/// A line that was typed, or read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'l> {
    Empty,
    Message(Cow<'l, str>),
    Command(Command<'l>),
    /// An invalid command, for this reason.
    Invalid(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command<'l> {
    Help,
    /// Lists the tools, or shows one.
    Tools(Option<&'l str>),
    Conversations,
    Clear,
    Resume(&'l str),
    Delete(&'l str),
    /// Makes the pending call, or the call of a token.
    Confirm(Option<&'l str>),
    Quit,
}

/// The names, arguments and descriptions of the commands.
pub(super) const COMMANDS: [(&str, &str, &str); 8] = [
    ("/help", "", "list the commands"),
    ("/tools", "[NAME]", "list the tools, or show one with its arguments"),
    ("/clear", "", "begin a new conversation"),
    ("/conversations", "", "list your conversations"),
    ("/resume", "ID", "continue a conversation"),
    ("/delete", "ID", "delete a conversation"),
    ("/confirm", "[TOKEN]", "make the call that requires confirmation"),
    ("/quit", "", "end the chat (Ctrl-D)"),
];

impl<'l> Line<'l> {
    pub(super) fn parse(line: &'l str) -> Self {
        let line = line.trim();
        match line.strip_prefix('/') {
            None if line.is_empty() => Self::Empty,
            None => Self::Message(line.into()),
            Some(rest) if rest.starts_with('/') => Self::Message(rest.into()),
            Some(_) => {
                let mut words = line.split_whitespace();
                let name = words.next().unwrap_or(line);
                command(name, &words.collect::<Vec<_>>()).map_or_else(Self::Invalid, Self::Command)
            }
        }
    }
}

fn command<'l>(name: &str, words: &[&'l str]) -> Result<Command<'l>, String> {
    Ok(match (name, words) {
        ("/help", []) => Command::Help,
        ("/tools", []) => Command::Tools(None),
        ("/tools", [tool]) => Command::Tools(Some(tool)),
        ("/conversations", []) => Command::Conversations,
        ("/clear", []) => Command::Clear,
        ("/resume", [id]) => Command::Resume(id),
        ("/delete", [id]) => Command::Delete(id),
        ("/confirm", []) => Command::Confirm(None),
        ("/confirm", [token]) => Command::Confirm(Some(token)),
        ("/quit", []) => Command::Quit,
        (name, _) => return Err(invalid(name)),
    })
}

fn invalid(name: &str) -> String {
    match COMMANDS.iter().find(|(known, ..)| *known == name) {
        Some((_, "", _)) => format!("{name} has no arguments"),
        Some((_, takes, _)) => format!("invalid arguments; use {name} {takes}"),
        None => {
            let near = nearest(name).join(", ");
            let near =
                if near.is_empty() { String::new() } else { format!("; did you mean {near}?") };
            format!("unknown command {name}{near} (/help lists the commands, //… sends a message)")
        }
    }
}

/// The commands with this prefix or a similar spelling, the most similar first.
fn nearest(name: &str) -> Vec<&'static str> {
    /// Below this similarity, names are unrelated.
    const MIN_SIMILARITY: f64 = 0.8;
    let similarity = |known: &str| match known.starts_with(name) && name.len() > 1 {
        true => 1.0,
        // All begin with a slash.
        false => strsim::jaro_winkler(&known[1..], name.trim_start_matches('/')),
    };
    let mut near: Vec<_> = COMMANDS.iter().map(|(known, ..)| (similarity(known), *known)).collect();
    near.retain(|(similarity, _)| *similarity >= MIN_SIMILARITY);
    near.sort_by(|one, other| other.0.total_cmp(&one.0));
    near.into_iter().map(|(_, known)| known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Line<'_>) {
        assert_eq!(Line::parse(line), expected, "{line:?}");
    }

    #[test]
    fn parses_lines() {
        let message = |text: &'static str| Line::Message(text.into());
        check("", Line::Empty);
        check(" \t\n", Line::Empty);
        check(" how many? ", message("how many?"));
        check("two\n/lines", message("two\n/lines"));
        check("//tools", message("/tools"));
        check("a /tools", message("a /tools"));
        for (line, command) in [
            ("/help", Command::Help),
            (" /tools ", Command::Tools(None)),
            ("/tools query_records", Command::Tools(Some("query_records"))),
            ("/conversations", Command::Conversations),
            ("/clear", Command::Clear),
            ("/resume 1-2", Command::Resume("1-2")),
            ("/delete 1-2", Command::Delete("1-2")),
            ("/confirm", Command::Confirm(None)),
            ("/confirm t", Command::Confirm(Some("t"))),
            ("/quit", Command::Quit),
        ] {
            check(line, Line::Command(command));
        }
    }

    #[test]
    fn reports_invalid_commands() {
        for (line, expected) in [
            ("/clear all", "/clear has no arguments"),
            ("/resume", "use /resume ID"),
            ("/tools a b", "use /tools [NAME]"),
            ("/tool", "did you mean /tools?"),
            ("/exit now", "unknown command /exit (/help"),
            ("/con", "did you mean /conversations, /confirm?"),
            ("/qiut", "did you mean /quit?"),
            ("/", "unknown command / (/help"),
            ("/usr/bin", "unknown command /usr/bin (/help"),
        ] {
            let Line::Invalid(found) = Line::parse(line) else { panic!("{line} is valid") };
            assert!(found.contains(expected), "{line}: {found}");
        }
    }
}
