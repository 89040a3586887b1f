//! The order of numbers, and the parts of decimals.

use std::cmp::Ordering;
use std::fmt::Debug;
use std::str::FromStr;

use trunkline_edn::{Decimal, Integer};

/// Checks that each number is less than the following ones, and equal to itself.
#[track_caller]
fn check<T: FromStr<Err: Debug> + Ord + Debug>(ascending: &[&str]) {
    let numbers: Vec<T> = ascending.iter().map(|text| text.parse().unwrap()).collect();
    for (place, number) in numbers.iter().enumerate() {
        for (other_place, other) in numbers.iter().enumerate() {
            assert_eq!(number.cmp(other), place.cmp(&other_place), "{number:?}, {other:?}");
        }
    }
}

#[test]
fn orders_integers() {
    check::<Integer>(&[
        "-100000000000000000000",
        "-20000000000000000001",
        "-20000000000000000000",
        "-9223372036854775809",
        "-9223372036854775808",
        "-10",
        "-9",
        "0",
        "9",
        "10",
        "9223372036854775807",
        "9223372036854775808",
        "20000000000000000000",
        "20000000000000000001",
        "100000000000000000000",
    ]);
}

#[test]
fn orders_decimals() {
    check::<Decimal>(&[
        "-1E+2147483647",
        "-100",
        "-99.9",
        "-2",
        "-1.5",
        "-1.49",
        "-0.02",
        "-1E-400",
        "0.00",
        "1E-2147483647",
        "0.02",
        "0.1",
        "1",
        "1.49",
        "1.5",
        "2",
        "15",
        "99.9",
        "1E+2",
        "100.01",
        "1E+2147483647",
    ]);
    for (a, b) in [("1.5", "1.50"), ("0", "-0.00"), ("1E+3", "1000"), ("-20E-1", "-2")] {
        let (a, b): (Decimal, Decimal) = (a.parse().unwrap(), b.parse().unwrap());
        assert_eq!((a.cmp(&b), a == b), (Ordering::Equal, true), "{a} {b}");
    }
}

#[test]
fn decimals_have_digits_and_a_scale() {
    for (text, digits, scale) in [
        ("1.50", "150", 2),
        ("-0.05", "-5", 2),
        ("1E+3", "1", -3),
        ("0.00", "0", 2),
        ("12345678901234567890123.4", "123456789012345678901234", 1),
    ] {
        let decimal: Decimal = text.parse().unwrap();
        assert_eq!((decimal.unscaled().to_string().as_str(), decimal.scale()), (digits, scale));
    }
}
