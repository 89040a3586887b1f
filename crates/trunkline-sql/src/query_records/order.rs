use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::Error;
use crate::identifier::quote;
use crate::schema::Table;

/// An order of rows.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected text such as \"city, age DESC\", or a list of columns")]
pub enum OrderBy {
    /// Column names with commas between them, each with `ASC` or `DESC` if wanted: `"city, age DESC"`.
    Text(String),
    /// One term after the other.
    Terms(Vec<OrderTerm>),
}

/// One column of an order.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub enum OrderTerm {
    /// As in the text form: a column name, with `ASC` or `DESC` if wanted.
    Text(String),
    /// A column name of any form.
    Column {
        /// The column's name, in either case.
        column: String,
        /// Whether the largest comes first. Default false.
        #[serde(default)]
        desc: bool,
    },
}

/// The `ORDER BY` clause. It ends with what tells every row from the others, so that pages neither overlap
/// nor leave rows out; in the direction of the last term, for which an index can still serve.
pub(super) fn by(table: &Table, order: Option<&OrderBy>) -> Result<String, Error> {
    let mut terms = match order {
        None => Vec::new(),
        Some(OrderBy::Text(text)) => parse_text(table, text)?,
        Some(OrderBy::Terms(terms)) => terms
            .iter()
            .map(|term| match term {
                OrderTerm::Text(text) => parse_term(table, text),
                OrderTerm::Column { column, desc } => {
                    Ok((table.column(column)?.name.clone(), *desc))
                }
            })
            .collect::<Result<_, _>>()?,
    };
    let direction = terms.last().is_some_and(|(_, desc)| *desc);
    for name in table.row_identity() {
        terms.push((name.to_owned(), direction));
    }
    let terms: Vec<String> = terms
        .iter()
        .map(|(name, desc)| format!("{}{}", quote(name), if *desc { " DESC" } else { "" }))
        .collect();
    Ok(match terms.as_slice() {
        [] => String::new(),
        terms => format!(" ORDER BY {}", terms.join(", ")),
    })
}

fn parse_text(table: &Table, text: &str) -> Result<Vec<(String, bool)>, Error> {
    // A column's name may hold a comma.
    match parse_term(table, text) {
        Ok(term) => Ok(vec![term]),
        Err(_) => text.split(',').map(|term| parse_term(table, term)).collect(),
    }
}

fn parse_term(table: &Table, text: &str) -> Result<(String, bool), Error> {
    let text = text.trim();
    // A column's name may end in " desc".
    if let Ok(column) = table.column(text) {
        return Ok((column.name.clone(), false));
    }
    let (name, desc) = match text.rsplit_once(char::is_whitespace) {
        Some((name, word)) if word.eq_ignore_ascii_case("desc") => (name.trim_end(), true),
        Some((name, word)) if word.eq_ignore_ascii_case("asc") => (name.trim_end(), false),
        _ => (text, false),
    };
    Ok((table.column(name)?.name.clone(), desc))
}
