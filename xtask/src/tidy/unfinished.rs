//! Rejects marks of unfinished work.

use std::path::Path;

use crate::tidy::finding::Finding;
use crate::tidy::source::Source;

const IN_CODE: &[&str] = &["todo!", "unimplemented!"];
const IN_COMMENTS: &[&str] = &["FIXME"];

pub(super) fn check(path: &Path, source: &Source) -> Vec<Finding> {
    let code = source.code_lines().map(|(number, line)| (number, line, IN_CODE));
    let comments = source.comment_lines().map(|(number, line)| (number, line, IN_COMMENTS));
    code.chain(comments)
        .filter_map(|(number, line, marks)| {
            let mark = marks.iter().find(|mark| line.contains(**mark))?;
            Some(Finding::in_file(path, number, format!("`{mark}`: finish it, or open an issue")))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_marks(text: &str, expected: usize) {
        let found = check(Path::new("crates/trunkline/src/id.rs"), &Source::parse(text));
        assert_eq!(found.len(), expected, "{text:?}");
    }

    #[test]
    fn rejects_marks_of_unfinished_work() {
        check_marks("fn a() { todo!() }", 1);
        check_marks("fn a() { unimplemented!(\"b\") }", 1);
        check_marks("// FIXME: b", 1);
        check_marks("/// FIXME\nfn a() { todo!() }", 2);
        check_marks("#[cfg(test)]\nmod tests { fn a() { todo!() } }", 1);
        check_marks("let todo = \"todo!\"; // todo!", 0);
        check_marks("let a = \"FIXME\";", 0);
    }
}
