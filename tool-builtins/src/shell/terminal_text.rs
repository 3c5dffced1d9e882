//! [`TerminalText`]: the text that a terminal would show for the output of a command.

/// Maximum number of characters of a line in which `\r` returns to the first one. The start of a longer line is final, so
/// that a line without an end takes no more memory.
const MAX_LINE: usize = 1 << 16;

/// Converts output to text: applies `\r`, backspaces and erased lines, and removes colors and other control sequences.
#[derive(Debug, Default)]
pub(super) struct TerminalText {
    text: String,
    line: Vec<char>,
    cursor: usize,
    state: State,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and a character that is followed by exactly one, as in `ESC ( B`.
    Designation,
    /// After `ESC [`, with the parameter if it is one digit.
    Sequence(Option<char>),
    /// In a string, such as a title, up to BEL or `ESC \`.
    String,
    /// After ESC in a string.
    StringEscape,
}

impl TerminalText {
    /// Converts the whole output. Invalid UTF-8 becomes U+FFFD.
    pub(super) fn convert(output: &[u8]) -> String {
        let mut text = Self::default();
        for character in String::from_utf8_lossy(output).chars() {
            text.push(character);
        }
        text.end_line();
        text.text
    }

    fn push(&mut self, character: char) {
        self.state = match (self.state, character) {
            (State::Text, '\u{1b}') => State::Escape,
            (State::String, '\u{1b}') => State::StringEscape,
            (State::Escape, '[') => State::Sequence(None),
            (State::Escape, ']' | 'P' | 'X' | '^' | '_') => State::String,
            (State::Escape, ' ' | '#' | '%' | '('..='/') => State::Designation,
            (State::Sequence(_), '@'..='~') => {
                self.apply(character);
                State::Text
            }
            (State::Sequence(None), '0'..='9') => State::Sequence(Some(character)),
            (State::Sequence(_), ' '..='?') => State::Sequence(Some('?')),
            // Any other character breaks a sequence off, and the end of a line a string.
            (State::Text | State::Sequence(_), _)
            | (State::Escape | State::Designation | State::String, '\n') => {
                self.put(character);
                State::Text
            }
            (State::Escape | State::Designation, _)
            | (State::String, '\u{7}')
            | (State::StringEscape, '\\') => State::Text,
            (State::String | State::StringEscape, _) => State::String,
        };
    }

    /// Applies a sequence that ends in this character. Movements between lines are ignored.
    fn apply(&mut self, end: char) {
        let parameter = match self.state {
            State::Sequence(parameter) => parameter,
            _ => None,
        };
        match (end, parameter) {
            ('K', None | Some('0')) => self.line.truncate(self.cursor),
            ('K', Some('1')) => {
                let erased = self.line.iter_mut().take(self.cursor);
                erased.for_each(|character| *character = ' ');
            }
            ('K', Some('2')) => {
                self.line.clear();
                self.pad();
            }
            ('G', None | Some('0' | '1')) => self.cursor = 0,
            _ => {}
        }
    }

    fn put(&mut self, character: char) {
        match character {
            '\n' => {
                self.end_line();
                self.text.push('\n');
            }
            '\r' => self.cursor = 0,
            '\u{8}' => self.cursor = self.cursor.saturating_sub(1),
            '\t' => self.write(character),
            _ if character.is_control() => {}
            _ => self.write(character),
        }
    }

    fn write(&mut self, character: char) {
        match self.line.get_mut(self.cursor) {
            Some(overwritten) => *overwritten = character,
            None => self.line.push(character),
        }
        self.cursor += 1;
        if self.line.len() >= MAX_LINE {
            self.end_line();
        }
    }

    /// Fills the line with blanks up to the cursor.
    fn pad(&mut self) {
        if self.line.len() < self.cursor {
            self.line.resize(self.cursor, ' ');
        }
    }

    fn end_line(&mut self) {
        self.text.extend(self.line.drain(..));
        self.cursor = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_what_a_terminal_shows() {
        for (output, text) in [
            ("", ""),
            ("a\nb\n", "a\nb\n"),
            ("a\r\nb\r\n", "a\nb\n"),
            ("10 %\r50 %\r100 %\n", "100 %\n"),
            ("longer\rab\n", "abnger\n"),
            ("longer\r\x1b[Kab", "ab"),
            ("longer\r\x1b[2Kab\n", "ab\n"),
            ("ab\x1b[2Kc\n", "  c\n"),
            ("ab\x1b[1Kc\n", "  c\n"),
            ("\x1b[1;31mred\x1b[0m \x1b[mplain\n", "red plain\n"),
            ("\x1b[?25lx\x1b[?25h\n", "x\n"),
            ("\x1b]0;title\x07x", "x"),
            ("\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\x1b(Bx\x1b=y\x1b7z", "xyz"),
            ("abc\x08\x08X\n", "aXc\n"),
            ("bell\x07\0 \x01tab\t|\n", "bell tab\t|\n"),
            // A broken sequence hides nothing of the next lines.
            ("\x1b]0;never ends\nnext\n", "\nnext\n"),
            ("\x1b[31\nnext\n", "\nnext\n"),
            ("\x1b", ""),
            ("日本\r大\n", "大本\n"),
        ] {
            assert_eq!(TerminalText::convert(output.as_bytes()), text, "{output:?}");
        }
        assert_eq!(TerminalText::convert(b"a\xff\xc3b\n"), "a\u{fffd}\u{fffd}b\n");
    }

    #[test]
    fn long_line_takes_bounded_memory_for_its_characters() {
        let mut text = TerminalText::default();
        for _ in 0..(MAX_LINE * 3 + 5) {
            text.push('x');
            assert!(text.line.capacity() <= 2 * MAX_LINE);
        }
        text.end_line();
        assert_eq!(text.text.len(), MAX_LINE * 3 + 5);
    }
}
