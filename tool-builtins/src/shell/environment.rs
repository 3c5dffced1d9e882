//! [`Environment`]: the variables of a command, built from an allow list.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

/// Variables that commands inherit from the process. All others may be secrets.
const INHERITED: [&str; 7] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ"];

/// Variables that keep programs from waiting for a terminal, a pager or an editor.
const FIXED: [(&str, &str); 6] = [
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", "true"),
];

/// Variable that marks the processes of a command, also those that left its process group.
pub(super) const MARK: &str = "TOOL_SHELL_MARK";

/// Variables of all commands of a shell.
#[derive(Debug, Clone)]
pub(super) struct Environment(Vec<(OsString, OsString)>);

impl Environment {
    /// Selects the inherited variables, and adds the host's.
    pub(super) fn new(
        own: impl Iterator<Item = (OsString, OsString)>,
        added: &[(OsString, OsString)],
    ) -> Self {
        let fixed = FIXED.iter().map(|(name, value)| (name.into(), value.into()));
        let mut variables: Vec<_> = own.filter(|(name, _)| is_inherited(name)).chain(fixed).collect();
        // After the others: the last value of a name wins.
        variables.extend(added.iter().cloned());
        Self(variables)
    }

    /// Sets the environment of a command.
    pub(super) fn apply(&self, command: &mut Command, scratch: &Path, mark: &str) {
        command.env_clear().env("TMPDIR", scratch);
        command.envs(self.0.iter().map(|(name, value)| (name, value)));
        command.env(MARK, mark);
    }
}

fn is_inherited(name: &OsStr) -> bool {
    name.to_str()
        .is_some_and(|name| INHERITED.contains(&name) || name.starts_with("LC_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inherits_only_harmless_variables() {
        let own = [
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("ANTHROPIC_API_KEY", "sk-1"),
            ("SSH_AUTH_SOCK", "/run/agent"),
            ("LD_PRELOAD", "x.so"),
            ("BASH_ENV", "/etc/evil"),
            ("TERM", "xterm"),
            ("TMPDIR", "/tmp"),
        ];
        let own = own.map(|(name, value)| (name.into(), value.into())).into_iter();
        let environment = Environment::new(own, &[("NO_COLOR".into(), "0".into())]);
        let mut command = Command::new("bash");
        environment.apply(&mut command, Path::new("/scratch"), "m");
        let set: Vec<_> = command
            .get_envs()
            .filter_map(|(name, value)| Some(format!("{}={}", name.to_str()?, value?.to_str()?)))
            .collect();
        let expected = "GIT_EDITOR=true GIT_PAGER=cat GIT_TERMINAL_PROMPT=0 LC_ALL=C NO_COLOR=0 PAGER=cat PATH=/bin TERM=dumb \
                        TMPDIR=/scratch TOOL_SHELL_MARK=m";
        assert_eq!(set.join(" "), expected);
    }
}
