//! Beginning of a payload: its form, its name, and the position of its arguments.

use std::ops::Range;

use super::super::declared::{Declared, NAMESPACE, may_begin};
use super::super::source::{Lookahead, Source};
use super::super::tag::{Role, Tag};
use super::forms::{Forms, is_part_of_name};
use super::json::{ARGUMENTS, CALLS, NAMES, REST};

/// Form of a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PayloadForm {
    /// An object or a list of JSON.
    Json,
    /// A name and an object.
    Named,
    /// A name and an object in a code fence.
    NamedInFence,
    /// A name and an object with `<|"|>` as quotes.
    TokenQuotes,
    /// A call, or a list of calls, in the syntax of Python.
    Python,
    /// `<function=NAME>` and an object.
    FunctionObject,
    /// `<function=NAME>` and parameters.
    Function,
    /// `<invoke name="NAME">` and parameters, with the namespace before `invoke`.
    Invoke(String),
    /// A name and pairs of `<arg_key>` and `<arg_value>`.
    Keys,
}

/// Beginning of a payload.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) form: PayloadForm,
    /// Span of the name; empty if the payload contains the name in its body.
    pub(super) name: Range<usize>,
    /// Position of the arguments, or of the whole payload.
    pub(super) body: usize,
    /// Position of the opening bracket.
    pub(super) bracket: usize,
}

impl Head {
    fn new(form: PayloadForm, name: Range<usize>, body: usize) -> Self {
        Self {
            form,
            name,
            body,
            bracket: body,
        }
    }

    /// Reads the beginning of a payload at a position.
    pub(super) fn read(
        source: Source<'_>,
        at: usize,
        forms: Forms,
        declared: &impl Declared,
    ) -> Lookahead<Self> {
        source.character(at).and_then(|(first, after)| match first {
            '{' if forms.json => is_call_object(source, after, forms, declared)
                .map(|()| Self::new(PayloadForm::Json, at..at, at)),
            '[' => source.white_space(after).and_then(|item| {
                source
                    .character(item)
                    .and_then(|(first, after_item)| match first {
                        '{' if forms.json => is_call_object(source, after_item, forms, declared)
                            .map(|()| Self::new(PayloadForm::Json, at..at, at)),
                        _ if forms.python && is_part_of_name(first) => name(source, item, forms, declared)
                            .and_then(|name| source.literal(name.end, "("))
                            .map(|_| Self::new(PayloadForm::Python, at..at, at)),
                        _ => Lookahead::NoMatch,
                    })
            }),
            '<' if forms.tags => function(source, at)
                .or_else(|| invoke(source, at))
                .or_else(|| harmony(source, at)),
            _ if is_part_of_name(first) => named(source, at, forms, declared),
            _ => Lookahead::NoMatch,
        })
    }
}

/// Checks the first key of an object, and a name that is the value of this key: other objects are JSON texts for the user.
fn is_call_object(source: Source<'_>, at: usize, forms: Forms, declared: &impl Declared) -> Lookahead<()> {
    if forms.tags {
        return Lookahead::Match(());
    }
    let is_quote = |part: char| matches!(part, '"' | '\'');
    let is_key = |part: char| part.is_ascii_lowercase() || part == '_';
    source.white_space(at).and_then(|start| {
        let key = source.run(start, 1, is_quote);
        let end = key.and_then(|start| source.run(start, MAX_NAME, is_key).map(|end| start..end));
        end.and_then(|key| {
            let text = source.slice(key.start, key.end);
            let is_name = NAMES.contains(&text);
            if !is_name && !ARGUMENTS.contains(&text) && !REST.contains(&text) && text != CALLS {
                return Lookahead::NoMatch;
            }
            if !is_name {
                return Lookahead::Match(());
            }
            let is_before = |part: char| part.is_whitespace() || part == ':' || is_quote(part);
            source.run(key.end, MAX_NAME, is_before).and_then(|start| {
                // `"function": {…}`
                if source.rest(start).starts_with('{') {
                    return Lookahead::Match(());
                }
                name(source, start, forms, declared).map(|_| ())
            })
        })
    })
}

