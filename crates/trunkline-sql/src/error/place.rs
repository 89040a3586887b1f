//! The names in SQLite's messages. They are not quoted there, so a name that could be read in two ways is
//! left alone.

/// A table and a column, if known.
type Place = (Option<String>, Option<String>);

/// Of a message about SQL that is wrong.
pub(super) fn of_mistake(message: &str) -> Place {
    if let Some(table) = message.strip_prefix("no such table: ") {
        return (Some(without_schema(table).to_owned()), None);
    }
    if let Some(column) = message.strip_prefix("no such column: ") {
        // SQLite's hint about a name in double quotes.
        let column = column.split(" - should this be").next().unwrap_or(column);
        let column = column.trim_matches('"');
        return match dotted(column) {
            Some((table, column)) => (Some(table), Some(column)),
            None => (None, Some(column.to_owned())),
        };
    }
    for (before, behind) in [
        ("cannot INSERT into generated column \"", "\""),
        ("cannot UPDATE generated column \"", "\""),
    ] {
        if let Some(column) = between(message, before, behind) {
            return (None, Some(column.to_owned()));
        }
    }
    for (before, behind) in [
        ("cannot modify ", " because it is a view"),
        ("table ", " may not be modified"),
        ("table ", " already exists"),
    ] {
        if let Some(table) = between(message, before, behind) {
            return (Some(without_schema(table).trim_matches('"').to_owned()), None);
        }
    }
    let parts = message.strip_prefix("table ").map(|rest| rest.split(" has no column named "));
    match parts.map(Iterator::collect::<Vec<_>>).as_deref() {
        Some([table, column]) => {
            (Some(without_schema(table).to_owned()), Some((*column).to_owned()))
        }
        _ => (None, None),
    }
}

/// Of a message about a constraint: "UNIQUE constraint failed: emp.name". The message of a trigger may be
/// anything. A CHECK is told by its name or its expression, which are no places.
pub(super) fn of_constraint(message: &str) -> Place {
    // "cannot store TEXT value in INTEGER column emp.age"
    if message.starts_with("cannot store ") {
        let place = message.split_once(" column ").and_then(|(_, place)| dotted(place));
        return place.map_or((None, None), |(table, column)| (Some(table), Some(column)));
    }
    let places = ["UNIQUE constraint failed: ", "NOT NULL constraint failed: "]
        .iter()
        .find_map(|kind| message.strip_prefix(kind))
        .unwrap_or_default();
    let (mut table, mut column) = (None, None);
    for (index, place) in places.split(", ").enumerate() {
        (table, column) = match dotted(place) {
            Some((first, second)) => (Some(first), Some(second).filter(|_| index == 0)),
            None => (None, None),
        };
    }
    (table, column)
}

fn between<'m>(message: &'m str, before: &str, behind: &str) -> Option<&'m str> {
    message.strip_prefix(before)?.strip_suffix(behind)
}

fn without_schema(table: &str) -> &str {
    table.strip_prefix("main.").unwrap_or(table)
}

/// A table and its column, if there is exactly one dot.
fn dotted(place: &str) -> Option<(String, String)> {
    let (table, column) = place.split_once('.')?;
    (!column.contains('.')).then(|| (table.to_owned(), column.to_owned()))
}
