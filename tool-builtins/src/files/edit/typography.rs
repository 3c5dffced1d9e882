//! Typographic signs that models exchange for plain ones: quotes, dashes and spaces.

use std::borrow::Cow;

/// Returns the plain sign of a typographic one.
pub(super) fn plain(sign: char) -> Option<char> {
    Some(match sign {
        '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}' | '\u{2032}' => '\'',
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{201f}' | '\u{2033}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{a0}' | '\u{2007}' | '\u{202f}' => ' ',
        _ => return None,
    })
}

pub(super) fn has_signs(text: &str) -> bool {
    !text.is_ascii() && text.chars().any(|sign| plain(sign).is_some())
}

/// Returns a line with plain signs.
pub(super) fn fold(line: &str) -> Cow<'_, str> {
    if has_signs(line) {
        Cow::Owned(line.chars().map(|sign| plain(sign).unwrap_or(sign)).collect())
    } else {
        Cow::Borrowed(line)
    }
}
