//! Processes of a command, found in `/proc` by their group and by their mark.
//!
//! A process that calls `setsid` leaves the group of its command. The mark in its environment remains, unless the process
//! removes it on purpose (`env -i`), or overwrites its environment to change its title. Such a process is not found.

use std::fs;
use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};

use super::environment::MARK;

/// Running process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) id: Pid,
    /// Name of the program, of at most 15 bytes.
    pub(super) name: String,
}

/// Condition that processes satisfy.
#[derive(Debug, Clone)]
pub(super) enum Filter {
    /// Processes of a command: in the group of its shell, which is not included, or with its mark.
    OfCommand { shell: Pid, mark: String },
    /// Processes with the mark of a command that have left the group of its shell.
    OutsideOfGroup { shell: Pid, mark: String },
    /// Processes whose mark begins with this text.
    MarkStartsWith(String),
}

impl Filter {
    /// Finds the running processes. Zombies have ended, and are not included.
    pub(super) fn find(&self) -> Vec<Process> {
        let Ok(entries) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        ids.filter_map(|id| self.check(id)).collect()
    }

    /// Returns the condition for the processes of a command that a signal to its group does not reach.
    pub(super) fn outside_of_group(&self) -> Self {
        match self {
            Self::OfCommand { shell, mark } => Self::OutsideOfGroup {
                shell: *shell,
                mark: mark.clone(),
            },
            other => other.clone(),
        }
    }

    /// Returns whether a short command can have left processes. A process that is created later than the shell has a higher
    /// number, unless the numbers wrap.
    pub(super) fn may_match(&self, age: Duration) -> bool {
        /// No system creates as many processes as there are numbers in this time.
        const SHORT: Duration = Duration::from_millis(300);
        /// Numbers for which a look-up of each is faster than a search of all processes.
        const FEW: i32 = 64;
        let Self::OfCommand { shell, .. } = self else {
            return true;
        };
        let first = shell.as_raw_nonzero().get() + 1;
        match last_created() {
            Some(last) if age < SHORT && last + 1 >= first && last - first < FEW => {
                (first..=last).any(|id| self.check(id).is_some())
            }
            _ => true,
        }
    }

    /// Sends a signal to each of the processes. Returns their number.
    pub(super) fn signal(&self, signal: Signal) -> usize {
        let found = self.find();
        for process in &found {
            // The number may belong to another process by now. The descriptor does not change its process, so the second check
            // is about the process that receives the signal.
            if let Ok(descriptor) = pidfd_open(process.id, PidfdFlags::empty())
                && self.check(process.id.as_raw_nonzero().get()).is_some()
            {
                // The process may have ended.
                let _ = pidfd_send_signal(descriptor, signal);
            }
        }
        found.len()
    }

    /// Kills the processes until none is left, or until a time. Returns whether none is left.
    pub(super) fn kill_until(&self, end: Instant) -> bool {
        loop {
            if self.signal(Signal::KILL) == 0 {
                return true;
            }
            if Instant::now() >= end {
                return false;
            }
            sleep(Duration::from_millis(2));
        }
    }

    fn check(&self, id: i32) -> Option<Process> {
        let id = Pid::from_raw(id)?;
        let stat = Stat::read(id)?;
        let matches = match self {
            Self::OfCommand { shell, mark } => {
                id != *shell
                    && (stat.group == shell.as_raw_nonzero().get() || has_mark(id, |found| found == mark))
            }
            Self::OutsideOfGroup { shell, mark } => {
                stat.group != shell.as_raw_nonzero().get() && has_mark(id, |found| found == mark)
            }
            Self::MarkStartsWith(prefix) => has_mark(id, |found| found.starts_with(prefix)),
        };
        (matches && id != getpid() && !stat.has_ended).then_some(Process { id, name: stat.name })
    }
}

/// Fields of `/proc/PID/stat`.
#[derive(Debug, PartialEq)]
struct Stat {
    name: String,
    has_ended: bool,
    group: i32,
}

impl Stat {
    fn read(id: Pid) -> Option<Self> {
        let text = fs::read(format!("/proc/{}/stat", id.as_raw_nonzero())).ok()?;
        Self::parse(&String::from_utf8_lossy(&text))
    }

    /// Parses `7 (name) S 1 7 …`. The name may have any characters, also parentheses.
    fn parse(text: &str) -> Option<Self> {
        let (head, rest) = text.rsplit_once(')')?;
        let (_, name) = head.split_once('(')?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?;
        let _parent = fields.next()?;
        Some(Self {
            name: name.to_owned(),
            has_ended: matches!(state, "Z" | "X" | "x"),
            group: fields.next()?.parse().ok()?,
        })
    }
}

/// Returns whether the environment of a process has a mark that satisfies a condition. The environments of other users'
/// processes cannot be read.
fn has_mark(id: Pid, condition: impl Fn(&str) -> bool) -> bool {
    let environment = fs::read(format!("/proc/{}/environ", id.as_raw_nonzero())).unwrap_or_default();
    let mut variables = environment.split(|byte| *byte == 0);
    variables.any(|variable| {
        let value = variable
            .strip_prefix(MARK.as_bytes())
            .and_then(|rest| rest.strip_prefix(b"="));
        value.is_some_and(|value| str::from_utf8(value).is_ok_and(&condition))
    })
}

/// Returns the number of the process that was created last.
fn last_created() -> Option<i32> {
    let text: io::Result<String> = fs::read_to_string("/proc/loadavg");
    text.ok()?.trim_end().rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_names_with_parentheses() {
        let stat = Stat::parse("7 (a) R (b) c) Z 1 5 5 0 -1").unwrap();
        let expected = Stat {
            name: "a) R (b) c".to_owned(),
            has_ended: true,
            group: 5,
        };
        assert_eq!(stat, expected);
        assert_eq!(Stat::parse("7 (a) S"), None);
        assert_eq!(Stat::parse(""), None);
    }

    #[test]
    fn last_created_process_is_known() {
        assert!(last_created().unwrap() > 0);
    }
}
