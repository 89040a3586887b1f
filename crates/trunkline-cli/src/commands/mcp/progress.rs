//! The progress of a call, or of its task, in one line.

use trunkline_mcp::client::{ProgressUpdate, TaskInfo};

use crate::terminal::{line, progress_bar};

/// A bar with the percentage, if the total is known, the progress, and the message.
pub(super) fn text(update: &ProgressUpdate, columns: usize) -> String {
    let total = update.total.filter(|total| *total > 0.0);
    let mut parts = Vec::new();
    if let Some(total) = total {
        parts.extend(progress_bar(update.progress / total, columns));
    }
    match total {
        Some(100.0) => {}
        Some(total) => parts.push(format!("{}/{}", number(update.progress), number(total))),
        None => parts.push(number(update.progress)),
    }
    parts.extend(update.message.as_deref().map(|message| line(message).into_owned()));
    parts.join(" ")
}

/// The status of a task, and its message.
pub(super) fn task_text(info: &TaskInfo) -> String {
    let status = info.status.name().replace('_', " ");
    match &info.message {
        Some(message) => format!("task: {status}: {}", line(message)),
        None => format!("task: {status}"),
    }
}

/// A number with at most one decimal.
fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 1e15 => format!("{value:.1e}"),
        _ if value.fract() == 0.0 => format!("{value}"),
        _ => format!("{value:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(update: serde_json::Value, columns: usize, expected: &str) {
        let update = serde_json::from_value(update).unwrap();
        assert_eq!(text(&update, columns), expected);
    }

    #[test]
    fn shows_bars_and_numbers() {
        check(json!({"progress": 45, "total": 100}), 80, "[#########-----------]  45%");
        check(
            json!({"progress": 1, "total": 3, "message": "copying\u{1b}[2J"}),
            80,
            "[######--------------]  33% 1/3 copying\\u{1b}[2J",
        );
        check(json!({"progress": 7, "total": 3}), 49, "100% 7/3");
        check(json!({"progress": -1, "total": 3}), 49, "  0% -1/3");
        check(json!({"progress": 1.25, "message": "a"}), 80, "1.2 a");
        check(json!({"progress": 1e300, "total": 0}), 80, "1.0e300");
        check(json!({"progress": 3, "total": 3}), 80, "[####################] 100% 3/3");
    }
}
