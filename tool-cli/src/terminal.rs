//! Messages to the user on standard error. Standard output contains only the result.

use std::env;
use std::io::{self, IsTerminal as _, Write as _};

use crate::options::ColorChoice;

/// Standard error as the destination of messages, with their colours.
#[derive(Debug, Clone, Copy)]
pub struct Terminal {
    pub(crate) palette: Palette,
    /// Whether standard error is a terminal that can rewrite a line.
    pub(crate) is_interactive: bool,
    /// Whether standard output is also a terminal, most likely the terminal of standard error.
    pub(crate) has_output: bool,
}

impl Terminal {
    /// Detects whether standard error is a terminal, and reads `NO_COLOR` and `TERM`.
    pub(crate) fn new(color: ColorChoice) -> Self {
        let dumb = env::var_os("TERM").is_some_and(|value| value == "dumb");
        // Any value except an empty one, https://no-color.org.
        let unwanted = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let is_interactive = io::stderr().is_terminal() && !dumb;
        Self {
            palette: Palette {
                colored: is_colored(color, is_interactive, unwanted),
            },
            is_interactive,
            has_output: io::stderr().is_terminal() && io::stdout().is_terminal(),
        }
    }

    /// Writes a line break if a message would continue the last line of the result.
    pub(crate) fn end_line(self, result: &[u8]) {
        if self.has_output && result.last().is_some_and(|byte| *byte != b'\n') {
            self.print("\n");
        }
    }

    /// Writes a message. A closed standard error is not a failure.
    #[allow(clippy::unused_self, reason = "all messages are written through a terminal")]
    pub fn print(self, message: &str) {
        let mut stderr = io::stderr().lock();
        let _ = stderr.write_all(message.as_bytes());
        let _ = stderr.flush();
    }

    /// Writes the message of a failure.
    pub(crate) fn fail(self, message: &str) {
        self.print(&format!("{} {message}\n", self.palette.error("error:")));
    }
}

fn is_colored(color: ColorChoice, is_interactive: bool, unwanted: bool) -> bool {
    match color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => is_interactive && !unwanted,
    }
}

/// Returns untrusted text as one line of limited length, with escaped control characters.
pub fn visible(text: &str) -> String {
    let mut shown = String::new();
    for (place, letter) in text.chars().enumerate() {
        if place == VISIBLE {
            shown.push('…');
            break;
        }
        if is_hidden(letter) {
            shown.extend(letter.escape_unicode());
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// Returns whether a character is invisible or controls a terminal.
pub(crate) fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(letter, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Maximum number of characters of untrusted text in a message.
const VISIBLE: usize = 512;

/// Returns a number with its noun.
pub(crate) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Colours of messages, or none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Palette {
    pub(crate) colored: bool,
}

impl Palette {
    /// Colours an error.
    pub(crate) fn error(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    /// Colours a change or a warning.
    pub(crate) fn warning(self, text: &str) -> String {
        self.paint("1;33", text)
    }

    /// Colours a success.
    pub(crate) fn success(self, text: &str) -> String {
        self.paint("1;32", text)
    }

    fn paint(self, style: &str, text: &str) -> String {
        if self.colored && !text.is_empty() {
            format!("\x1b[{style}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_depend_on_the_terminal_and_the_environment() {
        assert!(is_colored(ColorChoice::Auto, true, false));
        assert!(!is_colored(ColorChoice::Auto, true, true) && !is_colored(ColorChoice::Auto, false, false));
        assert!(is_colored(ColorChoice::Always, false, true) && !is_colored(ColorChoice::Never, true, false));
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(visible("写 \u{1b}[2J\n\u{202e}"), "写 \\u{1b}[2J\\u{a}\\u{202e}");
        assert_eq!(visible(&"a".repeat(9_999)), format!("{}…", "a".repeat(VISIBLE)));
    }
}
