//! Judges the text around an object: prose may go, but nothing that could be an argument beside it.

use super::markup::{
    ends_in_fence, fence_holds_text, goes_on_behind_tag, has_tagged_text, has_text_between_tokens,
    opens_fence,
};

/// Whether the text before an object, up to its brace, only introduces it.
pub(super) fn introduces(text: &str) -> bool {
    match thoughts(text) {
        Some((thoughts, behind)) => {
            !thoughts.contains(VALUES_END) && (behind.trim().is_empty() || introduces_by_itself(behind))
        }
        None => introduces_by_itself(text),
    }
}

/// What a model thought before it spoke, which is no argument whatever it says, and what comes behind.
fn thoughts(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    match text.strip_prefix("<think>") {
        Some(thoughts) => thoughts.split_once("</think>"),
        None => text
            .strip_prefix("<|channel|>analysis<|message|>")?
            .split_once("<|end|>"),
    }
}

fn introduces_by_itself(text: &str) -> bool {
    let prose = text.trim_end();
    // A fence says as little as a bracket that became something else, but it is none.
    let speaks = prose.contains(char::is_alphanumeric) || prose.ends_with("```");
    let goes_on = prose.ends_with([
        '=', '(', ',', ';', '\'', '"', '\\', '$', '@', '%', '#', '&', '|', '~', '^', '+', '-',
    ]);
    let arrow = prose.ends_with("->") || prose.ends_with("=>");
    // `l{d: 1}`: a letter of the key may have come before the brace.
    let touches = text.ends_with(|last: char| last.is_alphanumeric() || last == '_')
        && !text.ends_with("```json")
        && !text.ends_with("```python");
    speaks
        && !goes_on
        && !arrow
        && !touches
        && !prose.contains(VALUES_END)
        && !is_label(prose, text.get(prose.len()..).unwrap_or_default())
        && !goes_on_behind_colon(prose)
        && !is_scalar(prose)
        && !is_word(prose)
        && !is_command(prose)
        && !has_label(prose)
        && (ends_in_fence(prose) || !has_option(prose))
        && !has_tagged_text(prose)
        && !has_text_between_tokens(prose)
        && !fence_holds_text(prose)
}

/// Whether the text behind a value is prose or a closing tag, and no expression that goes on.
pub(super) fn concludes(text: &str) -> bool {
    let structured =
        text.contains(['"', '{', '}', '[', ']']) || goes_on_behind_tag(text) || opens_fence(text);
    let argues = has_label(text) || is_path(text) || !text.starts_with("```") && has_option(text);
    if structured || argues {
        return false;
    }
    let mut characters = text.chars();
    match characters.next() {
        Some('`') => true,
        Some('<') => match characters.next() {
            Some('/') => true,
            Some('|') => !has_text_between_tokens(text),
            _ => false,
        },
        // Pictures too, but no punctuation, which is below them.
        Some(first) if first.is_alphabetic() || first >= '\u{1f000}' => {
            let word = text
                .split(|next: char| !next.is_alphanumeric() && next != '_')
                .next();
            !word.is_some_and(|word| OPERATORS.contains(&word) || VALUES.contains(&word))
        }
        _ => false,
    }
}

/// Whether a text ends in a word and a colon, with `space` before the object: `args: {`.
fn is_label(prose: &str, space: &str) -> bool {
    let line = prose.lines().next_back().unwrap_or_default();
    let part = line.rsplit(SEPARATORS).next().unwrap_or_default().trim();
    // Chinese puts no spaces between words, but it puts the full-width colon behind a sentence, never behind a key.
    let colon: &[char] = if space.contains('\n') {
        &[':']
    } else {
        &[':', '\u{ff1a}']
    };
    part.strip_suffix(colon)
        .is_some_and(|label| !label.trim_end().contains(char::is_whitespace) || label.ends_with(['\'', '`']))
}

/// Whether the last sentence says something behind a colon: `I set path: a.txt and options: {`.
fn goes_on_behind_colon(prose: &str) -> bool {
    let line = prose.lines().next_back().unwrap_or_default();
    let line = line.rsplit(". ").next().unwrap_or_default();
    let says = |behind: &str| behind.contains(char::is_alphanumeric);
    let ascii = line.split_once(": ").is_some_and(|(_, behind)| says(behind));
    ascii
        || line
            .split_once('\u{ff1a}')
            .is_some_and(|(_, behind)| says(behind))
}

