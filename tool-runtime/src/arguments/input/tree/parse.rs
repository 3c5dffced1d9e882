//! Parses text into a [`Node`], and repairs text that is not JSON. No other module accepts lenient syntax.

use std::borrow::Cow;

use tool_repair::{FixCode, Fixes, Reason, Repaired, Status, repair};

use super::json::{ParseError, parse};
use super::node::Node;
use crate::arguments::input::tokens::Fault;
use crate::arguments::policy::Policy;
use crate::wire::issue::{Code, Issue, excerpt};

/// Tree of a text, and the changes from repairing it.
#[derive(Debug)]
pub(crate) struct Read<'a> {
    pub(crate) node: Node<'a>,
    /// The warning about the repair; `None` if the text was JSON.
    pub(crate) repaired: Option<Issue>,
    /// Name of the tool in the packaging of the text.
    pub(crate) tool_name: Option<String>,
}

impl<'a> Read<'a> {
    /// Creates the result for a JSON text.
    fn json(node: Node<'a>) -> Self {
        Self {
            node,
            repaired: None,
            tool_name: None,
        }
    }
}

/// Reason why a text has no tree.
pub(crate) enum Unread {
    /// The text is JSON, repaired or not, but cannot be read; or no repair was tried.
    Unreadable(ParseError),
    /// The text is not JSON, and no repair was certain.
    NotJson {
        /// Offset of the first unexpected byte.
        offset: usize,
        /// The expected syntax.
        expected: &'static str,
        obstacle: ParseFailure,
    },
    /// The text was cut off.
    Truncated(ParseFailure),
}

/// Obstacle to a repair, with its offset.
pub(crate) struct ParseFailure {
    pub(crate) offset: usize,
    pub(crate) message: Cow<'static, str>,
}

/// Reads a whole text of at most `levels` levels.
pub(crate) fn read(text: &str, levels: usize, policy: Policy) -> Result<Read<'_>, Unread> {
    let mut error = match parse(text, levels) {
        Ok(node) => return Ok(Read::json(node)),
        Err(error) => error,
    };
    let Fault::Syntax(expected) = error.fault else {
        return Err(Unread::Unreadable(error));
    };
    if policy == Policy::Strict {
        return Err(Unread::Unreadable(error));
    }
    let offset = error.offset;
    let repaired = repair(text);
    if repaired.status == Status::Repaired {
        return match lost_sentence(text, &repaired.fixes, policy) {
            Some(obstacle) => Err(Unread::NotJson {
                offset,
                expected,
                obstacle,
            }),
            None => Ok(Read {
                node: parse(&repaired.text, levels)
                    .map_err(Unread::Unreadable)?
                    .into_owned(),
                repaired: Some(repaired_warning(text, &repaired.fixes)),
                tool_name: repaired.tool_name,
            }),
        };
    }
    if is_too_deep(&repaired) {
        error.fault = Fault::TooDeep;
        return Err(Unread::Unreadable(error));
    }
    let Repaired { status, reason, .. } = repaired;
    Err(
        match reason.map(|reason| ParseFailure {
            offset: reason.offset,
            message: reason.message,
        }) {
            Some(obstacle) if status == Status::Truncated => Unread::Truncated(obstacle),
            Some(obstacle) => Unread::NotJson {
                offset,
                expected,
                obstacle,
            },
            None => Unread::Unreadable(error),
        },
    )
}

/// Returns whether the repair stopped at its own depth limit, which exceeds the limit of arguments.
fn is_too_deep(repaired: &Repaired<'_>) -> bool {
    repaired.reason.as_ref().is_some_and(Reason::is_too_deep)
}

