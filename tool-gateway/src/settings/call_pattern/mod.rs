//! [`CallPattern`]: the calls to which a permission rule applies, by tool, and by command or path.
//!
//! `docs/gateway.md` has the grammar. A rule that allows calls is matched strictly, and other rules broadly, so that no doubtful call is
//! allowed by a rule for other calls.

mod command_pattern;
mod path_glob;
mod subject;

use std::fmt;

use serde::{Deserialize, Deserializer, de};

use crate::name_pattern::matches;
use command_pattern::CommandPattern;
use path_glob::PathGlob;
use subject::LISTING;
pub(crate) use subject::Subject;

/// Tools for which a rule of `Edit` holds, too.
const EDITING: [&str; 4] = ["Edit", "MultiEdit", "Write", "NotebookEdit"];
/// Tools for which a rule of `Read` holds, too.
const READING: [&str; 5] = ["Read", "LS", "Glob", "Grep", "NotebookRead"];

/// Pattern of calls: the name of a tool, in which `*` matches any text, or the name with a pattern of commands or paths.
#[derive(Clone)]
pub(crate) struct CallPattern {
    /// The pattern in the file.
    text: String,
    name: String,
    argument: Option<ArgumentPattern>,
}

#[derive(Debug, Clone)]
enum ArgumentPattern {
    Command(CommandPattern),
    Path(PathGlob),
}

/// Effect of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The rule allows calls.
    Allow,
    /// The rule denies calls, or asks about calls.
    Restrict,
    /// Like `Restrict`, and tools that list or search a folder leave out what the rule matches.
    LeaveOut,
}

impl CallPattern {
    /// Parses a pattern. The error is an expectation.
    fn parse(text: &str) -> Result<Self, String> {
        let Some((name, rest)) = text.split_once('(') else {
            return Ok(Self {
                text: text.to_owned(),
                name: text.to_owned(),
                argument: None,
            });
        };
        let argument = rest.strip_suffix(')').filter(|argument| !argument.is_empty());
        let argument = argument.ok_or("a pattern in parentheses, such as `Bash(cargo test*)`")?;
        let argument = if name == "Bash" {
            ArgumentPattern::Command(CommandPattern::new(argument))
        } else if EDITING.contains(&name) || READING.contains(&name) {
            ArgumentPattern::Path(PathGlob::parse(argument)?)
        } else {
            return Err(format!(
                "the name of a tool alone; only patterns of {}, {} and Bash have parentheses",
                READING.join(", "),
                EDITING.join(", ")
            ));
        };
        Ok(Self {
            text: text.to_owned(),
            name: name.to_owned(),
            argument: Some(argument),
        })
    }

    /// Returns the pattern of names.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether the pattern depends on an argument of the call.
    pub(crate) fn has_argument(&self) -> bool {
        self.argument.is_some()
    }

    /// Returns whether the pattern matches the name of a tool. `Edit` holds for all tools that write files, and `Read` for all tools that
    /// read files.
    pub(crate) fn matches_name(&self, tool: &str) -> bool {
        match self.name.as_str() {
            "Edit" => EDITING.contains(&tool),
            "Read" => READING.contains(&tool),
            name => matches(name, tool),
        }
    }

    /// Returns whether the pattern matches the name of a tool that reads files.
    pub(crate) fn matches_reader(&self) -> bool {
        READING.iter().any(|tool| self.matches_name(tool))
    }

    /// Returns the glob of paths that a rule with this pattern may deny to all tools that read files.
    pub(crate) fn reader_glob(&self) -> Option<&str> {
        match &self.argument {
            Some(ArgumentPattern::Path(glob)) if self.name == "Read" => Some(glob.reader_glob()),
            _ => None,
        }
    }

    /// Returns whether the pattern matches the argument of a call of a tool that [`matches_name`](Self::matches_name) accepts.
    pub(crate) fn matches_subject(&self, tool: &str, subject: &Subject, effect: Effect) -> bool {
        match (&self.argument, subject) {
            (None, _) => true,
            (Some(ArgumentPattern::Command(pattern)), Subject::Command(command)) => match effect {
                Effect::Allow => pattern.allows(command),
                Effect::Restrict | Effect::LeaveOut => pattern.restricts(command),
            },
            (Some(ArgumentPattern::Path(glob)), Subject::Paths(paths)) => {
                let is_folder = LISTING.contains(&tool);
                match effect {
                    // A path outside of the root is none that a rule allows.
                    Effect::Allow => {
                        !paths.is_empty() && paths.iter().all(|path| glob.allows(path, is_folder))
                    }
                    Effect::Restrict => paths.iter().any(|path| {
                        glob.restricts(path, is_folder) || is_folder && glob.may_match_below(path)
                    }),
                    Effect::LeaveOut => paths.iter().any(|path| glob.restricts(path, is_folder)),
                }
            }
            // A call without the argument is not what a rule allows, and may be what another rule restricts.
            (Some(_), _) => effect != Effect::Allow,
        }
    }
}