/// Whether the last line is a single word, which may be the name of an argument or one itself: `options⏎{`,
/// `## options⏎{`, `src/main.rs {`. A tag, a fence and what models say before they speak are none.
fn is_word(prose: &str) -> bool {
    let line = prose.lines().next_back().unwrap_or_default();
    let word = line.trim_start_matches(|next: char| next.is_ascii_digit() || "#>-+. ".contains(next));
    let word = word.trim_matches(['*', '`', '_', '\'']);
    let end = word.trim_end_matches(['.', '\u{2026}']);
    let is_end = |end: Option<char>| end.is_some_and(|end| end.is_ascii_alphanumeric());
    let one = end.is_ascii() && !end.contains(' ');
    let word_like = one && is_end(end.chars().next()) && is_end(end.chars().next_back());
    word_like && !ends_in_fence(line) && !GREETINGS.contains(&&*end.to_ascii_lowercase())
}

/// Words that stand alone before an object: what is left of a fence, or of a chat's template, and yes.
const GREETINGS: [&str; 9] = [
    "json",
    "python",
    "assistant",
    "ok",
    "okay",
    "sure",
    "certainly",
    "yes",
    "done",
];

/// Whether a text begins as a command, and is no comment: `/edit a.txt {`, `$ edit a.txt⏎{`.
fn is_command(prose: &str) -> bool {
    prose.starts_with(['/', '@', '$', '>']) && !prose.starts_with("//") && !prose.starts_with("/*")
}

/// Whether a text is the name of a file and nothing else.
fn is_path(text: &str) -> bool {
    let word = text.trim();
    word.trim_end_matches('.').contains(['.', '/'])
        && !word.contains(char::is_whitespace)
        && !word.starts_with(['`', '<'])
}

/// Whether a text is a value of its own.
fn is_scalar(text: &str) -> bool {
    let number = text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '-' | '+' | '.'));
    VALUES.contains(&text) || number && !text.contains([' ', '\n', '\r', '\t'])
}

/// Whether a name with a value begins a line, or what a comma sets off in it: `path: a.txt, mode=w`, `- path: a.txt`.
fn has_label(text: &str) -> bool {
    let lines = text.split(['\n', '\r']);
    lines
        .flat_map(|line| line.split(SEPARATORS))
        .any(begins_with_label)
}

/// Whether there is an option of a command or an argument of a call: `--path a.txt`, `-p a.txt`, `edit(path=a.txt)`.
fn has_option(text: &str) -> bool {
    text.split_whitespace()
        .any(|word| is_flag(word) || is_assignment(word))
}

fn is_flag(word: &str) -> bool {
    let flag = word.trim_start_matches('-');
    flag.len() < word.len() && flag.starts_with(|first: char| first.is_ascii_alphabetic())
}

/// `path=a.txt`, but no tag, `<function=edit>`, no address, and not whom a call is for, `to=functions.edit`.
fn is_assignment(word: &str) -> bool {
    let (name, value) = word.split_once('=').unwrap_or_default();
    let named = name.ends_with(|last: char| last.is_alphanumeric() || last == '_');
    named && !value.is_empty() && name != "to" && !name.starts_with('<') && !name.contains("://")
}

fn begins_with_label(part: &str) -> bool {
    let is_name = |next: char| next.is_alphanumeric() || next == '_';
    let Some(at) = part.find(is_name) else {
        return false;
    };
    let (marks, rest) = part.split_at(at);
    let behind = rest.trim_start_matches(|next: char| is_name(next) || matches!(next, '-' | '.'));
    let sign = behind.trim_start_matches([' ', '\t', '\'', '`', '*']);
    match sign.strip_prefix('\u{ff1a}') {
        // A sentence in Chinese may end with its colon.
        Some(value) => !value.trim().is_empty(),
        None if sign.starts_with('=') => !marks.ends_with('<'),
        None => sign.starts_with(':') && !sign.starts_with("://"),
    }
}

/// What a value ends with, or a part of one.
const VALUES_END: [char; 3] = ['"', '}', ']'];

/// Marks that set one argument off from the next, where nothing else does.
const SEPARATORS: [char; 4] = [',', ';', '\u{ff0c}', '\u{ff1b}'];

const VALUES: [&str; 17] = [
    "true",
    "false",
    "null",
    "True",
    "False",
    "None",
    "TRUE",
    "FALSE",
    "NULL",
    "Null",
    "nil",
    "none",
    "undefined",
    "NaN",
    "nan",
    "Infinity",
    "inf",
];

