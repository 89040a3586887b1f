//! The pages of one result, printed one after another.

use std::borrow::Cow;

use anstyle::Style;
use indexmap::IndexSet;
use serde_json::Value;
use serde_json::value::RawValue;

use super::failure::Failure;
use super::renderer::{Format, Renderer};
use super::rowset::{self, Rowset};
use super::table::Layout;
use super::{document, output, text};

const BOLD: Style = Style::new().bold();
const REMARK: Style = Style::new().dimmed();

/// Renders pages with one header, and the number of rows at the end.
#[derive(Debug)]
pub(super) struct Pages {
    renderer: Renderer,
    /// Whether all pages become one document.
    is_merged: bool,
    names: Vec<String>,
    layout: Option<Layout>,
    /// The number of rows.
    count: usize,
    /// The last line, without the number of rows.
    notes: Vec<String>,
    /// The last lines, in place of the number of rows.
    details: Option<String>,
    /// What ends the document.
    suffix: &'static str,
    has_table: bool,
}

/// One page.
pub(super) struct Page {
    pub(super) text: String,
    /// The cursor of the next page.
    pub(super) next: Option<String>,
}

/// Prints the result of a call, or with `is_all` the results of calls with the cursors that follow. Returns the last
/// part of the text, which is not printed yet. `fetch` sends the call with a cursor; a call may have no result.
///
/// # Errors
///
/// Those of the calls, and if the pages never end.
pub(crate) async fn print_pages(
    renderer: Renderer,
    is_all: bool,
    mut fetch: impl AsyncFnMut(Option<&str>) -> Result<Option<Box<RawValue>>, Failure>,
) -> Result<String, Failure> {
    /// More pages are a server's fault.
    const MAX_PAGES: usize = 100_000;
    if !is_all {
        return fetch(None)
            .await?
            .map_or_else(|| Ok(String::new()), |value| renderer.value(&value));
    }
    let mut pages = Pages { is_merged: true, ..Pages::new(renderer) };
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let Some(value) = fetch(cursor.as_deref()).await? else { return Ok(pages.finish()) };
        let page = pages.add(&value)?;
        output::data(&page.text).map_err(Failure::Output)?;
        let Some(next) = page.next else { return Ok(pages.finish()) };
        if cursor.as_ref() == Some(&next) {
            let reason = format!("the server returned the cursor `{next}` twice; stopped there");
            return Err(Failure::Protocol(reason));
        }
        cursor = Some(next);
    }
    Err(Failure::Protocol(format!("more than {MAX_PAGES} pages; stopped there")))
}

impl Pages {
    pub(super) fn new(renderer: Renderer) -> Self {
        Self {
            renderer,
            is_merged: false,
            names: Vec::new(),
            layout: None,
            count: 0,
            notes: Vec::new(),
            details: None,
            suffix: "",
            has_table: false,
        }
    }

    pub(super) fn add(&mut self, value: &RawValue) -> Result<Page, Failure> {
        /// A longer result is JSON unless a format was chosen: laid out, it would be many times as long.
        const MAX_READABLE: usize = 4 << 20;
        let format = self.renderer.format();
        let is_long = value.get().len() > MAX_READABLE;
        let found = if format.is_none() && is_long { None } else { rowset::find(value) };
        let is_listed = self.renderer.columns().is_some() || format.is_some();
        let found = found.filter(|found| is_listed || !found.is_listing);
        let next = found.as_ref().and_then(|found| found.next.clone());
        let text = match (format, found) {
            (Some(Format::Json), Some(found)) if self.is_merged => self.merged_json(&found),
            (Some(Format::Json), _) => self.renderer.json(value.get()),
            (None, None) if is_long => self.renderer.json(value.get()),
            (None | Some(Format::Table), Some(found)) => self.table(found),
            (Some(Format::Vertical), Some(found)) => self.vertical(found),
            (Some(Format::Csv), Some(found)) => self.csv(&found)?,
            (Some(Format::Ndjson), Some(found)) => self.ndjson(&found),
            (Some(Format::Ndjson), None) => self.elements(value),
            (Some(Format::Csv), None) => {
                let text = "trunkline: the result is not a table; use --format json\n";
                return Err(Failure::Message(text.to_owned()));
            }
            (None | Some(Format::Table | Format::Vertical), None) => self.text(value),
        };
        Ok(Page { text, next })
    }

    /// Ends the text of all pages.
    pub(super) fn finish(self) -> String {
        if !self.has_table {
            return self.suffix.to_owned();
        }
        if let Some(details) = self.details {
            return details;
        }
        let notes = match self.notes.join("; ") {
            notes if notes.is_empty() => notes,
            notes => format!(" ({notes})"),
        };
        self.renderer.paint(REMARK, &(rowset::count(self.count) + &notes)) + "\n"
    }

    /// A text, or a document.
    fn text(&self, value: &RawValue) -> String {
        match serde_json::from_str::<String>(value.get()) {
            Ok(text) => text::lines(&text).into_owned() + "\n",
            Err(_) => self.renderer.document(value.get()),
        }
    }

