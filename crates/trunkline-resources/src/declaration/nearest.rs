//! What a person may have meant who wrote a name that is not known.

/// Longer names are not compared: the cost grows with the square of the length.
const COMPARED: usize = 64;

/// The known name that is nearest to the wanted one, if about two letters of three are right.
pub(super) fn to<'n>(wanted: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let tolerance = wanted.len().div_ceil(3);
    let distances = known.filter_map(|name| Some((slips(wanted, name)?, name)));
    let (_, name) =
        distances.filter(|(slips, _)| *slips <= tolerance).min_by_key(|(slips, _)| *slips)?;
    Some(name)
}

/// How many letters are to insert, to delete or to replace (Levenshtein's distance), in any case.
fn slips(left: &str, right: &str) -> Option<usize> {
    if left.len().max(right.len()) > COMPARED {
        return None;
    }
    let [left, right] = [left, right].map(str::to_ascii_lowercase);
    // Slips between the beginning of the left name so far, and each beginning of the right one.
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, a) in left.bytes().enumerate() {
        let mut before = index + 1;
        let mut diagonal = std::mem::replace(&mut row[0], before);
        for (slot, b) in row[1..].iter_mut().zip(right.bytes()) {
            let replaced = diagonal + usize::from(a != b);
            diagonal = *slot;
            before = replaced.min(before + 1).min(diagonal + 1);
            *slot = before;
        }
    }
    row.last().copied()
}

#[cfg(test)]
mod tests {
    #[track_caller]
    fn check(wanted: &str, expected: Option<&str>) {
        let known = ["string", "integer", "number", "boolean", "object", "array"];
        assert_eq!(super::to(wanted, known.into_iter()), expected, "{wanted}");
    }

    #[test]
    fn slips_are_forgiven_and_other_names_are_not() {
        check("strng", Some("string"));
        check("String", Some("string"));
        check("int", None);
        check("nubmer", Some("number"));
        check("arrays", Some("array"));
        check("date", None);
        check("ärray", Some("array"));
        check("", None);
        check(&"x".repeat(65), None);
    }
}
