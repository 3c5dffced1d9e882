//! [`CallScanner`]: finds calls at the end of a text that is received in pieces.

use super::code::CodeContext;
use super::declared::Declared;
use super::payload::{Forms, is_opener};
use super::recovered::{Format, Formats, Recovered, RecoveredCall, TextReason};
use super::sequence::{MISTRAL, Sequence, SequenceEnd};
use super::source::{Lookahead, Source};
use super::tag::{Role, Tag};
use super::thoughts::{self, ThoughtTag};

/// Limits of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimits {
    /// Maximum number of bytes from the beginning of possible calls to the end of the text. A longer text is released. Defaults to
    /// 1 MiB.
    pub held: usize,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self { held: 1 << 20 }
    }
}

/// Returns the calls in a whole text, and the text before them.
///
/// Takes time linear in the text. The [module](super) describes the forms of calls.
pub fn recover<D: Declared>(text: &str, declared: D, formats: Formats) -> Recovered {
    let mut scanner = CallScanner::new(declared, formats);
    scanner.extend(text);
    scanner.finish()
}

/// Finds the calls of a text that is received in pieces.
///
/// [`push`](Self::push) returns text that certainly does not belong to a call, and [`finish`](Self::finish) returns the calls and the rest
/// of the text. The joined result is the result of [`recover`] for the whole text, however it is split.
///
/// ```
/// use tool_repair::calls::{Declared, Formats, ParameterKind, CallScanner};
///
/// struct Weather;
///
/// impl Declared for Weather {
///     fn is_declared(&self, name: &str) -> bool {
///         name == "get_weather"
///     }
///     fn parameter(&self, _: &str, _: &str) -> ParameterKind {
///         ParameterKind::Text
///     }
/// }
///
/// let mut scanner = CallScanner::new(Weather, Formats::ALL);
/// assert_eq!(scanner.push("Let me check. <tool"), "Let me check.");
/// assert_eq!(scanner.push("_call>\n{\"name\": \"get_weather\", "), "");
/// assert_eq!(scanner.push("\"arguments\": {\"city\": \"Paris\"}}\n</tool_call>"), "");
/// let recovered = scanner.finish();
/// assert_eq!(recovered.calls[0].arguments, r#"{"city": "Paris"}"#);
/// assert_eq!(recovered.text, "");
/// ```
#[derive(Debug)]
pub struct CallScanner<D> {
    declared: D,
    formats: Formats,
    limits: CallLimits,
    /// Text from the first byte that was not returned, and the last returned text before it.
    text: String,
    /// Number of returned bytes of `text`.
    sent: usize,
    /// Position up to which the text is certainly text, without white space at the end.
    text_end: usize,
    /// Position of the next character.
    at: usize,
    state: ScanState,
    context: CodeContext,
    /// Closing tag of thoughts that began in the middle of the text.
    open_thoughts: Option<&'static str>,
    /// Whether a `</think>` without an opening tag makes the text before it thoughts.
    may_restart: bool,
    /// Number of openers without a payload.
    tried: usize,
    reason: Option<TextReason>,
}

#[derive(Debug)]
enum ScanState {
    /// At the beginning of the text, or after thoughts.
    Start { may_think: bool },
    /// In thoughts at the beginning of the text, up to the closing tag.
    Thoughts { closing: &'static str },
    /// In possible calls without an opener, from `start`.
    Bare { start: usize, sequence: Sequence },
    /// In text that may have openers.
    Text,
    /// In possible calls after an opener at `start`.
    Calls { start: usize, sequence: Sequence },
    /// In text that has no calls, unless it proves to be thoughts.
    NoCalls,
}

/// Result of one step.
enum ScanProgress {
    Continue,
    /// More text is needed, or the text is at its end.
    Stop,
    Recovered(Vec<RecoveredCall>, Format),
}

impl<D: Declared> CallScanner<D> {
    /// Creates a scanner with the default limits.
    pub fn new(declared: D, formats: Formats) -> Self {
        Self::with_limits(declared, formats, CallLimits::default())
    }

    /// Creates a scanner with other limits.
    pub fn with_limits(declared: D, formats: Formats, limits: CallLimits) -> Self {
        Self {
            declared,
            formats,
            limits,
            text: String::new(),
            sent: 0,
            text_end: 0,
            at: 0,
            state: ScanState::Start { may_think: true },
            context: CodeContext::default(),
            open_thoughts: None,
            may_restart: true,
            tried: 0,
            reason: None,
        }
    }

    /// Appends a piece, and returns the next part of the text that certainly does not belong to a call.
    #[must_use = "the returned text is not returned again"]
    pub fn push(&mut self, piece: &str) -> &str {
        self.remove_sent();
        self.extend(piece);
        let start = self.sent;
        self.sent = self.text_end.max(start);
        self.text.get(start..self.sent).unwrap_or_default()
    }

    /// Returns the number of bytes that are held.
    pub fn held(&self) -> usize {
        self.text.len() - self.sent
    }

