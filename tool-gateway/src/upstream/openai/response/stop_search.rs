//! [`StopSearch`]: finds stop sequences in a text, for servers that accept fewer of them.

use super::content::PieceText;
use super::piece_joiner::PieceJoiner;

/// Searches a text that arrives in pieces. The result does not depend on the pieces.
#[derive(Debug)]
pub(super) struct StopSearch {
    sequences: Vec<String>,
    /// End of the text so far that may be the beginning of a sequence.
    held: String,
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
        let mut sequences = sequences.to_vec();
        sequences.retain(|sequence| !sequence.is_empty());
        (!sequences.is_empty()).then(|| Self {
            sequences,
            held: String::new(),
            halves: PieceJoiner::default(),
        })
    }

    /// Adds a piece of the text.
    pub(super) fn push(&mut self, piece: PieceText<'_>) -> SearchedText {
        self.held.push_str(&self.halves.join(piece));
        if let Some(found) = self.find() {
            return found;
        }
        let beginning = self.beginning();
        SearchedText {
            text: self.held.drain(..self.held.len() - beginning).collect(),
            sequence: None,
        }
    }

    /// Ends the text, and returns its held part.
    pub(super) fn finish(&mut self) -> SearchedText {
        self.held.push_str(&self.halves.finish());
        self.find().unwrap_or_else(|| SearchedText {
            text: std::mem::take(&mut self.held),
            sequence: None,
        })
    }

    /// Finds the sequence that ends first, as a model that generates one character after another; of several, the longest.
    fn find(&mut self) -> Option<SearchedText> {
        let found = self.sequences.iter().filter_map(|sequence| {
            let start = self.held.find(sequence.as_str())?;
            Some((start + sequence.len(), start, sequence))
        });
        let (_, start, sequence) = found.min_by_key(|(end, start, _)| (*end, *start))?;
        let sequence = Some(sequence.clone());
        self.held.truncate(start);
        Some(SearchedText {
            text: std::mem::take(&mut self.held),
            sequence,
        })
    }

    /// Returns the length of the longest end of the text that is the beginning of a sequence.
    fn beginning(&self) -> usize {
        let lengths = self.sequences.iter().map(|sequence| {
            let longest = (sequence.len() - 1).min(self.held.len());
            let is_beginning = |length: &usize| {
                let end = self.held.as_bytes().get(self.held.len() - length..);
                end.is_some_and(|end| sequence.as_bytes().starts_with(end))
            };
            (1..=longest).rev().find(is_beginning).unwrap_or(0)
        });
        lengths.max().unwrap_or(0)
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