/// Reads a name. Without a wrapper, only a declared name may begin like this.
fn name(source: Source<'_>, at: usize, forms: Forms, declared: &impl Declared) -> Lookahead<Range<usize>> {
    let is_part = |part: char| is_part_of_name(part) || part == '\\';
    let end = source.run(at, MAX_NAME, is_part);
    if !forms.tags {
        let read = match end {
            Lookahead::Match(end) => source.slice(at, end),
            _ => source.rest(at),
        };
        let read = read.replace("\\_", "_");
        if !may_begin(read.trim_end_matches('\\'), declared) {
            return Lookahead::NoMatch;
        }
    }
    end.and_then(|end| {
        if end == at {
            Lookahead::NoMatch
        } else {
            Lookahead::Match(at..end)
        }
    })
}

/// Reads a payload that begins with a name.
fn named(source: Source<'_>, at: usize, forms: Forms, declared: &impl Declared) -> Lookahead<Head> {
    // `call:NAME{…}`
    if forms.tags && source.rest(at).starts_with(CALL) {
        let start = at + CALL.len();
        return name(source, start, forms, declared).and_then(|name| {
            at_object(source, name.end).map(|body| Head::new(PayloadForm::TokenQuotes, name, body))
        });
    }
    name(source, at, forms, declared).and_then(|name| {
        source.white_space(name.end).and_then(|next| {
            let (is_adjacent, is_next_line) = (next == name.end, source.slice(name.end, next).contains('\n'));
            source.character(next).and_then(|(first, _)| match first {
                '(' if forms.python && is_adjacent => Lookahead::Match(Head {
                    bracket: next,
                    ..Head::new(PayloadForm::Python, at..at, at)
                }),
                '{' if forms.json && (is_adjacent || is_next_line) => {
                    Lookahead::Match(Head::new(PayloadForm::Named, name, next))
                }
                '[' if forms.json && is_adjacent => {
                    mistral(source, next).map(|body| Head::new(PayloadForm::Named, name, body))
                }
                '<' => keys(source, name.clone(), next, forms)
                    .or_else(|| separated(source, name, next, declared)),
                _ => Lookahead::NoMatch,
            })
        })
    })
}

/// Reads `[ARGS]{`, after an optional `[CALL_ID]…`.
fn mistral(source: Source<'_>, at: usize) -> Lookahead<usize> {
    let id = source.literal(at, "[CALL_ID]");
    let start = match id {
        Lookahead::Match(start) => source.run(start, MAX_NAME, is_part_of_name),
        Lookahead::NoMatch => Lookahead::Match(at),
        Lookahead::Incomplete => Lookahead::Incomplete,
    };
    start
        .and_then(|at| source.literal(at, "[ARGS]"))
        .and_then(|at| source.white_space(at))
        .and_then(|at| at_object(source, at))
}

/// Reads `<arg_key>`, or the closing tag of a call without arguments.
fn keys(source: Source<'_>, name: Range<usize>, at: usize, forms: Forms) -> Lookahead<Head> {
    if !forms.tags {
        return Lookahead::NoMatch;
    }
    let is_call = source.literal(at, "<arg_key>").map(|_| true).or_else(|| {
        Tag::read(source, at)
            .map(|tag| tag.role() == Role::Closer && source.slice(at, tag.end).starts_with("</"))
    });
    is_call.and_then(|is_call| {
        if is_call {
            Lookahead::Match(Head::new(PayloadForm::Keys, name, at))
        } else {
            Lookahead::NoMatch
        }
    })
}

/// Reads `NAME<｜tool▁sep｜>{`, `function<｜tool▁sep｜>NAME`, `NAME<|tool_call_argument_begin|>{`, with an optional fence.
fn separated(source: Source<'_>, name: Range<usize>, at: usize, declared: &impl Declared) -> Lookahead<Head> {
    let separator = Tag::read(source, at).and_then(|tag| {
        if tag.separates_arguments() {
            source.white_space(tag.end)
        } else {
            Lookahead::NoMatch
        }
    });
    separator.and_then(|start| {
        let kind = source.slice(name.start, name.end);
        source.character(start).and_then(|(first, _)| {
            if kind == "function" && !declared.is_declared(kind) && is_part_of_name(first) {
                return source.run(start, MAX_NAME, is_part_of_name).and_then(|end| {
                    source
                        .white_space(end)
                        .and_then(|body| in_fence(source, start..end, body))
                });
            }
            in_fence(source, name, start)
        })
    })
}

