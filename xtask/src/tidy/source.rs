//! Splits a Rust file into code and comments.

/// Both views have the lines and columns of the file; the parts of the other view are blank. Characters of string literals
/// are `_` in `code`, so that rules about code ignore text.
pub(crate) struct Source {
    pub(crate) code: String,
    pub(crate) comments: String,
}

impl Source {
    pub(crate) fn parse(text: &str) -> Self {
        let mut splitter = Splitter {
            rest: text,
            last: ' ',
            source: Self { code: String::with_capacity(text.len()), comments: String::new() },
        };
        while splitter.step() {}
        splitter.source
    }

    /// A text that is not code.
    pub(crate) fn of_comments(comments: String) -> Self {
        Self { code: String::new(), comments }
    }

    /// Lines of code with their numbers, up to an inline test module.
    pub(crate) fn code_before_tests(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut lines: Vec<(usize, &str)> =
            numbered(&self.code).filter(|(_, line)| !line.trim().is_empty()).collect();
        let tests = lines.windows(2).position(|pair| {
            pair[0].1.trim() == "#[cfg(test)]"
                && pair[1].1.trim_start().starts_with("mod ")
                && !pair[1].1.trim_end().ends_with(';')
        });
        lines.truncate(tests.unwrap_or(lines.len()));
        lines.into_iter()
    }

    pub(crate) fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        numbered(&self.code)
    }

    pub(crate) fn comment_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        numbered(&self.comments)
    }
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

struct Splitter<'a> {
    rest: &'a str,
    /// The last character of code, which distinguishes the `r` of a raw string from that of `for`.
    last: char,
    source: Source,
}

impl Splitter<'_> {
    /// Consumes one comment, literal or character. Returns false at the end.
    fn step(&mut self) -> bool {
        let Some(first) = self.rest.chars().next() else {
            return false;
        };
        if self.rest.starts_with("//") {
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            self.take_comment(end);
        } else if self.rest.starts_with("/*") {
            self.take_comment(block_comment(self.rest));
        } else if let Some(hashes) = self.raw_string() {
            let open = self.rest.find('"').map_or(0, |quote| quote + 1);
            let close = format!("\"{}", "#".repeat(hashes));
            let end = self.rest[open..]
                .find(&close)
                .map_or(self.rest.len(), |at| open + at + close.len());
            self.take_string(end);
        } else if first == '"' {
            self.take_string(quoted(self.rest, '"'));
        } else if first == '\'' && is_char_literal(self.rest) {
            self.take_string(quoted(self.rest, '\''));
        } else {
            self.take(first.len_utf8(), |c| c, |_| ' ');
            self.last = first;
        }
        true
    }

    /// The number of `#` of the raw string that starts here, if one does.
    fn raw_string(&self) -> Option<usize> {
        if is_identifier(self.last) {
            return None;
        }
        let after = ["r", "br", "cr"].iter().find_map(|prefix| self.rest.strip_prefix(prefix))?;
        let hashes = after.len() - after.trim_start_matches('#').len();
        after[hashes..].starts_with('"').then_some(hashes)
    }

    fn take_comment(&mut self, length: usize) {
        self.take(length, |_| ' ', |c| c);
        self.last = ' ';
    }

    fn take_string(&mut self, length: usize) {
        self.take(length, |c| if c.is_whitespace() { c } else { '_' }, |_| ' ');
        self.last = '"';
    }

    fn take(&mut self, length: usize, code: fn(char) -> char, comment: fn(char) -> char) {
        let (taken, rest) = self.rest.split_at(length);
        for c in taken.chars() {
            let newline = c == '\n';
            self.source.code.push(if newline { c } else { code(c) });
            self.source.comments.push(if newline { c } else { comment(c) });
        }
        self.rest = rest;
    }
}

/// The length of the block comment that starts here; block comments nest.
fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let here = &text.as_bytes()[at..];
        if here.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// The length of the literal that starts here and ends at the next `quote` without a backslash.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if c == quote && !escaped {
            return at + c.len_utf8();
        }
        escaped = c == '\\' && !escaped;
    }
    text.len()
}

/// Distinguishes `'a'` from the lifetime `'a`.
fn is_char_literal(text: &str) -> bool {
    let mut chars = text.chars().skip(1);
    chars.next() == Some('\\') || chars.next() == Some('\'')
}

fn is_identifier(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, code: &str, comments: &str) {
        let source = Source::parse(text);
        assert_eq!(source.code, code, "code of {text:?}");
        assert_eq!(source.comments, comments, "comments of {text:?}");
    }

    #[test]
    fn splits_code_and_comments() {
        check("a // b\nc", "a     \nc", "  // b\n ");
        check("a /* b /* c */ d */ e", "a                   e", "  /* b /* c */ d */  ");
        check(r#"f("// no")"#, "f(___ ___)", "          ");
        check(r#""\"" x"#, "____ x", "      ");
        check(r###"r#"a"b"# x"###, "________ x", "          ");
        check("for\"x\"", "for___", "      ");
        check("'\"' 'a 'b' '\\''", "___ 'a ___ ____", "               ");
        check("é // é", "é     ", "  // é");
        check("\"open", "_____", "     ");
        check("/* open", "       ", "/* open");
    }

    #[track_caller]
    fn check_before_tests(text: &str, expected: &[usize]) {
        let source = Source::parse(text);
        let lines: Vec<usize> = source.code_before_tests().map(|(line, _)| line).collect();
        assert_eq!(lines, expected, "{text:?}");
    }

    #[test]
    fn code_ends_at_an_inline_test_module() {
        check_before_tests("a\n\n// b\nc", &[1, 4]);
        check_before_tests("a\n#[cfg(test)]\nmod tests {\nb\n}", &[1]);
        check_before_tests("a\n#[cfg(test)]\nmod tests;\nb", &[1, 2, 3, 4]);
        check_before_tests("a\n#[cfg(test)]\nfn only() {}\nb", &[1, 2, 3, 4]);
    }
}
