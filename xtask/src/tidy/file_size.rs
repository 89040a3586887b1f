//! Limits the length of source files.

use std::path::Path;

use crate::tidy::finding::{Finding, in_crate_source, is_test_file};
use crate::tidy::source::Source;

/// Maximum lines of code. Blank lines, comments and the test module do not count.
const CAP: usize = 500;

pub(super) fn check(path: &Path, source: &Source) -> Option<Finding> {
    let ours = in_crate_source(path).is_some() || path.starts_with("xtask/src");
    if !ours || is_test_file(path) {
        return None;
    }
    let (line, lines) =
        source.code_before_tests().fold((1, 0), |(_, count), (line, _)| (line, count + 1));
    (lines > CAP).then(|| {
        Finding::in_file(
            path,
            line,
            format!("{lines} lines of code; the maximum is {CAP}: split the file"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_size(file: &str, text: &str, fails: bool) {
        let found = check(Path::new(file), &Source::parse(text));
        assert_eq!(found.is_some(), fails, "{file}");
    }

    #[test]
    fn rejects_long_files() {
        let at_the_cap = "a\n".repeat(CAP);
        let over = "a\n".repeat(CAP + 1);
        let long_tests = format!("{at_the_cap}#[cfg(test)]\nmod tests {{\n{over}}}\n");
        let hidden = format!("#[cfg(test)]\nmod tests;\n{at_the_cap}");
        let prose = format!("{}{at_the_cap}", "// b\n\n".repeat(CAP));

        check_size("crates/trunkline/src/id.rs", &at_the_cap, false);
        check_size("crates/trunkline/src/id.rs", &over, true);
        check_size("crates/trunkline/src/http/body.rs", &over, true);
        check_size("xtask/src/main.rs", &over, true);
        check_size("crates/trunkline/src/id.rs", &long_tests, false);
        check_size("crates/trunkline/src/id.rs", &hidden, true);
        check_size("crates/trunkline/src/id.rs", &prose, false);
        check_size("crates/trunkline/src/id/tests.rs", &over, false);
        check_size("crates/trunkline/src/id/tests/rows.rs", &over, false);
        check_size("crates/trunkline/tests/http.rs", &over, false);
    }
}