/// Reads the beginning of an object, in a fence or not.
fn in_fence(source: Source<'_>, name: Range<usize>, at: usize) -> Lookahead<Head> {
    at_object(source, at)
        .map(|body| Head::new(PayloadForm::Named, name.clone(), body))
        .or_else(|| {
            let info = source
                .literal(at, FENCE)
                .and_then(|at| source.run(at, MAX_NAME, is_part_of_name));
            info.and_then(|at| source.white_space(at))
                .and_then(|at| at_object(source, at))
                .map(|body| Head::new(PayloadForm::NamedInFence, name, body))
        })
}

/// Reads `<function=NAME>`, and finds out whether an object or parameters follow.
pub(super) fn function(source: Source<'_>, at: usize) -> Lookahead<Head> {
    let name = source.literal(at, FUNCTION).and_then(|start| {
        let end = source.run(start, MAX_NAME, is_part_of_name);
        end.map(|end| start..end)
    });
    name.and_then(|name| {
        let body = source
            .literal(name.end, ">")
            .and_then(|at| source.white_space(at));
        body.and_then(|body| {
            at_object(source, body)
                .map(|body| Head::new(PayloadForm::FunctionObject, name.clone(), body))
                .or_else(|| {
                    let next = source.literal(body, "<parameter=");
                    let next = next.or_else(|| source.literal(body, "</function>"));
                    next.map(|_| Head::new(PayloadForm::Function, name, body))
                })
        })
    })
}

/// Reads `<invoke name="NAME">`, and finds out whether parameters follow.
pub(super) fn invoke(source: Source<'_>, at: usize) -> Lookahead<Head> {
    let is_namespace = |part: char| is_part_of_name(part) || matches!(part, '|' | '\u{ff5c}');
    let word = source.literal(at, "<").and_then(|start| {
        let end = source.run(start, MAX_NAME, is_namespace);
        end.map(|end| start..end)
    });
    word.and_then(|word| {
        let Some(namespace) = source.slice(word.start, word.end).strip_suffix("invoke") else {
            return Lookahead::NoMatch;
        };
        let name = source.literal(word.end, " name=\"").and_then(|start| {
            let end = source.run(start, MAX_NAME, is_part_of_name);
            end.map(|end| start..end)
        });
        name.and_then(|name| {
            let body = source
                .literal(name.end, "\">")
                .and_then(|at| source.white_space(at));
            body.and_then(|body| {
                let parameter = source.literal(body, &format!("<{namespace}parameter name=\""));
                let next = parameter.or_else(|| source.literal(body, &format!("</{namespace}invoke>")));
                next.map(|_| Head::new(PayloadForm::Invoke(namespace.to_owned()), name, body))
            })
        })
    })
}

/// Reads `<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{`.
pub(super) fn harmony(source: Source<'_>, at: usize) -> Lookahead<Head> {
    let channel = match source.literal(at, "<|start|>assistant") {
        Lookahead::Match(at) => source.literal(at, HARMONY),
        Lookahead::NoMatch => source.literal(at, HARMONY),
        Lookahead::Incomplete => Lookahead::Incomplete,
    };
    let name = channel.and_then(|end| {
        let start = end - NAMESPACE.len();
        source.run(end, MAX_NAME, is_part_of_name).map(|end| start..end)
    });
    name.and_then(|name| {
        let constraint =
            source
                .white_space(name.end)
                .and_then(|at| match source.literal(at, "<|constrain|>") {
                    Lookahead::NoMatch => Lookahead::Match(at),
                    found => found,
                });
        constraint
            .and_then(|at| source.run(at, MAX_NAME, |part| is_part_of_name(part) || part == ' '))
            .and_then(|at| source.literal(at, "<|message|>"))
            .and_then(|at| source.white_space(at))
            .and_then(|at| at_object(source, at))
            .map(|body| Head::new(PayloadForm::Named, name, body))
    })
}

/// Returns the position if an object begins at it.
fn at_object(source: Source<'_>, at: usize) -> Lookahead<usize> {
    source.literal(at, "{").map(|_| at)
}

/// Beginning of a call with a tag for each parameter.
pub(super) const FUNCTION: &str = "<function=";

/// Beginning of a call of Harmony.
pub(super) const HARMONY: &str = "<|channel|>commentary to=functions.";

/// Beginning of a call of Gemma.
const CALL: &str = "call:";

pub(super) const FENCE: &str = "```";

/// Maximum number of bytes of a name, so that a beginning can be read again for each piece.
const MAX_NAME: usize = 256;
