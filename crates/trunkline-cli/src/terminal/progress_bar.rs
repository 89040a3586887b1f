/// A bar, unless there are too few columns, and the percentage.
pub(crate) fn progress_bar(fraction: f64, columns: usize) -> Vec<String> {
    /// The width of the bar without its brackets, and the number of columns from which on it is shown.
    const BAR: usize = 20;
    const MIN_COLUMNS: usize = 50;
    let fraction = fraction.clamp(0.0, 1.0);
    let mut parts = Vec::new();
    if columns >= MIN_COLUMNS {
        let filled = (fraction * BAR as f64).floor() as usize;
        parts.push(format!("[{:-<BAR$}]", "#".repeat(filled)));
    }
    parts.push(format!("{:3}%", (fraction * 100.0).floor()));
    parts
}
