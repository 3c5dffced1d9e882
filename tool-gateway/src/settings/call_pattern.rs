//! [`CallPattern`]: the calls to which a permission rule applies, by tool, and by command or path.
//!
//! `docs/gateway.md` has the grammar. A rule that allows calls is matched strictly, and other rules broadly, so that no doubtful call is
//! allowed by a rule for other calls.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

use crate::name_pattern::matches;

/// Tools for which a rule of `Edit` holds, too.
const EDITING: [&str; 4] = ["Edit", "MultiEdit", "Write", "NotebookEdit"];
/// Tools for which a rule of `Read` holds, too.
const READING: [&str; 5] = ["Read", "LS", "Glob", "Grep", "NotebookRead"];
/// Tools whose path is a folder, which they list or search.
const LISTING: [&str; 3] = ["LS", "Glob", "Grep"];
/// Programs that run the command in their arguments.
const WRAPPERS: [&str; 33] = [
    "bash", "builtin", "busybox", "chrt", "command", "compgen", "coproc", "dash", "doas", "env", "eval",
    "exec", "find", "flock", "ionice", "ksh", "nice", "nohup", "script", "setarch", "setpriv", "setsid",
    "sh", "stdbuf", "sudo", "taskset", "time", "timeout", "trap", "unshare", "xargs", "zsh", "!",
];

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
    Command(String),
    Path(PathGlob),
}

#[derive(Debug, Clone)]
struct PathGlob {
    /// For rules that allow calls.
    exact: GlobMatcher,
    /// For other rules: some file systems do not distinguish letters by case. As in `.gitignore`, a glob without `/` matches at any depth.
    broad: GlobMatcher,
    /// The first folders of `broad`, up to the first name with a wildcard, in lower case.
    literal_folders: Vec<String>,
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

/// Argument of a call to which patterns apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    Command(String),
    /// Paths below the root of the workspace: as the model wrote the path, and after links were followed.
    Paths(Vec<PathBuf>),
    /// The tool has no such argument.
    None,
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
            ArgumentPattern::Command(argument.to_owned())
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
            Some(ArgumentPattern::Path(glob)) if self.name == "Read" => Some(glob.broad.glob().glob()),
            _ => None,
        }
    }

    /// Returns whether the pattern matches the argument of a call of a tool that [`matches_name`](Self::matches_name) accepts.
    pub(crate) fn matches_subject(&self, tool: &str, subject: &Subject, effect: Effect) -> bool {
        match (&self.argument, subject) {
            (None, _) => true,
            (Some(ArgumentPattern::Command(pattern)), Subject::Command(command)) => match effect {
                Effect::Allow => !is_compound(command) && matches_command(pattern, command),
                Effect::Restrict | Effect::LeaveOut => may_run(pattern, command),
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

impl PathGlob {
    /// Parses a glob of paths below the root. `./` and `/` before it are the root, too.
    fn parse(text: &str) -> Result<Self, String> {
        if text.starts_with("//") || text.starts_with('~') {
            return Err(
                "a glob of paths below the workspace, such as `src/**`; `//` and `~` are outside of it"
                    .to_owned(),
            );
        }
        let glob = text.strip_prefix("./").or(text.strip_prefix('/')).unwrap_or(text);
        let build = |glob: &str, is_any_case| {
            let glob = GlobBuilder::new(glob)
                .literal_separator(true)
                .case_insensitive(is_any_case)
                .build();
            glob.map(|glob| glob.compile_matcher())
                .map_err(|error| format!("a glob of paths: {error}"))
        };
        // A folder is written as `secrets/`, too.
        let folder = glob.strip_suffix('/').unwrap_or(glob);
        let broad = if text.contains('/') && !folder.is_empty() {
            folder.to_owned()
        } else {
            format!("**/{folder}")
        };
        let is_literal = |name: &&str| !name.contains(['*', '?', '[', '{', '\\']);
        Ok(Self {
            exact: build(glob, false)?,
            broad: build(&broad, true)?,
            literal_folders: broad
                .split('/')
                .take_while(is_literal)
                .map(str::to_lowercase)
                .collect(),
        })
    }

    /// Returns whether the glob matches a path, or everything in a folder.
    fn allows(&self, path: &Path, is_folder: bool) -> bool {
        self.exact.is_match(path) || is_folder && self.exact.is_match(path.join(ANY_NAME).join(ANY_NAME))
    }

    /// Returns whether the glob matches a path, a folder that contains the path, or everything in a folder.
    fn restricts(&self, path: &Path, is_folder: bool) -> bool {
        let mut folders = path.ancestors().filter(|path| *path != Path::new(""));
        folders.any(|path| self.broad.is_match(path)) || is_folder && self.broad.is_match(path.join(ANY_NAME))
    }

    /// Returns whether the glob may match a path in a folder.
    fn may_match_below(&self, folder: &Path) -> bool {
        let names = folder.components().map(|name| name.as_os_str().to_string_lossy());
        names
            .zip(&self.literal_folders)
            .all(|(name, literal)| name.to_lowercase() == *literal)
    }
}

/// Name that a glob matches only if it matches any name.
const ANY_NAME: &str = "\u{1}";

impl Subject {
    /// Returns the argument of a call to which patterns apply: `command`, or a path below the root.
    pub(crate) fn new<'v>(
        tool: &str,
        root: Option<&Path>,
        argument: impl Fn(&str) -> Option<&'v Value>,
    ) -> Self {
        let text = |name| argument(name).and_then(Value::as_str);
        if tool == "Bash" {
            return text("command").map_or(Self::None, |command| Self::Command(command.to_owned()));
        }
        let path = if LISTING.contains(&tool) {
            Some(text("path").unwrap_or(""))
        } else {
            text("file_path").or_else(|| text("notebook_path"))
        };
        match (root, path) {
            (Some(root), Some(path)) => Self::Paths(paths(root, path)),
            _ => Self::None,
        }
    }
}

/// Returns a path below the root in two forms, the sent one and the one without links. Paths outside of the root are left out, since the tools
/// refuse them.
fn paths(root: &Path, sent: &str) -> Vec<PathBuf> {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let absolute = root.join(sent);
    let below = |path: &Path| path.strip_prefix(&root).map(Path::to_owned).ok();
    let mut found: Vec<_> = below(&lexical(&absolute)).into_iter().collect();
    if let Some(path) = below(&resolved(&absolute))
        && !found.contains(&path)
    {
        found.push(path);
    }
    found
}

/// Follows the links of a path. The last parts of the path may not exist.
fn resolved(path: &Path) -> PathBuf {
    let mut folder = path;
    loop {
        if let Ok(found) = folder.canonicalize() {
            let rest = path.strip_prefix(folder).unwrap_or(Path::new(""));
            return lexical(&found.join(rest));
        }
        match folder.parent() {
            Some(parent) => folder = parent,
            None => return lexical(path),
        }
    }
}

/// Removes `.` and `..` from a path, by its letters.
fn lexical(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => _ = clean.pop(),
            other => clean.push(other),
        }
    }
    clean
}

