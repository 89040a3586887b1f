/// The maximum number of names in a suggestion.
const MAX_NAMES: usize = 3;

/// Longer names are cut for the comparison, whose cost grows with the square of the length.
const MAX_COMPARED: usize = 64;

/// The known names that a person who wrote `wanted` may have meant, nearest first.
pub(crate) fn nearest_names<'n>(
    wanted: &str,
    known: impl Iterator<Item = &'n String>,
) -> Vec<String> {
    let wanted = folded(wanted);
    // About one slip in three letters.
    let tolerance = wanted.len().div_ceil(3);
    let mut near: Vec<(usize, &String)> = known
        .filter_map(|name| {
            let folded = folded(name);
            let distance = strsim::generic_levenshtein(&wanted, &folded);
            let close = distance <= tolerance || contains(&folded, &wanted);
            close.then_some((distance, name))
        })
        .collect();
    near.sort();
    near.into_iter().take(MAX_NAMES).map(|(_, name)| name.clone()).collect()
}

fn folded(name: &str) -> Vec<char> {
    name.chars().flat_map(char::to_lowercase).take(MAX_COMPARED).collect()
}

/// Whether one name contains the other, and the shorter one has at least three letters.
fn contains(name: &[char], wanted: &[char]) -> bool {
    let (short, long) = if name.len() < wanted.len() { (name, wanted) } else { (wanted, name) };
    short.len() >= 3 && long.windows(short.len()).any(|part| part == short)
}

#[cfg(test)]
mod tests {
    #[test]
    fn suggestions() {
        let known = ["customer", "orders", "lineitem", "part", "partsupp", "x"].map(str::to_owned);
        for (wanted, expected) in [
            ("Custmer", vec!["customer"]),
            ("order", vec!["orders"]),
            ("line_item", vec!["lineitem"]),
            ("parts", vec!["part", "partsupp"]),
            ("zzz", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(super::nearest_names(wanted, known.iter()), expected, "{wanted}");
        }
    }
}
