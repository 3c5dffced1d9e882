//! [`Tag`]: a tag such as `<tool_call>`, or a special token such as `<|im_end|>` or `<｜tool▁sep｜>`. The meaning of a tag
//! is derived from the words in its name, so there is no list of tags for each model.

use super::source::{Lookahead, Source};

/// Tag or special token without attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag<'t> {
    /// Text between the angle brackets.
    body: &'t str,
    /// Position after the tag.
    pub(super) end: usize,
}

/// Meaning of a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Beginning of calls, or of a part of a call.
    Opener,
    /// End of calls, or of a part of a call.
    Closer,
    /// End of the message.
    EndOfTurn,
    /// Any other special token.
    Special,
    /// Any other tag.
    Other,
}

impl<'t> Tag<'t> {
    /// Reads the tag at a position.
    pub(super) fn read(source: Source<'t>, at: usize) -> Lookahead<Self> {
        source.literal(at, "<").and_then(|start| {
            source.run(start, MAX_BODY, is_part_of_body).and_then(|close| {
                source.literal(close, ">").map(|end| Self {
                    body: source.slice(start, close),
                    end,
                })
            })
        })
    }

    /// Returns whether the tag separates a name from its arguments, as `<｜tool▁sep｜>` and `<|tool_call_argument_begin|>` do.
    pub(super) fn separates_arguments(&self) -> bool {
        let mut words = self.body.split(|part: char| !part.is_alphanumeric());
        self.role() == Role::Opener && words.any(|word| matches!(word, "sep" | "argument" | "arguments"))
    }

    /// Returns the meaning of the tag.
    pub(super) fn role(&self) -> Role {
        let (mut is_call, mut is_result, mut is_end, mut ends_turn) = (false, false, false, false);
        let (mut is_python, mut is_action, mut is_begin) = (false, false, false);
        let is_special = self.body.starts_with(BARS);
        let words = self.body.split(|part: char| !part.is_alphanumeric());
        for word in words.filter(|word| !word.is_empty()) {
            let word = word.to_lowercase();
            is_call |= CALL_WORDS.contains(&&*word);
            is_result |= RESULT_WORDS.contains(&&*word);
            is_end |= word == "end";
            is_begin |= matches!(&*word, "start" | "tag");
            is_python |= word == "python";
            is_action |= word == "action";
            ends_turn |= END_WORDS.contains(&&*word);
        }
        // Some special tokens begin or end a call although their names contain none of `CALL_WORDS`: `<|python_tag|>` and
        // `<|python_start|>` of Llama, `<|START_ACTION|>` of Command R.
        is_call |= is_special && (is_python || is_action) && (is_begin || is_end);
        if is_call && !is_result {
            let slash = self.body.trim_start_matches(BARS).starts_with('/');
            let closes = slash || is_end || !is_special && self.body.ends_with(BARS);
            return if closes { Role::Closer } else { Role::Opener };
        }
        let is_plain_end = matches!(self.body, "/s" | "eos" | "end_of_turn" | "turn|");
        if is_plain_end || is_special && ends_turn {
            Role::EndOfTurn
        } else if is_special && !is_call {
            Role::Special
        } else {
            Role::Other
        }
    }
}

fn is_part_of_body(character: char) -> bool {
    character.is_alphanumeric()
        || matches!(character, '_' | '-' | ':' | '.' | '/' | '\u{2581}')
        || BARS.contains(&character)
}

/// Bars of special tokens, narrow and wide.
const BARS: [char; 2] = ['|', '\u{ff5c}'];

const CALL_WORDS: [&str; 9] = [
    "tool",
    "tools",
    "toolcall",
    "toolcalls",
    "tooluse",
    "function",
    "functions",
    "functioncall",
    "functioncalls",
];

const RESULT_WORDS: [&str; 6] = ["response", "responses", "result", "results", "output", "outputs"];

const END_WORDS: [&str; 9] = [
    "end",
    "eot",
    "eom",
    "eos",
    "endoftext",
    "return",
    "call",
    "user",
    "observation",
];

/// Maximum number of bytes between the angle brackets.
const MAX_BODY: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn role(text: &str) -> Option<Role> {
        let source = Source {
            text,
            is_complete: true,
        };
        match Tag::read(source, 0) {
            Lookahead::Match(tag) if tag.end == text.len() => Some(tag.role()),
            _ => None,
        }
    }

    #[test]
    fn words_decide_the_role() {
        for (role_name, tags) in [
            (
                Role::Opener,
                "<tool_call> <TOOLCALL> <tools> <|tool_call|> <｜tool▁calls▁begin｜> <｜tool▁sep｜> <minimax:tool_call> \
                 <｜DSML｜function_calls> <function_call> <|tool_calls_section_begin|> <|tool_call_argument_begin|> \
                 <|python_tag|> <|python_start|> <|START_ACTION|> <start_function_call> <seed:tool_call> <|tool_call>",
            ),
            (
                Role::Closer,
                "</tool_call> <|/tool_call|> <｜tool▁calls▁end｜> </minimax:tool_call> </｜DSML｜function_calls> <|python_end|> \
                 <|END_ACTION|> <end_function_call> <tool_call|> </function>",
            ),
            (
                Role::EndOfTurn,
                "<|im_end|> <|eot_id|> <|eom_id|> </s> <｜end▁of▁sentence｜> <|call|> <|return|> <end_of_turn> <|endoftext|> \
                 <|observation|> <turn|>",
            ),
            (Role::Special, "<|im_start|> <|channel|>"),
            (
                Role::Other,
                "<tool_response> <Tooltip> <function_results> <|tool_output|> <b> <toolbar> </think>",
            ),
        ] {
            for tag in tags.split_whitespace() {
                assert_eq!(role(tag), Some(role_name), "{tag}");
            }
        }
        for text in ["<function=f>", "< tool_call>", "<tool_call", "<a href=tool>"] {
            assert_eq!(role(text), None, "{text}");
        }
    }
}
