//! JSON lines: an output line for each input line. Output is flushed before the program waits for more input.

use std::io::{self, BufRead as _, BufReader, BufWriter, Read, StdoutLock, Write as _};

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::error::Category;
use serde_json::value::RawValue;

use crate::outcome::Failure;
use crate::source::{Source, invalid_utf8};

/// A line that is not blank.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) text: &'a str,
    /// Number of the line, from 1. Blank lines are counted, too.
    pub(crate) number: usize,
    /// Number of bytes of the input up to the end of the line.
    pub(crate) end: u64,
}

/// Writes an output line for every input line that is not blank, in order. The output for an invalid line is an error. Returns the number
/// of invalid lines.
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
    let mut invalid = 0;
    while lines.next(&mut bytes, &mut answers)? {
        let answered = match std::str::from_utf8(&bytes) {
            Ok(text) => {
                let (number, end) = (lines.number, lines.end);
                answer(Line { text, number, end }, &mut answers)
            }
            Err(error) => Err(LineError::invalid(invalid_utf8(&bytes, error.valid_up_to()))),
        };
        match answered {
            Ok(()) => {}
            Err(LineError::Failed(failure)) => return Err(failure),
            Err(LineError::Invalid { id, error }) => {
                invalid += 1;
                answers.write(&ErrorRecord {
                    id: id.as_deref().unwrap_or(RawValue::NULL),
                    line: lines.number,
                    error: &error,
                })?;
            }
        }
    }
    answers.flush()?;
    Ok(invalid)
}

struct Lines {
    name: String,
    input: BufReader<Box<dyn Read>>,
    number: usize,
    end: u64,
}

impl Lines {
    /// Reads the next line that is not blank. Output is flushed before a wait for input.
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
            // A carriage return is removed only before a line feed.
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

/// Writes output lines to standard output.
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

/// Reason why a line has no regular output.
#[derive(Debug)]
pub(crate) enum LineError {
    /// The line is invalid; later lines may be valid.
    Invalid {
        /// Id of the record, if the id could be read.
        id: Option<Box<RawValue>>,
        error: String,
    },
    /// The output could not be written.
    Failed(Failure),
}

impl LineError {
    fn invalid(error: String) -> Self {
        Self::Invalid { id: None, error }
    }

    /// Creates the error of a record whose id is known.
    pub(crate) fn new(id: &RawValue, error: impl Into<String>) -> Self {
        Self::Invalid {
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

/// Parses a line as a record. `expected` is the description of a valid record in error messages.
pub(crate) fn record<'a, T: Deserialize<'a>>(line: &'a str, expected: &str) -> Result<T, LineError> {
    let invalid = |error: &serde_json::Error| {
        let prefix = match error.classify() {
            Category::Syntax | Category::Eof => "the line is not JSON: ",
            Category::Data | Category::Io => "",
        };
        LineError::invalid(format!("{prefix}{}; expected {expected}", message_of(error)))
    };
    // serde would also parse an array as a record.
    if !line.trim_start().starts_with('{') {
        return Err(match serde_json::from_str::<IgnoredAny>(line) {
            Ok(_) => LineError::invalid(format!("expected {expected}")),
            Err(error) => invalid(&error),
        });
    }
    serde_json::from_str(line).map_err(|error| invalid(&error))
}

/// Returns the message of an error without serde's line number, which is always 1.
pub(crate) fn message_of(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match message.strip_suffix(&place) {
        Some(message) => format!("{message} at column {}", error.column()),
        None => message,
    }
}

/// Deserializes a field that is present. `null` counts as present.
pub(crate) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Returns the value of a field that must be a string.
pub(crate) fn string(id: &RawValue, name: &str, value: &RawValue) -> Result<String, LineError> {
    if !value.get().starts_with('"') {
        let error = format!("`{name}`: expected a JSON string");
        return Err(LineError::new(id, error));
    }
    // The line is valid JSON, so the only possible error is an unpaired surrogate.
    serde_json::from_str(value.get()).map_err(|error| {
        let column = error.column();
        let error = format!(
            "`{name}`: unpaired surrogate at column {column} of the JSON string; expected a surrogate pair, or the character itself"
        );
        LineError::new(id, error)
    })
}

const BUFFER: usize = 64 << 10;

/// Byte order mark, which some editors and spreadsheets write before the first line.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
