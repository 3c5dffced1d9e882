//! Text → [`Node`], repaired where it is not JSON: the only place where leniency of syntax meets the arguments.

use std::borrow::Cow;

use super::node::Node;
use super::parse::{Fault, ParseError, parse};
use crate::issue::{Code, Issue};
use crate::repair::{FixCode, Fixes, Reason, Status, repair};

/// What a text became, and what was done to get there.
pub(crate) struct Read<'a> {
    pub(crate) node: Node<'a>,
    /// One warning, unless the text was JSON.
    pub(crate) repaired: Option<Issue>,
}

/// Why a text is no tree.
pub(crate) enum Unread {
    /// It is not JSON as it stands, and no repair of it was certain.
    NotJson(ParseError, Reason),
    /// It was cut off.
    Truncated(Reason),
    /// It is JSON, repaired or not, that is not read.
    Unreadable(ParseError),
}

/// Reads one whole text of at most `levels` levels.
pub(crate) fn read(text: &str, levels: usize) -> Result<Read<'_>, Unread> {
    let error = match parse(text, levels) {
        Ok(node) => return Ok(Read { node, repaired: None }),
        Err(error) => error,
    };
    if !matches!(error.fault, Fault::Syntax(_)) {
        return Err(Unread::Unreadable(error));
    }
    let repaired = repair(text);
    match (repaired.status, repaired.reason) {
        (Status::Repaired, _) => Ok(Read {
            node: parse(&repaired.text, levels)
                .map_err(Unread::Unreadable)?
                .into_owned(),
            repaired: Some(told(&repaired.fixes)),
        }),
        (Status::Truncated, Some(reason)) => Err(Unread::Truncated(reason)),
        (_, Some(reason)) => Err(Unread::NotJson(error, reason)),
        (_, None) => Err(Unread::Unreadable(error)),
    }
}

/// Reads the list or the object that a string holds: all of it, without a word around it.
pub(crate) fn read_inner<'a>(text: &Cow<'a, str>, levels: usize) -> Option<Read<'a>> {
    let read = match text {
        Cow::Borrowed(text) => parse(text, levels),
        Cow::Owned(text) => parse(text, levels).map(Node::into_owned),
    };
    match read {
        Ok(node) => Some(Read { node, repaired: None }),
        Err(ParseError {
            fault: Fault::Syntax(_),
            ..
        }) => {
            let repaired = repair(text);
            if repaired.status != Status::Repaired || repaired.fixes.counts().any(|(code, _)| is_beside(code))
            {
                return None;
            }
            Some(Read {
                node: parse(&repaired.text, levels).ok()?.into_owned(),
                repaired: Some(told(&repaired.fixes)),
            })
        }
        Err(_) => None,
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

/// One warning for a whole repair: what kinds of changes, how many, and the first of them.
fn told(fixes: &Fixes) -> Issue {
    let kinds: Vec<String> = fixes
        .counts()
        .map(|(code, count)| format!("{} × {count}", code.as_str()))
        .collect();
    let first = match fixes.first().first() {
        Some(fix) => format!("; the first at byte {}: {}", fix.offset, fix.message),
        None => String::new(),
    };
    let message = format!(
        "this was not JSON and was repaired ({}{first}); send JSON",
        kinds.join(", ")
    );
    Issue::warning(Code::JsonRepaired, "", message)
}
