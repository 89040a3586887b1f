use super::{Answer, calculate};

#[track_caller]
fn check(expression: &str, result: &str) {
    let answer = Answer { result: result.to_owned(), exact: true, fraction: None };
    assert_eq!(calculate(expression), Ok(answer), "{expression}");
}

#[track_caller]
fn check_rounded(expression: &str, result: &str, fraction: &str) {
    let fraction = Some(fraction.to_owned());
    let answer = Answer { result: result.to_owned(), exact: false, fraction };
    assert_eq!(calculate(expression), Ok(answer), "{expression}");
}

#[track_caller]
fn check_wrong(expression: &str, reason: &str) {
    assert_eq!(calculate(expression), Err(reason.to_owned()), "{expression}");
}

#[test]
fn decimals_that_end_are_exact() {
    check("0.1 + 0.2", "0.3");
    check("  1.50", "1.5");
    check("1/8", "0.125");
    check("-1/8", "-0.125");
    check("10/4*2", "5");
    check("1e3", "1000");
    check("1.5E-3", "0.0015");
    check(".5 + 5.", "5.5");
    check(
        "12345678901234567890 * 98765432109876543210",
        "1219326311370217952237463801111263526900",
    );
    check("2^100", "1267650600228229401496703205376");
    check("0", "0");
    check("-0", "0");
    check("100/3 - 100/3", "0");
}

#[test]
fn what_binds_stronger() {
    check("2 + 3 * 4", "14");
    check("(2 + 3) * 4", "20");
    check("10 - 4 - 3", "3");
    check("2^3^2", "512");
    check("2**10", "1024");
    check("2 ** 3 * 2", "16");
    check("-2^2", "-4");
    check("(-2)^2", "4");
    check("2^-2", "0.25");
    check("2^-+-2", "4");
    check("3 - -3", "6");
    check("2*-3", "-6");
    check("1 - (2 - (3 - 4))", "-2");
}

#[test]
fn rests_and_powers() {
    check("7 % 3", "1");
    check("-7 % 3", "2");
    check("7 % -3", "-2");
    check("5.5 % 2", "1.5");
    check("-7.5 % -2", "-1.5");
    check("1e3000 % 1e-100", "0");
    check("(10^3000 + 1) % 10^-9", "0");
    check("0e99999999", "0");
    check("1^999999999999", "1");
    check("(-1)^999999999999", "-1");
    check("(-1)^-2", "1");
    check("0^0", "1");
    check("0^5", "0");
    check("(1/2)^3", "0.125");
}

#[test]
fn decimals_that_do_not_end_are_rounded() {
    let threes = "3".repeat(50);
    check_rounded("1/3", &format!("0.{threes}"), "1/3");
    check_rounded("-2/3", &format!("-0.{}7", "6".repeat(49)), "-2/3");
    check_rounded("2/7", &format!("0.{}29", "285714".repeat(8)), "2/7");
    check_rounded("100/3", &format!("33.{}", "3".repeat(48)), "100/3");
    check_rounded("1/3000", &format!("0.000{threes}"), "1/3000");
    check_rounded("10^60/3", &"3".repeat(60), &format!("1{}/3", "0".repeat(60)));
}

#[test]
fn what_is_wrong() {
    check_wrong(
        "",
        "character 1 of the expression: the expression ends where a number is expected",
    );
    check_wrong(
        "1 +",
        "character 4 of the expression: the expression ends where a number is expected",
    );
    check_wrong("1 / (2 - 2)", "character 3 of the expression: this divides by zero");
    check_wrong("1 % 0", "character 3 of the expression: this divides by zero");
    check_wrong("0^-1", "character 2 of the expression: this divides by zero");
    check_wrong("2^0.5", "character 2 of the expression: an exponent is a whole number");
    check_wrong("(1", "character 3 of the expression: a closing parenthesis is expected here");
    check_wrong("1)", "character 2 of the expression: this parenthesis was not opened");
    check_wrong("é", "character 1 of the expression: a number is expected here");
    check_wrong(
        "1 é",
        "character 3 of the expression: an operator is expected here: one of + - * / % ^",
    );
    check_wrong(
        "2 x 3",
        "character 3 of the expression: an operator is expected here: one of + - * / % ^",
    );
    check_wrong(". + 1", "character 1 of the expression: a number has digits");
    let exponent = "the exponent of a number is a whole number, as in 1.5e-3";
    check_wrong("1e", &format!("character 3 of the expression: {exponent}"));
    check_wrong("system('ls')", "character 1 of the expression: a number is expected here");
}

#[test]
fn what_is_too_much() {
    let large = "the numbers get too large: about 3,000 digits are the most";
    check_wrong("2^10001", &format!("character 2 of the expression: {large}"));
    check_wrong("9^9^9^9", &format!("character 4 of the expression: {large}"));
    check_wrong("1e999999999999", &format!("character 1 of the expression: {large}"));
    check_wrong("1e99999999999999999999", &format!("character 1 of the expression: {large}"));
    check_wrong("1e-99999999999999999999", &format!("character 1 of the expression: {large}"));
    check_wrong("1e-4000", &format!("character 1 of the expression: {large}"));
    check_wrong("2^9000 * 2^9000", &format!("character 8 of the expression: {large}"));
    assert!(calculate("2^9999").is_ok());
    let deep = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
    check(&deep(100), "1");
    check_wrong(&deep(101), "character 102 of the expression: this is nested too deep");
    check_wrong(&"-".repeat(101), "character 102 of the expression: this is nested too deep");
    check_wrong(&"1".repeat(1001), "an expression has at most 1000 bytes");
}
