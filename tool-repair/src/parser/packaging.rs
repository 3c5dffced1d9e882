//! Removes the packaging of a value: a fence, tags, special tokens, labels, thoughts, and sentences.
//!
//! The structure of the packaging decides, not its words. A sentence with a bracket, a quote or an assignment is refused,
//! since these may be arguments.

use std::mem;

use super::gap::has_quote;
use crate::fixes::FixCode;

/// Position of packaging that may be content, and the reason.
pub(super) type Unclear = (usize, &'static str);

/// The text before the first `{` or `[`.
pub(super) struct Before<'t> {
    pub(super) len: usize,
    /// Code of the change that removes the text.
    pub(super) code: FixCode,
    /// Name of the tool in the text.
    pub(super) tool: Option<&'t str>,
}

/// Parses the text before the first `{` or `[`.
pub(super) fn before(text: &str) -> Result<Before<'_>, Unclear> {
    let (mut rest, mut code, mut fence, mut name) = (text, FixCode::Packaging, false, None);
    let (mut tool, mut names_tool) = (None, false);
    loop {
        rest = rest.trim_start();
        let at = text.len() - rest.len();
        let mut len = mark(rest, &mut fence).map_err(|message| (at, message))?;
        if len == 0 && rest.starts_with(['{', '[']) {
            let message = "a name and a colon before the value, which may be a part of an object";
            return name.map_or(Ok(Before { len: at, code, tool }), |at| Err((at, message)));
        }
        let label_text = if len > 0 {
            // Thoughts and the name of a tool do not describe the value: `<function=report_error>`.
            let tag = rest.split_at(len).0.split('>').next().unwrap_or_default();
            let is_name = |(tag, _): &(&str, &str)| !tag.contains(' ') || tag.ends_with(" name");
            let (tag, named) = tag.split_once('=').filter(is_name).unwrap_or((tag, ""));
            tool = tool_name(named).or(tool);
            names_tool = has_word(tag, "tool call function") && !has_word(tag, "input arg param");
            // All text in the line of a fence describes the value, not only the language.
            let info = rest.strip_prefix("```");
            info.map_or(tag, |info| line(info, &['\n', '\r', '{', '[']))
        } else {
            let line = line(rest, &['\n', '\r', '{', '[', '<']);
            len = line.len();
            let after = rest.get(len..).unwrap_or_default();
            if let Some(named) = tool_name(line).filter(|_| mem::take(&mut names_tool)) {
                (tool, rest) = (Some(named), after);
                continue;
            }
            // Header of Harmony: `commentary to=functions.search`.
            let addressee = line.split_once("to=").and_then(|(_, to)| to.split(' ').next());
            tool = addressee.and_then(tool_name).or(tool);
            if !may_precede(line, after.starts_with(['{', '['])) {
                return Err((at, "text before the value that may be more than a sentence"));
            }
            name = is_name(line).then_some(at);
            let is_label = is_label(line);
            code = if is_label { code } else { FixCode::TextBefore };
            if is_label { line } else { "" }
        };
        if has_word(label_text, BROKEN) {
            return Err((at, "packaging with a label for invalid content"));
        }
        rest = rest.get(len..).unwrap_or_default();
    }
}

/// Parses the text after the value and the white space `space`. Returns the code of the change that removes the text.
pub(super) fn text_after(text: &str, space: &str) -> Result<FixCode, Unclear> {
    let is_line_break = |text: &str| text.contains(['\n', '\r']);
    let (mut rest, mut code, mut fence) = (text, FixCode::Packaging, false);
    let mut new_line = is_line_break(space);
    loop {
        let (space, after) = rest.split_at(rest.len() - rest.trim_start().len());
        new_line |= is_line_break(space);
        rest = after;
        let at = text.len() - rest.len();
        let len = if rest.is_empty() {
            return Ok(code);
        } else if let Some(after) = rest.strip_prefix("```") {
            if mem::replace(&mut fence, true) || after.starts_with(is_part_of_word) {
                return Err((at, "a fence after the value"));
            }
            3
        } else if rest.starts_with('`') || at == 0 && rest.starts_with([',', ';']) {
            1
        } else if ["</", "<|", "<\u{ff5c}"].iter().any(|tag| rest.starts_with(tag)) {
            let end = rest.find('>').ok_or((at, "a tag that does not end"))?;
            let tag = rest.get(..end).unwrap_or_default();
            if has_word(tag, BROKEN) || has_word(tag, "begin") {
                return Err((
                    at,
                    "a tag which says that the value is broken, or that another one follows",
                ));
            }
            end + 1
        } else {
            let line = line(rest, &['\n', '\r', '<']);
            if !may_follow(line, new_line) {
                return Err((at, "expected the end of the text"));
            }
            code = FixCode::TextAfter;
            line.len()
        };
        new_line = false;
        rest = rest.get(len..).unwrap_or_default();
    }
}

/// Returns the text up to the first of the characters in `ends`, or up to a fence.
fn line<'t>(text: &'t str, ends: &[char]) -> &'t str {
    let line = text.split(ends).next().unwrap_or_default();
    line.split("```").next().unwrap_or_default()
}

