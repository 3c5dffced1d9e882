//! Standard error: what people read while standard output holds only the result.

use std::env;
use std::io::{self, IsTerminal as _, Write as _};

use crate::options::When;

/// Destination of messages, and their colours.
#[derive(Debug, Clone, Copy)]
pub struct Terminal {
    pub(crate) palette: Palette,
    /// Whether somebody is watching, on a terminal where a line can be written anew.
    pub(crate) watched: bool,
    /// Whether the result goes to a terminal, too: most likely the same one.
    pub(crate) shared: bool,
}

impl Terminal {
    /// Standard error as it is now: on a terminal or not, with `NO_COLOR` and `TERM` of the environment.
    pub(crate) fn new(color: When) -> Self {
        let dumb = env::var_os("TERM").is_some_and(|value| value == "dumb");
        // https://no-color.org: any value but an empty one.
        let unwanted = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let watched = io::stderr().is_terminal() && !dumb;
        Self {
            palette: Palette {
                colored: is_colored(color, watched, unwanted),
            },
            watched,
            shared: io::stderr().is_terminal() && io::stdout().is_terminal(),
        }
    }

    /// Ends the line of a result, where a message would go on with it.
    pub(crate) fn end_line(self, result: &[u8]) {
        if self.shared && result.last().is_some_and(|byte| *byte != b'\n') {
            self.print("\n");
        }
    }

    /// Writes a message; a closed standard error is no failure.
    #[allow(clippy::unused_self, reason = "messages go through here, not past it")]
    pub fn print(self, message: &str) {
        let mut stderr = io::stderr().lock();
        let _ = stderr.write_all(message.as_bytes());
        let _ = stderr.flush();
    }

    /// Says why there is no result.
    pub(crate) fn fail(self, message: &str) {
        self.print(&format!("{} {message}\n", self.palette.bad("error:")));
    }
}

fn is_colored(when: When, watched: bool, unwanted: bool) -> bool {
    match when {
        When::Always => true,
        When::Never => false,
        When::Auto => watched && !unwanted,
    }
}

/// A text from outside in one line, cut to a length that people read: a terminal has nothing to obey in it.
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

/// Characters that a terminal would obey, or that are invisible.
pub(crate) fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(letter, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Maximum number of characters of a text from outside.
const VISIBLE: usize = 512;

/// A number with its noun.
pub(crate) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Colours, or none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Palette {
    pub(crate) colored: bool,
}

impl Palette {
    /// Colour of errors.
    pub(crate) fn bad(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    /// Colour of changes.
    pub(crate) fn changed(self, text: &str) -> String {
        self.paint("1;33", text)
    }

    /// Colour of success.
    pub(crate) fn good(self, text: &str) -> String {
        self.paint("1;32", text)
    }

    fn paint(self, how: &str, text: &str) -> String {
        if self.colored && !text.is_empty() {
            format!("\x1b[{how}m{text}\x1b[0m")
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
        assert!(is_colored(When::Auto, true, false));
        assert!(!is_colored(When::Auto, true, true) && !is_colored(When::Auto, false, false));
        assert!(is_colored(When::Always, false, true) && !is_colored(When::Never, true, false));
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(visible("写 \u{1b}[2J\n\u{202e}"), "写 \\u{1b}[2J\\u{a}\\u{202e}");
        assert_eq!(visible(&"a".repeat(9_999)), format!("{}…", "a".repeat(VISIBLE)));
    }
}