/// Returns whether a command may run several programs, or has redirections, groups or substitutions.
fn is_compound(command: &str) -> bool {
    command.contains([';', '&', '|', '<', '>', '(', '{', '`', '\\', '\n', '\r'])
}

/// Returns whether a pattern matches a command. `*` matches any text. At the end, `:*` and ` *` match the command without arguments, too.
fn matches_command(pattern: &str, command: &str) -> bool {
    let words = pattern.strip_suffix(":*").or(pattern.strip_suffix(" *"));
    match words {
        Some(words) => matches(words, command) || matches(&format!("{words} *"), command),
        None => matches(pattern, command),
    }
}

/// Returns whether a command may run a command that matches the pattern: without quotes, assignments of variables and the folder of the
/// program, and as the argument of a program that runs commands.
fn may_run(pattern: &str, command: &str) -> bool {
    /// Number of words in which a command is searched.
    const MAX_WORDS: usize = 64;
    if is_compound(command) {
        return true;
    }
    let words = Words::parse(command);
    let mut is_argument = false;
    let mut is_start = true;
    for (index, word) in words.0.iter().enumerate() {
        let text = words.from(index);
        if is_argument && index > MAX_WORDS {
            return true;
        }
        if is_assignment(&word.text) {
            continue;
        }
        let name = word.text.rsplit('/').next().unwrap_or_default();
        let named = text.get(word.text.len() - name.len()..).unwrap_or_default();
        let is_match = matches_command(pattern, &text) || matches_command(pattern, named);
        if is_match || is_start && words.may_expand(index, pattern) {
            return true;
        }
        // `bash -c 'touch x'`, `env -S'touch x'`
        let inner = ["-S", "--split-string="]
            .iter()
            .find_map(|option| word.text.strip_prefix(option));
        let inner = inner.unwrap_or(&word.text);
        let is_command = inner.contains([' ', '\t']) || is_start && inner.contains('$');
        if is_argument && is_command && may_run(pattern, inner) {
            return true;
        }
        is_argument |= is_start && WRAPPERS.contains(&name);
        if !is_argument {
            return false;
        }
        // Options, numbers and times of such a program precede the command.
        let is_option =
            word.text.starts_with(['-', '+']) || word.text.starts_with(|first: char| first.is_ascii_digit());
        is_start &= is_option || WRAPPERS.contains(&name);
    }
    false
}