/// Returns the sentence around the value that the repair removed: Lossless does not allow the loss of its content.
fn lost_sentence(text: &str, fixes: &Fixes, policy: Policy) -> Option<ParseFailure> {
    let (code, offset, _) = removed_sentences(text, fixes)
        .next()
        .filter(|_| policy == Policy::Lossless)?;
    let message = if code == FixCode::TextBefore {
        "there is text before the value; send the value alone"
    } else {
        "there is text after the value; send the value alone"
    };
    Some(ParseFailure {
        offset,
        message: message.into(),
    })
}

/// Returns the removed sentences before and after the value, with their offsets.
fn removed_sentences<'a>(text: &'a str, fixes: &'a Fixes) -> impl Iterator<Item = (FixCode, usize, &'a str)> {
    let codes = [FixCode::TextBefore, FixCode::TextAfter].into_iter();
    let codes = codes.filter(|code| fixes.counts().any(|(found, _)| found == *code));
    codes.map(move |code| {
        // If there are many fixes, the last ones are only counted. Removed sentences have no brackets.
        let place = fixes.iter().find(|fix| fix.code == code).map(|fix| fix.offset);
        let offset = place.unwrap_or_else(|| text.rfind(['}', ']']).map_or(0, |last| last + 1));
        let words = text.get(offset..).unwrap_or_default();
        let words = match code {
            FixCode::TextBefore => words.split(['{', '[']).next().unwrap_or_default(),
            _ => words,
        };
        (code, offset, words)
    })
}

/// A string contains a value that nests too deeply.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TooDeep;

/// Reads a string that is a list or an object, without text around it.
pub(crate) fn read_inner<'a>(text: &Cow<'a, str>, levels: usize) -> Result<Option<Read<'a>>, TooDeep> {
    let read = match text {
        Cow::Borrowed(text) => parse(text, levels),
        Cow::Owned(text) => parse(text, levels).map(Node::into_owned),
    };
    match read {
        Ok(node) => Ok(Some(Read::json(node))),
        Err(ParseError {
            fault: Fault::TooDeep,
            ..
        }) => Err(TooDeep),
        Err(ParseError {
            fault: Fault::Syntax(_),
            ..
        }) => {
            let repaired = repair(text);
            if is_too_deep(&repaired) {
                return Err(TooDeep);
            }
            if repaired.status != Status::Repaired
                || repaired.fixes.counts().any(|(code, _)| is_removed_text(code))
            {
                return Ok(None);
            }
            match parse(&repaired.text, levels) {
                Ok(node) => Ok(Some(Read {
                    node: node.into_owned(),
                    repaired: Some(repaired_warning(text, &repaired.fixes)),
                    tool_name: repaired.tool_name,
                })),
                Err(error) if error.fault == Fault::TooDeep => Err(TooDeep),
                Err(_) => Ok(None),
            }
        }
        Err(_) => Ok(None),
    }
}

/// Returns whether a repair removed text beside the value, so that the text was not a single value.
fn is_removed_text(code: FixCode) -> bool {
    matches!(
        code,
        FixCode::TextBefore
            | FixCode::TextAfter
            | FixCode::Packaging
            | FixCode::ExtraClosers
            | FixCode::MissingBracket
            | FixCode::DoubledBraces
            | FixCode::EmptyPrefix
            | FixCode::Doubled
    )
}

/// Builds the warning about a repair: the kinds and number of changes, the first change, and the removed words.
fn repaired_warning(text: &str, fixes: &Fixes) -> Issue {
    let kinds: Vec<String> = fixes
        .counts()
        .map(|(code, count)| format!("{} × {count}", code.as_str()))
        .collect();
    let mut done = vec![kinds.join(", ")];
    if let Some(fix) = fixes.first().first() {
        done.push(format!("the first at byte {}: {}", fix.offset, fix.message));
    }
    done.extend(
        removed_sentences(text, fixes).map(|(_, _, words)| format!("left out: `{}`", excerpt(words.trim()))),
    );
    let message = format!(
        "this was not JSON and was repaired ({}); send JSON",
        done.join("; ")
    );
    Issue::warning(Code::JsonRepaired, "", message)
}
