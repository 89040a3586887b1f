//! The commands on a page, with the output that the page shows, and the files that they use.

/// The blocks of a Markdown page that are executed, or written for the commands.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) commands: Vec<Command>,
    /// Paths and contents of blocks whose first line, after `#!`, is a comment with a path.
    pub(super) files: Vec<(String, String)>,
}

/// A command after a `$` prompt.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Command {
    /// The number of its line on the page.
    pub(super) line: usize,
    pub(super) text: String,
    /// The lines up to the next prompt.
    pub(super) output: String,
}

impl Page {
    pub(super) fn parse(markdown: &str) -> Self {
        let mut commands: Vec<Command> = Vec::new();
        let mut files = Vec::new();
        let mut is_console = false;
        // The content of another block. Between blocks, it is the text up to the next fence, which is not a file.
        let mut content = String::new();
        for (index, line) in markdown.lines().enumerate() {
            if let Some(language) = line.trim_start().strip_prefix("```") {
                let content = std::mem::take(&mut content);
                if let Some(path) = path(&content).filter(|_| language.is_empty()) {
                    files.push((path.to_owned(), content));
                }
                is_console = language == "console";
            } else if !is_console {
                content += line;
                content.push('\n');
            } else if let Some(last) = commands.last_mut().filter(|last| last.is_open()) {
                last.text.push('\n');
                last.text += line;
            } else if let Some(text) = line.strip_prefix("$ ") {
                let (line, text, output) = (index + 1, text.to_owned(), String::new());
                commands.push(Command { line, text, output });
            } else if let Some(last) = commands.last_mut() {
                last.output += line;
                last.output.push('\n');
            }
        }
        Self { commands, files }
    }
}

/// The path of a file with this content, relative to the directory of the commands.
fn path(content: &str) -> Option<&str> {
    let first = content.lines().find(|line| !line.starts_with("#!"))?;
    let path = first.strip_prefix("# ").filter(|path| !path.contains(' '))?;
    path.contains('.').then_some(path)
}

impl Command {
    /// Whether the command continues on the next line: after a backslash, or within quotes.
    fn is_open(&self) -> bool {
        let (mut quote, mut is_escaped) = (None, false);
        for char in self.text.chars() {
            match (quote, char) {
                _ if is_escaped => is_escaped = false,
                (None | Some('"'), '\\') => is_escaped = true,
                (None, '\'' | '"') => quote = Some(char),
                (Some(open), close) if open == close => quote = None,
                _ => {}
            }
        }
        self.output.is_empty() && (is_escaped || quote.is_some())
    }

    /// Whether the command is a server, which runs until the next one starts or the page ends.
    pub(super) fn is_server(&self) -> bool {
        let mut words = self.text.split_whitespace();
        words.next() == Some("trunkline")
            && words.next().is_some_and(|first| first == "serve" || first.ends_with(".db"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(markdown: &str, expected: &[(usize, &str, &str)]) {
        let page = Page::parse(markdown);
        let commands = page.commands.iter();
        let found: Vec<_> = commands
            .map(|Command { line, text, output }| (*line, text.as_str(), output.as_str()))
            .collect();
        assert_eq!(found, expected, "{markdown}");
    }

    #[test]
    fn commands_of_console_blocks() {
        check(
            "text\n```console\n$ echo a\na\nb\n$ true\n```\n",
            &[(3, "echo a", "a\nb\n"), (6, "true", "")],
        );
        check("```sh\n$ echo a\n```\n```console\n```\n$ true\n", &[]);
        check("```console\n$ echo a \\\n  b\na b\n```\n", &[(2, "echo a \\\n  b", "a b\n")]);
        check("```console\n$ echo 'a\n$ b'\nc\n```\n", &[(2, "echo 'a\n$ b'", "c\n")]);
        check("```console\n$ echo \"it's\"\nit's\n```\n", &[(2, "echo \"it's\"", "it's\n")]);
    }

    #[test]
    fn files_of_blocks() {
        #[track_caller]
        fn check(markdown: &str, expected: &[(&str, &str)]) {
            let files = Page::parse(markdown).files;
            let found: Vec<_> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
            assert_eq!(found, expected, "{markdown}");
        }
        check("a\n```toml\n# a/b.toml\nc = 1\n```\n", &[("a/b.toml", "# a/b.toml\nc = 1\n")]);
        check("```sh\n#!/bin/sh\n# a.sh\nb\n```\n", &[("a.sh", "#!/bin/sh\n# a.sh\nb\n")]);
        check("```sh\n# a comment.\nb\n```\n", &[]);
        check("```console\n$ a\n```\n# b.md\n```toml\nc = 1\n```\n", &[]);
        check("# A\n```sh\nb\n```\n# c.d\n", &[]);
    }

    #[test]
    fn servers() {
        let is_server = |text: &str| {
            Command { line: 1, text: text.to_owned(), output: String::new() }.is_server()
        };
        assert!(is_server("trunkline serve --sample"));
        assert!(is_server("trunkline shop.db"));
        assert!(!is_server("trunkline call db.list_tables"));
        assert!(!is_server("echo trunkline serve"));
    }
}
