//! The list of tools, for people.

use trunkline_mcp::client::Tool;

use super::property::{Property, properties};
use crate::terminal::{Form, line};

pub(super) fn of(tools: &[Tool], form: Form) -> String {
    let mut out = String::new();
    for tool in tools {
        out += &heading(tool);
        let about = first_sentence(&tool.description);
        if !about.is_empty() {
            out += &form.cut(&format!("  {about}"));
        }
        out += &arguments(&properties(&tool.input_schema), form);
        out.push('\n');
    }
    match tools.len() {
        0 => "no tools\n".to_owned(),
        1 => out + "1 tool; * is needed\n",
        count => out + &format!("{count} tools; * is needed\n"),
    }
}

fn heading(tool: &Tool) -> String {
    let mut hints = Vec::new();
    if tool.is_read_only == Some(true) {
        hints.push("read-only");
    } else if tool.is_destructive == Some(true) {
        hints.push("destructive");
    }
    let hints = if hints.is_empty() { String::new() } else { format!("  ({})", hints.join(", ")) };
    format!("{}{hints}\n", line(&tool.name))
}

fn arguments(properties: &[Property], form: Form) -> String {
    let star = |property: &Property| if property.is_required { "*" } else { "" };
    let name = |property: &Property| format!("{}{}", line(&property.name), star(property));
    let kind = |property: &Property| line(&property.label()).into_owned();
    let names = properties.iter().map(|property| name(property).chars().count()).max();
    let kinds = properties.iter().map(|property| kind(property).chars().count()).max();
    let (names, kinds) = (names.unwrap_or_default().min(40), kinds.unwrap_or_default().min(20));
    let row = |property: &Property| {
        let about = first_sentence(&property.description);
        let row = format!("    {:names$}  {:kinds$}  {about}", name(property), kind(property));
        form.cut(row.trim_end())
    };
    // Many servers sort by name; what must be given is looked for first.
    let (needed, others): (Vec<_>, Vec<_>) =
        properties.iter().partition(|property| property.is_required);
    needed.into_iter().chain(others).map(row).collect()
}

/// Up to the first full stop that a blank follows, or the first paragraph.
fn first_sentence(text: &str) -> String {
    let text = text.trim();
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let sentence = paragraph.split_inclusive([' ', '\n']).scan(false, |is_over, word| {
        let word_is_last = word.trim_end().ends_with(['.', '!', '?']);
        (!std::mem::replace(is_over, word_is_last)).then_some(word)
    });
    let sentence: Vec<&str> = sentence.flat_map(str::split_whitespace).collect();
    line(&sentence.join(" ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences() {
        for (text, expected) in [
            ("", ""),
            ("Reads rows.", "Reads rows."),
            ("Reads rows. Then more.", "Reads rows."),
            ("Reads version 1.2 of\nrows.\nThen more.", "Reads version 1.2 of rows."),
            ("No stop\n\nSecond paragraph.", "No stop"),
            ("\u{1b}[2J", "\\u{1b}[2J"),
        ] {
            assert_eq!(first_sentence(text), expected, "{text:?}");
        }
    }
}