    /// Ends the text, and returns the calls and the rest of the text.
    pub fn finish(mut self) -> Recovered {
        let found = self.advance(true);
        let end = if found.is_some() {
            self.text_end
        } else {
            self.text.len()
        };
        let text = self.text.get(self.sent..end).unwrap_or_default().to_owned();
        let (calls, format) = found.unzip();
        Recovered {
            reason: if format.is_some() { None } else { self.reason },
            calls: calls.unwrap_or_default(),
            text,
            format,
        }
    }

    /// Ends the text without calls, and returns the text that is held. For a message that was cut off, or whose text is not its end.
    #[must_use = "the returned text is not returned again"]
    pub fn release(mut self) -> String {
        self.text.split_off(self.sent)
    }

    fn extend(&mut self, piece: &str) {
        self.text.push_str(piece);
        self.advance(false);
    }

    /// Removes returned text, unless a sequence has positions in the text.
    fn remove_sent(&mut self) {
        if self.sent == 0 || matches!(self.state, ScanState::Bare { .. } | ScanState::Calls { .. }) {
            return;
        }
        self.text.drain(..self.sent);
        self.at -= self.sent;
        self.text_end -= self.sent;
        self.sent = 0;
    }

    fn advance(&mut self, is_complete: bool) -> Option<(Vec<RecoveredCall>, Format)> {
        if self.formats.is_empty() {
            self.at = self.text.len();
            self.text_end = self.at;
            return None;
        }
        loop {
            let progress = match self.state {
                ScanState::Start { may_think } => self.start(may_think, is_complete),
                ScanState::Thoughts { closing } => self.thoughts(closing, is_complete),
                ScanState::Bare { .. } | ScanState::Calls { .. } => self.sequence(is_complete),
                ScanState::Text => self.text(is_complete),
                ScanState::NoCalls => self.no_calls(is_complete),
            };
            match progress {
                ScanProgress::Continue => {}
                ScanProgress::Stop => return None,
                ScanProgress::Recovered(calls, format) => return Some((calls, format)),
            }
        }
    }

    fn source(&self, is_complete: bool) -> Source<'_> {
        Source {
            text: &self.text,
            is_complete,
        }
    }

    /// Skips white space at the beginning, and finds thoughts there.
    fn start(&mut self, may_think: bool, is_complete: bool) -> ScanProgress {
        let spaces = self.text.get(self.at..).unwrap_or_default().chars();
        for space in spaces.take_while(|character| character.is_whitespace()) {
            self.at += space.len_utf8();
            if self.at - self.text_end > MAX_SPACE {
                self.text_end = self.at;
            }
        }
        if self.at == self.text.len() {
            return ScanProgress::Stop;
        }
        let (source, at) = (self.source(is_complete), self.at);
        let thought = if may_think {
            thoughts::tag(source, at)
        } else {
            Lookahead::NoMatch
        };
        self.state = match thought {
            Lookahead::Incomplete => return ScanProgress::Stop,
            Lookahead::Match(ThoughtTag::Opening { closing, end }) => {
                self.at = end;
                self.may_restart = false;
                ScanState::Thoughts { closing }
            }
            _ => {
                let forms = Forms {
                    tags: false,
                    json: self.formats.contains(Format::Json),
                    python: self.formats.contains(Format::Python),
                };
                if forms.json || forms.python {
                    ScanState::Bare {
                        start: at,
                        sequence: Sequence::new(at, forms),
                    }
                } else {
                    ScanState::Text
                }
            }
        };
        ScanProgress::Continue
    }

    /// Searches for the end of thoughts at the beginning.
    fn thoughts(&mut self, closing: &str, is_complete: bool) -> ScanProgress {
        let source = self.source(is_complete);
        let Some(found) = source.rest(self.at).find(closing) else {
            let mut next = source.text.len().saturating_sub(closing.len() - 1).max(self.at);
            while !source.text.is_char_boundary(next) {
                next -= 1;
            }
            self.at = next;
            self.text_end = next;
            self.reason = Some(TextReason::Incomplete);
            return ScanProgress::Stop;
        };
        self.at += found + closing.len();
        self.text_end = self.at;
        self.reason = None;
        self.state = ScanState::Start { may_think: false };
        ScanProgress::Continue
    }

