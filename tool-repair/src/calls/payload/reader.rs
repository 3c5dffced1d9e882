//! Reads one payload of a text that may still grow.

use super::super::brackets::{BracketEnd, Brackets, TOKEN_QUOTE};
use super::super::declared::{Declared, resolve};
use super::super::json as json_text;
use super::super::recovered::{Format, RecoveredCall, TextReason};
use super::super::source::{Lookahead, Source};
use super::super::tag::{Role, Tag};
use super::forms::Forms;
use super::head::{FENCE, Head, PayloadForm};
use super::parameters::Markup;
use super::{json, python};

/// A payload whose end is not known yet.
#[derive(Debug)]
pub(in super::super) struct PayloadReader {
    start: usize,
    forms: Forms,
    progress: PayloadProgress,
}

#[derive(Debug)]
enum PayloadProgress {
    Head,
    /// Searches for the closing bracket.
    Brackets {
        head: Head,
        brackets: Brackets,
    },
    /// Reads the closing tag or fence after an object.
    Closing {
        head: Head,
        end: usize,
    },
    /// Searches for the next tag: the brackets of the value do not match, or its strings have quotes.
    NextTag {
        head: Head,
        from: usize,
        reason: TextReason,
    },
    /// Searches for the closing tag of a call with parameters.
    Parameters {
        head: Head,
        from: usize,
    },
}

/// Result of reading a payload.
#[derive(Debug)]
pub(in super::super) enum PayloadStep {
    Complete {
        /// Position after the payload.
        end: usize,
        calls: Vec<RecoveredCall>,
        /// Format of the payload without an opener.
        format: Format,
    },
    /// More text is needed.
    Incomplete,
    /// No payload begins here.
    NotPayload,
    Failed(TextReason),
}

impl PayloadReader {
    pub(in super::super) fn new(start: usize, forms: Forms) -> Self {
        Self {
            start,
            forms,
            progress: PayloadProgress::Head,
        }
    }

    /// Continues in a text that has grown.
    pub(in super::super) fn advance(&mut self, source: Source<'_>, declared: &impl Declared) -> PayloadStep {
        loop {
            let next = match &mut self.progress {
                PayloadProgress::Head => match Head::read(source, self.start, self.forms, declared) {
                    Lookahead::Match(head) => Ok(PayloadProgress::after_head(head)),
                    Lookahead::NoMatch => Err(PayloadStep::NotPayload),
                    Lookahead::Incomplete => Err(PayloadStep::Incomplete),
                },
                PayloadProgress::Brackets { head, brackets } => {
                    let end = brackets.advance(source.text, source.is_complete);
                    let head = head.clone();
                    self.after_brackets(source, head, end, declared)
                }
                PayloadProgress::Closing { head, end } => {
                    let (head, end) = (head.clone(), *end);
                    Err(self.closing(source, &head, end, declared))
                }
                PayloadProgress::NextTag { head, from, reason } => {
                    let found = next_tag(source, from, self.forms);
                    let (head, reason) = (head.clone(), *reason);
                    Err(match found {
                        Lookahead::Incomplete => PayloadStep::Incomplete,
                        Lookahead::Match(end) => self.up_to_tag(source, &head, end, reason, declared),
                        Lookahead::NoMatch => {
                            self.up_to_tag(source, &head, source.text.len(), reason, declared)
                        }
                    })
                }
                PayloadProgress::Parameters { head, from } => Err(parameters(source, head, from, declared)),
            };
            match next {
                Ok(progress) => self.progress = progress,
                Err(step) => return step,
            }
        }
    }

