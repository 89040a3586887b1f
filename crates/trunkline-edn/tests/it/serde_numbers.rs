//! Numbers with serde: rounding, limits, and buffering.

use std::fmt::Debug;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use trunkline_edn::{Decimal, Integer, Map, Ratio, from_str};

/// Compares the bits of the float, to distinguish it from its neighbours.
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
fn rounds_ratios_to_the_nearest_float() {
    check_nearest("1/3", 1.0 / 3.0);
    check_nearest("-36028797018963969/2", -18_014_398_509_481_984.0);
    check_nearest("100000000000000000000000/3", 33_333_333_333_333_333_000_000.0);
    // Slightly more than 2.5 times the smallest float. Rounded once.
    check_nearest(&format!("2882303761517117441/{}", power_of_two(1_134)), 1.5e-323);
    check_nearest(&format!("5/{}", power_of_two(1_075)), 1e-323);
    check_nearest(&format!("-7/{}", power_of_two(1_075)), -2e-323);
    // Slightly more than half of the smallest float.
    check_nearest(&format!("1/{}", power_of_two(1_075)), 0.0);
    check_nearest(&format!("9007199254740993/{}", power_of_two(1_128)), 5e-324);
    // The largest subnormal float, and a ratio that rounds to the smallest normal one.
    check_nearest(&format!("4503599627370495/{}", power_of_two(1_074)), 2.225_073_858_507_201e-308);
    check_nearest(&format!("9007199254740991/{}", power_of_two(1_075)), f64::MIN_POSITIVE);
    check_nearest(&format!("18014398509481983/{}", power_of_two(1_075)), 2.0 * f64::MIN_POSITIVE);
    check_nearest(&format!("1{}/3", "0".repeat(1_000)), f64::INFINITY);
}

#[test]
fn limits_the_digits_of_ratios() {
    let ratio = |digits: usize| format!("{}/{}", "7".repeat(digits), "3".repeat(digits - 1));
    let refused = "a ratio or a non-decimal integer must have at most 1024 digits";

    let longest: Ratio = ratio(1_024).parse().unwrap();
    assert_eq!(from_str::<Ratio>(&format!("{:?}", ratio(1_024))).unwrap(), longest);
    let padded = format!("-{}1/{}2", "0".repeat(2_000), "0".repeat(2_000));
    assert_eq!(padded.parse::<Ratio>().unwrap().to_string(), "-1/2");

    // Without the limit, these take a second and several minutes.
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

    // Existing values are written regardless of the limit.
    let long = Ratio::of(&"7".repeat(1_025).parse().unwrap(), &2.into()).unwrap();
    assert_eq!(trunkline_edn::to_string(&long).unwrap(), long.to_string());
}

/// Fields that serde buffers: in a flattened map, an internally tagged variant, or an untagged enum.
#[derive(Debug, PartialEq, Deserialize)]
struct Flat<T> {
    #[serde(flatten)]
    inner: Number<T>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Number<T> {
    n: T,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(tag = "type")]
enum Tagged<T> {
    A { n: T },
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Untagged<T> {
    A { n: T },
}

#[track_caller]
fn check_buffered<T: DeserializeOwned + PartialEq + Debug + Clone>(edn: &str, expected: T) {
    let text = format!("{{:type :A, :n {edn}}}");
    let inner = Number { n: expected.clone() };
    assert_eq!(from_str(&text), Ok(Flat { inner }));
    assert_eq!(from_str(&text), Ok(Tagged::A { n: expected.clone() }));
    assert_eq!(from_str(&text), Ok(Untagged::A { n: expected }));
}

#[track_caller]
fn check_not_buffered<T: DeserializeOwned + Debug>(edn: &str, expected: &str) {
    let error = from_str::<Flat<T>>(&format!("{{:n {edn}}}")).unwrap_err().to_string();
    assert_eq!(error, format!("line 1, column 1: {expected}"));
}

#[test]
fn numbers_survive_buffering() {
    for text in [
        "1.5",
        "0.1",
        "-100",
        "0.12345678901234567890123",
        "12345678901234567.8",
        "1E+300",
        "1E+400",
        "-1E-400",
        "0",
    ] {
        check_buffered::<Decimal>(&format!("{text}M"), text.parse().unwrap());
    }
    for text in [
        "1/3",
        "-22/7",
        "1/2",
        "1000001/1000003",
        "9007199254740993/2",
        "12345678901234567890/7",
        "1/100000000000000000000",
        "1/12345678901234567891",
    ] {
        check_buffered::<Ratio>(text, text.parse().unwrap());
    }
    for text in [
        "1",
        "18446744073709551615",
        "-18446744073709551616",
        "340282366920938463463374607431768211456",
    ] {
        check_buffered::<Integer>(&format!("{text}N"), text.parse().unwrap());
    }
    // A float field still accepts any number.
    check_buffered("1.5M", 1.5);
    check_buffered("0.10M", 0.1);
    check_buffered("1/3", 1.0 / 3.0);
    check_buffered("-1/2", -0.5);
    check_buffered("-22/7", -22.0 / 7.0);
    check_not_buffered::<f64>("0.12345678901234567890123M", {
        "expected f64, found string \"0.12345678901234567890123\""
    });
    check_not_buffered::<Ratio>("2.0", "expected a ratio, found floating point `2.0`");
    check_not_buffered::<Ratio>("##Inf", "expected a ratio, found floating point `inf`");
    check_not_buffered::<Ratio>("##NaN", "expected a ratio, found floating point `NaN`");
}

/// A buffered value recognises a number by its form, and keeps all digits.
#[test]
fn numbers_in_buffered_values() {
    #[derive(Deserialize)]
    struct Rest {
        #[serde(flatten)]
        rest: Map,
    }
    let text = "{:a 1.5M, :b 1/3, :c 0.12345678901234567890123M, :d 18446744073709551616N, :e 1N}";
    assert_eq!(
        from_str::<Rest>(text)
            .unwrap()
            .rest
            .into_iter()
            .map(|(_, value)| value.to_string())
            .collect::<Vec<_>>(),
        [
            "1.5",
            "0.3333333333333333",
            "\"0.12345678901234567890123\"",
            "\"18446744073709551616\"",
            "1"
        ]
    );
}
