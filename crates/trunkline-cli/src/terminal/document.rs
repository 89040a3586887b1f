//! JSON text, on one line or indented. Numbers and strings keep their notation.

use std::borrow::Cow;
use std::fmt::Write;
use std::iter::Peekable;
use std::str::Chars;

use anstyle::Style;

use super::text;

const INDENT: &str = "  ";

/// The maximum depth of indentation: a reply of nothing but brackets would become huge.
const MAX_DEPTH: usize = 40;

/// Valid JSON on one line.
pub(crate) fn one_line(json: &str) -> Cow<'_, str> {
    // In strings, these are always escaped.
    if !json.contains(['\n', '\r', '\t']) {
        return json.into();
    }
    json.replace(['\n', '\r', '\t'], " ").into()
}

/// Valid JSON on one line, without characters that control a terminal.
pub(super) fn for_terminal(json: &str) -> String {
    let mut out = String::new();
    one_line(json).chars().for_each(|character| push(&mut out, character));
    out
}

/// Valid JSON, indented.
pub(crate) fn indented(json: &str) -> String {
    indented_with(json, None)
}

/// Valid JSON, indented, with the names of members in a style.
pub(super) fn indented_with(json: &str, names: Option<Style>) -> String {
    let mut out = String::new();
    let mut depth = 0_usize;
    let mut rest = json.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '"' => {
                let start = out.len();
                string(&mut out, &mut rest);
                while rest.next_if(|next| is_blank(*next)).is_some() {}
                if let Some(style) = names.filter(|_| rest.peek() == Some(&':')) {
                    out.insert_str(start, &style.render().to_string());
                    write!(out, "{style:#}").expect("a string accepts all text");
                }
            }
            '{' | '[' => {
                out.push(character);
                while rest.next_if(|next| is_blank(*next)).is_some() {}
                if let Some(end) = rest.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(end);
                } else {
                    depth += 1;
                    new_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(character);
            }
            ',' => {
                out.push(',');
                new_line(&mut out, depth);
            }
            ':' => out += ": ",
            _ if is_blank(character) => {}
            _ => out.push(character),
        }
    }
    out
}

/// Copies a string after its opening quote.
fn string(out: &mut String, rest: &mut Peekable<Chars<'_>>) {
    out.push('"');
    let mut is_escaped = false;
    for character in rest.by_ref() {
        push(out, character);
        if character == '"' && !is_escaped {
            return;
        }
        is_escaped = character == '\\' && !is_escaped;
    }
}

/// Escapes a character that JSON allows unescaped in strings, if a terminal would interpret it.
fn push(out: &mut String, character: char) {
    if text::is_unsafe(character) {
        for unit in character.encode_utf16(&mut [0; 2]) {
            write!(out, "\\u{unit:04x}").expect("a string accepts all text");
        }
    } else {
        out.push(character);
    }
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    (0..depth.min(MAX_DEPTH)).for_each(|_| out.push_str(INDENT));
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\n' | '\r' | '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indents_documents() {
        for (json, expected) in [
            ("{}", "{}"),
            ("[ \n ]", "[]"),
            (
                r#"{"a":[1,-2.50],"b":{"c":null}}"#,
                "{\n  \"a\": [\n    1,\n    -2.50\n  ],\n  \"b\": {\n    \"c\": null\n  }\n}",
            ),
            (r#"["a, {b}: \"c\" \\", {} ]"#, "[\n  \"a, {b}: \\\"c\\\" \\\\\",\n  {}\n]"),
            ("[\"\u{e0041}\u{200b}\"]", "[\n  \"\\udb40\\udc41\\u200b\"\n]"),
            ("[\"\u{9b}\u{7f}\u{202e}\"]", "[\n  \"\\u009b\\u007f\\u202e\"\n]"),
        ] {
            assert_eq!(indented(json), expected, "{json}");
        }
        let painted = indented_with(r#"{"a" :"b"}"#, Some(Style::new().bold()));
        assert_eq!(painted, "{\n  \u{1b}[1m\"a\"\u{1b}[0m: \"b\"\n}");
        let deep = "[".repeat(10_000) + &"]".repeat(10_000);
        assert!(indented(&deep).len() < 4_000_000);
    }

    #[test]
    fn joins_lines() {
        let json = "{\n\t\"a\": 1,\r\n\"b\": \"\\n\u{9b}\"}";
        assert_eq!(one_line(json), "{  \"a\": 1,  \"b\": \"\\n\u{9b}\"}");
        assert_eq!(for_terminal(json), "{  \"a\": 1,  \"b\": \"\\n\\u009b\"}");
    }
}
