//! Grammar of JSON (RFC 8259), one byte per step, and the bytes that are held until they are certain.

use super::deviation::Place;
use crate::limits::{Limits, TOO_DEEP};
use crate::stack::{Container, Stack};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScannerState {
    // In these states, neither bytes nor white space are held.
    String,
    Value,
    FirstItem,
    FirstKey,
    After,
    Done,
    // In these states, bytes may be held.
    Root,
    /// State after the opening bracket of an array that is the whole text.
    RootArray,
    /// State after a comma in an object.
    Key,
    Colon,
    /// State after a comma in an array.
    Item,
    Escape,
    Unicode,
    /// State after the closing quote of a string.
    Closed,
    /// State after an empty object that is the complete received text.
    EmptyRoot,
    /// State after a number or a literal that is the complete received text.
    ScalarRoot,
    Minus,
    Zero,
    Integer,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
    /// State inside of `true`, `false` or `null`.
    Literal,
}

/// State of the scanner. Offsets are counted from the start of the text.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    pub(crate) state: ScannerState,
    pub(crate) stack: Stack,
    pub(crate) limits: Limits,
    /// Position of the next byte.
    pub(crate) at: usize,
    /// Position of the first byte that cannot be passed on yet.
    pub(crate) held: Option<usize>,
    /// State to return to, if a held byte is unexpected.
    pub(crate) resume: Place,
    /// Start of the white space to which the limit applies.
    gap: usize,
    /// Exceeded limit, if bytes that should be held were passed on.
    pub(crate) over_limit: Option<&'static str>,
    /// Whether the current string is a key.
    pub(crate) key: bool,
    pub(crate) opening_quote: usize,
    /// The last byte.
    pub(crate) last: u8,
    /// Whether the last string ends in a digit.
    after_digit: bool,
    /// Number of received digits of `\u`.
    digits: u8,
    /// Remaining letters of the literal.
    word: &'static [u8],
}

/// Result of a step. The error is the state of the machine at an unexpected byte. If bytes are held, the repair begins at
/// the first held byte in the state [`Machine::resume`].
type StepResult = Result<(), Place>;