/// Words with which an expression of Python goes on.
const OPERATORS: [&str; 8] = ["and", "else", "for", "if", "in", "is", "not", "or"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_introduces_an_object_says_nothing_else() {
        for text in [
            "Here is the call:\n",
            "Sure! The arguments are: ",
            "1. First do this: ",
            "Sure, see https://example.org/a and call it with ",
            "```json\n",
            "```json",
            "<tool_call>\n",
            "<tool_call>\n<function=Edit>\n",
            "json\n",
            "<|start|>assistant<|channel|>commentary to=functions.edit <|constrain|>json<|message|>",
            "<|start|>call<|message|>",
            "assistant<|channel|>commentary to=functions.edit<|message|>",
            "commentary to=functions.edit <|constrain|>json<|message|>",
            "<|channel|>analysis<|message|>Need: 3 items.<|end|><|start|>assistant<|channel|>commentary to=a<|message|>",
            "<|im_start|>assistant\n",
            "<TOOL_CALL>\n",
            "<tool-call><tool_input>",
            "```xml\n<tool_call>\n",
            "```tool_call\n",
            "Running with -v:\n```json\n",
            "assistant\n\n",
            "OK\n",
            "// TodoWrite\n",
            "I fixed it: gone. Now call the tool. ",
            "\u{597d}\u{7684}\u{ff0c}\u{53c2}\u{6570}\u{5982}\u{4e0b}\u{ff1a}\n",
            "At 10:30, this is what to call ",
            "<think>Note: edit a.txt, mode=w\n</think>\n\n",
            "<think></think>Here it is: ",
            "I do two things: look, and call.\nThe call is: ",
            "Sure -- this is the call: ",
        ] {
            assert!(introduces(text), "{text}");
        }
    }

    #[test]
    fn what_may_be_an_argument_does_not_introduce_an_object() {
        for text in [
            "args: ",
            "Sure!\nargs:\n",
            "path: a.txt, opts: ",
            "a.txt, opts: ",
            "title: Fix bug, labels: ",
            "a: 1, b: ",
            "the first; labels:\n",
            "path: a.txt\nThe options are: ",
            "path = a.txt\n",
            "- path: a.txt\n- opts: ",
            "**path:** a.txt\n",
            "`path`: a.txt\n",
            "a.txt\u{ff0c} \u{9009}\u{9879}\u{ff1a}",
            "\u{8def}\u{5f84}\u{ff1a}a.txt\n\u{9009}\u{9879}\u{ff1a}\n",
            "<path>a.txt</path><opts>",
            "<think>the path</think><path>a.txt</path><opts>",
            "<think>say \"a\"</think>",
            "a.txt <think>of it</think>",
            "<parameter=path>\na.txt\n<parameter=edit>\n",
            "</a>",
            "l",
            "o_",
            "\u{53c2}\u{6570}",
            "set path: a.txt and options: ",
            "--path a.txt --options ",
            "path -> a.txt\noptions -> ",
            "a.txt; ",
            "null",
            "-1",
            "- ",
            "first, ",
            "x = ",
        ] {
            assert!(!introduces(text), "{text}");
        }
    }

    #[test]
    fn what_has_a_name_or_marks_of_its_own_does_not_introduce_an_object() {
        for text in [
            "```\nhello\n```\n",
            "```python\nprint(1)\n```\n```json\n",
            "```sh\nedit ",
            "<function=Edit>\n<parameter=edit>\n",
            "<args><todos>",
            "Edit path=a.txt ",
            "edit(path=a.txt) ",
            "I set path: a.txt ",
            "-p a.txt ",
            "curl -X POST https://example.org -d ",
            "options\n",
            "Sure!\noptions ",
            "**options**\n",
            "`options` ",
            "src/main.rs ",
            "## path\na.txt\n\n## options\n",
            "- options ",
            "1. options ",
            "options.\n",
            "$ edit a.txt\n",
            "```a.txt\n",
            "<|path|>a.txt<|options|>",
            "<|tool|>edit path=a.txt ",
            "<|tool_call|>path=a.txt\n",
            "/edit the file ",
            "edit url=https://example.org ",
            "undefined ",
        ] {
            assert!(!introduces(text), "{text}");
        }
    }

    #[test]
    fn what_concludes_a_value_says_nothing_else() {
        for text in [
            "Done.",
            "Hope it helps: all of it, at least.\n",
            "```\n",
            "</parameter>\n</function>\n</tool_call>",
            "<|im_end|>",
            "<|im_end|>\n<|endoftext|>\n",
            "<|im_end|>\n<|im_start|>assistant",
            "<|call|>commentary",
            "</tool_call>\n```",
            "```\n\nRun `cargo test -p x`.",
            "\u{1f389}",
        ] {
            assert!(concludes(text), "{text}");
        }
        for text in [
            "</opts><path>a.txt</path>",
            "</arg_value>\n<arg_key>b</arg_key>",
            "<path>a.txt",
            "<|path|>a.txt",
            "</opts>a.txt",
            "a.txt",
            "```a.txt",
            "null",
            "False",
            "true, 5",
            "b: 2",
            "b=2",
            "Done.\nb: 2",
            "and b",
            "Done, b: 2",
            "```\n* b: 2",
            "```\nhello\n```",
            "with path=a.txt",
            "edit --path a.txt",
            "NaN",
            ", b",
            "2",
            ".b",
        ] {
            assert!(!concludes(text), "{text}");
        }
    }
}
