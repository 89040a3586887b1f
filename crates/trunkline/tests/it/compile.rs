//! What the macros accept, and what they say of what they do not.
//!
//! `TRYBUILD=overwrite` writes the messages; they are those of the toolchain in CI.

#[test]
fn macros() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/fail/*.rs");
}