impl Machine {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            state: ScannerState::Root,
            stack: Stack::default(),
            limits,
            at: 0,
            held: None,
            resume: Place::Root,
            gap: 0,
            over_limit: None,
            key: false,
            opening_quote: 0,
            last: 0,
            after_digit: false,
            digits: 0,
            word: b"",
        }
    }

    /// Handles the next byte.
    pub(crate) fn step(&mut self, byte: u8) -> StepResult {
        match self.state {
            // The bracket may be the first byte of a tag, `[TOOL_CALLS]`.
            ScannerState::Root if byte == b'[' && self.limits.depth > 0 => {
                self.token(ScannerState::RootArray, Place::Root)
            }
            ScannerState::Root => self.value(byte, Place::Root),
            ScannerState::RootArray => self.root_array(byte),
            ScannerState::Value => self.value(byte, Place::Value),
            ScannerState::FirstItem => self.value(byte, Place::FirstItem),
            ScannerState::Item => self.value(byte, Place::Item),
            ScannerState::FirstKey | ScannerState::Key => self.key(byte),
            ScannerState::Colon => match byte {
                b' ' | b'\n' | b'\r' | b'\t' => self.space(),
                b':' => self.go(ScannerState::Value),
                _ => Err(Place::Colon),
            },
            ScannerState::String => self.string(byte),
            ScannerState::Escape | ScannerState::Unicode => self.escape(byte),
            ScannerState::Closed => self.closed(byte),
            ScannerState::After => self.after(byte),
            ScannerState::EmptyRoot | ScannerState::ScalarRoot | ScannerState::Done => self.after_root(byte),
            ScannerState::Literal => self.literal(byte),
            _ => self.number(byte),
        }?;
        self.at += 1;
        self.last = byte;
        Ok(())
    }

    /// Handles the byte after the opening bracket of an array that is the whole text. The bracket is held until this byte.
    fn root_array(&mut self, byte: u8) -> StepResult {
        if byte == b'T' {
            return Err(self.resume);
        }
        self.stack.push(Container::Array);
        self.release(ScannerState::FirstItem)?;
        self.value(byte, Place::FirstItem)
    }

    fn value(&mut self, byte: u8, place: Place) -> StepResult {
        match byte {
            b' ' | b'\n' | b'\r' | b'\t' => self.space(),
            b'{' => self.open(Container::Object, place),
            b'[' => self.open(Container::Array, place),
            b']' if self.state == ScannerState::FirstItem => self.close(),
            b'"' => self.open_string(false),
            b'-' => self.token(ScannerState::Minus, place),
            b'0' => self.token(ScannerState::Zero, place),
            b'1'..=b'9' => self.token(ScannerState::Integer, place),
            b't' => self.open_literal(b"rue", place),
            b'f' => self.open_literal(b"alse", place),
            b'n' => self.open_literal(b"ull", place),
            _ => Err(place),
        }
    }

    fn key(&mut self, byte: u8) -> StepResult {
        match byte {
            b' ' | b'\n' | b'\r' | b'\t' => self.space(),
            b'"' => self.open_string(true),
            b'}' if self.state == ScannerState::FirstKey && self.stack.depth() == 1 => {
                self.hold(Place::FirstKey);
                self.stack.pop();
                self.go(ScannerState::EmptyRoot)
            }
            b'}' if self.state == ScannerState::FirstKey => self.close(),
            _ => Err(Place::FirstKey),
        }
    }

    fn string(&mut self, byte: u8) -> StepResult {
        let place = Place::String { key: self.key };
        match byte {
            b'"' => {
                self.hold(place);
                self.after_digit = self.last.is_ascii_digit();
                self.go(ScannerState::Closed)
            }
            b'\\' => {
                self.hold(place);
                self.go(ScannerState::Escape)
            }
            0..=0x1F => Err(place),
            _ => Ok(()),
        }
    }

    fn escape(&mut self, byte: u8) -> StepResult {
        match (self.state, byte) {
            (ScannerState::Escape, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.release(ScannerState::String)
            }
            (ScannerState::Escape, b'u') => {
                self.digits = 0;
                self.go(ScannerState::Unicode)
            }
            (ScannerState::Unicode, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                self.digits += 1;
                if self.digits == 4 {
                    self.release(ScannerState::String)
                } else {
                    Ok(())
                }
            }
            _ => Err(self.resume),
        }
    }

    /// Handles the byte after a closing quote, which is held.
    fn closed(&mut self, byte: u8) -> StepResult {
        match (byte, self.stack.top()) {
            (b' ' | b'\n' | b'\r' | b'\t', _) => self.space(),
            (b':', _) if self.key => self.release(ScannerState::Value),
            // After a digit, the quote may be an inch mark if no key follows, so the comma is held, too.
            (b',', Some(Container::Object)) if !self.key && self.after_digit => {
                self.gap = self.at + 1;
                self.go(ScannerState::Key)
            }
            (b',', Some(_)) | (b'}', Some(Container::Object)) | (b']', Some(Container::Array))
                if !self.key =>
            {
                self.release(ScannerState::After)?;
                self.after(byte)
            }
            _ => Err(self.resume),
        }
    }

    /// Handles the byte after a value in a container.
    fn after(&mut self, byte: u8) -> StepResult {
        match (byte, self.stack.top()) {
            (b' ' | b'\n' | b'\r' | b'\t', _) => Ok(()),
            (b',', Some(container)) => {
                self.hold(Place::After);
                self.go(match container {
                    Container::Object => ScannerState::Key,
                    Container::Array => ScannerState::Item,
                })
            }
            (b'}', Some(Container::Object)) | (b']', Some(Container::Array)) => self.close(),
            _ => Err(Place::After),
        }
    }

    /// Handles the byte after the value of the whole text.
    fn after_root(&mut self, byte: u8) -> StepResult {
        match (byte, self.state) {
            (b' ' | b'\n' | b'\r' | b'\t', _) => self.space(),
            (_, ScannerState::EmptyRoot) => {
                self.stack.push(Container::Object);
                Err(self.resume)
            }
            (_, ScannerState::ScalarRoot) => Err(self.resume),
            _ => Err(Place::Done),
        }
    }

    fn literal(&mut self, byte: u8) -> StepResult {
        match self.word {
            [last] if *last == byte && self.stack.depth() == 0 => {
                self.gap = self.at + 1;
                self.go(ScannerState::ScalarRoot)
            }
            [last] if *last == byte => self.release(ScannerState::After),
            [next, rest @ ..] if *next == byte => {
                self.word = rest;
                Ok(())
            }
            _ => Err(self.resume),
        }
    }

    fn number(&mut self, byte: u8) -> StepResult {
        use ScannerState::{Exponent, ExponentDigits, ExponentSign, Fraction, Integer, Minus, Point, Zero};
        let next = match (self.state, byte) {
            (Minus, b'0') => Zero,
            (Minus, b'1'..=b'9') | (Integer, b'0'..=b'9') => Integer,
            (Zero | Integer, b'.') => Point,
            (Zero | Integer | Fraction, b'e' | b'E') => Exponent,
            (Point | Fraction, b'0'..=b'9') => Fraction,
            (Exponent, b'+' | b'-') => ExponentSign,
            (Exponent | ExponentSign | ExponentDigits, b'0'..=b'9') => ExponentDigits,
            (Zero | Integer | Fraction | ExponentDigits, _) => return self.after_number(byte),
            _ => return Err(self.resume),
        };
        if self.held.is_some_and(|held| self.at - held >= self.limits.number) {
            self.held = None;
            self.over_limit = Some("the number exceeds the limit of held bytes");
        }
        self.go(next)
    }

    fn after_number(&mut self, byte: u8) -> StepResult {
        match (byte, self.stack.top()) {
            (b' ' | b'\n' | b'\r' | b'\t', None) => {
                self.gap = self.at;
                self.state = ScannerState::ScalarRoot;
                self.space()
            }
            (b' ' | b'\n' | b'\r' | b'\t' | b',' | b'}' | b']', Some(_)) => {
                self.release(ScannerState::After)?;
                self.after(byte)
            }
            _ => Err(self.resume),
        }
    }

    /// Handles white space after a held byte. The amount of held white space is limited.
    #[allow(clippy::unnecessary_wraps, reason = "a tail call of steps that may fail")]
    fn space(&mut self) -> StepResult {
        if self.held.is_some() && self.at + 1 - self.gap > self.limits.space {
            self.held = None;
            self.over_limit = Some("the white space exceeds the limit of held bytes");
        }
        Ok(())
    }

    fn open(&mut self, container: Container, place: Place) -> StepResult {
        if self.stack.depth() >= self.limits.depth {
            self.over_limit = Some(TOO_DEEP);
            return Err(place);
        }
        self.stack.push(container);
        self.release(match container {
            Container::Object => ScannerState::FirstKey,
            Container::Array => ScannerState::FirstItem,
        })
    }

    fn close(&mut self) -> StepResult {
        self.stack.pop();
        self.release(if self.stack.depth() == 0 {
            ScannerState::Done
        } else {
            ScannerState::After
        })
    }

    fn open_string(&mut self, key: bool) -> StepResult {
        self.key = key;
        self.opening_quote = self.at;
        self.release(ScannerState::String)
    }

    fn open_literal(&mut self, word: &'static [u8], place: Place) -> StepResult {
        self.word = word;
        self.token(ScannerState::Literal, place)
    }

    /// Begins a number or a literal. A comma before the token is passed on, and the token is held.
    fn token(&mut self, state: ScannerState, place: Place) -> StepResult {
        self.hold(place);
        self.go(state)
    }

    /// Holds all bytes from the current byte on.
    fn hold(&mut self, resume: Place) {
        self.held = Some(self.at);
        self.gap = self.at + 1;
        self.resume = resume;
        self.over_limit = None;
    }

    fn release(&mut self, state: ScannerState) -> StepResult {
        self.held = None;
        self.over_limit = None;
        self.go(state)
    }

    #[allow(clippy::unnecessary_wraps, reason = "a tail call of steps that may fail")]
    fn go(&mut self, state: ScannerState) -> StepResult {
        self.state = state;
        Ok(())
    }
}
