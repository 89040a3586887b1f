/// The text, or its beginning with a mark.
pub(crate) fn cut(mut text: String, limit: usize) -> String {
    let bytes = text.len();
    if bytes > limit {
        let end = (0..=limit).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        text.truncate(end);
        text.push_str(&format!("\n[cut: {end} of {bytes} bytes are shown]"));
    }
    text
}
