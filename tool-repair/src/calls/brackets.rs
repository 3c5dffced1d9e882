//! Finds the end of a bracketed value in JSON or Python, in a text that may grow. The contents of strings are skipped.

/// State of a search for the bracket that closes the first one.
#[derive(Debug, Clone, Default)]
pub(super) struct Brackets {
    /// Position of the next byte.
    at: usize,
    /// Expected closing brackets, innermost last.
    closers: Vec<u8>,
    quotes: Option<Quotes>,
    /// Result that no later text changes.
    end: Option<BracketEnd>,
    /// Whether `<|"|>` are quotes, and `"` is text.
    has_token_quotes: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quotes {
    Single(u8),
    Triple(u8),
    Token,
}

/// Result of a search so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BracketEnd {
    /// Position after the closing bracket.
    Closed(usize),
    /// The bracketed text is invalid: a bracket or a tag is at a position where the syntax allows none.
    Broken,
    /// The text ends before the closing bracket.
    Open,
}

impl Brackets {
    /// Starts at the position of an opening bracket.
    pub(super) fn new(at: usize, has_token_quotes: bool) -> Self {
        Self {
            at,
            has_token_quotes,
            ..Self::default()
        }
    }

    /// Continues the search in a text that has grown.
    pub(super) fn advance(&mut self, text: &str, is_complete: bool) -> BracketEnd {
        if let Some(end) = self.end {
            return end;
        }
        let end = self.search(text, is_complete);
        self.end = Some(end).filter(|end| *end != BracketEnd::Open);
        end
    }

    fn search(&mut self, text: &str, is_complete: bool) -> BracketEnd {
        while let Some(&byte) = text.as_bytes().get(self.at) {
            match self.step(text, byte, is_complete) {
                Some(length) => self.at += length,
                None => return BracketEnd::Open,
            }
            if self.quotes.is_some() {
                continue;
            }
            if !self.nest(byte) || (byte == b'<' && !self.has_token_quotes) {
                return BracketEnd::Broken;
            }
            if self.closers.is_empty() {
                return BracketEnd::Closed(self.at);
            }
        }
        BracketEnd::Open
    }

    /// Handles a byte outside of strings. Returns `false` for a closing bracket without its opening bracket.
    fn nest(&mut self, byte: u8) -> bool {
        match byte {
            b'{' => self.closers.push(b'}'),
            b'[' => self.closers.push(b']'),
            b'(' => self.closers.push(b')'),
            b'}' | b']' | b')' => return self.closers.pop() == Some(byte),
            _ => {}
        }
        true
    }

    /// Reads an escape, a quote, an empty string, or any other byte, and returns its length. Returns `None` if more text
    /// is needed.
    fn step(&mut self, text: &str, byte: u8, is_complete: bool) -> Option<usize> {
        let rest = text.as_bytes().get(self.at..).unwrap_or_default();
        match self.quotes {
            Some(Quotes::Token) => self.token_quote(rest, is_complete, None),
            Some(_) if byte == b'\\' => (rest.len() > 1).then_some(2),
            Some(Quotes::Single(quote)) => {
                if byte == quote {
                    self.quotes = None;
                }
                Some(1)
            }
            Some(Quotes::Triple(quote)) => {
                if byte != quote {
                    return Some(1);
                }
                let run = rest.iter().take(3).take_while(|byte| **byte == quote).count();
                match (run, rest.len()) {
                    (3, _) => {
                        self.quotes = None;
                        Some(3)
                    }
                    (run, length) if run == length && !is_complete => None,
                    _ => Some(1),
                }
            }
            None if self.has_token_quotes => self.token_quote(rest, is_complete, Some(Quotes::Token)),
            None if matches!(byte, b'"' | b'\'') => {
                let run = rest.iter().take(3).take_while(|other| **other == byte).count();
                match (run, rest.len()) {
                    (3, _) => {
                        self.quotes = Some(Quotes::Triple(byte));
                        Some(3)
                    }
                    (run, length) if run == length && !is_complete => None,
                    // The empty string.
                    (2, _) => Some(2),
                    _ => {
                        self.quotes = Some(Quotes::Single(byte));
                        Some(1)
                    }
                }
            }
            None => Some(1),
        }
    }

    fn token_quote(&mut self, rest: &[u8], is_complete: bool, next: Option<Quotes>) -> Option<usize> {
        let token = TOKEN_QUOTE.as_bytes();
        if rest.starts_with(token) {
            self.quotes = next;
            return Some(token.len());
        }
        (is_complete || !token.starts_with(rest)).then_some(1)
    }
}

/// Splits a text at each `separator` that is outside of strings and brackets. Returns `None` if a bracket or a string is open.
pub(super) fn split(text: &str, separator: u8) -> Option<Vec<&str>> {
    let mut brackets = Brackets::default();
    let (mut parts, mut start) = (Vec::new(), 0);
    while let Some(&byte) = text.as_bytes().get(brackets.at) {
        let at = brackets.at;
        brackets.at += brackets.step(text, byte, true)?;
        if brackets.quotes.is_some() {
            continue;
        }
        if !brackets.nest(byte) {
            return None;
        }
        if byte == separator && brackets.closers.is_empty() {
            parts.push(text.get(start..at)?);
            start = at + 1;
        }
    }
    parts.push(text.get(start..)?);
    (brackets.quotes.is_none() && brackets.closers.is_empty()).then_some(parts)
}

/// Quotes of Gemma's strings.
pub(super) const TOKEN_QUOTE: &str = "<|\"|>";
