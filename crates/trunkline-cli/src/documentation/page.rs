//! The pages of the documentation, their blocks and the commands in them.

use std::fs;
use std::path::{Path, PathBuf};

/// A page for users.
pub(super) struct Page {
    /// Relative to the repository.
    pub(super) path: String,
    pub(super) text: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// The number of the line of its fence.
    pub(super) line: usize,
    /// The text after the fence: the language and attributes.
    pub(super) info: String,
    /// The line before the fence.
    pub(super) before: String,
    pub(super) text: String,
}

/// A command with its arguments.
pub(super) type Words = Vec<String>;

pub(super) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All pages but those for contributors.
pub(super) fn pages() -> Vec<Page> {
    fn add(path: &Path, found: &mut Vec<PathBuf>) {
        let is_for_contributors =
            path.ends_with("docs/decisions") || path.ends_with("docs/architecture.md");
        if path.is_dir() && !is_for_contributors {
            fs::read_dir(path).unwrap().for_each(|entry| add(&entry.unwrap().path(), found));
        } else if path.extension().is_some_and(|extension| extension == "md")
            && !is_for_contributors
        {
            found.push(path.to_owned());
        }
    }
    let root = repository();
    let mut found = Vec::new();
    for name in ["README.md", "crates", "docs", "examples", "packaging"] {
        add(&root.join(name), &mut found);
    }
    found.sort();
    let page = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        Page { path: path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned(), text }
    };
    found.into_iter().map(page).collect()
}

impl Page {
    pub(super) fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut open: Option<(Block, usize)> = None;
        let mut before = "";
        for (index, line) in self.text.lines().enumerate() {
            let unindented = line.trim_start();
            match (&mut open, unindented.strip_prefix("```")) {
                (None, Some(info)) => {
                    let (info, before) = (info.to_owned(), before.to_owned());
                    let block = Block { line: index + 1, info, before, text: String::new() };
                    open = Some((block, line.len() - unindented.len()));
                }
                (Some(_), Some(_)) => blocks.extend(open.take().map(|(block, _)| block)),
                (Some((block, indentation)), None) => {
                    block.text += line.get(*indentation..).unwrap_or_default();
                    block.text.push('\n');
                }
                (None, None) => {}
            }
            before = line;
        }
        assert!(open.is_none(), "{}: a block is not closed", self.path);
        blocks
    }

    /// The texts between backquotes, outside of blocks.
    pub(super) fn spans(&self) -> Vec<String> {
        let mut text = self.text.clone();
        for block in self.blocks() {
            text = text.replace(&block.text, "");
        }
        text.split('`').skip(1).step_by(2).map(|span| span.replace('\n', " ")).collect()
    }
}

impl Block {
    pub(super) fn language(&self) -> &str {
        let first = self.info.split(',').next().unwrap_or_default();
        let is_rust = ["", "no_run", "ignore", "should_panic", "compile_fail"].contains(&first);
        if is_rust { "rust" } else { first }
    }

    /// The commands of a block, with those of a pipe each.
    pub(super) fn commands(&self) -> Vec<Words> {
        let mut commands = Vec::new();
        let mut rest = &*self.text;
        let has_prompts = self.language() != "sh";
        if has_prompts || !rest.starts_with("#!") {
            while !rest.is_empty() {
                rest = match rest.strip_prefix("$ ") {
                    None if has_prompts => rest.split_once('\n').map_or("", |(_, rest)| rest),
                    command => read_line(command.unwrap_or(rest), &mut commands),
                };
            }
        }
        commands
    }
}

/// Adds the commands of a line of a shell, which ends with a line break outside of quotes. Returns the rest.
pub(super) fn read_line<'t>(text: &'t str, commands: &mut Vec<Words>) -> &'t str {
    let mut words: Words = vec![String::new()];
    let mut quote = None;
    let mut chars = text.char_indices();
    let mut end = text.len();
    while let Some((at, char)) = chars.next() {
        let word = words.last_mut().expect("there is a word");
        match (quote, char) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (None, '\'' | '"') => quote = Some(char),
            (None | Some('"'), '\\') => match chars.next() {
                Some((_, '\n')) | None => {}
                Some((_, escaped)) => word.push(escaped),
            },
            (Some(_), _) => word.push(char),
            (None, '\n') => {
                end = at + 1;
                break;
            }
            (None, '#') if word.is_empty() => {
                end = text[at..].find('\n').map_or(text.len(), |length| at + length + 1);
                break;
            }
            (None, '|' | ';' | '&') => {
                commands.push(std::mem::replace(&mut words, vec![String::new()]));
            }
            (None, char) if char.is_whitespace() => words.push(String::new()),
            (None, _) => word.push(char),
        }
    }
    assert_eq!(quote, None, "a quote is not closed: {text}");
    commands.push(words);
    for words in &mut *commands {
        words.retain(|word| !word.is_empty() && word != "…");
        if let Some(at) = words.iter().position(|word| word.starts_with('>') || word == "2>") {
            words.truncate(at);
        }
    }
    commands.retain(|words| !words.is_empty());
    &text[end..]
}

/// The arguments of `trunkline` in a command, also if another program starts it.
pub(super) fn of_trunkline(words: &[String]) -> Option<&[String]> {
    let is_name = |word: &String| {
        let name = word.rsplit('/').next().unwrap_or_default();
        name == "trunkline" || name.starts_with("trunkline:")
    };
    let is_cargo = words.first().is_some_and(|first| first == "cargo");
    let at = words.iter().position(is_name).filter(|_| !is_cargo)?;
    Some(&words[at..])
}

#[test]
fn blocks_and_commands_are_found() {
    #[track_caller]
    fn check(text: &str, expected: &[&[&str]]) {
        let page = Page { path: String::new(), text: text.to_owned() };
        let found: Vec<Words> = page.blocks().iter().flat_map(Block::commands).collect();
        assert_eq!(found, expected, "{text}");
    }
    check("text\n```sh\na b # c\nd\n```\n", &[&["a", "b"], &["d"]]);
    check("```console\n$ a\noutput\n$ b | c > d\n```\n", &[&["a"], &["b"], &["c"]]);
    check("   ```sh\n   a 'b\n   c' \\\n     \"d'e\"\n   ```\n", &[&["a", "b\nc", "d'e"]]);
    check("```text\na b\n$ c\n```\n", &[&["c"]]);
    check("```sh\n#!/bin/sh\na\n```\n", &[]);
}
