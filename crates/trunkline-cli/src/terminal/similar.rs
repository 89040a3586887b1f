//! Suggestions for misspelled names.

/// Returns up to three of the names that `name` may have been meant to be, the most similar first.
pub(crate) fn similar<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    /// Below this similarity, names are unrelated.
    const MIN_SIMILARITY: f64 = 0.6;
    /// The maximum difference to the most similar name.
    const MAX_DIFFERENCE: f64 = 0.1;
    let mut found: Vec<(f64, &str)> =
        names.into_iter().map(|known| (similarity(name, known), known)).collect();
    found.retain(|(similarity, _)| *similarity >= MIN_SIMILARITY);
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    let best = found.first().map_or(1.0, |(similarity, _)| *similarity);
    found.retain(|(similarity, _)| *similarity >= best - MAX_DIFFERENCE);
    found.into_iter().take(3).map(|(_, known)| known).collect()
}

/// The similarity of two names, or of their parts after the namespace; 1 if `known` begins with `name`.
fn similarity(name: &str, known: &str) -> f64 {
    /// A similar word weighs less than a similar name.
    const WORD_WEIGHT: f64 = 0.8;
    let [name, known] = [name, known].map(str::to_lowercase);
    let [last, known_last] = [&name, &known].map(|name| name.rsplit('.').next().unwrap_or(name));
    if !name.is_empty() && (known.starts_with(&name) || known_last.starts_with(&*name)) {
        return 1.0;
    }
    let similarity = |known: &str| strsim::normalized_damerau_levenshtein(last, known);
    let words = known_last.split('_').filter(|word| !word.is_empty());
    let words = words.map(|word| WORD_WEIGHT * similarity(word));
    let whole = strsim::normalized_damerau_levenshtein(&name, &known);
    words.fold(whole.max(similarity(known_last)), f64::max)
}

#[cfg(test)]
mod tests {
    use super::similar;

    #[track_caller]
    fn check(name: &str, expected: &[&str]) {
        let names = ["db.list_tables", "db.create_table", "db.query_records", "todo.list"];
        assert_eq!(similar(name, names), expected, "{name}");
    }

    #[test]
    fn finds_similar_names() {
        check("db.list_table", &["db.list_tables"]);
        check("db.lsit_tables", &["db.list_tables"]);
        check("list_tables", &["db.list_tables"]);
        check("listTables", &["db.list_tables"]);
        check("db.query", &["db.query_records"]);
        check("DB.QUERY_RECORD", &["db.query_records"]);
        check("list", &["db.list_tables", "todo.list"]);
        check("qery", &["db.query_records"]);
        check("db.nope", &[]);
        check("shutdown", &[]);
        check("foo.", &[]);
        check("", &[]);
        check("todo.", &["todo.list"]);
    }

    #[test]
    fn ignores_empty_words() {
        assert_eq!(similar("foo.", ["db._list", "db.list__all"]), [""; 0]);
    }
}
