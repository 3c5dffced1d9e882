//! Judges the fences, tags and special tokens around an object: packaging may go, but not what it may hold beside the
//! object.

/// Whether a fence before the object holds something else than the object and its tags: a file's content, as likely as
/// not. What stands behind its marks is the name of a language.
pub(super) fn fence_holds_text(prose: &str) -> bool {
    prose.split_once("```").is_some_and(|(_, behind)| {
        let mut lines = behind.lines();
        let language = lines.next().unwrap_or_default().trim();
        let is_tag = |line: &str| line.starts_with('<') && line.ends_with('>');
        !language.chars().all(|next| next.is_alphanumeric() || next == '_')
            || lines.map(str::trim).any(|line| !line.is_empty() && !is_tag(line))
    })
}

/// Whether a text ends in the marks that open a fence, and the name of a language.
pub(super) fn ends_in_fence(prose: &str) -> bool {
    let line = prose.lines().next_back().unwrap_or_default();
    line.trim_start().starts_with("```")
}

/// Whether there is a fence behind the object that is not the end of the one around it.
pub(super) fn opens_fence(text: &str) -> bool {
    if let Some(behind) = text.strip_prefix("```") {
        return behind.contains("```") || behind.starts_with(char::is_alphanumeric);
    }
    let tagged = text
        .trim_end()
        .strip_suffix("```")
        .filter(|_| text.starts_with("</"));
    tagged.unwrap_or(text).contains("```")
}

/// Whether a tag is closed before the object, holds a text that is not the object, or may be the name of an argument:
/// `<options>{`, `<parameter=options>{`.
pub(super) fn has_tagged_text(prose: &str) -> bool {
    let speaks = |tag: &str| {
        let (tag, behind) = tag.split_once('>').unwrap_or((tag, ""));
        let name = tag.split(['=', ' ', '\n']).next().unwrap_or_default();
        let name: String = name.chars().filter(|next| !matches!(next, '_' | '-')).collect();
        behind.contains(char::is_alphanumeric) || !WRAPPERS.contains(&&*name.to_lowercase())
    };
    prose.contains("</") || tags(prose).any(speaks)
}

/// Whether a tag is opened behind the object, or a text touches one that is closed: `</options>a.txt`.
pub(super) fn goes_on_behind_tag(text: &str) -> bool {
    let mut closed = text.split("</").skip(1).filter_map(|tag| tag.split_once('>'));
    tags(text).next().is_some() || closed.any(|(_, behind)| behind.starts_with(char::is_alphanumeric))
}

/// Whether special tokens hold more than a role, a channel or who is called: `<|path|>a.txt`.
pub(super) fn has_text_between_tokens(text: &str) -> bool {
    let mut tokens = text.split("<|").skip(1).map(|token| token.split_once("|>"));
    tokens.any(|token| {
        token.is_none_or(|(name, behind)| behind.contains(char::is_alphanumeric) && !NAMING.contains(&name))
    })
}

/// The tags that models put around a call or its arguments, without hyphens and underscores.
const WRAPPERS: [&str; 23] = [
    "toolcall",
    "toolcalls",
    "tooluse",
    "tool",
    "tools",
    "toolcode",
    "toolinput",
    "toolarguments",
    "function",
    "functions",
    "functioncall",
    "functioncalls",
    "functionarguments",
    "call",
    "invoke",
    "json",
    "arguments",
    "args",
    "input",
    "parameters",
    "params",
    "answer",
    "output",
];

/// The special tokens that a role, a channel, a format or a tool's name follows.
const NAMING: [&str; 10] = [
    "start",
    "channel",
    "constrain",
    "message",
    "im_start",
    "start_header_id",
    "tool_call_begin",
    "call",
    "assistant",
    "python_tag",
];

/// The opening tags of a text, each with what comes behind it up to the next.
fn tags(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split('<').skip(1);
    parts.filter(|part| part.starts_with(|first: char| first.is_ascii_alphabetic()))
}
