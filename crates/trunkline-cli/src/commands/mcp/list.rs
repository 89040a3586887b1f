//! Lists of resources, templates and prompts.

use anstyle::Style;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use trunkline_mcp::client::List;

use crate::terminal::{Failure, Format, Renderer, line, output, width};

const KEY: Style = Style::new().bold();
const REMARK: Style = Style::new().dimmed();

/// An item of a list: a row of a table, or two lines on a terminal.
pub(crate) trait ListItem: Serialize {
    /// The URI or name for other commands. It is never cut.
    fn key(&self) -> &str;
    /// A remark after the key.
    fn remark(&self) -> String;
    /// The second line.
    fn description(&self) -> String;
}

/// A list of a server in the chosen format: the objects as received, or a table with a row for each item, or two lines for
/// each item on a terminal. Reports rejected items on stderr.
///
/// # Errors
///
/// Those of [`Renderer::value`].
pub(crate) fn list_text<'l, T, R: ListItem>(
    renderer: Renderer,
    noun: &str,
    list: &'l List<T>,
    item: impl Fn(&'l T) -> (&'l RawValue, R),
) -> Result<String, Failure> {
    if renderer.format().is_some() || renderer.columns().is_none() || list.items.is_empty() {
        return table_text(renderer, noun, list, item);
    }
    report_rejected(noun, &list.rejected);
    let rows: Vec<R> = list.items.iter().map(|one| item(one).1).collect();
    Ok(paragraphs(renderer, noun, &rows))
}

/// Like [`list_text`], with a table on terminals, too.
///
/// # Errors
///
/// Those of [`Renderer::value`].
pub(crate) fn table_text<'l, T, R: Serialize>(
    renderer: Renderer,
    noun: &str,
    list: &'l List<T>,
    item: impl Fn(&'l T) -> (&'l RawValue, R),
) -> Result<String, Failure> {
    report_rejected(noun, &list.rejected);
    let (objects, rows): (Vec<&RawValue>, Vec<R>) = list.items.iter().map(item).unzip();
    let json = objects.iter().map(|object| object.get());
    match renderer.format() {
        Some(Format::Json) => {
            Ok(renderer.json(&format!("[{}]", json.collect::<Vec<_>>().join(","))))
        }
        Some(Format::Ndjson) => Ok(json.map(|json| renderer.json(json)).collect()),
        None if rows.is_empty() => Ok(format!("no {noun}s\n")),
        _ => renderer.value(&to_raw_value(&rows).expect("text is JSON")),
    }
}

fn paragraphs(renderer: Renderer, noun: &str, rows: &[impl ListItem]) -> String {
    let columns = renderer.columns().unwrap_or(usize::MAX);
    let mut out = String::new();
    for row in rows {
        let (key, remark) = (line(row.key()), format!("  ({})", line(&row.remark())));
        out += &renderer.paint(KEY, &key);
        if !row.remark().is_empty() && width(&key) + width(&remark) <= columns {
            out += &renderer.paint(REMARK, &remark);
        }
        out.push('\n');
        let description = row.description();
        if !description.is_empty() {
            out += &renderer.cut(&format!("  {}", line(&description)));
        }
    }
    let plural = if rows.len() == 1 { "" } else { "s" };
    out + &renderer.paint(REMARK, &format!("{} {noun}{plural}", rows.len())) + "\n"
}

/// Reports items of a list that cannot be used.
pub(crate) fn report_rejected(noun: &str, rejected: &[(String, String)]) {
    for (name, reason) in rejected {
        output::message(&format!("trunkline: omitted {noun} {}: {}\n", line(name), line(reason)));
    }
}
