//! [`Excerpt`]: a part of a line that a terminal can show, with the positions of its carets.
//!
//! `annotate-snippets` draws the carets, but prints lines of any length, invisible characters, and characters that control a terminal.
//! Excerpts limit the length, and escape such characters.

use annotate_snippets::{Annotation, AnnotationKind, Snippet};

use crate::terminal::is_hidden;

/// A part of a line, without characters that control a terminal.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Excerpt {
    /// Visible text, with `…` where the line was cut.
    text: String,
    /// Offsets of the carets in `text`, in ascending order.
    carets: Vec<usize>,
    /// Number of the offsets that the excerpt covers.
    pub(crate) covered: usize,
}

/// Maximum number of columns of an excerpt.
const COLUMNS: usize = 96;
/// Maximum number of columns before the first caret, if the line is cut.
const BEFORE: usize = 32;

impl Excerpt {
    /// Cuts out the part of a line that contains the first offset and as many other offsets as fit. Offsets must be in ascending order.
    pub(crate) fn new(line: &str, offsets: &[usize]) -> Self {
        let start = start(line, offsets.first().copied().unwrap_or_default());
        let mut excerpt = Self {
            text: String::new(),
            carets: Vec::new(),
            covered: 0,
        };
        if start > 0 {
            excerpt.text.push('…');
        }
        let mut columns = usize::from(start > 0);
        let mut offsets = offsets.iter().peekable();
        for (offset, letter) in line.get(start..).unwrap_or_default().char_indices() {
            columns += columns_of(letter);
            if columns > COLUMNS {
                excerpt.text.push('…');
                return excerpt;
            }
            while offsets.next_if(|wanted| **wanted <= start + offset).is_some() {
                excerpt.add_caret();
            }
            if is_hidden(letter) && letter != '\t' {
                excerpt.text.extend(letter.escape_unicode());
            } else {
                excerpt.text.push(letter);
            }
        }
        for _ in offsets {
            excerpt.add_caret();
        }
        excerpt
    }

    /// Adds a caret at the end of the text.
    fn add_caret(&mut self) {
        self.covered += 1;
        if self.carets.last() != Some(&self.text.len()) {
            self.carets.push(self.text.len());
        }
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Returns the source to draw: the excerpt, below the line `before` if there is one. `number` is the excerpt's line number.
    pub(crate) fn snippet(
        &self,
        number: usize,
        before: Option<&Self>,
    ) -> Snippet<'static, Annotation<'static>> {
        let (mut source, mut first) = (String::new(), number);
        if let Some(before) = before {
            source = format!("{}\n", before.text);
            first -= 1;
        }
        let start = source.len();
        source.push_str(&self.text);
        let carets = self.carets.iter().map(move |caret| {
            let place = start + caret;
            AnnotationKind::Primary.span(place..place)
        });
        Snippet::source(source)
            .line_start(first)
            .fold(false)
            .annotations(carets)
    }
}

/// Returns the offset at which the excerpt of a line begins.
fn start(line: &str, first: usize) -> usize {
    let mut columns = 0;
    let fits = line.chars().all(|letter| {
        columns += columns_of(letter);
        columns <= COLUMNS
    });
    if fits {
        return 0;
    }
    let before = line.get(..first).unwrap_or(line);
    let mut columns = 0;
    for (offset, letter) in before.char_indices().rev() {
        columns += columns_of(letter);
        if columns > BEFORE {
            return offset + letter.len_utf8();
        }
    }
    0
}

/// Returns the maximum number of columns of a character.
fn columns_of(letter: char) -> usize {
    match letter {
        '\t' => 4,
        ' '..='~' => 1,
        _ if is_hidden(letter) => letter.escape_unicode().count(),
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carets(line: &str, offsets: &[usize]) -> (String, Vec<usize>, usize) {
        let excerpt = Excerpt::new(line, offsets);
        (excerpt.text, excerpt.carets, excerpt.covered)
    }

    #[test]
    fn escapes_control_characters() {
        assert_eq!(
            carets("\t写\u{1b}\u{9b}\u{200b}x", &[1, 4, 10]),
            ("\t写\\u{1b}\\u{9b}\\u{200b}x".into(), vec![1, 4, 24], 3)
        );
    }

    #[test]
    fn draws_carets_after_the_end() {
        assert_eq!(carets("ab", &[2, 2]), ("ab".into(), vec![2], 2));
        assert_eq!(carets("", &[0]), (String::new(), vec![0], 1));
    }

    #[test]
    fn cuts_long_lines_near_the_first_caret() {
        let line = format!("{}X{}Y{}", "a".repeat(500), "b".repeat(20), "c".repeat(500));
        let (shown, _, covered) = carets(&line, &[500, 521, 700]);
        assert_eq!(
            shown,
            format!("…{}X{}Y{}…", "a".repeat(32), "b".repeat(20), "c".repeat(41))
        );
        assert_eq!(covered, 2);
    }

    #[test]
    fn keeps_the_first_caret_at_every_width() {
        for letter in ["a", "写", "\t", "\u{1b}", "e\u{301}", "👩‍👩‍👧"] {
            let line = letter.repeat(200);
            for (offset, _) in line.char_indices() {
                let (shown, carets, covered) = carets(&line, &[offset]);
                assert_eq!((carets.len(), covered), (1, 1), "{letter:?} at {offset}");
                assert!(shown.chars().count() <= COLUMNS + 2, "{shown}");
            }
        }
    }
}