    fn after_brackets(
        &self,
        source: Source<'_>,
        head: Head,
        end: BracketEnd,
        declared: &impl Declared,
    ) -> Result<PayloadProgress, PayloadStep> {
        let is_exact = matches!(
            head.form,
            PayloadForm::Python
                | PayloadForm::NamedInFence
                | PayloadForm::TokenQuotes
                | PayloadForm::FunctionObject
        );
        let next_tag = |head, from, reason| PayloadProgress::NextTag { head, from, reason };
        match end {
            BracketEnd::Open if !source.is_complete => Err(PayloadStep::Incomplete),
            BracketEnd::Open if is_exact => Err(PayloadStep::Failed(TextReason::Incomplete)),
            BracketEnd::Broken if is_exact => Err(PayloadStep::Failed(TextReason::Unreadable)),
            BracketEnd::Open => Ok(next_tag(head.clone(), head.body, TextReason::Incomplete)),
            BracketEnd::Broken => Ok(next_tag(head.clone(), head.body, TextReason::Unreadable)),
            BracketEnd::Closed(end)
                if matches!(head.form, PayloadForm::FunctionObject | PayloadForm::NamedInFence) =>
            {
                Ok(PayloadProgress::Closing { head, end })
            }
            BracketEnd::Closed(end) if is_exact => Err(self.complete(source, &head, end, end, declared)),
            BracketEnd::Closed(end) => {
                // A bracket is redundant, so the repair of the whole payload decides.
                match source.character(end) {
                    Lookahead::Incomplete => return Err(PayloadStep::Incomplete),
                    Lookahead::Match(('}' | ']', _)) => {
                        return Ok(next_tag(head, end, TextReason::Unreadable));
                    }
                    _ => {}
                }
                match self.complete(source, &head, end, end, declared) {
                    PayloadStep::Failed(reason @ (TextReason::Unreadable | TextReason::Incomplete)) => {
                        Ok(next_tag(head.clone(), head.body, reason))
                    }
                    step => Err(step),
                }
            }
        }
    }

    /// Reads the closing tag or fence of an object.
    fn closing(&self, source: Source<'_>, head: &Head, end: usize, declared: &impl Declared) -> PayloadStep {
        let literal = if head.form == PayloadForm::FunctionObject {
            FUNCTION_END
        } else {
            FENCE
        };
        match source.white_space(end).and_then(|at| source.literal(at, literal)) {
            Lookahead::Match(after) => self.complete(source, head, end, after, declared),
            Lookahead::NoMatch if source.rest(end).trim().is_empty() => {
                PayloadStep::Failed(TextReason::Incomplete)
            }
            Lookahead::NoMatch => PayloadStep::Failed(TextReason::Unreadable),
            Lookahead::Incomplete => PayloadStep::Incomplete,
        }
    }

    /// Reads a value up to the next tag.
    fn up_to_tag(
        &self,
        source: Source<'_>,
        head: &Head,
        end: usize,
        reason: TextReason,
        declared: &impl Declared,
    ) -> PayloadStep {
        let value = source.slice(head.body, end).trim_end();
        match self.complete(source, head, head.body + value.len(), end, declared) {
            PayloadStep::Failed(TextReason::Unreadable) => PayloadStep::Failed(reason),
            step => step,
        }
    }

    /// Reads the calls of a payload, whose value is before `end`.
    fn complete(
        &self,
        source: Source<'_>,
        head: &Head,
        end: usize,
        after: usize,
        declared: &impl Declared,
    ) -> PayloadStep {
        let value = source.slice(head.body, end);
        let name = source.slice(head.name.start, head.name.end);
        let (calls, format) = match head.form {
            PayloadForm::Json => {
                let json = json_text::read(value).map_err(json::reason);
                let calls = json.and_then(|json| json::calls(&json, self.forms.tags, declared));
                (calls, Format::Json)
            }
            PayloadForm::Python => (python::calls(value, declared), Format::Python),
            _ => {
                let quoted;
                let value = if head.form == PayloadForm::TokenQuotes {
                    quoted = with_json_quotes(value);
                    &*quoted
                } else {
                    value
                };
                let call = json::arguments(value).and_then(|arguments| {
                    let name = resolve(name, declared).ok_or(TextReason::NotDeclared)?;
                    Ok(vec![RecoveredCall::new(name, arguments)])
                });
                (call, Format::Json)
            }
        };
        match calls {
            Ok(calls) if calls.is_empty() => PayloadStep::Failed(TextReason::Unreadable),
            Ok(calls) => PayloadStep::Complete {
                end: after,
                calls,
                format,
            },
            Err(reason) => PayloadStep::Failed(reason),
        }
    }
}

