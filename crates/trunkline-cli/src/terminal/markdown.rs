//! Markdown on a terminal: parsed by pulldown-cmark, wrapped by textwrap.

use std::mem::take;

use anstyle::{AnsiColor, Style};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use textwrap::{WordSeparator, WordSplitter, WrapAlgorithm, wrap};

use super::table::{Layout, text_cell};
use super::text;

const CODE: Style = AnsiColor::Cyan.on_default();
const REMARK: Style = Style::new().dimmed();

/// Renders Markdown as lines of up to `width` columns.
pub(super) fn render(markdown: &str, width: usize, has_colours: bool) -> Vec<String> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut page = Page { width: width.max(8), has_colours, ..Page::default() };
    for event in Parser::new_ext(markdown, options) {
        page.add(event);
    }
    page.flush();
    page.lines
}

#[derive(Default)]
struct Page {
    width: usize,
    has_colours: bool,
    lines: Vec<String>,
    /// The text of the paragraph, with a style for each word, so that none continues on the next line.
    text: String,
    /// The styles of the enclosing elements; the last one applies.
    styles: Vec<Style>,
    /// The indentation of the enclosing elements.
    indents: Vec<&'static str>,
    /// The marker of a list item, before its first line.
    marker: Option<String>,
    /// The numbers of the next items of the enclosing lists; `None` for bullets.
    lists: Vec<Option<u64>>,
    /// The URLs of the enclosing links, and the starts of their texts.
    links: Vec<(String, usize)>,
    is_code: bool,
    table: Option<Vec<Vec<String>>>,
}

