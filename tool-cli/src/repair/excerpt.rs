//! A part of one line with carets under it: wide characters, tabs and what cannot be seen are reckoned with.

use unicode_width::UnicodeWidthChar as _;

use crate::line_column::LineColumn;
use crate::terminal::is_hidden;

/// What is shown of a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Excerpt {
    /// The part of the line that is shown, `…` where it goes on.
    pub(crate) text: String,
    /// The columns on the screen, from 0, where carets belong.
    pub(crate) carets: Vec<usize>,
}

/// How many columns of a line are shown at most.
const SHOWN: usize = 96;
/// How many of them before the first caret.
const BEFORE: usize = 32;

impl Excerpt {
    /// Shows as many of the places as fit, at least the first; all of them are on one line, in ascending order.
    pub(crate) fn of(text: &str, places: &[LineColumn]) -> Self {
        let (line, first) = match places.first() {
            Some(first) => (line_at(text, first.line_start), first.offset - first.line_start),
            None => (line_at(text, 0), 0),
        };
        let start = window(line, first.min(line.len()));
        let line_start = places.first().map_or(0, |place| place.line_start);
        let mut shown = Self {
            text: if start > 0 {
                "…".to_owned()
            } else {
                String::new()
            },
            carets: Vec::new(),
        };
        let mut column = usize::from(start > 0);
        let mut wanted = places.iter().map(|place| place.offset - line_start).peekable();
        let mut cut = false;
        for (offset, letter) in line.get(start..).unwrap_or_default().char_indices() {
            let width = width(letter);
            if column + width > SHOWN {
                cut = true;
                break;
            }
            while wanted.next_if(|wanted| *wanted <= start + offset).is_some() {
                shown.carets.push(column);
            }
            push(letter, &mut shown.text);
            column += width;
        }
        if cut {
            shown.text.push('…');
        } else {
            shown.carets.extend(wanted.map(|_| column)); // after the end of the line
        }
        shown
    }

    /// The line below the text.
    pub(crate) fn caret_line(&self) -> String {
        let mut line = String::new();
        for caret in &self.carets {
            let end = line.len();
            if *caret >= end {
                line.extend(std::iter::repeat_n(' ', caret - end));
                line.push('^');
            }
        }
        line
    }
}

/// A line without its end.
fn line_at(text: &str, start: usize) -> &str {
    let rest = text.get(start..).unwrap_or_default();
    let line = rest.split('\n').next().unwrap_or_default();
    line.strip_suffix('\r').unwrap_or(line)
}

/// Where the part that is shown begins.
fn window(line: &str, first: usize) -> usize {
    let mut columns = 0;
    let whole = line.chars().all(|letter| {
        columns += width(letter);
        columns <= SHOWN
    });
    if whole {
        return 0;
    }
    let mut columns = 0;
    for (offset, letter) in line.get(..first).unwrap_or_default().char_indices().rev() {
        columns += width(letter);
        if columns > BEFORE {
            return offset + letter.len_utf8();
        }
    }
    0
}

/// How many columns a character takes as it is shown.
fn width(letter: char) -> usize {
    match letter {
        '\t' => 4,
        _ if is_hidden(letter) => letter.escape_unicode().count(),
        _ => letter.width().unwrap_or(0),
    }
}

fn push(letter: char, shown: &mut String) {
    match letter {
        '\t' => shown.push_str("    "),
        _ if is_hidden(letter) => shown.extend(letter.escape_unicode()),
        _ => shown.push(letter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line_column::LineColumns;

    fn shown(text: &str, offsets: &[usize]) -> (String, String, usize) {
        let mut places = LineColumns::of(text);
        let places: Vec<LineColumn> = offsets.iter().map(|offset| places.find(*offset)).collect();
        let excerpt = Excerpt::of(text, &places);
        (excerpt.text.clone(), excerpt.caret_line(), excerpt.carets.len())
    }

    #[test]
    fn carets_align_under_wide_characters_tabs_and_escapes() {
        assert_eq!(
            shown("\t写\u{1b}x", &[1, 4, 5]),
            ("    写\\u{1b}x".into(), "    ^ ^     ^".into(), 3)
        );
    }

    #[test]
    fn carets_may_stand_at_the_end_of_a_line() {
        assert_eq!(shown("ab\r\ncd", &[2, 3]).1, "  ^");
        assert_eq!(shown("ab", &[2]).1, "  ^");
        assert_eq!(shown("", &[0]), (String::new(), "^".into(), 1));
    }

    #[test]
    fn a_long_line_is_shown_near_its_first_caret() {
        let text = format!("{}X{}Y{}", "a".repeat(500), "b".repeat(20), "c".repeat(500));
        let (shown, carets, count) = shown(&text, &[500, 521, 700]);
        assert_eq!(
            shown,
            format!("…{}X{}Y{}…", "a".repeat(32), "b".repeat(20), "c".repeat(41))
        );
        assert_eq!(carets, format!("{}^{}^", " ".repeat(33), " ".repeat(20)));
        assert_eq!(count, 2);
    }

    #[test]
    fn every_width_of_line_keeps_its_first_caret() {
        for letter in ["a", "写", "\t", "\u{1b}", "e\u{301}", "👩‍👩‍👧"] {
            let text = letter.repeat(200);
            for (offset, _) in text.char_indices() {
                let (shown, _, count) = shown(&text, &[offset]);
                assert_eq!(count, 1, "{letter:?} at {offset}");
                assert!(unicode_width::UnicodeWidthStr::width(shown.as_str()) <= SHOWN + 2);
            }
        }
    }
}
