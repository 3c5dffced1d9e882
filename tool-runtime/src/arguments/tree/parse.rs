//! Parses text into a [`Node`] and repairs it where it is not JSON. Lenient syntax is accepted nowhere else.

use std::borrow::Cow;

use tool_repair::{FixCode, Fixes, Reason, Repaired, Status, repair};

use super::json::{ParseError, parse};
use super::node::Node;
use crate::arguments::policy::Policy;
use crate::arguments::tokens::Fault;
use crate::wire::issue::{Code, Issue, excerpt};

/// What a text became, and what was done to get there.
#[derive(Debug)]
pub(crate) struct Read<'a> {
    pub(crate) node: Node<'a>,
    /// One warning, unless the text was JSON.
    pub(crate) repaired: Option<Issue>,
}

/// Why a text is no tree.
pub(crate) enum Unread {
    /// It is JSON, repaired or not, that is not read; or no repair was tried.
    Unreadable(ParseError),
    /// It is not JSON as it stands, and no repair of it was certain.
    NotJson {
        /// The first byte that has no place.
        offset: usize,
        /// What has one there.
        expected: &'static str,
        obstacle: ParseFailure,
    },
    /// It was cut off.
    Truncated(ParseFailure),
}

/// What stands in the way of a repair, and at which byte.
pub(crate) struct ParseFailure {
    pub(crate) offset: usize,
    pub(crate) message: Cow<'static, str>,
}

/// Reads one whole text of at most `levels` levels.
pub(crate) fn read(text: &str, levels: usize, policy: Policy) -> Result<Read<'_>, Unread> {
    let mut error = match parse(text, levels) {
        Ok(node) => return Ok(Read { node, repaired: None }),
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
        return match surrounding_text(text, &repaired.fixes, policy) {
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

/// Whether the repair stopped at its own limit of levels, which is above that of arguments.
fn is_too_deep(repaired: &Repaired<'_>) -> bool {
    repaired.reason.as_ref().is_some_and(Reason::is_too_deep)
}

/// Whether words around the object may mean that it is not to be taken as it stands. Whatever they say is lost,
/// which Lossless does not allow; and an object in the middle of a sentence is talked about, not sent.
fn surrounding_text(text: &str, fixes: &Fixes, policy: Policy) -> Option<ParseFailure> {
    let (before, after) = words_around(text);
    let has = |wanted| fixes.counts().any(|(code, _)| code == wanted);
    let apart = |words: &str, mark: Option<char>, marks: &[char]| {
        let may_be_lost = policy != Policy::Lossless || is_fence(words);
        may_be_lost && mark.is_some_and(|mark| marks.contains(&mark))
    };
    let space = [' ', '\t'];
    // Behind a colon, on a line of its own, in a fence or in tags.
    let mark = before.trim_end_matches(space).chars().next_back();
    if has(FixCode::TextBefore) && !apart(before, mark, &[':', '\u{ff1a}', '\n', '\r', '`', '>']) {
        let message = "there are words before the object; send the object alone".into();
        return Some(ParseFailure { offset: 0, message });
    }
    let mark = after.trim_start_matches(space).chars().next();
    if has(FixCode::TextAfter) && !apart(after, mark, &['\n', '\r', '`', '<']) {
        let offset = text.len() - after.trim_start().len();
        let message = "there are words behind the value; send the value alone".into();
        return Some(ParseFailure { offset, message });
    }
    None
}

/// Whether nothing is lost with these words: they are the fence of a block of code.
fn is_fence(words: &str) -> bool {
    let marks = words.trim();
    let language = marks.trim_start_matches('`');
    marks.len() - language.len() >= 3 && language.chars().all(|letter| letter.is_ascii_alphanumeric())
}

/// What stands before the first bracket of a repaired text, and behind its last: its words have none.
fn words_around(text: &str) -> (&str, &str) {
    let begin = text.find('{').unwrap_or_default();
    let end = text.rfind(['}', ']']).map_or(text.len(), |last| last + 1);
    (
        text.get(..begin).unwrap_or_default(),
        text.get(end..).unwrap_or_default(),
    )
}

/// What a string holds nests deeper than is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TooDeep;

/// Reads the list or the object that a string holds: all of it, without a word around it.
pub(crate) fn read_inner<'a>(text: &Cow<'a, str>, levels: usize) -> Result<Option<Read<'a>>, TooDeep> {
    let read = match text {
        Cow::Borrowed(text) => parse(text, levels),
        Cow::Owned(text) => parse(text, levels).map(Node::into_owned),
    };
    match read {
        Ok(node) => Ok(Some(Read { node, repaired: None })),
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
            if repaired.status != Status::Repaired || repaired.fixes.counts().any(|(code, _)| is_beside(code))
            {
                return Ok(None);
            }
            match parse(&repaired.text, levels) {
                Ok(node) => Ok(Some(Read {
                    node: node.into_owned(),
                    repaired: Some(repaired_warning(text, &repaired.fixes)),
                })),
                Err(error) if error.fault == Fault::TooDeep => Err(TooDeep),
                Err(_) => Ok(None),
            }
        }
        Err(_) => Ok(None),
    }
}

/// Whether a repair left out more than marks of syntax: then the text was not one value.
fn is_beside(code: FixCode) -> bool {
    matches!(
        code,
        FixCode::TextBefore
            | FixCode::TextAfter
            | FixCode::ExtraClosers
            | FixCode::EmptyPrefix
            | FixCode::Doubled
    )
}

/// One warning for a whole repair: what kinds of changes, how many, the first of them, and the words left out.
fn repaired_warning(text: &str, fixes: &Fixes) -> Issue {
    let kinds: Vec<String> = fixes
        .counts()
        .map(|(code, count)| format!("{} × {count}", code.as_str()))
        .collect();
    let mut done = vec![kinds.join(", ")];
    if let Some(fix) = fixes.first().first() {
        done.push(format!("the first at byte {}: {}", fix.offset, fix.message));
    }
    let (before, after) = words_around(text);
    for (code, words) in [(FixCode::TextBefore, before), (FixCode::TextAfter, after)] {
        if fixes.counts().any(|(found, _)| found == code) {
            done.push(format!("left out: `{}`", excerpt(words.trim())));
        }
    }
    let message = format!(
        "this was not JSON and was repaired ({}); send JSON",
        done.join("; ")
    );
    Issue::warning(Code::JsonRepaired, "", message)
}