impl Page {
    fn add(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.is_code => self.code(&text),
            Event::Text(text) | Event::InlineHtml(text) => self.styled(self.style(), &text),
            // One line of a block.
            Event::Html(text) => {
                self.styled(self.style(), &text);
                self.text.push('\n');
            }
            Event::Code(text) => self.styled(CODE, &text),
            Event::SoftBreak => self.text.push(' '),
            Event::HardBreak => self.text.push('\n'),
            Event::Rule => {
                self.separate();
                let rule = "─".repeat(self.width.min(40));
                self.line(&rule);
            }
            Event::TaskListMarker(is_done) => {
                self.text += if is_done { "[x] " } else { "[ ] " };
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let style = self.style();
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.separate(),
            Tag::Heading { .. } => {
                self.separate();
                self.styles.push(style.bold());
            }
            Tag::BlockQuote(_) => {
                self.separate();
                self.indents.push("│ ");
            }
            Tag::CodeBlock(kind) => {
                self.separate();
                self.is_code = true;
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.is_empty()
                {
                    let language = self.paint(REMARK, &text::line(&language));
                    self.line(&format!("  {language}"));
                }
            }
            Tag::List(start) => {
                if self.lists.is_empty() {
                    self.separate();
                } else {
                    self.flush();
                }
                self.lists.push(start);
            }
            Tag::Item => {
                self.flush();
                let marker = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                };
                self.marker = Some(marker);
                self.indents.push(if matches!(self.lists.last(), Some(Some(_))) {
                    "   "
                } else {
                    "  "
                });
            }
            Tag::Table(_) => {
                self.separate();
                self.table = Some(Vec::new());
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(rows) = &mut self.table {
                    rows.push(Vec::new());
                }
            }
            Tag::Emphasis => self.styles.push(style.italic()),
            Tag::Strong => self.styles.push(style.bold()),
            Tag::Strikethrough => self.styles.push(style.strikethrough()),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((dest_url.into_string(), self.text.len()));
                self.styles.push(style.underline());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.flush(),
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.indents.pop();
            }
            TagEnd::CodeBlock => self.is_code = false,
            TagEnd::List(_) => drop(self.lists.pop()),
            TagEnd::Item => {
                self.flush();
                if self.marker.is_some() {
                    self.line("");
                }
                self.indents.pop();
            }
            TagEnd::TableCell => {
                let cell = take(&mut self.text);
                if let Some(row) = self.table.as_mut().and_then(|rows| rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Table => self.end_table(),
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => drop(self.styles.pop()),
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                let Some((url, start)) = self.links.pop() else { return };
                let url = text::line(&url).into_owned();
                if !self.text[start..].contains(&url) {
                    self.text += &format!(" ({url})");
                }
            }
            _ => {}
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn styled(&mut self, style: Style, text: &str) {
        // Cells are measured and cut as plain text.
        let style = if self.table.is_some() { Style::new() } else { style };
        let text = text::line(text.trim_end_matches('\n')).into_owned();
        for piece in text.split_inclusive(' ') {
            let word = piece.trim_end_matches(' ');
            if !word.is_empty() {
                let word = self.paint(style, word);
                self.text += &word;
            }
            if piece.ends_with(' ') {
                self.text.push(' ');
            }
        }
    }

    fn paint(&self, style: Style, text: &str) -> String {
        match self.has_colours && !style.is_plain() {
            true => format!("{style}{text}{style:#}"),
            false => text.to_owned(),
        }
    }

    /// An empty line between blocks, except at the start of a list item.
    fn separate(&mut self) {
        self.flush();
        if !self.lines.is_empty() && self.marker.is_none() {
            let quote = if self.indents.contains(&"│ ") { "│" } else { "" };
            self.lines.push(quote.to_owned());
        }
    }

    /// Ends a paragraph.
    fn flush(&mut self) {
        for paragraph in take(&mut self.text).split('\n').filter(|text| !text.trim().is_empty()) {
            let (first, rest) = self.indents();
            let options = textwrap::Options::new(self.width)
                .initial_indent(&first)
                .subsequent_indent(&rest)
                .word_separator(WordSeparator::AsciiSpace)
                .word_splitter(WordSplitter::NoHyphenation)
                .wrap_algorithm(WrapAlgorithm::FirstFit);
            let wrapped = wrap(paragraph.trim(), options);
            self.lines.extend(wrapped.into_iter().map(|line| line.trim_end().to_owned()));
        }
    }

    /// The indentation of the next line, and of those after it.
    fn indents(&mut self) -> (String, String) {
        let rest = self.indents.concat();
        match self.marker.take() {
            Some(marker) => {
                let outer = self.indents.len().saturating_sub(1);
                (self.indents[..outer].concat() + &marker, rest)
            }
            None => (rest.clone(), rest),
        }
    }

    /// A line that is not wrapped.
    fn line(&mut self, line: &str) {
        let (indent, _) = self.indents();
        self.lines.push((indent + line).trim_end().to_owned());
    }

    fn code(&mut self, text: &str) {
        for line in text.lines() {
            let line = text::line(&line.replace('\t', "    ")).into_owned();
            let used: usize = self.indents.iter().map(|indent| text::width(indent)).sum();
            for piece in text::pieces(&line, self.width.saturating_sub(used + 2).max(8)) {
                let piece = self.paint(CODE, piece);
                self.line(&format!("  {piece}"));
            }
        }
    }

    /// Lays out a table. Cells that are too long are wrapped.
    fn end_table(&mut self) {
        let Some(rows) = self.table.take() else { return };
        let Some((header, rows)) = rows.split_first() else { return };
        let rows: Vec<Vec<_>> =
            rows.iter().map(|row| row.iter().map(|cell| text_cell(cell)).collect()).collect();
        let used: usize = self.indents.iter().map(|indent| text::width(indent)).sum();
        let width = self.width.saturating_sub(used).max(8);
        let layout = Layout::new(header, &rows, Some(width), self.has_colours);
        let table = layout.header(header) + &layout.wrapped_rows(&rows);
        for line in table.lines() {
            self.line(line);
        }
        let (shown, all) = (layout.columns(), header.len());
        if shown < all {
            self.styled(REMARK, &format!("({shown} of {all} columns)"));
            self.flush();
        }
    }
}

/// Renders Markdown that arrives in pieces. Complete blocks are final; the lines of the last block are replaced where
/// more text changes them.
#[derive(Debug)]
pub(crate) struct MarkdownStream {
    has_colours: bool,
    /// The text of the block that may continue.
    block: String,
    /// The lines of it that are on the screen, with the cursor after the last one.
    shown: Vec<String>,
    /// Whether another block precedes it.
    has_blocks: bool,
}

impl MarkdownStream {
    pub(crate) fn new(has_colours: bool) -> Self {
        Self { has_colours, block: String::new(), shown: Vec::new(), has_blocks: false }
    }

    /// Whether the cursor is in a line of the text.
    pub(crate) fn is_within_line(&self) -> bool {
        !self.shown.is_empty()
    }

    /// Adds a piece. Returns the output for a terminal of this size, in columns and rows.
    pub(crate) fn add(&mut self, piece: &str, size: (usize, usize)) -> String {
        /// A longer block is split: each piece renders it again.
        const MAX_BLOCK: usize = 32 << 10;
        self.block += piece;
        let mut out = String::new();
        while let Some(end) = end_of_block(&self.block) {
            let rest = self.block.split_off(end);
            out += &self.end_block(size);
            self.block = rest;
        }
        if self.block.len() > MAX_BLOCK {
            return out + &self.end_block(size);
        }
        out + &self.update(size)
    }

