/// Most names that a suggestion has.
const MOST: usize = 3;

/// Longer names are cut for the comparison, whose cost grows with the square of the length.
const COMPARED: usize = 64;

/// The known names that a person who wrote `wanted` may have meant, nearest first.
pub(super) fn to<'n>(wanted: &str, known: impl Iterator<Item = &'n String>) -> Vec<String> {
    let wanted = folded(wanted);
    // About one slip in three letters.
    let tolerance = wanted.len().div_ceil(3);
    let mut near: Vec<(usize, &String)> = known
        .filter_map(|name| {
            let folded = folded(name);
            let distance = distance(&wanted, &folded);
            let close = distance <= tolerance || contains(&folded, &wanted);
            close.then_some((distance, name))
        })
        .collect();
    near.sort();
    near.into_iter().take(MOST).map(|(_, name)| name.clone()).collect()
}

fn folded(name: &str) -> Vec<char> {
    name.chars().flat_map(char::to_lowercase).take(COMPARED).collect()
}

/// Whether one name stands in the other, long enough to be no accident.
fn contains(name: &[char], wanted: &[char]) -> bool {
    let (short, long) = if name.len() < wanted.len() { (name, wanted) } else { (wanted, name) };
    short.len() >= 3 && long.windows(short.len()).any(|part| part == short)
}

/// Levenshtein's distance: letters to insert, delete or replace.
fn distance(left: &[char], right: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut diagonal = i;
        let mut previous = i + 1;
        row[0] = previous;
        for (cell, b) in row[1..].iter_mut().zip(right) {
            let replaced = diagonal + usize::from(a != b);
            diagonal = *cell;
            previous = replaced.min(diagonal + 1).min(previous + 1);
            *cell = previous;
        }
    }
    row[right.len()]
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
            assert_eq!(super::to(wanted, known.iter()), expected, "{wanted}");
        }
    }
}
