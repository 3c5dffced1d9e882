//! Standard error: what people read while standard output holds only the result.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write as _};

use crate::options::When;

/// Where messages go, and whether they are coloured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terminal {
    pub(crate) palette: Palette,
    /// Whether somebody is watching.
    pub(crate) watched: bool,
}

impl Terminal {
    pub(crate) fn new(color: When) -> Self {
        let watched = io::stderr().is_terminal();
        let colored = is_colored(color, watched, |name| env::var_os(name));
        Self {
            palette: Palette { colored },
            watched,
        }
    }

    /// Writes a message. Where standard error is closed, nobody wants to know.
    #[allow(clippy::unused_self, reason = "messages go through here, not past it")]
    pub(crate) fn say(self, message: &str) {
        let mut stderr = io::stderr().lock();
        let _ = stderr.write_all(message.as_bytes());
        let _ = stderr.flush();
    }

    /// Says why there is no result.
    pub(crate) fn fail(self, message: &str) {
        self.say(&format!("{} {message}\n", self.palette.bad("error:")));
    }
}

fn is_colored(when: When, watched: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
    // https://no-color.org: any value but an empty one.
    let unwanted = variable("NO_COLOR").is_some_and(|value| !value.is_empty())
        || variable("TERM").is_some_and(|value| value == "dumb");
    match when {
        When::Always => true,
        When::Never => false,
        When::Auto => watched && !unwanted,
    }
}

/// Colours, or none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Palette {
    pub(crate) colored: bool,
}

impl Palette {
    /// What went wrong.
    pub(crate) fn bad(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    /// What was changed.
    pub(crate) fn changed(self, text: &str) -> String {
        self.paint("1;33", text)
    }

    /// What is as it should be.
    pub(crate) fn good(self, text: &str) -> String {
        self.paint("1;32", text)
    }

    /// What only guides the eye.
    pub(crate) fn faint(self, text: &str) -> String {
        self.paint("36", text)
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
    fn colours_are_for_terminals_that_want_them() {
        let auto = |watched, set: Option<(&str, &str)>| {
            is_colored(When::Auto, watched, |name| {
                set.filter(|set| set.0 == name).map(|set| set.1.into())
            })
        };
        assert!(auto(true, None) && auto(true, Some(("NO_COLOR", ""))));
        assert!(!auto(false, None) && !auto(true, Some(("NO_COLOR", "1"))));
        assert!(!auto(true, Some(("TERM", "dumb"))));
        assert!(is_colored(When::Always, false, |_| Some("1".into())));
        assert!(!is_colored(When::Never, true, |_| None));
    }
}