    /// Ends the text. Returns the output.
    pub(crate) fn finish(&mut self, size: (usize, usize)) -> String {
        let out = self.end_block(size);
        self.has_blocks = false;
        out
    }

    fn end_block(&mut self, size: (usize, usize)) -> String {
        let mut out = self.update(size);
        self.block.clear();
        if !take(&mut self.shown).is_empty() {
            out.push('\n');
            self.has_blocks = true;
        }
        out
    }

    /// Shows the current block.
    fn update(&mut self, (columns, rows): (usize, usize)) -> String {
        // A character in the last column may begin a new line.
        let lines = render(&self.block, columns.saturating_sub(1), self.has_colours);
        if lines.is_empty() {
            return String::new();
        }
        let shown = std::mem::replace(&mut self.shown, lines);
        let lines = &self.shown;
        let Some(last) = shown.len().checked_sub(1) else {
            let separator = if self.has_blocks { "\n" } else { "" };
            return separator.to_owned() + &lines.join("\n");
        };
        let same = shown.iter().zip(lines).take_while(|(shown, line)| shown == line).count();
        let start = same.min(last).min(lines.len() - 1);
        if start == last
            && let Some(rest) = lines[last].strip_prefix(&*shown[last])
        {
            return [rest]
                .into_iter()
                .chain(lines[start + 1..].iter().map(String::as_str))
                .collect::<Vec<_>>()
                .join("\n");
        }
        // Lines above the screen cannot be replaced.
        let up = (last - start).min(rows.saturating_sub(1));
        let up = if up > 0 { format!("\x1b[{up}A") } else { String::new() };
        format!("{up}\r\x1b[J{}", lines[start..].join("\n"))
    }
}

/// The end of the first block of a text, if another one follows.
fn end_of_block(text: &str) -> Option<usize> {
    let mut fence: Option<(char, usize)> = None;
    let (mut at, mut has_text, mut is_after_blank) = (0, false, false);
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        let is_indented = line.starts_with([' ', '\t']);
        match fence {
            Some((mark, length)) => {
                let (run, rest) = run_of(trimmed, mark);
                if run >= length && rest.is_empty() {
                    fence = None;
                }
            }
            None if trimmed.is_empty() => is_after_blank |= has_text && line.ends_with('\n'),
            None if is_after_blank && !is_indented => return Some(at),
            None => {
                (has_text, is_after_blank) = (true, false);
                fence = opening_fence(trimmed);
            }
        }
        at += line.len();
    }
    None
}

/// The character and the length of the code fence that begins in this line.
fn opening_fence(line: &str) -> Option<(char, usize)> {
    ['`', '~'].into_iter().find_map(|mark| {
        let (length, language) = run_of(line, mark);
        // With another backtick, the line is a code span.
        let is_span = mark == '`' && language.contains(mark);
        (length >= 3 && !is_span).then_some((mark, length))
    })
}

