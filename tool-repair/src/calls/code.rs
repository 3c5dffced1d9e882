//! Markdown around an opener: code fences, inline code, and the number of words before the opener in its line.

/// State of Markdown after the text so far. Inline code ends at the end of its line at the latest.
#[derive(Debug, Clone, Default)]
pub(super) struct CodeContext {
    fence: Option<Run>,
    /// Number of backticks that close the inline code; 0 outside of it.
    inline: usize,
    /// Backticks or tildes at the end of the text so far.
    run: Option<Run>,
    line: Line,
}

#[derive(Debug, Clone, Copy)]
struct Run {
    character: char,
    length: usize,
    /// Whether only white space precedes the run in its line.
    starts_line: bool,
}

#[derive(Debug, Clone, Default)]
#[allow(clippy::struct_excessive_bools, reason = "they are independent")]
struct Line {
    has_text: bool,
    is_word: bool,
    words: usize,
    /// Whether the line opened the fence.
    opens_fence: bool,
    /// Whether the line consists of a run that closes the fence.
    closes_fence: bool,
}

impl CodeContext {
    /// Reads the next character.
    pub(super) fn push(&mut self, character: char) {
        if matches!(character, '`' | '~') {
            match &mut self.run {
                Some(run) if run.character == character => run.length += 1,
                _ => {
                    self.end_run();
                    self.run = Some(Run {
                        character,
                        length: 1,
                        starts_line: !self.line.has_text,
                    });
                }
            }
            self.line.push_word();
            return;
        }
        self.end_run();
        if character == '\n' {
            if self.line.closes_fence {
                self.fence = None;
            }
            self.inline = 0;
            self.line = Line::default();
        } else if character.is_whitespace() {
            self.line.is_word = false;
        } else {
            self.line.closes_fence = false;
            self.line.push_word();
        }
    }

    pub(super) fn push_all(&mut self, text: &str) {
        text.chars().for_each(|character| self.push(character));
    }

    /// Returns whether the next character is in a code fence or in inline code.
    pub(super) fn is_code(&mut self) -> bool {
        self.end_run();
        self.fence.is_some() || self.inline > 0
    }

    /// Returns the number of words before the next character in its line.
    pub(super) fn words_in_line(&self) -> usize {
        self.line.words
    }

    fn end_run(&mut self) {
        let Some(run) = self.run.take() else { return };
        // The line of an opening fence has no other backticks: "```code```" is inline code.
        if self.line.opens_fence && run.character == '`' {
            self.inline = self.fence.take().map_or(0, |fence| fence.length);
            self.line.opens_fence = false;
        }
        if let Some(fence) = self.fence {
            let closes = run.starts_line && run.character == fence.character && run.length >= fence.length;
            self.line.closes_fence = closes;
        } else if run.starts_line && run.length >= 3 && self.inline == 0 {
            self.fence = Some(run);
            self.line.opens_fence = true;
        } else if run.character == '`' && self.inline == 0 {
            self.inline = run.length;
        } else if run.character == '`' && self.inline == run.length {
            self.inline = 0;
        }
    }
}

impl Line {
    fn push_word(&mut self) {
        self.has_text = true;
        if !self.is_word {
            self.is_word = true;
            self.words += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_code_before_an_opener() {
        for (text, is_code) in [
            ("plain ", false),
            ("`", true),
            ("`a` ", false),
            ("``a` ", true),
            ("``a`` b ", false),
            ("a ` b\n", false),
            ("```\n", true),
            ("```xml\ncode\n", true),
            ("```\ncode\n```\n", false),
            ("````\n```\n", true),
            ("~~~\ncode\n~~~\n", false),
            ("~~~\n```\n", true),
            ("  ```\n", true),
            ("```code``` ", false),
            ("text ```\n", false),
            ("```\ncode\n``` no end\n", true),
            ("a ~~b~~ ", false),
        ] {
            let mut context = CodeContext::default();
            context.push_all(text);
            assert_eq!(context.is_code(), is_code, "{text:?}");
        }
    }

    #[test]
    fn counts_words_in_the_line() {
        for (text, words) in [("", 0), ("one two\n", 0), ("\n  to", 1), ("a b ", 2)] {
            let mut context = CodeContext::default();
            context.push_all(text);
            assert_eq!(context.words_in_line(), words, "{text:?}");
        }
    }
}
