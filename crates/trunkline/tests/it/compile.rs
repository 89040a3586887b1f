//! Code that the macros accept, and their error messages for other code.
//!
//! `TRYBUILD=overwrite` updates the messages. They are those of the toolchain in CI.

#[test]
fn macros() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/fail/*.rs");
}
