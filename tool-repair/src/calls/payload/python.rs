//! Calls in the syntax of Python: `f(a=1)`, `[f(a=1), g()]`. Arguments are keywords with literals, or one dict.

use super::super::brackets::split;
use super::super::declared::{Declared, resolve};
use super::super::json::{self, ObjectWriter};
use super::super::recovered::{RecoveredCall, TextReason};
use super::forms::is_part_of_name;
use super::json::arguments;
use crate::fixes::FixCode;
use crate::repairer::{Status, repair};

/// Reads a call, or a list of calls.
pub(super) fn calls(text: &str, declared: &impl Declared) -> Result<Vec<RecoveredCall>, TextReason> {
    let Some(list) = text.strip_prefix('[').and_then(|list| list.strip_suffix(']')) else {
        return call(text, declared).map(|call| vec![call]);
    };
    let mut items = split(list, b',').ok_or(TextReason::Unreadable)?;
    // `[f(),]`
    items.pop_if(|last| last.trim().is_empty());
    let calls: Vec<_> = items.iter().map(|item| call(item.trim(), declared)).collect();
    calls.into_iter().collect()
}

fn call(text: &str, declared: &impl Declared) -> Result<RecoveredCall, TextReason> {
    let (name, arguments) = text.split_once('(').ok_or(TextReason::Unreadable)?;
    let name = identifier(name).ok_or(TextReason::Unreadable)?;
    let arguments = arguments.strip_suffix(')').ok_or(TextReason::Unreadable)?;
    let arguments = keywords(arguments.trim())?;
    let name = resolve(&name, declared).ok_or(TextReason::NotDeclared)?;
    Ok(RecoveredCall::new(name, arguments))
}

/// Reads the arguments between parentheses as an object.
fn keywords(text: &str) -> Result<String, TextReason> {
    if text.is_empty() {
        return Ok("{}".to_owned());
    }
    if text.starts_with('{') {
        return arguments(text).map(std::borrow::Cow::into_owned);
    }
    let mut parts = split(text, b',').ok_or(TextReason::Unreadable)?;
    parts.pop_if(|last| last.trim().is_empty());
    let mut object = ObjectWriter::default();
    for part in parts {
        let (key, value) = part.split_once('=').ok_or(TextReason::Unreadable)?;
        let key = identifier(key).ok_or(TextReason::Unreadable)?;
        let value = literal(value.trim()).ok_or(TextReason::Unreadable)?;
        object.member(&key, &value).ok_or(TextReason::Unreadable)?;
    }
    Ok(object.finish())
}

/// Returns a name with dots, without the backslashes of Markdown: `get\_weather`.
fn identifier(text: &str) -> Option<String> {
    let name = text.trim().replace("\\_", "_");
    let is_name = name.chars().all(is_part_of_name);
    (is_name && !name.starts_with(|first: char| first.is_ascii_digit()) && !name.is_empty()).then_some(name)
}

/// Returns a literal as JSON.
fn literal(text: &str) -> Option<String> {
    if text.is_empty() {
        return None;
    }
    // The literal is repaired inside of a list, since a number as the whole text could still grow.
    let list = format!("[{text}]");
    let repaired = repair(&list);
    let is_literal = match repaired.status {
        Status::Valid => true,
        Status::Repaired => repaired.fixes.counts().all(|(code, _)| LITERALS.contains(&code)),
        _ => false,
    };
    let items = json::items(&repaired.text).filter(|_| is_literal)?;
    match items[..] {
        [item] => Some(item.to_owned()),
        _ => None,
    }
}

/// Changes that convert a literal of Python to JSON. Other changes repair slips, and an expression may look like a slip.
const LITERALS: [FixCode; 14] = [
    FixCode::SingleQuotes,
    FixCode::TripleQuotes,
    FixCode::SmartQuotes,
    FixCode::StringPrefix,
    FixCode::ConcatenatedStrings,
    FixCode::PythonEscape,
    FixCode::UnknownEscape,
    FixCode::ControlCharacter,
    FixCode::InnerQuote,
    FixCode::PythonLiteral,
    FixCode::PythonNumber,
    FixCode::Tuple,
    FixCode::Parentheses,
    FixCode::TrailingComma,
];
