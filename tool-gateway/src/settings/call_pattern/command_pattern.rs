//! [`CommandPattern`]: commands of a shell to which a permission rule applies.

use crate::name_pattern::matches;

/// Programs that run the command in their arguments.
const WRAPPERS: [&str; 33] = [
    "bash", "builtin", "busybox", "chrt", "command", "compgen", "coproc", "dash", "doas", "env", "eval",
    "exec", "find", "flock", "ionice", "ksh", "nice", "nohup", "script", "setarch", "setpriv", "setsid",
    "sh", "stdbuf", "sudo", "taskset", "time", "timeout", "trap", "unshare", "xargs", "zsh", "!",
];

/// Pattern of commands, in which `*` matches any text.
#[derive(Debug, Clone)]
pub(super) struct CommandPattern(String);

impl CommandPattern {
    pub(super) fn new(pattern: &str) -> Self {
        Self(pattern.to_owned())
    }

    /// Returns whether a rule with this pattern allows a command. No rule for some commands allows a compound command.
    pub(super) fn allows(&self, command: &str) -> bool {
        !is_compound(command) && matches_command(&self.0, command)
    }

    /// Returns whether a rule with this pattern restricts a command, which may run a command that matches the pattern.
    pub(super) fn restricts(&self, command: &str) -> bool {
        may_run(&self.0, command)
    }
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
    use super::*;

    /// Compound commands, which no rule allows, and which every rule restricts.
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
            ("cargo test*", "cargo test", true),
            ("cargo test*", "cargo test --lib 'a b' $HOME", true),
            ("cargo test*", "cargo tests", true),
            ("cargo test *", "cargo tests", false),
            ("cargo test *", "cargo test", true),
            ("cargo test:*", "cargo test --lib", true),
            ("cargo test:*", "cargo tests", false),
            ("cargo test", "cargo test", true),
            ("cargo test", "cargo test --lib", false),
            ("git * --stat", "git diff --stat", true),
            ("*", "make", true),
            ("cargo test*", "Cargo test", false),
            ("cargo test*", "A=1 cargo test", false),
            ("cargo test*", "/tmp/cargo test", false),
            ("cargo test*", "env cargo test", false),
        ] {
            assert_eq!(
                CommandPattern::new(pattern).allows(text),
                is_match,
                "{pattern}: {text}"
            );
        }
        for text in COMPOUND {
            for pattern in ["cargo test*", "*", "cargo*"] {
                assert!(!CommandPattern::new(pattern).allows(text), "{pattern}: {text}");
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
            for pattern in ["touch*", "touch:*", "touch *"] {
                assert!(CommandPattern::new(pattern).restricts(text), "{pattern}: {text}");
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
            assert!(!CommandPattern::new("touch*").restricts(text), "{text}");
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
            for pattern in ["git push*", "git push:*", "git push"] {
                assert!(CommandPattern::new(pattern).restricts(text), "{pattern}: {text}");
            }
        }
        assert!(CommandPattern::new("git * --force").restricts("git push $FLAG"));
        for text in [
            "cargo $X",
            "git pull $X",
            "git commit -m \"$X\"",
            "git 'pu$sh'",
            "git",
        ] {
            assert!(!CommandPattern::new("git push*").restricts(text), "{text}");
        }
    }
}
