//! ISO 8601 texts of dates, times and intervals. PostgreSQL's range of years exceeds that of most libraries.

const MICROSECONDS_PER_DAY: i64 = 86_400_000_000;

/// A number of days since 2000-01-01.
pub(super) fn date(days: i32) -> String {
    match days {
        i32::MAX => "infinity".to_owned(),
        i32::MIN => "-infinity".to_owned(),
        days => {
            let (year, rest) = day(i64::from(days));
            with_era(year, &rest)
        }
    }
}

/// A number of microseconds since 2000-01-01. `zone` follows the time.
pub(super) fn timestamp(microseconds: i64, zone: &str) -> String {
    match microseconds {
        i64::MAX => "infinity".to_owned(),
        i64::MIN => "-infinity".to_owned(),
        microseconds => {
            let (year, rest) = day(microseconds.div_euclid(MICROSECONDS_PER_DAY));
            let time = time(microseconds.rem_euclid(MICROSECONDS_PER_DAY));
            with_era(year, &format!("{rest}T{time}{zone}"))
        }
    }
}

/// A number of microseconds since midnight.
pub(super) fn time(microseconds: i64) -> String {
    let (seconds, fraction) = (microseconds / 1_000_000, microseconds % 1_000_000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{hour:02}:{minute:02}:{second:02}{}", fraction_text(fraction))
}

/// A time zone, in seconds west of Greenwich.
pub(super) fn zone(seconds_west: i32) -> String {
    let sign = if seconds_west > 0 { '-' } else { '+' };
    let seconds = seconds_west.unsigned_abs();
    let text = format!("{sign}{:02}:{:02}", seconds / 3600, seconds / 60 % 60);
    match seconds % 60 {
        0 => text,
        seconds => format!("{text}:{seconds:02}"),
    }
}

/// A duration: `P1Y2M3DT4H5M6.7S`. Each part has its own sign, as in PostgreSQL.
pub(super) fn interval(months: i32, days: i32, microseconds: i64) -> String {
    let mut text = String::from("P");
    let mut add = |value: i64, unit: char| {
        if value != 0 {
            text.push_str(&format!("{value}{unit}"));
        }
    };
    add(i64::from(months) / 12, 'Y');
    add(i64::from(months) % 12, 'M');
    add(i64::from(days), 'D');
    let seconds = microseconds / 1_000_000;
    let (hours, minutes, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let fraction = microseconds % 1_000_000;
    if microseconds != 0 {
        text.push('T');
    }
    let mut add = |value: i64, unit: char| {
        if value != 0 {
            text.push_str(&format!("{value}{unit}"));
        }
    };
    add(hours, 'H');
    add(minutes, 'M');
    if second != 0 || fraction != 0 {
        let sign = if second < 0 || fraction < 0 { "-" } else { "" };
        let fraction = fraction_text(fraction.abs());
        text.push_str(&format!("{sign}{}{fraction}S", second.abs()));
    }
    if text.len() == 1 { "PT0S".to_owned() } else { text }
}

fn fraction_text(microseconds: i64) -> String {
    match microseconds {
        0 => String::new(),
        fraction => format!(".{}", format!("{fraction:06}").trim_end_matches('0')),
    }
}

/// The year, and the month and day: `-01-31`.
fn day(days_since_2000: i64) -> (i64, String) {
    // Years begin in March, so that the leap day is the last one.
    const DAYS_TO_2000: i64 = 730_425;
    const DAYS_PER_ERA: i64 = 146_097;
    let days = days_since_2000 + DAYS_TO_2000;
    let era = days.div_euclid(DAYS_PER_ERA);
    let day_of_era = days.rem_euclid(DAYS_PER_ERA);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, format!("-{month:02}-{day:02}"))
}

/// The year before 1 is 1 BC.
fn with_era(year: i64, rest: &str) -> String {
    if year > 0 { format!("{year:04}{rest}") } else { format!("{:04}{rest} BC", 1 - year) }
}

#[cfg(test)]
mod tests {
    use super::{date, interval, timestamp, zone};

    #[test]
    fn texts() {
        for (shown, expected) in [
            (date(0), "2000-01-01"),
            (date(59), "2000-02-29"),
            (date(-1), "1999-12-31"),
            (date(8_766), "2024-01-01"),
            (date(-730_119), "0001-01-01"),
            (date(-730_120), "0001-12-31 BC"),
            (date(i32::MAX), "infinity"),
            (timestamp(-1, ""), "1999-12-31T23:59:59.999999"),
            (timestamp(1_500_000, "Z"), "2000-01-01T00:00:01.5Z"),
            (zone(-7_200), "+02:00"),
            (zone(12_600), "-03:30"),
            (interval(14, 3, 14_706_700_000), "P1Y2M3DT4H5M6.7S"),
            (interval(0, 0, -500_000), "PT-0.5S"),
            (interval(0, 0, 0), "PT0S"),
        ] {
            assert_eq!(shown, expected);
        }
    }
}
