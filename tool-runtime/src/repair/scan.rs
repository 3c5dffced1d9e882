//! A strict JSON scanner (RFC 8259) that can stop after any byte and go on with the next: it says how far the text
//! may be passed on, and where it stops being JSON.

use super::fixes::Reason;
use super::limits::Limits;
use super::stack::{Container, Stack};

/// Where a text stops being JSON, and all that a repair must know of what came before.
#[derive(Debug, Clone)]
pub(super) struct Deviation {
    /// Where the repair takes over: the first byte that was not passed on, from the start of the text.
    pub(super) at: usize,
    /// The byte that has no place, from the start of the text.
    pub(super) found: usize,
    /// What stands at `at`.
    pub(super) place: Place,
    pub(super) stack: Stack,
    /// Where the string that is open at `at` (or whose closing quote stands there) began: its opening quote.
    pub(super) opening_quote: usize,
    /// The byte before `at`; 0 at the start of the text.
    pub(super) before: u8,
    /// Whether `\b \f \n \r \t` came before `at` in the open string.
    pub(super) short_escape: bool,
    /// A limit was met here: bytes that would have to be seen again are gone, so nothing can be repaired.
    pub(super) over_limit: Option<&'static str>,
}

/// What may come where the scanner stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The value of the whole text; nothing but white space came before.
    Root,
    /// The first key of an object, or its end.
    FirstKey,
    /// The first item of an array, or its end.
    FirstItem,
    /// An item of an array, behind a comma that was passed on.
    Item,
    /// The colon behind a key.
    Colon,
    /// The value behind a colon.
    Value,
    /// The contents of a string in double quotes, or its closing quote.
    String { key: bool },
    /// What follows a value inside a container.
    After,
    /// Nothing but white space.
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Root,
    FirstKey,
    /// Behind a comma in an object.
    Key,
    Colon,
    Value,
    FirstItem,
    /// Behind a comma in an array.
    Item,
    String,
    Escape,
    /// In `\u`, so many digits seen.
    Unicode(u8),
    /// Behind the closing quote of a string.
    Closed,
    After,
    /// Behind an empty object that is the whole text so far.
    EmptyRoot,
    /// Behind a number or a literal that is the whole text so far.
    ScalarRoot,
    Done,
    Minus,
    Zero,
    Integer,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
    /// In a literal: its text, so many bytes seen.
    Literal(&'static [u8], u8),
}

/// The scanner. Offsets are counted from the start of the text, whatever the pieces.
#[derive(Debug, Clone)]
pub(super) struct Scanner {
    state: State,
    stack: Stack,
    limits: Limits,
    at: usize,
    /// The first byte that must not be passed on yet.
    held: Option<usize>,
    /// Behind what was held; white space from there on counts against the limit.
    token_end: usize,
    over_limit: Option<&'static str>,
    /// What to resume in, if what is held turns out to have no place.
    resume: Place,
    key: bool,
    opening_quote: usize,
    before: u8,
    before_held: u8,
    short_escape: bool,
}

