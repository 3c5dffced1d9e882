//! JSON lines: read one by one, each answered before more input is awaited.

use std::io::{self, BufRead as _, BufReader, BufWriter, Read, StdoutLock, Write as _};

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::error::Category;
use serde_json::value::RawValue;

use crate::outcome::Failure;
use crate::source::{Source, not_text};

/// A line that is not blank.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) text: &'a str,
    /// From 1, blank ones counted.
    pub(crate) number: usize,
    /// Number of bytes of the input up to its end.
    pub(crate) end: u64,
}

/// Has every line that is not blank answered, in order, and tells how many could not be read: those are answered
/// with an error.
pub(crate) fn answer_each(
    source: Source,
    mut answer: impl FnMut(Line<'_>, &mut Answers) -> Result<(), LineError>,
) -> Result<usize, Failure> {
    let mut lines = Lines {
        name: source.name,
        input: BufReader::with_capacity(BUFFER, source.reader),
        number: 0,
        end: 0,
    };
    let mut answers = Answers(BufWriter::with_capacity(BUFFER, io::stdout().lock()));
    let mut bytes = Vec::new();
    let mut unread = 0;
    while lines.next(&mut bytes, &mut answers)? {
        let answered = match std::str::from_utf8(&bytes) {
            Ok(text) => {
                let (number, end) = (lines.number, lines.end);
                answer(Line { text, number, end }, &mut answers)
            }
            Err(error) => Err(LineError::unread(not_text(&bytes, error.valid_up_to()))),
        };
        match answered {
            Ok(()) => {}
            Err(LineError::Failed(failure)) => return Err(failure),
            Err(LineError::Unread { id, error }) => {
                unread += 1;
                answers.write(&ErrorRecord {
                    id: id.as_deref().unwrap_or(RawValue::NULL),
                    line: lines.number,
                    error: &error,
                })?;
            }
        }
    }
    answers.flush()?;
    Ok(unread)
}

struct Lines {
    name: String,
    input: BufReader<Box<dyn Read>>,
    number: usize,
    end: u64,
}

impl Lines {
    /// Reads the next line that is not blank. Whatever was answered so far is out before this waits for input.
    fn next(&mut self, line: &mut Vec<u8>, answers: &mut Answers) -> Result<bool, Failure> {
        loop {
            if !self.input.buffer().contains(&b'\n') {
                answers.flush()?;
            }
            line.clear();
            let read = self
                .input
                .read_until(b'\n', line)
                .map_err(|error| Failure::reading(&self.name, &error))?;
            if read == 0 {
                return Ok(false);
            }
            self.number += 1;
            self.end += u64::try_from(read).unwrap_or_default();
            // A line that is cut off ends there, and not with a line end that has no place in it.
            if line.pop_if(|byte| *byte == b'\n').is_some() {
                line.pop_if(|byte| *byte == b'\r');
            }
            if self.number == 1 && line.starts_with(BYTE_ORDER_MARK) {
                line.drain(..BYTE_ORDER_MARK.len());
            }
            if !line.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }
}

/// Standard output, a line for each answer.
pub(crate) struct Answers(BufWriter<StdoutLock<'static>>);

impl Answers {
    pub(crate) fn write(&mut self, record: &impl Serialize) -> Result<(), Failure> {
        serde_json::to_writer(&mut self.0, record)
            .map_err(io::Error::from)
            .and_then(|()| self.0.write_all(b"\n"))
            .map_err(|error| Failure::writing(&error))
    }

    fn flush(&mut self) -> Result<(), Failure> {
        self.0.flush().map_err(|error| Failure::writing(&error))
    }
}

/// Reason why a line has no regular answer.
#[derive(Debug)]
pub(crate) enum LineError {
    /// It is no record: the next one may be.
    Unread {
        /// The record's id, where that could be read.
        id: Option<Box<RawValue>>,
        error: String,
    },
    /// There is nowhere to write to.
    Failed(Failure),
}

impl LineError {
    fn unread(error: String) -> Self {
        Self::Unread { id: None, error }
    }

    /// A record whose id is known.
    pub(crate) fn new(id: &RawValue, error: impl Into<String>) -> Self {
        Self::Unread {
            id: Some(id.to_owned()),
            error: error.into(),
        }
    }
}

impl From<Failure> for LineError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

#[derive(Serialize)]
struct ErrorRecord<'a> {
    id: &'a RawValue,
    line: usize,
    error: &'a str,
}

/// Reads a line as a record; `wanted` is what to send instead.
pub(crate) fn record<'a, T: Deserialize<'a>>(line: &'a str, wanted: &str) -> Result<T, LineError> {
    let unread = |error: &serde_json::Error| {
        let no_json = match error.classify() {
            Category::Syntax | Category::Eof => "the line is not JSON: ",
            Category::Data | Category::Io => "",
        };
        LineError::unread(format!("{no_json}{}; send {wanted}", in_words(error)))
    };
    // serde would take an array for a record, too.
    if !line.trim_start().starts_with('{') {
        return Err(match serde_json::from_str::<IgnoredAny>(line) {
            Ok(_) => LineError::unread(format!("the line is no object; send {wanted}")),
            Err(error) => unread(&error),
        });
    }
    serde_json::from_str(line).map_err(|error| unread(&error))
}

/// Error of a line without serde's line number, which is always 1.
pub(crate) fn in_words(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match message.strip_suffix(&place) {
        Some(message) => format!("{message} at column {}", error.column()),
        None => message,
    }
}

/// A member that is there, be it `null`.
pub(crate) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// The text of a member that must be a string.
pub(crate) fn string(id: &RawValue, name: &str, value: &RawValue) -> Result<String, LineError> {
    if !value.get().starts_with('"') {
        let error = format!("`{name}` is no string; send the text as a JSON string");
        return Err(LineError::new(id, error));
    }
    // Its grammar was checked with the line's: all that a string can still be is no Unicode.
    serde_json::from_str(value.get()).map_err(|error| {
        let column = error.column();
        let error = format!(
            "`{name}` has half of a surrogate pair at column {column} of its JSON; send the character itself"
        );
        LineError::new(id, error)
    })
}

const BUFFER: usize = 64 << 10;

/// Prefix of the first line that some editors and spreadsheets write.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
