//! Numbers through serde: the nearest float, bounds, and what survives where serde keeps it for later.

use trunkline_edn::{Ratio, from_str};

/// The bits of the float, which is how its neighbours differ.
#[track_caller]
fn check_nearest(edn: &str, expected: f64) {
    let found: f64 = from_str(edn).unwrap();
    assert_eq!(found.to_bits(), expected.to_bits(), "{found:e}, not {expected:e}");
}

fn power_of_two(exponent: usize) -> String {
    let mut digits = vec![1_u8];
    for _ in 0..exponent {
        let mut carry = 0;
        for digit in &mut digits {
            let doubled = *digit * 2 + carry;
            (*digit, carry) = (doubled % 10, doubled / 10);
        }
        if carry > 0 {
            digits.push(carry);
        }
    }
    digits.iter().rev().map(|digit| char::from(b'0' + digit)).collect()
}

#[test]
fn ratios_are_the_nearest_float() {
    check_nearest("1/3", 1.0 / 3.0);
    check_nearest("-36028797018963969/2", -18_014_398_509_481_984.0);
    check_nearest("100000000000000000000000/3", 3.333_333_333_333_333_3e22);
    // 2.5 times the least float, and a bit more: rounded once.
    check_nearest(&format!("2882303761517117441/{}", power_of_two(1_134)), 1.5e-323);
    check_nearest(&format!("5/{}", power_of_two(1_075)), 1e-323);
    check_nearest(&format!("-7/{}", power_of_two(1_075)), -2e-323);
    // Half of the least float, and a bit more.
    check_nearest(&format!("1/{}", power_of_two(1_075)), 0.0);
    check_nearest(&format!("9007199254740993/{}", power_of_two(1_128)), 5e-324);
    // The largest that is not normal, and what rounds to the least that is.
    check_nearest(&format!("4503599627370495/{}", power_of_two(1_074)), 2.225_073_858_507_201e-308);
    check_nearest(&format!("9007199254740991/{}", power_of_two(1_075)), f64::MIN_POSITIVE);
    check_nearest(&format!("18014398509481983/{}", power_of_two(1_075)), 2.0 * f64::MIN_POSITIVE);
    check_nearest(&format!("1{}/3", "0".repeat(1_000)), f64::INFINITY);
}

#[test]
fn ratios_have_a_bound() {
    let ratio = |digits: usize| format!("{}/{}", "7".repeat(digits), "3".repeat(digits - 1));
    let refused = "a ratio, or an integer that is not decimal, has at most 1024 digits";

    let longest: Ratio = ratio(1_024).parse().unwrap();
    assert_eq!(from_str::<Ratio>(&format!("{:?}", ratio(1_024))).unwrap(), longest);
    let padded = format!("-{}1/{}2", "0".repeat(2_000), "0".repeat(2_000));
    assert_eq!(padded.parse::<Ratio>().unwrap().to_string(), "-1/2");

    // What takes a second without a bound, and what takes minutes.
    let long = ratio(16 << 10);
    assert_eq!(long.parse::<Ratio>().unwrap_err().to_string(), refused);
    let long = ratio(1 << 20);
    assert_eq!(long.parse::<Ratio>().unwrap_err().to_string(), refused);
    let lower = format!("1/{}", &long[..1_025]);
    assert_eq!(lower.parse::<Ratio>().unwrap_err().to_string(), refused);
    let error = from_str::<Ratio>(&format!("{long:?}")).unwrap_err().to_string();
    assert_eq!(error, format!("line 1, column 1: {refused}"));
    let error = serde_json::from_str::<Ratio>(&format!("{long:?}")).unwrap_err().to_string();
    assert!(error.starts_with(refused), "{error}");

    // What is there already is written, whatever it has.
    let long = Ratio::of(&"7".repeat(1_025).parse().unwrap(), &2.into()).unwrap();
    assert_eq!(trunkline_edn::to_string(&long).unwrap(), long.to_string());
}