impl Scanner {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            state: State::Root,
            stack: Stack::default(),
            limits,
            at: 0,
            held: None,
            token_end: 0,
            over_limit: None,
            resume: Place::Root,
            key: false,
            opening_quote: 0,
            before: 0,
            before_held: 0,
            short_escape: false,
        }
    }

    /// A scanner that goes on where a deviation was, for what was put in the place of the rest.
    pub(super) fn resumed(limits: Limits, deviation: &Deviation) -> Self {
        let mut scanner = Self::new(limits);
        scanner.stack = deviation.stack.clone();
        scanner.at = deviation.at;
        scanner.state = match deviation.place {
            Place::Root => State::Root,
            Place::FirstKey => State::FirstKey,
            Place::FirstItem => State::FirstItem,
            Place::Item => State::Item,
            Place::Colon => State::Colon,
            Place::Value => State::Value,
            Place::String { key } => {
                scanner.key = key;
                State::String
            }
            Place::After => State::After,
            Place::Done => State::Done,
        };
        scanner
    }

    /// How many bytes were looked at.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// How many bytes may be passed on: no repair will ever change them.
    pub(super) fn safe(&self) -> usize {
        self.held.unwrap_or(self.at)
    }

    /// Looks at the next piece of the text.
    ///
    /// # Errors
    ///
    /// The first byte that JSON has no place for. The scanner is of no use afterwards.
    pub(super) fn scan(&mut self, piece: &str) -> Result<(), Box<Deviation>> {
        for &byte in piece.as_bytes() {
            self.step(byte)?;
            self.before = byte;
            self.at += 1;
        }
        Ok(())
    }

    /// Whether the text is complete; otherwise what is missing.
    pub(super) fn finish(&self) -> Result<(), Reason> {
        match self.state {
            State::Done | State::EmptyRoot | State::ScalarRoot => Ok(()),
            State::Closed | State::Zero | State::Integer | State::Fraction | State::ExponentDigits
                if self.stack.depth() == 0 =>
            {
                Ok(())
            }
            _ => Err(Reason::new(self.at, self.missing())),
        }
    }

    fn missing(&self) -> &'static str {
        match self.state {
            State::Root => "the text is empty",
            State::String | State::Escape | State::Unicode(_) => "the text ends inside a string",
            _ => "the text ends before the value does",
        }
    }

    fn step(&mut self, byte: u8) -> Result<(), Box<Deviation>> {
        match self.state {
            State::Root | State::Value | State::FirstItem | State::Item => self.value(byte),
            State::FirstKey | State::Key => self.key(byte),
            State::Colon => match byte {
                b' ' | b'\n' | b'\r' | b'\t' => Ok(()),
                b':' => self.go(State::Value),
                _ => self.deviate(Place::Colon),
            },
            State::String => self.string(byte),
            State::Escape => self.escape(byte),
            State::Unicode(seen) => match byte {
                b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F' if seen == 3 => self.release(State::String),
                b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F' => self.go(State::Unicode(seen + 1)),
                _ => self.deviate(self.resume),
            },
            State::Closed => self.closed(byte),
            State::After => self.after(byte),
            State::EmptyRoot => match byte {
                b' ' | b'\n' | b'\r' | b'\t' => self.space(),
                _ => {
                    self.stack.push(Container::Object);
                    self.deviate(self.resume)
                }
            },
            State::ScalarRoot => match byte {
                b' ' | b'\n' | b'\r' | b'\t' => self.space(),
                _ => self.deviate(self.resume),
            },
            State::Done => match byte {
                b' ' | b'\n' | b'\r' | b'\t' => Ok(()),
                _ => self.deviate(Place::Done),
            },
            _ => self.scalar(byte),
        }
    }

    fn value(&mut self, byte: u8) -> Result<(), Box<Deviation>> {
        if matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
            return self.space();
        }
        let place = match self.state {
            State::Root => Place::Root,
            State::FirstItem => Place::FirstItem,
            State::Item => Place::Item,
            _ => Place::Value,
        };
        match byte {
            b'{' => self.open(Container::Object, place),
            b'[' => self.open(Container::Array, place),
            b']' if self.state == State::FirstItem => self.close(),
            b'"' => self.open_string(false),
            b'-' => self.token(State::Minus, place),
            b'0' => self.token(State::Zero, place),
            b'1'..=b'9' => self.token(State::Integer, place),
            b't' => self.token(State::Literal(b"true", 1), place),
            b'f' => self.token(State::Literal(b"false", 1), place),
            b'n' => self.token(State::Literal(b"null", 1), place),
            _ => self.deviate(place),
        }
    }

    fn key(&mut self, byte: u8) -> Result<(), Box<Deviation>> {
        match byte {
            b' ' | b'\n' | b'\r' | b'\t' => self.space(),
            b'"' => self.open_string(true),
            b'}' if self.state == State::FirstKey && self.stack.depth() == 1 => {
                self.token_end = self.at + 1;
                self.hold(Place::FirstKey);
                self.stack.pop();
                self.go(State::EmptyRoot)
            }
            b'}' if self.state == State::FirstKey => self.close(),
            // Behind a comma the place is that of the comma, which is held.
            _ => self.deviate(Place::FirstKey),
        }
    }

    fn string(&mut self, byte: u8) -> Result<(), Box<Deviation>> {
        let place = Place::String { key: self.key };
        match byte {
            b'"' => {
                self.hold(place);
                self.token_end = self.at + 1;
                self.go(State::Closed)
            }
            b'\\' => {
                self.hold(place);
                self.go(State::Escape)
            }
            0..=0x1F => self.deviate(place),
            _ => Ok(()),
        }
    }

    fn escape(&mut self, byte: u8) -> Result<(), Box<Deviation>> {
        match byte {
            b'"' | b'\\' | b'/' => self.release(State::String),
            b'b' | b'f' | b'n' | b'r' | b't' => {
                self.short_escape = true;
                self.release(State::String)
            }
            b'u' => self.go(State::Unicode(0)),
            _ => self.deviate(self.resume),
        }
    }

    fn closed(&mut self, byte: u8) -> Result<(), Box<Deviation>> {
        match (byte, self.key) {
            (b' ' | b'\n' | b'\r' | b'\t', _) => self.space(),
            (b':', true) => self.release(State::Value),
            (b',' | b']' | b'}', false) if self.stack.depth() > 0 => {
                if byte == b'}' && self.stack.top() == Some(Container::Array)
                    || byte == b']' && self.stack.top() == Some(Container::Object)
                {
                    return self.deviate(self.resume);
                }
                self.held = None;
                self.after(byte)
            }
            _ => self.deviate(self.resume),
        }
    }

    fn after(&mut self, byte: u8) -> Result<(), Box<Deviation>> {
        match (byte, self.stack.top()) {
            (b' ' | b'\n' | b'\r' | b'\t', _) => Ok(()),
            (b',', Some(container)) => {
                self.hold(Place::After);
                self.token_end = self.at + 1;
                self.go(match container {
                    Container::Object => State::Key,
                    Container::Array => State::Item,
                })
            }
            (b'}', Some(Container::Object)) | (b']', Some(Container::Array)) => self.close(),
            _ => self.deviate(Place::After),
        }
    }

    fn scalar(&mut self, byte: u8) -> Result<(), Box<Deviation>> {
        use State::{Exponent, ExponentDigits, ExponentSign, Fraction, Integer, Literal, Minus, Point, Zero};
        let next = match (self.state, byte) {
            (Minus, b'0') => Zero,
            (Minus, b'1'..=b'9') | (Integer, b'0'..=b'9') => Integer,
            (Zero | Integer, b'.') => Point,
            (Zero | Integer | Fraction, b'e' | b'E') => Exponent,
            (Point | Fraction, b'0'..=b'9') => Fraction,
            (Exponent, b'+' | b'-') => ExponentSign,
            (Exponent | ExponentSign | ExponentDigits, b'0'..=b'9') => ExponentDigits,
            (Literal(word, seen), _) if word.get(usize::from(seen)) == Some(&byte) => {
                if usize::from(seen) + 1 < word.len() {
                    Literal(word, seen + 1)
                } else if self.stack.depth() == 0 {
                    self.token_end = self.at + 1;
                    State::ScalarRoot
                } else {
                    return self.release(State::After);
                }
            }
            (Zero | Integer | Fraction | ExponentDigits, _) => return self.behind_number(byte),
            _ => return self.deviate(self.resume),
        };
        if self.over_limit.is_none() && self.at - self.safe() >= self.limits.number {
            self.held = None;
            self.over_limit = Some("a number longer than is held");
        }
        self.go(next)
    }

    fn behind_number(&mut self, byte: u8) -> Result<(), Box<Deviation>> {
        let space = matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
        let closes = match self.stack.top() {
            Some(Container::Object) => byte == b'}',
            Some(Container::Array) => byte == b']',
            None if space => {
                self.token_end = self.at;
                self.state = State::ScalarRoot;
                return self.space();
            }
            None => false,
        };
        if space || closes || byte == b',' && self.stack.depth() > 0 {
            self.held = None;
            self.over_limit = None;
            self.state = State::After;
            return self.after(byte);
        }
        self.deviate(self.resume)
    }

    fn space(&mut self) -> Result<(), Box<Deviation>> {
        if self.held.is_some() && self.at + 1 - self.token_end > self.limits.space {
            self.held = None;
            self.over_limit = Some("more white space than is held");
        }
        Ok(())
    }

    fn open(&mut self, container: Container, place: Place) -> Result<(), Box<Deviation>> {
        if self.stack.depth() >= self.limits.depth {
            self.over_limit = Some("nested deeper than is followed");
            return self.deviate(place);
        }
        self.stack.push(container);
        self.release(match container {
            Container::Object => State::FirstKey,
            Container::Array => State::FirstItem,
        })
    }

    fn close(&mut self) -> Result<(), Box<Deviation>> {
        self.stack.pop();
        self.release(if self.stack.depth() == 0 {
            State::Done
        } else {
            State::After
        })
    }

    fn open_string(&mut self, key: bool) -> Result<(), Box<Deviation>> {
        self.key = key;
        self.short_escape = false;
        self.opening_quote = self.at;
        self.release(State::String)
    }

    /// A number or a literal begins: a comma before it may go, the token itself is held.
    fn token(&mut self, state: State, place: Place) -> Result<(), Box<Deviation>> {
        self.held = None;
        self.over_limit = None;
        self.hold(place);
        self.go(state)
    }

    fn hold(&mut self, resume: Place) {
        self.held = Some(self.at);
        self.before_held = self.before;
        self.resume = resume;
    }

    fn release(&mut self, state: State) -> Result<(), Box<Deviation>> {
        self.held = None;
        self.over_limit = None;
        self.go(state)
    }

    #[allow(clippy::unnecessary_wraps, reason = "the last step of those that may deviate")]
    fn go(&mut self, state: State) -> Result<(), Box<Deviation>> {
        self.state = state;
        Ok(())
    }

    fn deviate(&mut self, place: Place) -> Result<(), Box<Deviation>> {
        let held = self.held.is_some();
        Err(Box::new(Deviation {
            at: self.safe(),
            found: self.at,
            place: if held { self.resume } else { place },
            stack: self.stack.clone(),
            opening_quote: self.opening_quote,
            before: if held { self.before_held } else { self.before },
            short_escape: self.short_escape,
            over_limit: self.over_limit,
        }))
    }
}
