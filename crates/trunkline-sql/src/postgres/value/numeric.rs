use super::reader::{Reader, Unreadable};

/// The text of a `numeric`: groups of four decimal digits, the weight of the first group, and the number of digits after
/// the decimal point.
pub(super) fn text(bytes: &[u8]) -> Result<String, Unreadable> {
    let mut reader = Reader(bytes);
    let count = reader.i16()?;
    let weight = reader.i16()?;
    let sign = reader.u16()?;
    let scale = reader.u16()?;
    match sign {
        0xC000 => return Ok("NaN".to_owned()),
        0xD000 => return Ok("Infinity".to_owned()),
        0xF000 => return Ok("-Infinity".to_owned()),
        _ => {}
    }
    let groups: Vec<u16> = (0..count).map(|_| reader.u16()).collect::<Result<_, _>>()?;
    let group = |place: i32| {
        let index = usize::try_from(i32::from(weight) - place).ok();
        index.and_then(|index| groups.get(index)).copied().unwrap_or(0)
    };
    let mut text = String::new();
    if sign == 0x4000 {
        text.push('-');
    }
    match weight {
        ..0 => text.push('0'),
        weight => {
            for place in (0..=i32::from(weight)).rev() {
                if place == i32::from(weight) {
                    text.push_str(&group(place).to_string());
                } else {
                    text.push_str(&format!("{:04}", group(place)));
                }
            }
        }
    }
    if scale > 0 {
        let digits: String = (1..=i32::from(scale.div_ceil(4)))
            .map(|place| format!("{:04}", group(-place)))
            .collect();
        text.push('.');
        text.push_str(digits.get(..usize::from(scale)).ok_or(Unreadable::Malformed)?);
    }
    Ok(text)
}
