//! JSON text, token by token, strictly: what is not plainly one is left to the tree.

use crate::repair::plain;
use crate::schema::name::Written;

/// A text and how far it was read.
#[derive(Clone, Copy)]
pub(super) struct Text<'t> {
    text: &'t str,
    pub(super) at: usize,
}

/// A string literal.
#[derive(Clone, Copy)]
pub(super) struct Literal<'t> {
    /// What stands between the quotes.
    pub(super) inside: &'t str,
    /// Whether that is the string; otherwise there are escapes in it.
    pub(super) is_plain: bool,
}

/// A number, as far as its form tells.
#[derive(Clone, Copy)]
pub(super) struct Number<'t> {
    pub(super) text: &'t str,
    /// It has neither a point nor an exponent.
    pub(super) is_whole: bool,
    /// What its digits mean, if they are few enough to be read as they are gone over.
    pub(super) digits: Option<u64>,
}

impl<'t> Text<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    pub(super) fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// The next byte, whatever it is.
    #[inline]
    pub(super) fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    /// Goes on if the next byte is that one.
    #[inline]
    pub(super) fn skip(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then_some(())
    }

    /// Goes on if this is next.
    #[inline]
    pub(super) fn is(&mut self, text: &str) -> bool {
        let is_it = self.rest().starts_with(text.as_bytes());
        if is_it {
            self.at += text.len();
        }
        is_it
    }

    /// Goes on if this is next.
    #[inline]
    pub(super) fn begins(&mut self, written: &Written) -> bool {
        let is_it = written.begins(self.rest());
        if is_it {
            self.at += written.len();
        }
        is_it
    }

    #[inline]
    pub(super) fn literal(&mut self) -> Option<Literal<'t>> {
        let start = self.at + 1;
        self.skip(b'"')?;
        self.at += plain(self.rest());
        if self.peek()? == b'"' {
            let inside = self.since(start)?;
            self.at += 1;
            return Some(Literal {
                inside,
                is_plain: true,
            });
        }
        self.escaped(start)
    }

    /// The rest of a string in which there are escapes.
    #[cold]
    fn escaped(&mut self, start: usize) -> Option<Literal<'t>> {
        let mut has_code_points = false;
        loop {
            match self.next()? {
                b'"' => break,
                b'\\' => match self.next()? {
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                    b'u' => has_code_points = true,
                    _ => return None,
                },
                _ => return None,
            }
            self.at += plain(self.rest());
        }
        let literal = Literal {
            inside: self.text.get(start..self.at - 1)?,
            is_plain: false,
        };
        // They may be no hexadecimal digits, or half of a pair.
        let json = self.text.get(start - 1..self.at)?;
        if has_code_points && serde_json::from_str::<String>(json).is_err() {
            return None;
        }
        Some(literal)
    }

    pub(super) fn number(&mut self) -> Option<Number<'t>> {
        let start = self.at;
        if self.peek()? == b'-' {
            self.at += 1;
        }
        let first = self.at;
        let (digits, value) = self.digits()?;
        if digits > 1 && self.text.as_bytes().get(first) == Some(&b'0') {
            return None;
        }
        let mut is_whole = true;
        if self.peek() == Some(b'.') {
            is_whole = false;
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            is_whole = false;
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(Number {
            text: self.since(start)?,
            is_whole,
            digits: (digits < 20).then_some(value),
        })
    }

    /// What was read from there on.
    #[inline]
    pub(super) fn since(&self, start: usize) -> Option<&'t str> {
        self.text.get(start..self.at)
    }

    /// How many digits come, and what they mean as long as that is less than 10^19.
    #[inline]
    fn digits(&mut self) -> Option<(usize, u64)> {
        let start = self.at;
        let mut value = 0_u64;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        (self.at > start).then_some((self.at - start, value))
    }

    #[inline]
    fn rest(&self) -> &'t [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }
}