    fn table(&mut self, found: Rowset<'_>) -> String {
        let (header, cells) = (found.header(), found.cells());
        let mut out = self.renderer.paint(BOLD, &found.heading);
        if self.layout.is_none() || self.names != header {
            let terminal = self.renderer.columns();
            let layout = Layout::new(&header, &cells, terminal, self.renderer.has_colours);
            out += &layout.header(&header);
            self.layout = Some(layout);
            self.names = header;
        }
        let layout = self.layout.as_ref().expect("it was just created");
        out += &layout.rows(&cells);
        let (shown, all) = (layout.columns(), self.names.len());
        self.add_notes(found, cells.len());
        if shown < all {
            let note = format!("{shown} of {all} columns, all with --format vertical");
            self.notes.push(note);
        }
        out
    }

    fn vertical(&mut self, found: Rowset<'_>) -> String {
        let (names, cells) = (found.header(), found.cells());
        let width = names.iter().map(|name| text::width(name)).max().unwrap_or_default();
        let mut out = self.renderer.paint(BOLD, &found.heading);
        for (index, row) in cells.iter().enumerate() {
            let title = format!("-[ row {} ]-", self.count + index + 1);
            let title = format!("{title:-<rule$}", rule = width.max(24));
            out += &(self.renderer.paint(BOLD, &title) + "\n");
            for (name, cell) in names.iter().zip(row) {
                let blanks = " ".repeat(width - text::width(name));
                let text = match cell.is_null {
                    true => self.renderer.paint(REMARK, &cell.text),
                    false => cell.text.clone(),
                };
                out += format!("{name}{blanks}  {text}").trim_end();
                out.push('\n');
            }
        }
        self.add_notes(found, cells.len());
        out
    }

    /// What a table has besides rows.
    fn add_notes(&mut self, found: Rowset<'_>, rows: usize) {
        self.has_table = true;
        self.count += rows;
        self.notes = found.notes;
        self.details = found.details;
        if found.next.is_some() && !self.is_merged {
            self.notes.push("more with --all".to_owned());
        }
    }

    fn csv(&mut self, found: &Rowset<'_>) -> Result<String, Failure> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let names: Vec<String> = found.names.iter().map(|name| name.clone().into_owned()).collect();
        let unwritable = |error: csv::Error| Failure::Output(error.into());
        if self.names != names {
            writer.write_record(&names).map_err(unwritable)?;
            self.names = names;
        }
        for row in &found.rows {
            writer.write_record(row.iter().map(|value| field(*value))).map_err(unwritable)?;
        }
        let bytes = writer.into_inner().expect("a vector accepts all bytes");
        let text = String::from_utf8(bytes).expect("the fields are UTF-8");
        Ok(match self.renderer.columns() {
            Some(_) => text::lines(&text).into_owned(),
            None => text,
        })
    }

    /// An object for each row. Names are unique: the second `a` becomes `a_2`.
    fn ndjson(&self, found: &Rowset<'_>) -> String {
        let mut names: IndexSet<Cow<'_, str>> = IndexSet::new();
        for name in &found.names {
            let mut unique = name.clone();
            let mut number = 2;
            while names.contains(&unique) {
                unique = format!("{name}_{number}").into();
                number += 1;
            }
            names.insert(unique);
        }
        let names: Vec<String> =
            names.iter().map(|name| Value::from(&**name).to_string()).collect();
        let row = |row: &Vec<Option<&RawValue>>| {
            let members = names
                .iter()
                .zip(row)
                .filter_map(|(name, value)| value.map(|value| format!("{name}:{}", value.get())));
            self.renderer.json(&format!("{{{}}}", members.collect::<Vec<_>>().join(",")))
        };
        found.rows.iter().map(row).collect()
    }

    /// A line for each element of an array, or for the value.
    fn elements(&self, value: &RawValue) -> String {
        match serde_json::from_str::<Vec<&RawValue>>(value.get()) {
            Ok(elements) => {
                elements.iter().map(|element| self.renderer.json(element.get())).collect()
            }
            Err(_) => self.renderer.json(value.get()),
        }
    }

    /// The rows of all pages in the first one's document.
    fn merged_json(&mut self, found: &Rowset<'_>) -> String {
        let mut out = String::new();
        for element in &found.elements {
            out.push_str(if self.count == 0 { "" } else { "," });
            out += &document::one_line(element.get());
            self.count += 1;
        }
        if self.suffix.is_empty() {
            out.insert_str(0, &document::one_line(&found.prefix));
            self.suffix = if found.prefix.starts_with('{') { "]}\n" } else { "]\n" };
        }
        match self.renderer.columns() {
            Some(_) => document::for_terminal(&out),
            None => out,
        }
    }
}

/// A CSV field: a string without quotes, NULL as an empty field, any other value as JSON.
fn field(value: Option<&RawValue>) -> String {
    match value.map(RawValue::get) {
        None | Some("null") => String::new(),
        Some(json) => serde_json::from_str(json).unwrap_or_else(|_| json.to_owned()),
    }
}
