//! [`StopSearch`]: finds stop sequences in a text, for servers that accept fewer of them.

use super::content::PieceText;
use super::piece_joiner::PieceJoiner;

/// Searches a text that arrives in pieces. The result does not depend on the pieces, and the time is linear in the text.
#[derive(Debug)]
pub(super) struct StopSearch {
    matches: Vec<PartialMatch>,
    halves: PieceJoiner,
}

/// Text that leaves after a piece.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SearchedText {
    pub(super) text: String,
    /// The sequence after the text, at which the message ends.
    pub(super) sequence: Option<String>,
}

impl StopSearch {
    /// Creates a search; `None` without sequences.
    pub(super) fn new(sequences: &[String]) -> Option<Self> {
        let sequences = sequences.iter().filter(|sequence| !sequence.is_empty());
        let matches: Vec<_> = sequences.map(|sequence| PartialMatch::new(sequence)).collect();
        (!matches.is_empty()).then(|| Self {
            matches,
            halves: PieceJoiner::default(),
        })
    }

    /// Adds a piece of the text.
    pub(super) fn push(&mut self, piece: PieceText<'_>) -> SearchedText {
        let piece = self.halves.join(piece);
        self.search(&piece)
    }

    /// Ends the text, and returns its held part. The search continues with the next text.
    pub(super) fn finish(&mut self) -> SearchedText {
        let piece = self.halves.finish();
        let mut found = self.search(&piece);
        if found.sequence.is_none() {
            let held = self.held();
            found.text.push_str(&self.text_before(held.length, held, ""));
        }
        for partial in &mut self.matches {
            partial.length = 0;
        }
        found
    }

    /// Finds the sequence that ends first, as a model that generates one character after another; of several, the longest.
    fn search(&mut self, piece: &str) -> SearchedText {
        let held = self.held();
        for (at, byte) in piece.bytes().enumerate() {
            for partial in &mut self.matches {
                partial.push(byte);
            }
            let complete = self.matches.iter().filter(|partial| partial.is_complete());
            if let Some(found) = complete.max_by_key(|partial| partial.length) {
                return SearchedText {
                    text: self.text_before(held.length + at + 1 - found.length, held, piece),
                    sequence: Some(found.sequence.clone()),
                };
            }
        }
        let end = held.length + piece.len() - self.held().length;
        SearchedText {
            text: self.text_before(end, held, piece),
            sequence: None,
        }
    }

    /// Returns the longest end of the text that may be the beginning of a sequence.
    fn held(&self) -> HeldText {
        let lengths = self.matches.iter().map(|partial| partial.length);
        let held = lengths.enumerate().max_by_key(|(_, length)| *length);
        let (sequence, length) = held.unwrap_or_default();
        HeldText { sequence, length }
    }

    /// Returns the first `end` bytes of the held text and a piece.
    fn text_before(&self, end: usize, held: HeldText, piece: &str) -> String {
        let sequence = self.matches.get(held.sequence).map(|partial| &*partial.sequence);
        let from_held = sequence.and_then(|sequence| sequence.get(..held.length.min(end)));
        let from_piece = piece.get(..end.saturating_sub(held.length));
        [from_held, from_piece].into_iter().flatten().collect()
    }
}

/// Text that has not left: the beginning of a sequence.
#[derive(Debug, Clone, Copy)]
struct HeldText {
    /// Index of the sequence.
    sequence: usize,
    /// Length in bytes.
    length: usize,
}

/// The longest beginning of a sequence at the end of the text, by the algorithm of Knuth, Morris and Pratt.
#[derive(Debug)]
struct PartialMatch {
    sequence: String,
    /// For each length of a beginning, the length of its longest proper end that is a beginning, too.
    shorter: Vec<usize>,
    length: usize,
}

impl PartialMatch {
    fn new(sequence: &str) -> Self {
        let mut shorter = vec![0, 0];
        let mut partial = Self {
            sequence: sequence.to_owned(),
            shorter: Vec::new(),
            length: 0,
        };
        for byte in sequence.bytes().skip(1) {
            partial.shorter = shorter;
            partial.push(byte);
            shorter = std::mem::take(&mut partial.shorter);
            shorter.push(partial.length);
        }
        Self {
            shorter,
            length: 0,
            ..partial
        }
    }

