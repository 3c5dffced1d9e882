//! Scans valid JSON token by token: a fast path with the transitions of [`Machine::step`].
//!
//! Only simple tokens are skimmed. At any other token, at the end of a piece inside a token, at a limit or a slip, the
//! skimming stops after the last certain byte, and the machine continues with steps.

use super::machine::{Machine, ScannerState};
use super::plain::plain;
use crate::stack::Container;

impl Machine {
    /// Returns whether no byte is held, and a token to skim may follow.
    #[inline]
    pub(crate) fn can_skim(&self) -> bool {
        self.state.is_sure()
    }

    /// Skims tokens at the start of `bytes`. Returns the number of skimmed bytes, which may be 0.
    pub(crate) fn skim(&mut self, bytes: &[u8]) -> usize {
        let mut skim = Skim {
            bytes,
            at: 0,
            state: self.state,
            start: self.at,
            machine: self,
        };
        let mut sure = (skim.at, skim.state);
        while let Some(state) = skim.token(&mut sure.0) {
            skim.state = state;
            if state.is_sure() {
                sure = (skim.at, state);
            }
        }
        if skim.state.is_sure() {
            sure.0 = skim.at; // after white space
        }
        (_, self.state) = sure;
        self.at += sure.0;
        self.last = bytes
            .get(..sure.0)
            .and_then(<[u8]>::last)
            .copied()
            .unwrap_or(self.last);
        sure.0
    }
}

impl ScannerState {
    /// Returns whether this state holds no bytes and no white space.
    #[inline]
    fn is_sure(self) -> bool {
        matches!(
            self,
            Self::String | Self::Value | Self::FirstItem | Self::FirstKey | Self::After | Self::Done
        )
    }
}

struct Skim<'s> {
    bytes: &'s [u8],
    at: usize,
    state: ScannerState,
    /// Offset of `bytes` from the start of the text.
    start: usize,
    machine: &'s mut Machine,
}

impl Skim<'_> {
    /// Skips the next token, if it is complete, and returns the next state.
    ///
    /// Only brackets change the stack. Brackets are certain, and so are opening quotes.
    #[inline]
    fn token(&mut self, sure: &mut usize) -> Option<ScannerState> {
        if self.state == ScannerState::String {
            return self.string(sure);
        }
        let byte = self.next_token_start()?;
        match self.state {
            ScannerState::FirstItem if byte == b']' => Some(self.close()),
            ScannerState::Value | ScannerState::FirstItem => self.value(byte),
            ScannerState::Closed if self.machine.key => (byte == b':').then(|| self.go(ScannerState::Value)),
            ScannerState::Closed | ScannerState::After => self.after(byte),
            ScannerState::FirstKey if byte == b'"' => Some(self.open_string(true)),
            // An empty object that is the whole text is held.
            ScannerState::FirstKey if byte == b'}' && self.machine.stack.depth() > 1 => Some(self.close()),
            _ => None,
        }
    }

    #[inline]
    fn string(&mut self, sure: &mut usize) -> Option<ScannerState> {
        loop {
            self.at += plain(self.bytes.get(self.at..)?);
            *sure = self.at;
            let (byte, after) = self.bytes.get(self.at..)?.split_first()?;
            match (byte, after, self.machine.key) {
                (b'\\', ..) => self.at += Self::escape(after)?,
                // Most strings follow another string, and are scanned without leaving the loop.
                (b'"', [b':', b' ', b'"', ..], true) => {
                    self.at += 3;
                    self.open_string(false);
                }
                (b'"', [b',', b' ', b'"', ..], false) => {
                    let key = self.machine.stack.top()? == Container::Object;
                    self.at += 3;
                    self.open_string(key);
                }
                (b'"', ..) => return Some(self.go(ScannerState::Closed)),
                _ => return None,
            }
        }
    }

    /// Returns the length of the escape that a backslash before `after` begins.
    #[inline]
    fn escape(after: &[u8]) -> Option<usize> {
        match after {
            [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => Some(2),
            [b'u', digits @ ..] => {
                let digits = digits.first_chunk::<4>()?;
                digits.iter().all(u8::is_ascii_hexdigit).then_some(6)
            }
            _ => None,
        }
    }

    /// Skips the token after a value in a container.
    #[inline]
    fn after(&mut self, byte: u8) -> Option<ScannerState> {
        match (byte, self.machine.stack.top()?) {
            (b',', Container::Object) => {
                self.state = self.go(ScannerState::Key);
                (self.next_token_start()? == b'"').then(|| self.open_string(true))
            }
            (b',', Container::Array) => {
                self.state = self.go(ScannerState::Item);
                let byte = self.next_token_start()?;
                self.value(byte)
            }
            (b'}', Container::Object) | (b']', Container::Array) => Some(self.close()),
            _ => None,
        }
    }

    #[inline]
    fn value(&mut self, byte: u8) -> Option<ScannerState> {
        match byte {
            b'"' => Some(self.open_string(false)),
            b'{' => self.open(Container::Object, ScannerState::FirstKey),
            b'[' => self.open(Container::Array, ScannerState::FirstItem),
            _ => {
                self.at += self.scalar(byte)?;
                Some(ScannerState::After)
            }
        }
    }

    #[inline]
    fn open(&mut self, container: Container, state: ScannerState) -> Option<ScannerState> {
        let stack = &mut self.machine.stack;
        if stack.depth() >= self.machine.limits.depth {
            return None;
        }
        stack.push(container);
        Some(self.go(state))
    }

    #[inline]
    fn close(&mut self) -> ScannerState {
        let stack = &mut self.machine.stack;
        stack.pop();
        let state = if stack.depth() > 0 {
            ScannerState::After
        } else {
            ScannerState::Done
        };
        self.go(state)
    }

    #[inline]
    fn open_string(&mut self, key: bool) -> ScannerState {
        self.machine.key = key;
        self.machine.opening_quote = self.start + self.at;
        self.go(ScannerState::String)
    }

    /// Returns the length of the literal or the number.
    #[inline]
    fn scalar(&self, first: u8) -> Option<usize> {
        let rest = self.bytes.get(self.at..)?;
        match first {
            b't' => rest.starts_with(b"true").then_some(4),
            b'f' => rest.starts_with(b"false").then_some(5),
            b'n' => rest.starts_with(b"null").then_some(4),
            _ => number(rest),
        }
    }

    /// Skips white space, and returns the next byte.
    #[inline]
    fn next_token_start(&mut self) -> Option<u8> {
        loop {
            match *self.bytes.get(self.at)? {
                b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
                solid => return Some(solid),
            }
        }
    }

    /// Skips one byte, after which the state changes.
    #[inline]
    fn go(&mut self, state: ScannerState) -> ScannerState {
        self.at += 1;
        state
    }
}

/// Returns the length of the number, if its successor is known and valid.
#[inline]
fn number(text: &[u8]) -> Option<usize> {
    let digits = |from: usize| {
        let mut end = from;
        while text.get(end)?.is_ascii_digit() {
            end += 1;
        }
        (end > from).then_some(end)
    };
    let integer = usize::from(text.first() == Some(&b'-'));
    let mut end = if text.get(integer) == Some(&b'0') {
        integer + 1
    } else {
        digits(integer)?
    };
    if text.get(end) == Some(&b'.') {
        end = digits(end + 1)?;
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let signed = matches!(text.get(end + 1), Some(b'+' | b'-'));
        end = digits(end + 1 + usize::from(signed))?;
    }
    matches!(text.get(end)?, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t').then_some(end)
}
