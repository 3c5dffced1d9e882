//! The quick way through valid JSON: the same moves as [`Machine::step`]'s, a token at a time.
//!
//! Only what needs no thought is skimmed. At anything else (a piece that ends inside a token, a limit, a slip) the
//! skimming stops behind the last byte that was sure to stay, and the machine takes steps from there.

use super::machine::{Machine, State};
use super::plain::plain;
use crate::repair::stack::Container;

impl Machine {
    /// Whether there is something to skim: nothing is held here.
    #[inline]
    pub(crate) fn can_skim(&self) -> bool {
        matches!(
            self.state,
            State::String | State::Value | State::FirstItem | State::FirstKey | State::After
        )
    }

    /// Takes as many of the next bytes as it can in one go; none, maybe.
    pub(crate) fn skim(&mut self, bytes: &[u8]) -> usize {
        let mut skim = Skim {
            bytes,
            at: 0,
            start: self.at,
            state: self.state,
            machine: self,
        };
        while skim.token().is_some() {}
        let Skim { at, state, .. } = skim;
        self.state = state;
        self.at += at;
        at
    }
}

struct Skim<'s> {
    bytes: &'s [u8],
    /// How far it got. Nothing is held there.
    at: usize,
    /// Where `bytes` begin, from the start of the text.
    start: usize,
    state: State,
    machine: &'s mut Machine,
}

impl Skim<'_> {
    /// Goes on to where nothing is held again, if that is to be seen from here.
    #[inline]
    fn token(&mut self) -> Option<()> {
        match self.state {
            State::String => self.string(),
            State::Value | State::FirstItem | State::FirstKey | State::After => {
                self.at = self.solid(self.at);
                match (self.state, self.bytes.get(self.at)?) {
                    (State::After, _) => self.after(self.at),
                    (State::FirstKey, b'"') => self.open_string(self.at, true),
                    (State::FirstKey, b'}') if self.machine.stack.depth() > 1 => self.close(self.at),
                    (State::FirstKey, _) => None,
                    (State::FirstItem, b']') => self.close(self.at),
                    _ => self.value(self.at),
                }
            }
            _ => None,
        }
    }

    #[inline]
    fn string(&mut self) -> Option<()> {
        loop {
            self.at += plain(self.bytes.get(self.at..)?);
            match self.bytes.get(self.at)? {
                b'"' => break,
                b'\\' => self.escape()?,
                _ => return None,
            }
        }
        let behind = self.gap(self.at + 1)?;
        if !self.machine.key {
            self.after(behind)
        } else if self.bytes.get(behind) == Some(&b':') {
            self.go(behind + 1, State::Value)
        } else {
            None
        }
    }

    #[inline]
    fn escape(&mut self) -> Option<()> {
        self.at += match self.bytes.get(self.at + 1)? {
            b'"' | b'\\' | b'/' => 2,
            b'b' | b'f' | b'n' | b'r' | b't' => {
                self.machine.short_escape = true;
                2
            }
            b'u' => {
                let digits = self.bytes.get(self.at + 2..self.at + 6)?;
                digits.iter().all(u8::is_ascii_hexdigit).then_some(6)?
            }
            _ => return None,
        };
        Some(())
    }

    /// What follows a value in a container; not white space.
    #[inline]
    fn after(&mut self, at: usize) -> Option<()> {
        match (self.bytes.get(at)?, self.machine.stack.top()?) {
            (b',', Container::Object) => {
                let quote = self.gap(at + 1)?;
                (self.bytes.get(quote) == Some(&b'"')).then_some(())?;
                self.open_string(quote, true)
            }
            (b',', Container::Array) => {
                let value = self.gap(at + 1)?;
                self.value(value)
            }
            (b'}', Container::Object) | (b']', Container::Array) => self.close(at),
            _ => None,
        }
    }

    #[inline]
    fn value(&mut self, at: usize) -> Option<()> {
        match self.bytes.get(at)? {
            b'"' => self.open_string(at, false),
            b'{' => self.open(at, Container::Object, State::FirstKey),
            b'[' => self.open(at, Container::Array, State::FirstItem),
            b't' => self.literal(at, b"true"),
            b'f' => self.literal(at, b"false"),
            b'n' => self.literal(at, b"null"),
            _ => self.number(at),
        }
    }

    #[inline]
    fn open_string(&mut self, at: usize, key: bool) -> Option<()> {
        self.machine.key = key;
        self.machine.short_escape = false;
        self.machine.opening_quote = self.start + at;
        self.go(at + 1, State::String)
    }

    #[inline]
    fn open(&mut self, at: usize, container: Container, state: State) -> Option<()> {
        if self.machine.stack.depth() >= self.machine.limits.depth {
            return None;
        }
        self.machine.stack.push(container);
        self.go(at + 1, state)
    }

    #[inline]
    fn close(&mut self, at: usize) -> Option<()> {
        self.machine.stack.pop();
        let open = self.machine.stack.depth() > 0;
        self.go(at + 1, if open { State::After } else { State::Done })
    }

    #[inline]
    fn literal(&mut self, at: usize, word: &[u8]) -> Option<()> {
        (self.bytes.get(at..at + word.len())? == word).then_some(())?;
        self.go(at + word.len(), State::After)
    }

    #[inline]
    fn number(&mut self, at: usize) -> Option<()> {
        let digits = |from: usize| {
            let count = self
                .bytes
                .get(from..)?
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            (count > 0).then_some(from + count)
        };
        let integer = at + usize::from(self.bytes.get(at) == Some(&b'-'));
        let mut end = match self.bytes.get(integer)? {
            b'0' => integer + 1,
            _ => digits(integer)?,
        };
        if self.bytes.get(end) == Some(&b'.') {
            end = digits(end + 1)?;
        }
        if let Some(b'e' | b'E') = self.bytes.get(end) {
            let signed = matches!(self.bytes.get(end + 1), Some(b'+' | b'-'));
            end = digits(end + 1 + usize::from(signed))?;
        }
        let follows = matches!(
            self.bytes.get(end)?,
            b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t'
        );
        (follows && end - at <= self.machine.limits.number).then_some(())?;
        self.go(end, State::After)
    }

    /// Where white space ends that is held.
    #[inline]
    fn gap(&self, from: usize) -> Option<usize> {
        let end = self.solid(from);
        (end - from <= self.machine.limits.space).then_some(end)
    }

    /// Where white space ends.
    #[inline]
    fn solid(&self, from: usize) -> usize {
        let bytes = self.bytes.get(from..).unwrap_or_default();
        let space = bytes
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t'));
        from + space.count()
    }

    #[inline]
    fn go(&mut self, at: usize, state: State) -> Option<()> {
        self.at = at;
        self.state = state;
        Some(())
    }
}