/// The number of times that the line repeats the character at its start, and the rest of the line.
fn run_of(line: &str, mark: char) -> (usize, &str) {
    let rest = line.trim_start_matches(mark);
    (line.len() - rest.len(), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(markdown: &str, width: usize, expected: &[&str]) {
        assert_eq!(render(markdown, width, false), expected, "{markdown}");
    }

    #[test]
    fn renders_blocks() {
        check("", 40, &[]);
        check("one two three four", 10, &["one two", "three four"]);
        check("one\ntwo  \nthree", 40, &["one two", "three"]);
        check("# Title\ntext\n\n## Next", 40, &["Title", "", "text", "", "Next"]);
        check("- a\n- b c d e\n  - f", 8, &["• a", "• b c d", "  e", "  • f"]);
        check("3. a\n4. b", 40, &["3. a", "4. b"]);
        check("- [x] a\n- [ ] b", 40, &["• [x] a", "• [ ] b"]);
        check("> a b\n>\n> c", 40, &["│ a b", "│", "│ c"]);
        check(
            "a\n\n```sql\nSELECT 1;\n\n  x\n```\nb",
            40,
            &["a", "", "  sql", "  SELECT 1;", "", "    x", "", "b"],
        );
        check("---", 10, &["──────────"]);
        check("[a](http://b) <http://c>", 40, &["a (http://b) http://c"]);
        check("a <b>c</b> list_tables *d*", 40, &["a <b>c</b> list_tables d"]);
        check("a\u{1b}[2J `\u{202e}`", 40, &["a\\u{1b}[2J \\u{202e}"]);
        check("0123456789", 8, &["01234567", "89"]);
        check("<div>\n  a\n</div>\n\nb", 40, &["<div>", "a", "</div>", "", "b"]);
        check("<div>\r\na\r\n</div>", 40, &["<div>", "a", "</div>"]);
        check("> <a>\n> b", 40, &["│ <a>", "│ b"]);
    }

    #[test]
    fn renders_tables() {
        let table = "| id | name |\n|---|---|\n| 1 | `a` |\n| 20 | b c d e f g h |";
        check(table, 40, &["id  name", "--  -------------", " 1  a", "20  b c d e f g h"]);
        check(table, 12, &["id  name", "--  --------", " 1  a", "20  b c d e", "    f g h"]);
        check(table, 9, &["id", "--", " 1", "20", "(1 of 2", "columns)"]);
        let item = format!("- {}", table.replace('\n', "\n  "));
        check(&item, 11, &["• id", "  --", "   1", "  20", "  (1 of 2", "  columns)"]);
    }

    #[test]
    fn styles_each_word() {
        let found = render("**a b** `c`", 40, true);
        assert_eq!(found, ["\u{1b}[1ma\u{1b}[0m \u{1b}[1mb\u{1b}[0m \u{1b}[36mc\u{1b}[0m"]);
    }

    /// A screen of lines, of which escape sequences move the cursor up and erase what follows.
    fn screen(output: &str) -> Vec<String> {
        let mut lines = vec![String::new()];
        let mut at = 0;
        let mut rest = output;
        while let Some(first) = rest.chars().next() {
            if let Some(sequence) = rest.strip_prefix("\x1b[") {
                let end = sequence.find(|c: char| c.is_alphabetic()).unwrap();
                match &sequence[end..=end] {
                    "A" => at -= sequence[..end].parse::<usize>().unwrap(),
                    "J" => {
                        lines.truncate(at + 1);
                        lines[at].clear();
                    }
                    other => panic!("{other}"),
                }
                rest = &sequence[end + 1..];
                continue;
            }
            match first {
                '\n' => {
                    at += 1;
                    if at == lines.len() {
                        lines.push(String::new());
                    }
                }
                '\r' => {}
                other => lines[at].push(other),
            }
            rest = &rest[first.len_utf8()..];
        }
        lines
    }

    #[test]
    fn a_stream_shows_the_same_as_the_whole_text() {
        let text = "# T\nSome **bold** text that is wrapped, with `code`.\n\n- a\n- b\n\n  more\n\n```\nx\n\ny\n```\n\n````\n```\nx\n\n# y\n````\n\n<p>\nz\n</p>\n\n| a | b |\n|---|---|\n| 1 | long cell |\n\nSetext\n---\nend";
        let expected = render(text, 19, false);
        for length in [1, 2, 3, 7, 50, text.len()] {
            let mut stream = MarkdownStream::new(false);
            let mut output = String::new();
            let chars: Vec<char> = text.chars().collect();
            for piece in chars.chunks(length) {
                output += &stream.add(&piece.iter().collect::<String>(), (20, 24));
            }
            output += &stream.finish((20, 24));
            let mut found = screen(&output);
            assert_eq!(found.pop().as_deref(), Some(""), "{output:?}");
            assert_eq!(found, expected, "in pieces of {length}");
        }
    }

    #[track_caller]
    fn check_end(first: &str, rest: &str, is_block: bool) {
        let text = format!("{first}{rest}");
        assert_eq!(end_of_block(&text), is_block.then_some(first.len()), "{text:?}");
    }

    #[test]
    fn finds_the_end_of_the_first_block() {
        check_end("a\n\n", "b", true);
        check_end("a\nb\n\n", "", false);
        check_end("- a\n\n", "  b", false);
        check_end("```\n\n", "b\n", false);
        check_end("```\n\n```\n\n", "b", true);
        check_end("```rust\n\n````\n\n", "b", true);
        check_end("````\n```\n\n", "b", false);
        check_end("```\n``` x\n\n", "b", false);
        check_end("```\n~~~\n\n", "b", false);
        check_end("~~~ `a`\n\n", "b", false);
        check_end("``` `a`\n\n", "b", true);
        check_end("``\n\n", "b", true);
    }
}