/// Words of a simple command, without their quotes.
struct Words(Vec<Word>);

#[derive(Debug)]
struct Word {
    text: String,
    /// Whether the shell leaves the word unchanged.
    is_literal: bool,
}

impl Words {
    fn parse(command: &str) -> Self {
        let mut words = Vec::new();
        let mut open: Option<Word> = None;
        let mut quote = None;
        for character in command.chars() {
            match (quote, character) {
                (None, ' ' | '\t') => words.extend(open.take()),
                (None, '\'' | '"') => {
                    quote = Some(character);
                    open.get_or_insert_with(Word::new);
                }
                (Some(end), _) if end == character => quote = None,
                _ => {
                    let word = open.get_or_insert_with(Word::new);
                    word.text.push(character);
                    word.is_literal &= match quote {
                        None => !['$', '*', '?', '[', '~'].contains(&character),
                        Some(quote) => quote == '\'' || character != '$',
                    };
                }
            }
        }
        words.extend(open);
        Self(words)
    }

    /// Returns whether the shell may replace words that are not literal, from an index on, so that the command matches a pattern.
    fn may_expand(&self, index: usize, pattern: &str) -> bool {
        let mut words = self.0.iter().skip(index);
        let mut is_program = true;
        for expected in pattern.split_whitespace() {
            let Some(word) = words.next() else {
                return false;
            };
            if !word.is_literal {
                return true;
            }
            let name = word.text.rsplit('/').next().unwrap_or_default();
            if !(matches(expected, &word.text) || is_program && matches(expected, name)) {
                return false;
            }
            // `*` may be several words.
            if expected.contains('*') {
                return words.any(|word| !word.is_literal);
            }
            is_program = false;
        }
        false
    }

    /// Returns the words from an index on, with a blank between them.
    fn from(&self, index: usize) -> String {
        let words = self.0.iter().skip(index).map(|word| word.text.as_str());
        words.collect::<Vec<_>>().join(" ")
    }
}

impl Word {
    fn new() -> Self {
        Self {
            text: String::new(),
            is_literal: true,
        }
    }
}