    fn push(&mut self, byte: u8) {
        let sequence = self.sequence.as_bytes();
        while sequence.get(self.length) != Some(&byte) {
            if self.length == 0 {
                return;
            }
            self.length = self.shorter.get(self.length).copied().unwrap_or(0);
        }
        self.length += 1;
    }

    fn is_complete(&self) -> bool {
        self.length == self.sequence.len()
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    /// Returns the text before the stop sequence, and the sequence, for these pieces.
    fn searched(sequences: &[&str], pieces: &[&str]) -> (String, Option<String>) {
        let sequences: Vec<String> = sequences.iter().map(|text| (*text).to_owned()).collect();
        let mut search = StopSearch::new(&sequences).unwrap();
        let mut text = String::new();
        for piece in pieces {
            let found = search.push(PieceText::Plain(Cow::Borrowed(piece)));
            text.push_str(&found.text);
            if found.sequence.is_some() {
                return (text, found.sequence);
            }
        }
        let rest = search.finish();
        text.push_str(&rest.text);
        (text, rest.sequence)
    }

    #[test]
    fn every_division_of_the_text_has_one_result() {
        for (sequences, text, expected, sequence) in [
            (vec!["STOP", "END"], "a STOP b", "a ", Some("STOP")),
            (vec!["STOP", "END"], "a END STOP", "a ", Some("END")),
            (vec!["abcd", "bc"], "xabcd", "xa", Some("bc")),
            (vec!["abc", "bc"], "xabcd", "x", Some("abc")),
            (vec!["aab"], "aaaab", "aa", Some("aab")),
            (vec!["ababc"], "abababc", "ab", Some("ababc")),
            (vec!["é\n"], "caf\u{e9}\nx", "caf", Some("é\n")),
            (vec!["STOP"], "a STO", "a STO", None),
            (vec!["STOP"], "", "", None),
            (vec!["", "STOP"], "a", "a", None),
        ] {
            let expected = (expected.to_owned(), sequence.map(str::to_owned));
            let boundaries = || (0..=text.len()).filter(|at| text.is_char_boundary(*at));
            for first in boundaries() {
                for second in boundaries().filter(|second| *second >= first) {
                    let pieces = [&text[..first], &text[first..second], &text[second..]];
                    assert_eq!(searched(&sequences, &pieces), expected, "{pieces:?}");
                }
            }
            let characters: Vec<String> = text.chars().map(String::from).collect();
            let characters: Vec<&str> = characters.iter().map(String::as_str).collect();
            assert_eq!(searched(&sequences, &characters), expected, "{text}");
        }
    }

    #[test]
    fn long_sequences_are_searched_in_linear_time() {
        let sequence = "a".repeat(15_000) + "b";
        let text = "a".repeat(100_000);
        let pieces: Vec<&str> = text
            .as_bytes()
            .chunks(10)
            .map(|piece| std::str::from_utf8(piece).unwrap())
            .collect();
        let (before, found) = searched(&[&sequence], &pieces);
        assert_eq!((before.len(), found), (100_000, None));
        let mut pieces = pieces;
        pieces.push("b!");
        let (before, found) = searched(&[&sequence], &pieces);
        assert_eq!((before.len(), found.as_deref()), (85_000, Some(&*sequence)));
    }

    #[test]
    fn halves_of_surrogate_pairs_are_joined_before_the_search() {
        let mut search = StopSearch::new(&["😀!".to_owned()]).unwrap();
        let broken = |json: &'static str| PieceText::Broken(Cow::Borrowed(json));
        assert_eq!(search.push(broken(r#""a\ud83d""#)).text, "a");
        assert_eq!(search.push(broken(r#""\ude00""#)), SearchedText::default());
        let found = search.push(PieceText::Plain(Cow::Borrowed("!b")));
        let expected = SearchedText {
            text: String::new(),
            sequence: Some("😀!".to_owned()),
        };
        assert_eq!(found, expected);
        let mut search = StopSearch::new(&["x".to_owned()]).unwrap();
        search.push(broken(r#""a\ud83d""#));
        assert_eq!(search.finish().text, "\u{fffd}");
    }
}
