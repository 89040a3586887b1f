//! Forms of numbers in JSON text.

/// Whether a number is written as an integer that every reader of integers accepts: not `1.0`, `1e2` or `-0`.
pub(super) fn is_plain(number: &[u8]) -> bool {
    number != b"-0" && !number.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E'))
}

/// The integer that a number is, if it has no fraction and fits in 64 bits, signed or unsigned. It is computed from the
/// digits, since a floating-point number may be rounded to an integer.
pub(super) fn integer(number: &[u8]) -> Option<i128> {
    let number = std::str::from_utf8(number).ok()?;
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let exponent: i64 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let (is_negative, whole) = match whole.strip_prefix('-') {
        Some(whole) => (true, whole),
        None => (false, whole),
    };
    let digits = || whole.bytes().chain(fraction.bytes());
    let length = whole.len() + fraction.len();
    let trailing_zeros = digits().rev().take_while(|digit| *digit == b'0').count();
    if trailing_zeros == length {
        return Some(0);
    }
    // The number is `significant` × 10^`zeros`.
    let zeros = exponent
        .checked_sub(i64::try_from(fraction.len()).ok()?)?
        .checked_add(i64::try_from(trailing_zeros).ok()?)?;
    let zeros = u32::try_from(zeros).ok()?;
    let mut value = 0_i128;
    for digit in digits().take(length - trailing_zeros) {
        value = value.checked_mul(10)?.checked_add(i128::from(digit - b'0'))?;
    }
    value = value.checked_mul(10_i128.checked_pow(zeros)?)?;
    value = if is_negative { -value } else { value };
    (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&value).then_some(value)
}

/// Whether a 64-bit floating-point number represents all digits of a number: its shortest form may have 17 digits.
pub(super) fn is_exact(number: &[u8]) -> bool {
    const MAX_DIGITS: usize = 17;
    let mantissa = number.split(|byte| matches!(byte, b'e' | b'E')).next().unwrap_or_default();
    let digits = mantissa.iter().filter(|byte| byte.is_ascii_digit());
    let significant = digits.skip_while(|digit| **digit == b'0').count();
    let value = std::str::from_utf8(number).ok().and_then(|text| text.parse::<f64>().ok());
    let is_represented =
        value.is_some_and(|value| value.is_finite() && (value == 0.0) == (significant == 0));
    is_represented && significant <= MAX_DIGITS
}
