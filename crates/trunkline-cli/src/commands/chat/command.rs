//! What a line asks for.

use std::borrow::Cow;

/// A line that was typed, or read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'l> {
    /// There is nothing in it.
    Nothing,
    Message(Cow<'l, str>),
    Command(Command<'l>),
    /// It begins as a command does, and is none, for this reason.
    Wrong(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command<'l> {
    Help,
    /// All tools, or one.
    Tools(Option<&'l str>),
    Conversations,
    Clear,
    Resume(&'l str),
    Delete(&'l str),
    /// The call that waits, or that of a token.
    Confirm(Option<&'l str>),
    Quit,
}

/// The names of the commands, what they take, and what they do.
pub(super) const COMMANDS: [(&str, &str, &str); 8] = [
    ("/help", "", "lists the commands"),
    ("/tools", "[NAME]", "lists the tools, or shows one with its arguments"),
    ("/clear", "", "begins a new conversation"),
    ("/conversations", "", "lists your conversations"),
    ("/resume", "ID", "goes on with a conversation"),
    ("/delete", "ID", "deletes a conversation"),
    ("/confirm", "[TOKEN]", "makes the call that waits to be confirmed"),
    ("/quit", "", "ends the chat, as Ctrl-D does"),
];

impl<'l> Line<'l> {
    pub(super) fn parse(line: &'l str) -> Self {
        let line = line.trim();
        match line.strip_prefix('/') {
            None if line.is_empty() => Self::Nothing,
            None => Self::Message(line.into()),
            Some(rest) if rest.starts_with('/') => Self::Message(rest.into()),
            Some(_) => {
                let mut words = line.split_whitespace();
                let name = words.next().unwrap_or(line);
                command(name, &words.collect::<Vec<_>>()).map_or_else(Self::Wrong, Self::Command)
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
        (name, _) => return Err(wrong(name)),
    })
}

fn wrong(name: &str) -> String {
    match COMMANDS.iter().find(|(known, ..)| *known == name) {
        Some((_, "", _)) => format!("{name} takes nothing"),
        Some((_, takes, _)) => format!("it is {name} {takes}"),
        None => {
            let near = nearest(name).join(", ");
            let near = if near.is_empty() { String::new() } else { format!(" (is it {near}?)") };
            format!("there is no command {name}{near}: /help lists them, //… says it as a message")
        }
    }
}

/// The commands that begin so, or are spelled alike; the nearest first.
fn nearest(name: &str) -> Vec<&'static str> {
    /// More is another word.
    const LIKE: f64 = 0.8;
    let likeness = |known: &str| match known.starts_with(name) && name.len() > 1 {
        true => 1.0,
        // All begin with the slash.
        false => strsim::jaro_winkler(&known[1..], name.trim_start_matches('/')),
    };
    let mut near: Vec<_> = COMMANDS.iter().map(|(known, ..)| (likeness(known), *known)).collect();
    near.retain(|(likeness, _)| *likeness >= LIKE);
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
    fn lines() {
        let message = |text: &'static str| Line::Message(text.into());
        check("", Line::Nothing);
        check(" \t\n", Line::Nothing);
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
    fn what_is_wrong() {
        for (line, told) in [
            ("/clear all", "/clear takes nothing"),
            ("/resume", "it is /resume ID"),
            ("/tools a b", "it is /tools [NAME]"),
            ("/tool", "(is it /tools?)"),
            ("/exit now", "no command /exit: /help"),
            ("/con", "(is it /conversations, /confirm?)"),
            ("/qiut", "(is it /quit?)"),
            ("/", "no command /: /help"),
            ("/usr/bin", "no command /usr/bin: /help"),
        ] {
            let Line::Wrong(found) = Line::parse(line) else { panic!("{line} is right") };
            assert!(found.contains(told), "{line}: {found}");
        }
    }
}