/// Returns the length of the fence, the tag, the special token or the thoughts at the start of `text`; 0 if there is none.
fn mark(text: &str, fence: &mut bool) -> Result<usize, &'static str> {
    if let Some((_, closing)) = PAIRS.iter().find(|(opening, _)| text.starts_with(opening)) {
        let end = text.find(closing).map(|end| end + closing.len());
        return end.ok_or("thoughts or a special token that do not end");
    }
    if let Some(after) = text.strip_prefix("```") {
        if mem::replace(fence, true) {
            return Err("a fence that holds more than the value");
        }
        return Ok(text.len() - after.trim_start_matches(is_part_of_word).len());
    }
    if text.starts_with("`{") || text.starts_with("`[") {
        return Ok(1);
    }
    let tag = text.strip_prefix('<').and_then(|tag| tag.split_once('>'));
    let Some((name, _)) = tag else {
        return Ok(0);
    };
    let (word, argument) = name.split_once(['=', ' ']).unwrap_or((name, ""));
    let word = word.replace(['_', '-'], "").to_lowercase();
    if word.starts_with('/') {
        return Err("a tag that is closed before the value");
    }
    let names_argument = !argument.is_empty() && word.starts_with("param");
    if names_argument || !TAGS.iter().any(|known| word.contains(known)) {
        return Err("a tag that may be the name of an argument");
    }
    Ok(name.len() + 2)
}

/// Beginnings and ends of thoughts and special tokens, including the tokens of Mistral, and of `DeepSeek` with wide bars.
const PAIRS: [(&str, &str); 8] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<|channel|>analysis<|message|>", "<|end|>"),
    ("<|", "|>"),
    ("<\u{ff5c}", "\u{ff5c}>"),
    (TOOL_CALLS, "]"),
    ("[CALL_ID]", "[ARGS]"),
    ("[ARGS]", "]"),
];

/// Beginning of a call in Mistral's format: `[TOOL_CALLS]name[ARGS]{…}`.
pub(super) const TOOL_CALLS: &str = "[TOOL_CALLS]";

/// Words in a tag, a special token, a fence or a label that mark the value as wrong.
const BROKEN: &str = "malformed invalid broken corrupt truncated incomplete unpars error fail";

/// Returns whether a tag or similar text contains one of the words.
fn has_word(tag: &str, words: &str) -> bool {
    let tag = tag.to_lowercase();
    words.split(' ').any(|word| tag.contains(word))
}

/// Returns the name of the tool in a reference to a tool: `search` in `functions.search:0` and `default_api.search`.
fn tool_name(text: &str) -> Option<&str> {
    let name = text.trim_matches([' ', '"', '\'']);
    let name = name.split(':').next().unwrap_or_default();
    let is_name = name.chars().all(|part| is_part_of_word(part) || part == '.');
    let name = name.rsplit('.').next().unwrap_or_default();
    Some(name).filter(|name| is_name && !is_label(name))
}

/// Words in the names of tags around a call or its arguments.
const TAGS: [&str; 10] = [
    "tool", "function", "call", "invoke", "json", "arg", "param", "input", "output", "answer",
];

/// Labels before a call or its arguments, in one word.
const LABELS: &str = "arguments args input output parameters params json answer action result response call";

fn is_part_of_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | '+')
}

/// Returns whether a line may precede a value: the line ends like prose, and does not touch the value.
fn may_precede(line: &str, touches: bool) -> bool {
    let text = line.trim_end();
    let ends =
        text.ends_with(|last: char| last.is_alphanumeric() || !last.is_ascii() || ".:!?*>)`_".contains(last));
    let apart = !touches || text.len() < line.len() || text.ends_with([':', '\u{ff1a}', '`']);
    ends && apart && is_sentence(text)
}

/// Returns whether a line may follow a value: the line begins like prose.
fn may_follow(line: &str, new_line: bool) -> bool {
    let begins = |first: char| first.is_alphabetic() || first >= '\u{1f000}';
    let marked = new_line && line.starts_with(['*', '#', '>', '-', '(']);
    (line.starts_with(begins) || marked) && is_sentence(line)
}

/// Returns whether a line has no bracket, quote or assignment, and is not a literal.
fn is_sentence(line: &str) -> bool {
    let literal = matches!(line.trim(), "true" | "false" | "null" | "True" | "False" | "None");
    !literal && !line.contains(['{', '}', '[', ']']) && !has_quote(line) && !has_assignment(line)
}

/// Returns whether a line has an assignment: `path=a.txt`, `x = 1`. The recipient of a call, `to=functions.edit`, is not
/// an assignment.
fn has_assignment(line: &str) -> bool {
    let mut assignments = line.split('=').rev().skip(1);
    assignments.any(|before| !before.ends_with("to"))
}

/// Returns a line without surrounding Markdown.
fn unmarked(line: &str) -> &str {
    line.trim_matches(['*', '#', '>', '_', '-', ' ', '\t'])
}

/// Returns whether a line is a label of the text after it: `Arguments:`, `**Final Answer:**`, `json`.
fn is_label(line: &str) -> bool {
    let words = unmarked(line).trim_end_matches([':', '\u{ff1a}', '*', ' ']);
    let last = words.split_whitespace().next_back().unwrap_or_default();
    let known = LABELS.split(' ').any(|label| label.eq_ignore_ascii_case(last));
    words.is_empty() || known && words.split_whitespace().count() <= 2
}

/// Returns whether a line ends with a colon after a word that is not a label. Such a line may be part of an object:
/// `path: a.txt, options: {`.
fn is_name(line: &str) -> bool {
    let last = unmarked(line.rsplit([',', ';']).next().unwrap_or_default());
    last.ends_with(':') && !last.contains(char::is_whitespace) && !is_label(last)
}
