//! A reader of the part of YAML that the files of this project use: mappings and sequences in blocks, sequences of
//! scalars in brackets, plain and double-quoted scalars, and literal blocks. It refuses everything else.

use serde_json::{Map, Value};

/// The documents of a file.
pub(crate) fn documents(text: &str) -> Vec<Value> {
    let documents = text.split("\n---\n").map(|document| {
        let mut lines = Lines(document.lines().collect());
        let value = lines.block(0);
        assert!(lines.peek().is_none(), "unexpected line {:?}", lines.0.first());
        value
    });
    documents.collect()
}

/// The lines that are left.
struct Lines<'t>(Vec<&'t str>);

impl<'t> Lines<'t> {
    /// The indentation and the text of the next line, without blank lines and comments.
    fn peek(&mut self) -> Option<(usize, &'t str)> {
        while let Some(line) = self.0.first() {
            let text = line.trim_start();
            assert!(!line.contains('\t'), "a tab in {line:?}");
            if !text.is_empty() && !text.starts_with('#') {
                return Some((line.len() - text.len(), text.trim_end()));
            }
            self.0.remove(0);
        }
        None
    }

    /// The mapping or sequence whose lines have this indentation.
    fn block(&mut self, indent: usize) -> Value {
        match self.peek() {
            Some((_, text)) if text.starts_with("- ") => self.sequence(indent),
            _ => self.mapping(indent).into(),
        }
    }

    fn sequence(&mut self, indent: usize) -> Value {
        let mut items = Vec::new();
        while let Some((found, text)) = self.peek().filter(|(found, _)| *found >= indent) {
            let item = text.strip_prefix("- ").unwrap_or_else(|| panic!("not an item: {text:?}"));
            assert_eq!(found, indent, "{text:?}");
            if key_of(item).is_some() {
                // The first line of a mapping.
                let line = format!("{}{item}", " ".repeat(indent + 2));
                self.0[0] = Box::leak(line.into_boxed_str());
                items.push(self.mapping(indent + 2).into());
            } else {
                self.0.remove(0);
                items.push(scalar(item));
            }
        }
        items.into()
    }

    fn mapping(&mut self, indent: usize) -> Map<String, Value> {
        let mut members = Map::new();
        while let Some((found, text)) = self.peek().filter(|(found, _)| *found >= indent) {
            assert_eq!(found, indent, "{text:?}");
            let (key, rest) = key_of(text).unwrap_or_else(|| panic!("not a member: {text:?}"));
            self.0.remove(0);
            let value = match rest {
                "" => {
                    let (inner, _) = self.peek().unwrap_or_else(|| panic!("no value of {key}"));
                    assert!(inner > indent, "no value of {key}");
                    self.block(inner)
                }
                "|" => self.literal(indent).into(),
                rest => scalar(rest),
            };
            assert!(members.insert(key.to_owned(), value).is_none(), "duplicate key {key}");
        }
        members
    }

    /// The lines of a text, which are indented more.
    fn literal(&mut self, indent: usize) -> String {
        let mut text = String::new();
        while let Some(line) = self.0.first() {
            let inner = line.len() - line.trim_start().len();
            if !line.trim().is_empty() && inner <= indent {
                break;
            }
            text += line.get(indent + 2..).unwrap_or_default();
            text.push('\n');
            self.0.remove(0);
        }
        text
    }
}

/// The key of a member, and the text after its colon.
fn key_of(text: &str) -> Option<(&str, &str)> {
    let (key, rest) = text.split_once(':')?;
    let is_key = !key.is_empty()
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte));
    let rest = if rest.is_empty() { Some("") } else { rest.strip_prefix(' ') };
    Some((key, rest?)).filter(|_| is_key)
}

fn scalar(text: &str) -> Value {
    if let Some(items) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        return items.split(',').map(|item| scalar(item.trim())).collect();
    }
    if let Some(quoted) = text.strip_prefix('"') {
        let inner = quoted.strip_suffix('"').unwrap_or_else(|| panic!("not closed: {text:?}"));
        assert!(!inner.contains(['"', '\\']), "{text:?}");
        return inner.into();
    }
    let is_plain = !text.starts_with(['{', '&', '*', '!', '>', '|', '\'', '%', '@', '`', '#', '?'])
        && !text.contains(": ")
        && !text.contains(" #");
    assert!(is_plain, "unsupported scalar {text:?}");
    match text {
        "true" => true.into(),
        "false" => false.into(),
        "" | "null" | "~" | "yes" | "no" | "on" | "off" => panic!("ambiguous scalar {text:?}"),
        text => text.parse::<i64>().map_or_else(|_| text.into(), Value::from),
    }
}

#[test]
fn reads_the_supported_part() {
    let text = "# c\na: 1\nb:\n  - x\n  - n: \"1\"\n    m: [p, q]\nc:\n  d: |\n    one\n      two\n\n    # three\n  e: true\n---\nf: g:h\n";
    let expected = serde_json::json!([
        {"a": 1, "b": ["x", {"n": "1", "m": ["p", "q"]}], "c": {"d": "one\n  two\n\n# three\n", "e": true}},
        {"f": "g:h"},
    ]);
    assert_eq!(Value::from(documents(text)), expected);
    for invalid in
        ["a: {b: c}", "a: 'b'", "a: 1\na: 2", "a", "a:\n- b\n   c: d", "a: yes", "a: b # c"]
    {
        assert!(std::panic::catch_unwind(|| documents(invalid)).is_err(), "{invalid:?}");
    }
}