    /// Reads possible calls.
    fn sequence(&mut self, is_complete: bool) -> ScanProgress {
        let (ScanState::Bare { start, sequence } | ScanState::Calls { start, sequence }) = &mut self.state
        else {
            return ScanProgress::Continue;
        };
        let start = *start;
        let mut limit = self.text.len().min(start.saturating_add(self.limits.held));
        while !self.text.is_char_boundary(limit) {
            limit -= 1;
        }
        let is_cut = limit < self.text.len();
        let source = Source {
            text: self.text.get(..limit).unwrap_or_default(),
            is_complete: is_complete && !is_cut,
        };
        let end = match sequence.advance(source, &self.declared) {
            SequenceEnd::Open if is_cut => SequenceEnd::Failed(TextReason::TooLong),
            end => end,
        };
        let is_bare = matches!(self.state, ScanState::Bare { .. });
        match end {
            SequenceEnd::Open => return ScanProgress::Stop,
            SequenceEnd::Calls { calls, format } => return ScanProgress::Recovered(calls, format),
            SequenceEnd::Failed(reason) => {
                self.reason = Some(reason);
                self.at = start;
                self.state = if is_bare {
                    ScanState::Text
                } else {
                    ScanState::NoCalls
                };
            }
            SequenceEnd::NoPayload { .. } if is_bare => self.state = ScanState::Text,
            SequenceEnd::NoPayload { at } => {
                // The openers are text. At least one character is skipped, since a payload may also be an opener.
                let skipped = self.text.get(start..at.max(start + 1)).unwrap_or("<");
                self.context.push_all(skipped);
                self.at = start + skipped.len();
                self.text_end = start + skipped.trim_end().len();
                self.state = ScanState::Text;
            }
        }
        ScanProgress::Continue
    }

    /// Searches for openers, and for `</think>`.
    fn text(&mut self, is_complete: bool) -> ScanProgress {
        let tags = self.formats.contains(Format::Tags);
        while let Some(character) = self.source(is_complete).rest(self.at).chars().next() {
            let source = self.source(is_complete);
            if character == '<' {
                match thoughts::tag(source, self.at) {
                    Lookahead::Incomplete => return ScanProgress::Stop,
                    Lookahead::Match(tag) => {
                        if self.thought_tag(tag) {
                            return ScanProgress::Continue;
                        }
                    }
                    Lookahead::NoMatch => {}
                }
            }
            let source = self.source(is_complete);
            if tags && matches!(character, '<' | '[' | 'f') {
                match opener(source, self.at, &self.context) {
                    Lookahead::Incomplete => return ScanProgress::Stop,
                    Lookahead::Match(_) if self.context.is_code() => self.reason = Some(TextReason::Quoted),
                    Lookahead::Match(_) if self.tried == MAX_TRIED => {
                        self.reason = Some(TextReason::TooMany);
                        self.state = ScanState::NoCalls;
                        return ScanProgress::Continue;
                    }
                    Lookahead::Match(end) => {
                        self.tried += 1;
                        let forms = Forms {
                            tags: true,
                            json: true,
                            python: true,
                        };
                        self.state = ScanState::Calls {
                            start: self.at,
                            sequence: Sequence::new(end, forms),
                        };
                        return ScanProgress::Continue;
                    }
                    Lookahead::NoMatch => {}
                }
            }
            self.context.push(character);
            self.at += character.len_utf8();
            if !character.is_whitespace() || self.at - self.text_end > MAX_SPACE {
                self.text_end = self.at;
            }
        }
        ScanProgress::Stop
    }

    /// Searches only for `</think>`.
    fn no_calls(&mut self, is_complete: bool) -> ScanProgress {
        while self.may_restart
            && let Some(found) = self.text.get(self.at..).and_then(|rest| rest.find('<'))
        {
            self.at += found;
            self.text_end = self.at;
            match thoughts::tag(self.source(is_complete), self.at) {
                Lookahead::Incomplete => return ScanProgress::Stop,
                Lookahead::Match(tag) => {
                    if self.thought_tag(tag) {
                        return ScanProgress::Continue;
                    }
                }
                Lookahead::NoMatch => {}
            }
            self.at += 1;
        }
        self.at = self.text.len();
        self.text_end = self.at;
        ScanProgress::Stop
    }

    /// Reads a tag of thoughts in the middle of the text. Returns whether the text up to the tag is thoughts.
    fn thought_tag(&mut self, tag: ThoughtTag) -> bool {
        match tag {
            ThoughtTag::Opening { closing, .. } => {
                self.open_thoughts = Some(closing);
                false
            }
            ThoughtTag::Closing { .. } if self.open_thoughts.take().is_some() || !self.may_restart => false,
            ThoughtTag::Closing { end } => {
                self.at = end;
                self.text_end = end;
                self.may_restart = false;
                self.context = CodeContext::default();
                self.tried = 0;
                self.reason = None;
                self.state = ScanState::Start { may_think: false };
                true
            }
        }
    }
}

/// Reads an opener at a position, and returns the position of the first payload.
fn opener(source: Source<'_>, at: usize, context: &CodeContext) -> Lookahead<usize> {
    let wrapper = source
        .literal(at, MISTRAL)
        .or_else(|| source.literal(at, FUNCTOOLS).map(|end| end - 1))
        .or_else(|| {
            Tag::read(source, at).and_then(|tag| match tag.role() {
                Role::Opener => Lookahead::Match(tag.end),
                _ => Lookahead::NoMatch,
            })
        });
    wrapper.or_else(|| is_opener(source, at, context.words_in_line() <= 1).map(|()| at))
}

/// Opener of Phi.
const FUNCTOOLS: &str = "functools[";

/// Maximum number of openers without a payload.
const MAX_TRIED: usize = 16;

/// Maximum number of bytes of white space that are held, since a call removes the white space before it.
const MAX_SPACE: usize = 4096;