/// Returns whether a word assigns a variable: `NAME=value`.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name
                .chars()
                .all(|character| character.is_ascii_alphanumeric() || character == '_')
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn matches_call(pattern: &str, tool: &str, subject: &Subject, effect: Effect) -> bool {
        let pattern = CallPattern::parse(pattern).unwrap();
        pattern.matches_name(tool) && pattern.matches_subject(tool, subject, effect)
    }

    fn command(text: &str) -> Subject {
        Subject::Command(text.to_owned())
    }

    /// Compound commands, of which each rule of denial must hold for each.
    const COMPOUND: [&str; 12] = [
        "cargo test; touch x",
        "cargo test && touch x",
        "cargo test | tee x",
        "cargo test &",
        "cargo test > x",
        "cargo test < x",
        "cargo test $(touch x)",
        "cargo test `touch x`",
        "cargo test\ntouch x",
        "cargo test\rtouch x",
        "{ cargo test",
        "cargo\\ test",
    ];

    #[test]
    fn rules_that_allow_match_simple_commands_only() {
        for (pattern, text, is_match) in [
            ("Bash", "anything; at all", true),
            ("Bash(cargo test*)", "cargo test", true),
            ("Bash(cargo test*)", "cargo test --lib 'a b' $HOME", true),
            ("Bash(cargo test*)", "cargo tests", true),
            ("Bash(cargo test *)", "cargo tests", false),
            ("Bash(cargo test *)", "cargo test", true),
            ("Bash(cargo test:*)", "cargo test --lib", true),
            ("Bash(cargo test:*)", "cargo tests", false),
            ("Bash(cargo test)", "cargo test", true),
            ("Bash(cargo test)", "cargo test --lib", false),
            ("Bash(git * --stat)", "git diff --stat", true),
            ("Bash(*)", "make", true),
            ("Bash(cargo test*)", "Cargo test", false),
            ("Bash(cargo test*)", "A=1 cargo test", false),
            ("Bash(cargo test*)", "/tmp/cargo test", false),
            ("Bash(cargo test*)", "env cargo test", false),
        ] {
            assert_eq!(
                matches_call(pattern, "Bash", &command(text), Effect::Allow),
                is_match,
                "{pattern}: {text}"
            );
        }
        for text in COMPOUND {
            for pattern in ["Bash(cargo test*)", "Bash(*)", "Bash(cargo*)"] {
                assert!(
                    !matches_call(pattern, "Bash", &command(text), Effect::Allow),
                    "{pattern}: {text}"
                );
            }
        }
    }

    #[test]
    fn rules_that_restrict_match_commands_in_disguise() {
        let tricks = [
            "touch x",
            "  touch x",
            "\ttouch x",
            "A=1 touch x",
            "A=1 B='2 3' touch x",
            "'touch' x",
            "t''ouch x",
            "/usr/bin/touch x",
            "command touch x",
            "env -i A=1 touch x",
            "nohup /bin/touch x",
            "timeout 5 touch x",
            "bash -c 'touch x'",
            "sudo -u root touch x",
            "xargs touch",
            "$T x",
            "${T} x",
            "/usr/bin/t?uch x",
            "touch",
            "coproc touch x",
            "trap 'touch x' EXIT",
            "compgen -C 'touch x'",
            "env -S'touch x'",
            "env --split-string='touch x'",
            "bash -c '$T x'",
            "flock lock touch x",
            "flock lock -c 'touch x'",
            "ionice -c 3 touch x",
            "taskset 1 touch x",
            "unshare -r touch x",
            "script -c 'touch x'",
            "busybox touch x",
            "find . -exec touch x +",
        ];
        for text in tricks.into_iter().chain(COMPOUND) {
            for pattern in ["Bash(touch*)", "Bash(touch:*)", "Bash(touch *)"] {
                assert!(
                    matches_call(pattern, "Bash", &command(text), Effect::Restrict),
                    "{pattern}: {text}"
                );
            }
        }
        for text in [
            "cargo test",
            "ls touch",
            "cargo test $HOME",
            "timeout 60 cargo test $HOME",
            "timeout 60 cargo test --lib",
            "A=1 ls",
            "echo 'touch x'",
            "git commit -m touch",
            "A=1",
            "env",
        ] {
            assert!(
                !matches_call("Bash(touch*)", "Bash", &command(text), Effect::Restrict),
                "{text}"
            );
        }
    }

    #[test]
    fn rules_that_restrict_match_words_that_the_shell_replaces() {
        for text in [
            "git pu$@sh",
            "git $1push",
            "git \"pu$X\"",
            "git p?sh",
            "/usr/bin/git pu$@sh",
            "GIT_X=1 git pu$@sh",
            "env git pu$@sh",
            "bash -c 'git pu$@sh'",
            "$G push",
        ] {
            for pattern in ["Bash(git push*)", "Bash(git push:*)", "Bash(git push)"] {
                assert!(
                    matches_call(pattern, "Bash", &command(text), Effect::Restrict),
                    "{pattern}: {text}"
                );
            }
        }
        assert!(matches_call(
            "Bash(git * --force)",
            "Bash",
            &command("git push $FLAG"),
            Effect::Restrict
        ));
        for text in [
            "cargo $X",
            "git pull $X",
            "git commit -m \"$X\"",
            "git 'pu$sh'",
            "git",
        ] {
            assert!(
                !matches_call("Bash(git push*)", "Bash", &command(text), Effect::Restrict),
                "{text}"
            );
        }
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

    #[cfg(unix)]
    #[test]
    fn paths_are_found_as_sent_and_after_links() {
        let root = std::env::temp_dir().join(format!("tool-gateway-paths-{}", std::process::id()));
        std::fs::create_dir_all(root.join("secret")).unwrap();
        std::fs::write(root.join("secret/key"), "").unwrap();
        std::os::unix::fs::symlink("secret", root.join("link")).unwrap();
        let subject =
            |tool: &str, arguments: Value| Subject::new(tool, Some(&root), |name| arguments.get(name));
        let paths = |all: &[&str]| Subject::Paths(all.iter().map(Into::into).collect());
        let absolute = root.join("secret/key");
        for (tool, arguments, expected) in [
            (
                "Read",
                json!({ "file_path": "a/../secret/./key" }),
                paths(&["secret/key"]),
            ),
            (
                "Read",
                json!({ "file_path": "link/key" }),
                paths(&["link/key", "secret/key"]),
            ),
            (
                "Write",
                json!({ "file_path": "link/new/file" }),
                paths(&["link/new/file", "secret/new/file"]),
            ),
            ("Edit", json!({ "file_path": absolute }), paths(&["secret/key"])),
            ("Edit", json!({ "file_path": "/etc/passwd" }), paths(&[])),
            ("Grep", json!({ "pattern": "x" }), paths(&[""])),
            ("LS", json!({ "path": "link" }), paths(&["link", "secret"])),
            (
                "NotebookEdit",
                json!({ "notebook_path": "a.ipynb" }),
                paths(&["a.ipynb"]),
            ),
            ("Bash", json!({ "command": "ls" }), command("ls")),
            ("TodoWrite", json!({}), Subject::None),
        ] {
            assert_eq!(subject(tool, arguments.clone()), expected, "{tool} {arguments}");
        }
        std::fs::remove_dir_all(root).unwrap();
    }
}
