//! The list of tools.

use anstyle::Style;
use serde::Serialize;
use trunkline_mcp::Received;
use trunkline_mcp::tools::Tool;

use super::property::{Property, properties};
use crate::terminal::{Renderer, line};

const NAME: Style = Style::new().bold();
const REMARK: Style = Style::new().dimmed();

/// A paragraph for each tool, with a line for each argument.
pub(super) fn text(tools: &[Received<Tool>], renderer: Renderer) -> String {
    let mut out = String::new();
    for tool in tools {
        out += &renderer.paint(NAME, &line(&tool.name));
        if let Some(hint) = hint(tool) {
            out += &renderer.paint(REMARK, &format!("  ({hint})"));
        }
        out.push('\n');
        let description = first_sentence(tool.summary());
        if !description.is_empty() {
            out += &renderer.cut(&format!("  {description}"));
        }
        out += &arguments(&properties(&tool.input_schema), renderer);
        out.push('\n');
    }
    let count = match tools.len() {
        0 => return "no tools\n".to_owned(),
        1 => "1 tool".to_owned(),
        count => format!("{count} tools"),
    };
    out + &renderer.paint(REMARK, &format!("{count} (* required argument)")) + "\n"
}

/// A row of the list.
#[derive(Serialize)]
pub(super) struct Row<'t> {
    name: &'t str,
    access: Option<&'static str>,
    arguments: String,
    description: String,
}

pub(super) fn row(tool: &Tool) -> Row<'_> {
    let arguments: Vec<String> = properties(&tool.input_schema).iter().map(starred).collect();
    Row {
        name: &tool.name,
        access: hint(tool),
        arguments: arguments.join(", "),
        description: first_sentence(tool.summary()),
    }
}

fn hint(tool: &Tool) -> Option<&'static str> {
    if tool.annotations.read_only_hint == Some(true) {
        Some("read-only")
    } else if tool.annotations.destructive_hint == Some(true) {
        Some("destructive")
    } else {
        None
    }
}

fn starred(property: &Property) -> String {
    let star = if property.is_required { "*" } else { "" };
    format!("{}{star}", line(&property.name))
}

fn arguments(properties: &[Property], renderer: Renderer) -> String {
    let kind = |property: &Property| line(&property.label()).into_owned();
    let names = properties.iter().map(|property| starred(property).chars().count()).max();
    let kinds = properties.iter().map(|property| kind(property).chars().count()).max();
    let (names, kinds) = (names.unwrap_or_default().min(40), kinds.unwrap_or_default().min(20));
    let row = |property: &Property| {
        let description = first_sentence(&property.description);
        let (name, kind) = (starred(property), kind(property));
        renderer.cut(format!("    {name:names$}  {kind:kinds$}  {description}").trim_end())
    };
    // Many servers sort arguments by name.
    let (required, optional): (Vec<_>, Vec<_>) =
        properties.iter().partition(|property| property.is_required);
    required.into_iter().chain(optional).map(row).collect()
}

/// The text up to the first full stop before a blank, or the first paragraph.
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
    fn finds_the_first_sentence() {
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
