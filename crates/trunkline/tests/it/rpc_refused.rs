//! Messages of the compiler for code that the macros refuse.

use crate::compile_errors;

#[test]
fn messages() {
    compile_errors::check("tests/ui", "trunkline");
}