impl PayloadProgress {
    fn after_head(head: Head) -> Self {
        match head.form {
            PayloadForm::Function | PayloadForm::Invoke(_) | PayloadForm::Keys => Self::Parameters {
                from: head.body,
                head,
            },
            _ => Self::Brackets {
                brackets: Brackets::new(head.bracket, head.form == PayloadForm::TokenQuotes),
                head,
            },
        }
    }
}

/// Finds the next tag around calls. `from` is the position of the search, for the next piece.
fn next_tag(source: Source<'_>, from: &mut usize, forms: Forms) -> Lookahead<usize> {
    while let Some(at) = source.rest(*from).find('<').map(|at| *from + at) {
        *from = at;
        match Tag::read(source, at) {
            Lookahead::Incomplete => return Lookahead::Incomplete,
            Lookahead::Match(tag) if is_separator(tag, forms) => return Lookahead::Match(at),
            _ => *from = at + 1,
        }
    }
    *from = source.text.len();
    source.at_end()
}

/// Returns whether a tag may be between payloads or after the last.
pub(in super::super) fn is_separator(tag: Tag<'_>, forms: Forms) -> bool {
    match tag.role() {
        Role::Opener | Role::Closer => forms.tags,
        Role::EndOfTurn => true,
        Role::Special => !forms.tags,
        Role::Other => false,
    }
}

/// Reads a call with parameters as soon as its closing tag is known.
fn parameters(source: Source<'_>, head: &Head, from: &mut usize, declared: &impl Declared) -> PayloadStep {
    let (markup, closing) = match &head.form {
        PayloadForm::Invoke(namespace) => (Markup::invoke(namespace), format!("</{namespace}invoke>")),
        PayloadForm::Function => (Markup::function(), FUNCTION_END.to_owned()),
        _ => (Markup::keys(), String::new()),
    };
    while let Some(at) = source.rest(*from).find("</").map(|at| *from + at) {
        *from = at;
        let end = if closing.is_empty() {
            Tag::read(source, at).and_then(|tag| match tag.role() {
                Role::Closer => Lookahead::Match(tag.end),
                _ => Lookahead::NoMatch,
            })
        } else {
            source.literal(at, &closing)
        };
        match end {
            Lookahead::Incomplete => return PayloadStep::Incomplete,
            Lookahead::Match(end) => {
                let body = source.slice(head.body, at);
                if body.trim().is_empty() || markup.ends_with_parameter(body) {
                    let name = source.slice(head.name.start, head.name.end);
                    return match markup.call(name, body, declared) {
                        Ok(call) => PayloadStep::Complete {
                            end,
                            calls: vec![call],
                            format: Format::Tags,
                        },
                        Err(reason) => PayloadStep::Failed(reason),
                    };
                }
            }
            Lookahead::NoMatch => {}
        }
        *from = at + 2;
    }
    // The last byte may begin a closing tag.
    *from = source.text.len() - usize::from(source.rest(*from).ends_with('<'));
    if source.is_complete {
        PayloadStep::Failed(TextReason::Incomplete)
    } else {
        PayloadStep::Incomplete
    }
}

/// Replaces token quotes by strings of JSON.
fn with_json_quotes(text: &str) -> String {
    let mut json = String::with_capacity(text.len());
    for (index, part) in text.split(TOKEN_QUOTE).enumerate() {
        if index % 2 == 0 {
            json.push_str(part);
        } else {
            json_text::write_string(part, &mut json);
        }
    }
    json
}

const FUNCTION_END: &str = "</function>";
