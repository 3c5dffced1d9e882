//! Calls as JSON: an object with a name and arguments, a list of objects, or an object with `tool_calls`.

use std::borrow::Cow;

use super::super::declared::{Declared, resolve};
use super::super::json::{self, Member, Unread};
use super::super::recovered::{RecoveredCall, TextReason};

/// Keys of the name.
pub(in super::super) const NAMES: [&str; 4] = ["name", "tool_name", "function", "tool"];

/// Keys of the arguments.
pub(in super::super) const ARGUMENTS: [&str; 5] =
    ["arguments", "parameters", "args", "input", "tool_arguments"];

/// Keys without a meaning for the call.
pub(in super::super) const REST: [&str; 4] = ["id", "type", "index", "tool_call_id"];

/// Key of a list of calls, the only key of its object.
pub(in super::super) const CALLS: &str = "tool_calls";

/// Reads calls from the JSON text of an object or a list. Arguments may be missing only in a wrapper.
pub(super) fn calls(
    json: &str,
    in_wrapper: bool,
    declared: &impl Declared,
) -> Result<Vec<RecoveredCall>, TextReason> {
    if let Some(items) = json::items(json) {
        let calls: Vec<_> = items
            .iter()
            .map(|item| call(item, in_wrapper, true, declared))
            .collect();
        let is_mixed = calls.iter().any(Result::is_ok) && calls.contains(&Err(TextReason::Unreadable));
        return if is_mixed {
            Err(TextReason::Mixed)
        } else {
            calls.into_iter().collect()
        };
    }
    if let Some([Member { key, value }]) = json::members(json).as_deref()
        && key == CALLS
        && value.starts_with('[')
    {
        return calls(value, in_wrapper, declared);
    }
    call(json, in_wrapper, true, declared).map(|call| vec![call])
}

/// Reads one call. `may_nest` allows an object as the function, which only happens once.
fn call(
    json: &str,
    in_wrapper: bool,
    may_nest: bool,
    declared: &impl Declared,
) -> Result<RecoveredCall, TextReason> {
    let members = json::members(json).ok_or(TextReason::Unreadable)?;
    let (mut name, mut arguments) = (None, None);
    for Member { key, value } in members {
        let key = &*key;
        let slot = if NAMES.contains(&key) {
            &mut name
        } else if ARGUMENTS.contains(&key) {
            &mut arguments
        } else if REST.contains(&key) {
            continue;
        } else {
            return Err(TextReason::Unreadable);
        };
        if slot.replace(value).is_some() {
            return Err(TextReason::Unreadable);
        }
    }
    let name = name.ok_or(TextReason::Unreadable)?;
    // `{"type": "function", "function": {"name": …, "arguments": …}}`
    if may_nest && name.starts_with('{') && arguments.is_none() {
        return call(name, in_wrapper, false, declared);
    }
    let name = json::string(name).ok_or(TextReason::Unreadable)?;
    let arguments = match arguments {
        Some(json) => object(json)?,
        None if in_wrapper => Cow::Borrowed("{}"),
        None => return Err(TextReason::Unreadable),
    };
    let name = resolve(&name, declared).ok_or(TextReason::NotDeclared)?;
    Ok(RecoveredCall::new(name, arguments))
}

/// Returns the arguments as an object: an object, a string that contains an object, or `null` for no arguments.
fn object(json: &str) -> Result<Cow<'_, str>, TextReason> {
    if json == "null" {
        return Ok(Cow::Borrowed("{}"));
    }
    if json.starts_with('{') {
        return Ok(Cow::Borrowed(json));
    }
    let text = json::string(json).ok_or(TextReason::Unreadable)?;
    let read = Some(text.trim())
        .filter(|text| text.starts_with('{'))
        .ok_or(TextReason::Unreadable)?;
    Ok(Cow::Owned(arguments(read)?.into_owned()))
}

/// Reads the text of an object with arguments.
pub(super) fn arguments(text: &str) -> Result<Cow<'_, str>, TextReason> {
    let json = json::read(text).map_err(reason)?;
    if json.trim_start().starts_with('{') {
        Ok(json)
    } else {
        Err(TextReason::Unreadable)
    }
}

/// Converts the reason why JSON could not be read to the reason why the text stays text.
pub(super) fn reason(unread: Unread) -> TextReason {
    match unread {
        Unread::Truncated => TextReason::Incomplete,
        Unread::Refused => TextReason::Unreadable,
    }
}
