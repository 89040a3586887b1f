//! Comparison of printed with documented output, in which `…` matches any text.

/// Whether the printed output matches the page. In the documented output, `…` matches any text within a line, and a line
/// of `…` any number of lines.
pub(super) fn matches(documented: &str, printed: &str) -> bool {
    let documented: Vec<_> = documented.trim_end().lines().map(str::trim_end).collect();
    let printed: Vec<_> = printed.trim_end().lines().map(str::trim_end).collect();
    lines_match(&documented, &printed)
}

fn lines_match(documented: &[&str], printed: &[&str]) -> bool {
    match documented.split_first() {
        None => printed.is_empty(),
        Some((&"…", rest)) => {
            (0..=printed.len()).any(|skipped| lines_match(rest, &printed[skipped..]))
        }
        Some((line, rest)) => printed
            .split_first()
            .is_some_and(|(first, others)| line_matches(line, first) && lines_match(rest, others)),
    }
}

fn line_matches(documented: &str, printed: &str) -> bool {
    let Some((start, rest)) = documented.split_once('…') else { return documented == printed };
    let Some(printed) = printed.strip_prefix(start) else { return false };
    let ends = printed.char_indices().map(|(index, _)| index).chain([printed.len()]);
    ends.into_iter().any(|skipped| line_matches(rest, &printed[skipped..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(documented: &str, printed: &str, expected: bool) {
        assert_eq!(matches(documented, printed), expected, "{documented:?} and {printed:?}");
    }

    #[test]
    fn ellipses() {
        check("a\nb\n", "a\nb", true);
        check("a", "a\nb", false);
        check("a…c", "abc", true);
        check("a…c", "ac", true);
        check("a…c", "abcd", false);
        check("a…c…", "abcd", true);
        check("…b", "aabb", true);
        check("a\n…\nc", "a\nb\nb\nc", true);
        check("a\n…", "a", true);
        check("…\nc", "a\nb", false);
    }
}
