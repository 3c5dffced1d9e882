//! Root of the arguments: an object, or an error with the expected arguments.

use std::borrow::Cow;

use crate::arguments::caller::Caller;
use crate::arguments::input::tokens::Fault;
use crate::arguments::input::tree::json::ParseError;
use crate::arguments::input::tree::node::{Members, Node};
use crate::arguments::input::tree::parse::{self, Read, TooDeep, Unread};
use crate::arguments::policy::Policy;
use crate::arguments::report::messages;
use crate::schema::compiled::name::fold;
use crate::wire::depth;
use crate::wire::issue::{Code, Issue, excerpt};
use crate::wire::raw_arguments::RawArguments;

/// Reads the arguments as an object, with the issues of the conversion.
pub(crate) fn object<'a>(
    input: &'a RawArguments<'_>,
    policy: Policy,
    caller: Caller<'_>,
) -> Result<(Node<'a>, Vec<Issue>), Issue> {
    match input {
        RawArguments::Text(text) => from_text(text, policy, caller),
        RawArguments::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => from_text(text, policy, caller),
            Err(error) => Err(Issue::error(
                Code::JsonParseError,
                "",
                format!(
                    "byte {} is not UTF-8; send JSON text in UTF-8",
                    error.valid_up_to()
                ),
            )),
        },
        RawArguments::Value(value) if depth::is_too_deep(value) => Err(messages::too_deep()),
        RawArguments::Value(value) => from_node(Node::from_value(value), policy),
    }
}

fn from_text<'a>(text: &'a str, policy: Policy, caller: Caller<'_>) -> Result<(Node<'a>, Vec<Issue>), Issue> {
    if text.trim().is_empty() {
        return Ok(empty());
    }
    let Read {
        node,
        repaired,
        tool_name,
    } = parse::read(text, depth::MAX_DEPTH, policy).map_err(|unread| refused(text, &unread))?;
    if let (Some(name), Caller::Model(tool)) = (tool_name, caller)
        && fold(&name) != fold(tool)
    {
        return Err(other_tool(&name, tool));
    }
    let (node, decoded) = from_node(node, policy)?;
    Ok((node, repaired.into_iter().chain(decoded).collect()))
}

fn from_node(node: Node<'_>, policy: Policy) -> Result<(Node<'_>, Vec<Issue>), Issue> {
    match node {
        Node::Object(_) => Ok((node, Vec::new())),
        Node::Null => Ok(empty()),
        Node::Text(text) if policy != Policy::Strict => match decoded(&text) {
            Ok(Some(Read { node, repaired, .. })) => {
                let message =
                    "the arguments were a string with JSON and were decoded; send the object itself";
                let decoded = Issue::warning(Code::JsonStringDecoded, "", message);
                Ok((node, [decoded].into_iter().chain(repaired).collect()))
            }
            Ok(None) => Err(not_an_object(&Node::Text(text))),
            Err(TooDeep) => Err(messages::too_deep()),
        },
        other => Err(not_an_object(&other)),
    }
}

/// Decodes the object in a string.
fn decoded<'a>(text: &Cow<'a, str>) -> Result<Option<Read<'a>>, TooDeep> {
    if !text.trim_start().starts_with('{') {
        return Ok(None);
    }
    let read = parse::read_inner(text, depth::MAX_DEPTH)?;
    Ok(read.filter(|read| matches!(read.node, Node::Object(_))))
}

/// Builds the error for arguments with another tool's name in their packaging, `[TOOL_CALLS]name[ARGS]{…}`.
fn other_tool(name: &str, tool: &str) -> Issue {
    let (name, tool) = (excerpt(name), excerpt(tool));
    let message = format!(
        "expected the parameters of `{tool}`, got a call of `{name}` as text; send the parameters of `{tool}` alone, or call \
         `{name}` itself"
    );
    Issue::error(Code::ToolNameMismatch, "", message).about(&name)
}

fn empty<'a>() -> (Node<'a>, Vec<Issue>) {
    let message = "missing arguments were read as {}; send an object";
    (
        Node::Object(Members::default()),
        vec![Issue::warning(Code::EmptyArguments, "", message)],
    )
}

fn not_an_object(sent: &Node<'_>) -> Issue {
    let message = format!(
        "invalid arguments {}; expected a JSON object with the parameters by name",
        messages::shown(sent)
    );
    messages::refused(Code::ArgumentsNotObject, sent, message)
}

fn refused(text: &str, unread: &Unread) -> Issue {
    match unread {
        Unread::Unreadable(error) => parse_error(text, error),
        Unread::Truncated(obstacle) => {
            let (line, column) = line_column(text, obstacle.offset);
            let message = format!(
                "truncated at line {line} column {column} (byte {}): {}; expected complete JSON",
                obstacle.offset, obstacle.message
            );
            Issue::error(Code::JsonParseError, "", message).sent_as(text)
        }
        Unread::NotJson {
            offset,
            expected,
            obstacle,
        } => {
            let (line, column) = line_column(text, obstacle.offset);
            let message = format!(
                "{}, and it has no unambiguous repair (line {line} column {column}: {}); expected valid JSON",
                not_json(text, *offset, expected),
                obstacle.message
            );
            Issue::error(Code::JsonParseError, "", message).sent_as(text)
        }
    }
}

fn parse_error(text: &str, error: &ParseError) -> Issue {
    let (line, column) = line_column(text, error.offset);
    match error.fault {
        Fault::TooDeep => messages::too_deep(),
        Fault::LoneSurrogate => Issue::error(
            Code::JsonParseError,
            error.path(),
            format!("lone surrogate at line {line} column {column}; expected the character itself"),
        ),
        Fault::Syntax(expected) => {
            let message = format!("{}; expected valid JSON", not_json(text, error.offset, expected));
            Issue::error(Code::JsonParseError, "", message).sent_as(text)
        }
    }
}

/// Returns the message for text that is not JSON: the position of the fault, and the character there.
fn not_json(text: &str, offset: usize, expected: &str) -> String {
    let (line, column) = line_column(text, offset);
    let rest = text.get(offset..).unwrap_or_default();
    let found = match rest.lines().next() {
        Some(line) => format!("found `{}`", excerpt(line)),
        None => "the text ends".to_owned(),
    };
    format!("not JSON at line {line} column {column} (byte {offset}): {expected}, {found}")
}

/// Returns the line and the column of a byte, both counted from 1.
fn line_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}
