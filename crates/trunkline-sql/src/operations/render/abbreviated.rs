use serde_json::Value;

use super::count;
use super::tsv::{KEPT_BASE64, KEPT_CHARS, MAX_BASE64, MAX_CHARS, REST};

/// A result whose rows have their long cells abbreviated as in a table. `None` if no cell is long.
pub(in crate::operations) fn abbreviated(result: &[u8]) -> Option<Vec<u8>> {
    if !may_have_long_cell(result) {
        return None;
    }
    let mut result: Value = serde_json::from_slice(result).ok()?;
    let cells = abbreviate(&mut result, false);
    if cells == 0 {
        return None;
    }
    if result.get("columns").is_some() && result.get("rows").is_some() {
        let hint = format!("{} abbreviated: {REST}", count(cells, "long cell"));
        result["hint"] = match result["hint"].as_str() {
            Some(other) => format!("{other}; {hint}").into(),
            None => hint.into(),
        };
    }
    serde_json::to_vec(&result).ok()
}

/// Whether there are more bytes between two quotation marks than a whole cell may have. Few results have such cells, and
/// the others are not parsed.
fn may_have_long_cell(json: &[u8]) -> bool {
    let (mut length, mut is_escaped) = (0, false);
    json.split(|byte| *byte == b'"').any(|part| {
        length = part.len() + if is_escaped { length } else { 0 };
        is_escaped = part.ends_with(b"\\");
        length > MAX_BASE64
    })
}

/// Abbreviates the cells in members `rows`, and returns their number.
fn abbreviate(value: &mut Value, is_in_rows: bool) -> u64 {
    match value {
        Value::String(text) if is_in_rows && text.len() > MAX_CHARS => {
            let Some((kept, _)) = text.char_indices().nth(KEPT_CHARS) else { return 0 };
            let rest = text[kept..].chars().count();
            if rest <= MAX_CHARS - KEPT_CHARS {
                return 0;
            }
            text.truncate(kept);
            text.push_str(&format!("…[+{rest} characters]"));
            1
        }
        Value::Array(values) => values.iter_mut().map(|value| abbreviate(value, is_in_rows)).sum(),
        Value::Object(members) => {
            let size = members.get("bytes").and_then(Value::as_u64);
            if let (Some(Value::String(blob)), Some(size), true) =
                (members.get_mut("$blob"), size, is_in_rows)
            {
                if blob.len() <= MAX_BASE64 {
                    return 0;
                }
                blob.truncate(KEPT_BASE64);
                blob.push_str(&format!("…[{size} bytes]"));
                return 1;
            }
            let cells = members.iter_mut();
            cells.map(|(name, value)| abbreviate(value, is_in_rows || name == "rows")).sum()
        }
        _ => 0,
    }
}
