//! A strict and resumable JSON scanner. It determines the bytes that can be passed on, and the position at which the text stops being JSON.

mod deviation;
mod machine;
mod plain;
mod skim;

use machine::{Machine, ScannerState};

pub(super) use deviation::{Deviation, Place};
pub use plain::plain;
pub(crate) use plain::plain_before;

use super::fixes::Reason;
use super::limits::Limits;

/// The scanner. Offsets are counted from the start of the text.
#[derive(Debug, Clone)]
pub(super) struct Scanner(Machine);

impl Scanner {
    pub(super) fn new(limits: Limits) -> Self {
        Self(Machine::new(limits))
    }

    /// Creates a scanner in the state of a deviation, which validates the repaired rest.
    pub(super) fn resumed(limits: Limits, deviation: &Deviation) -> Self {
        let mut machine = Machine::new(limits);
        machine.stack = deviation.stack.clone();
        machine.at = deviation.at;
        machine.state = match deviation.place {
            Place::Root => ScannerState::Root,
            Place::FirstKey => ScannerState::FirstKey,
            Place::FirstItem => ScannerState::FirstItem,
            Place::Item => ScannerState::Item,
            Place::Colon => ScannerState::Colon,
            Place::Value => ScannerState::Value,
            Place::String { key } => {
                machine.key = key;
                ScannerState::String
            }
            Place::After => ScannerState::After,
            Place::Done => ScannerState::Done,
        };
        Self(machine)
    }

    /// Returns the number of bytes that can be passed on, since no repair will change them.
    pub(super) fn safe(&self) -> usize {
        self.0.held.unwrap_or(self.0.at)
    }

    /// Scans the next piece of the text.
    ///
    /// # Errors
    ///
    /// Returns an error if a byte is unexpected. The scanner must not be used afterwards.
    pub(super) fn scan(&mut self, piece: &str) -> Result<(), Box<Deviation>> {
        let machine = &mut self.0;
        let mut bytes = piece.as_bytes();
        loop {
            if machine.can_skim() {
                let skimmed = machine.skim(bytes);
                bytes = bytes.get(skimmed..).unwrap_or_default();
            }
            let Some((byte, rest)) = bytes.split_first() else {
                return Ok(());
            };
            if let Err(place) = machine.step(*byte) {
                return Err(Box::new(self.deviation(place)));
            }
            bytes = rest;
        }
    }

    /// Returns an error if the text is incomplete.
    pub(super) fn finish(&self) -> Result<(), Reason> {
        let missing = match self.0.state {
            ScannerState::Done | ScannerState::EmptyRoot | ScannerState::ScalarRoot => return Ok(()),
            ScannerState::Closed
            | ScannerState::Zero
            | ScannerState::Integer
            | ScannerState::Fraction
            | ScannerState::ExponentDigits
                if self.0.stack.depth() == 0 =>
            {
                return Ok(());
            }
            ScannerState::Root => "the text is empty",
            ScannerState::String | ScannerState::Escape | ScannerState::Unicode => {
                "the text ends inside a string"
            }
            _ => "the text ends before the value does",
        };
        Err(Reason::new(self.0.at, missing))
    }

    /// Returns whether an object or a list that is the whole text has ended, so that only white space may follow.
    #[cfg(feature = "stream")]
    pub(super) fn closed(&self) -> bool {
        matches!(self.0.state, ScannerState::Done | ScannerState::EmptyRoot)
    }

    fn deviation(&self, place: Place) -> Deviation {
        let machine = &self.0;
        Deviation {
            at: self.safe(),
            found: machine.at,
            place: machine.held.map_or(place, |_| machine.resume),
            stack: machine.stack.clone(),
            opening_quote: machine.opening_quote,
            over_limit: machine.over_limit,
        }
    }
}

/// Returns whether the text is JSON of any depth.
#[cfg(feature = "stream")]
pub(super) fn is_json(text: &str) -> bool {
    let mut scanner = Scanner::new(Limits {
        depth: usize::MAX,
        ..Limits::default()
    });
    scanner.scan(text).is_ok() && scanner.finish().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &str = concat!(
        r#"{|}|[|]|"|"|"a"|"a": |, |: |,|:|"k":1| |      |0|17|-1.5e+3|12345678|.|e|-|true|false|null|nul|"#,
        r#"\n|\"|\\|\u00e9|\u00|\x|'|text that goes on for a while|"#,
        "\n  |\u{4f60}\u{597d}|\u{1}"
    );

    /// Returns a scanner's trace for pieces of a text: the number of safe bytes after each piece, and the end.
    fn trace(pieces: &[&str], limits: Limits, skims: bool) -> String {
        let mut scanner = Scanner::new(limits);
        let mut trace = String::new();
        for piece in pieces {
            let ended = if skims {
                scanner.scan(piece)
            } else {
                let mut steps = piece.bytes().map(|byte| scanner.0.step(byte));
                steps
                    .find_map(Result::err)
                    .map_or(Ok(()), |place| Err(Box::new(scanner.deviation(place))))
            };
            if let Err(deviation) = ended {
                return format!("{trace}{deviation:?}");
            }
            let Machine {
                state,
                held,
                over_limit,
                ..
            } = &scanner.0;
            trace = format!("{trace}{state:?} {held:?} {over_limit:?}\n");
        }
        format!("{trace}{:?}", scanner.finish())
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes an interpreter minutes")]
    fn skimming_equals_stepping() {
        let words: Vec<_> = WORDS.split('|').collect();
        let mut seed = 1_u64;
        let mut below = |limit: usize| {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (seed >> 33) as usize % limit
        };
        for round in 0..60_000 {
            let mut text = String::from(["{", "[", "[[{\"a\":[", "", "{\"a\": \""][below(5)]);
            for _ in 0..below(14) {
                text.push_str(words[below(words.len())]);
            }
            let limits = Limits {
                depth: 2 + below(8),
                space: below(8),
                number: 1 + below(8),
                ..Limits::default()
            };
            let whole = trace(&[&text], limits, true);
            assert_eq!(whole, trace(&[&text], limits, false), "round {round}: {text}");

            let mut pieces = Vec::new();
            let mut rest = &*text;
            while !rest.is_empty() {
                let end = (1 + below(9)..rest.len()).find(|end| rest.is_char_boundary(*end));
                let (piece, others) = rest.split_at(end.unwrap_or(rest.len()));
                pieces.push(piece);
                rest = others;
            }
            let stepped = trace(&pieces, limits, false);
            assert_eq!(trace(&pieces, limits, true), stepped, "round {round}: {pieces:?}");
        }
    }
}
