//! Suggestions for unknown names.

/// Longer names are not compared: the cost grows with the square of the length.
const MAX_COMPARED: usize = 64;

/// The known name that is nearest to an unknown one, if about two letters of three match, in any case.
pub(super) fn nearest_name<'n>(
    name: &str,
    known: impl Iterator<Item = &'n str>,
) -> Option<&'n str> {
    let distance =
        |known: &str| strsim::levenshtein(&name.to_ascii_lowercase(), &known.to_ascii_lowercase());
    let (_, nearest) = known
        .filter(|known| name.len().max(known.len()) <= MAX_COMPARED)
        .map(|known| (distance(known), known))
        .filter(|(distance, _)| *distance <= name.len().div_ceil(3))
        .min_by_key(|(distance, _)| *distance)?;
    Some(nearest)
}

#[cfg(test)]
mod tests {
    #[track_caller]
    fn check(wanted: &str, expected: Option<&str>) {
        let known = ["string", "integer", "number", "boolean", "object", "array"];
        assert_eq!(super::nearest_name(wanted, known.into_iter()), expected, "{wanted}");
    }

    #[test]
    fn near_names_are_suggested() {
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