impl fmt::Debug for CallPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

impl PartialEq for CallPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for CallPattern {}

impl<'de> Deserialize<'de> for CallPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text)
            .map_err(|expected| de::Error::invalid_value(de::Unexpected::Str(&text), &expected.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches_call(pattern: &str, tool: &str, subject: &Subject, effect: Effect) -> bool {
        let pattern = CallPattern::parse(pattern).unwrap();
        pattern.matches_name(tool) && pattern.matches_subject(tool, subject, effect)
    }

    #[test]
    fn rules_of_paths_hold_for_the_tools_of_a_family() {
        let paths = |all: &[&str]| Subject::Paths(all.iter().map(Into::into).collect());
        for (pattern, tool, all, allows, restricts) in [
            ("Edit(src/**)", "Edit", &["src/a/b.rs"][..], true, true),
            ("Edit(src/**)", "Write", &["src/a.rs"], true, true),
            ("Edit(src/**)", "MultiEdit", &["lib/a.rs"], false, false),
            ("Edit(src/**)", "Read", &["src/a.rs"], false, false),
            ("Write(src/**)", "Edit", &["src/a.rs"], false, false),
            ("Read(src/**)", "Read", &["src/a.rs"], true, true),
            ("Read(src/**)", "Grep", &["src"], true, true),
            // A search above the folder may read it.
            ("Read(src/**)", "Grep", &[""], false, true),
            ("Read(src/a/**)", "Glob", &["src"], false, true),
            ("Read(SRC/a/**)", "Glob", &["src"], false, true),
            ("Read(src/*/b)", "LS", &["src/a"], false, true),
            ("Read(src/**)", "Grep", &["lib"], false, false),
            ("Read(src/a/**)", "Grep", &["src/b"], false, false),
            ("Read(**/*.key)", "Grep", &["lib"], false, true),
            // As in `.gitignore`, a glob without `/` restricts paths at any depth, and `secrets/` is a folder.
            ("Read(*.key)", "Read", &["a/b.key"], false, true),
            ("Read(.env)", "Read", &["a/.env"], false, true),
            ("Read(secrets)", "Read", &["a/secrets/b"], false, true),
            ("Read(secrets/)", "Read", &["secrets/b"], false, true),
            ("Read(/*.key)", "Read", &["a/b.key"], false, false),
            ("Read(./*.key)", "Read", &["a/b.key"], false, false),
            ("Read(**)", "Glob", &[""], true, true),
            ("Read(src/*)", "LS", &["src"], false, true),
            ("Read(./src/*.rs)", "Read", &["src/a.rs"], true, true),
            ("Read(/src/*.rs)", "Read", &["src/a/b.rs"], false, false),
            // Both the sent path and the file behind a link must be allowed, and neither may be denied.
            ("Edit(src/**)", "Edit", &["src/link", "secret/key"], false, true),
            ("Edit(secret)", "Edit", &["src/link", "secret/key"], false, true),
            ("Edit(SRC/**)", "Edit", &["src/a.rs"], false, true),
            ("Edit(.env*)", "Edit", &[".env.local"], true, true),
        ] {
            let subject = paths(all);
            assert_eq!(
                matches_call(pattern, tool, &subject, Effect::Allow),
                allows,
                "{pattern} allows {tool} {all:?}"
            );
            assert_eq!(
                matches_call(pattern, tool, &subject, Effect::Restrict),
                restricts,
                "{pattern} restricts {tool} {all:?}"
            );
        }
        let command = Subject::Command("anything; at all".to_owned());
        assert!(matches_call("Bash", "Bash", &command, Effect::Allow));
        assert!(matches_call("Edit", "Write", &Subject::None, Effect::Allow));
        assert!(!matches_call("Edit(a)", "Write", &Subject::None, Effect::Allow));
        assert!(matches_call("Edit(a)", "Write", &Subject::None, Effect::Restrict));
    }

    #[test]
    fn patterns_with_mistakes_are_rejected() {
        for (text, expected) in [
            ("Bash(", "a pattern in parentheses, such as `Bash(cargo test*)`"),
            ("Bash()", "a pattern in parentheses, such as `Bash(cargo test*)`"),
            (
                "Bash(a) ",
                "a pattern in parentheses, such as `Bash(cargo test*)`",
            ),
            (
                "TodoWrite(a)",
                "the name of a tool alone; only patterns of Read, LS",
            ),
            ("B*(a)", "the name of a tool alone"),
            ("Edit(a[)", "a glob of paths: error parsing glob 'a['"),
            ("Read(~/.ssh/**)", "a glob of paths below the workspace"),
            ("Read(//etc/**)", "a glob of paths below the workspace"),
        ] {
            let error = CallPattern::parse(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
