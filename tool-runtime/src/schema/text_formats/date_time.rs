//! `full-date`, `full-time` and `date-time` of RFC 3339.

/// Returns whether a text is a `full-date`: a valid calendar date, such as `2025-01-31`.
pub(super) fn is_date(text: &str) -> bool {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text.as_bytes() else {
        return false;
    };
    let year = number(&[*y1, *y2, *y3, *y4]);
    let (month, day) = (number(&[*m1, *m2]), number(&[*d1, *d2]));
    let (Some(year), Some(month), Some(day)) = (year, month, day) else {
        return false;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// Returns whether a text is a `full-time`: a time of day with its offset, such as `13:45:00Z` or `13:45:00.5+01:00`.
pub(super) fn is_time(text: &str) -> bool {
    let [h1, h2, b':', m1, m2, b':', s1, s2, rest @ ..] = text.as_bytes() else {
        return false;
    };
    let parts = (number(&[*h1, *h2]), number(&[*m1, *m2]), number(&[*s1, *s2]));
    let (Some(hour), Some(minute), Some(second)) = parts else {
        return false;
    };
    let Some(offset) = without_fraction(rest).and_then(offset) else {
        return false;
    };
    // A leap second is the last second of a day in UTC.
    let is_last_minute = (hour * 60 + minute - offset).rem_euclid(DAY) == DAY - 1;
    hour < 24 && minute < 60 && (second < 60 || second == 60 && is_last_minute)
}

/// Returns whether a text is a `date-time`: a date and a time with `T` between.
pub(super) fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't']) else {
        return false;
    };
    is_date(date) && is_time(time)
}

/// Minutes of a day.
const DAY: i32 = 24 * 60;

/// Returns the text after an optional fraction of a second.
fn without_fraction(text: &[u8]) -> Option<&[u8]> {
    let Some(fraction) = text.strip_prefix(b".") else {
        return Some(text);
    };
    let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
    fraction.get(digits..).filter(|_| digits > 0)
}

/// Returns the offset in minutes.
fn offset(text: &[u8]) -> Option<i32> {
    match text {
        b"Z" | b"z" => Some(0),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let (hours, minutes) = (number(&[*h1, *h2])?, number(&[*m1, *m2])?);
            let offset = hours * 60 + minutes;
            let signed = if *sign == b'-' { -offset } else { offset };
            (hours < 24 && minutes < 60).then_some(signed)
        }
        _ => None,
    }
}

fn number(digits: &[u8]) -> Option<i32> {
    digits.iter().try_fold(0, |number, digit| {
        digit
            .is_ascii_digit()
            .then(|| number * 10 + i32::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::{is_date, is_date_time, is_time};

    #[test]
    fn accepts_only_valid_calendar_dates() {
        for date in [
            "2024-02-29",
            "2000-02-29",
            "2025-12-31",
            "0000-01-01",
            "9999-04-30",
        ] {
            assert!(is_date(date), "{date}");
        }
        for date in [
            "2025-02-29",
            "1900-02-29",
            "2025-04-31",
            "2025-13-01",
            "2025-00-01",
            "2025-01-00",
            "2025-1-01",
            "20250101",
            "+025-01-01",
            "2025-01-01Z",
        ] {
            assert!(!is_date(date), "{date}");
        }
    }

    #[test]
    fn accepts_leap_seconds_at_the_end_of_a_day_in_utc() {
        assert!(is_time("23:59:60Z") && is_time("00:59:60+01:00") && is_time("18:59:60.5-05:00"));
        assert!(!is_time("12:00:60Z") && !is_time("23:59:60+01:00") && !is_time("23:59:61Z"));
    }

    #[test]
    fn rejects_date_times_without_t_or_offset() {
        assert!(is_date_time("1985-04-12T23:20:50.52Z") && is_date_time("1996-12-19t16:39:57-08:00"));
        for text in [
            "1985-04-12 23:20:50Z",
            "1985-04-12T23:20:50",
            "1985-04-12T23:20:50.Z",
            "1985-04-12T23:20Z",
            "1985-04-12T23:20:50+0100",
            "1985-04-12T24:00:00Z",
        ] {
            assert!(!is_date_time(text), "{text}");
        }
    }
}
