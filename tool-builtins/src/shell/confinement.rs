//! [`Confinement`]: the restrictions of commands, enforced by Landlock, seccomp and dropped capabilities.
//!
//! A thread applies them to itself and then starts the shell. The shell and its processes inherit them, the other threads of
//! the process do not. No helper program and no `unsafe` is necessary.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, LandlockStatus,
    RestrictionStatus, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, Scope,
    path_beneath_rules,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, remove_capability_from_bounding_set, set_capabilities,
    set_no_new_privs,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

use super::options::{Sandbox, ShellOptions};

/// Version of Landlock with all restrictions of files, the last of which is the control of devices.
const FILES: ABI = ABI::V5;
/// Version of Landlock that keeps a command from cutting files.
const CUTS: ABI = ABI::V3;
/// Version of Landlock with restrictions of signals and of abstract Unix sockets.
const SCOPES: ABI = ABI::V6;

/// Devices and folders for shared memory that programs expect to be writable.
const WRITABLE: [&str; 2] = ["/dev/null", "/dev/shm"];

/// Restrictions that are enforced for each command of a [`Shell`](super::Shell). `Display` lists them for the operator.
#[derive(Debug, Clone)]
pub struct Confinement {
    rules: Option<Rules>,
    enforced: Enforced,
}

/// Restrictions, as requested.
#[derive(Debug, Clone)]
struct Rules {
    /// Root of the workspace.
    root: PathBuf,
    writable: bool,
    readable: Option<Vec<PathBuf>>,
    network: bool,
    /// Filter of system calls; `None` with a network, and on a processor without support.
    filter: Option<Arc<BpfProgram>>,
}

/// Restrictions that the system supports.
#[derive(Debug, Clone, Copy, Default)]
struct Enforced {
    /// Version of Landlock; 0 without Landlock.
    landlock: i32,
    /// Whether sockets are refused.
    sockets: bool,
    /// Whether capabilities are dropped.
    capabilities: bool,
}

/// Error of a system that cannot enforce the requested restrictions.
#[derive(Debug, thiserror::Error)]
#[error("commands cannot be confined: {0}")]
pub(super) struct NotConfined(String);

impl Confinement {
    /// Finds the restrictions that the system supports.
    pub(super) fn new(options: &ShellOptions, root: &Path) -> Result<Self, NotConfined> {
        if options.sandbox == Sandbox::Off {
            return Ok(Self {
                rules: None,
                enforced: Enforced::default(),
            });
        }
        let filter = if options.network {
            None
        } else {
            socket_filter(options.unix_sockets)
        };
        let rules = Rules {
            root: root.to_owned(),
            writable: options.writable,
            readable: options.readable.clone(),
            network: options.network,
            filter: filter.map(Arc::new),
        };
        let enforced = rules.probe().map_err(|error| NotConfined(error.to_string()))?;
        let is_enforced = enforced.landlock >= SCOPES as i32
            && enforced.capabilities
            && (options.network || enforced.sockets);
        let confinement = Self {
            rules: Some(rules),
            enforced,
        };
        if options.sandbox == Sandbox::Required && !is_enforced {
            return Err(NotConfined(format!(
                "the system enforces only: {confinement}; Landlock of Linux 6.12 or later, and seccomp are necessary"
            )));
        }
        Ok(confinement)
    }

    /// Prepares the restrictions for a command with its scratch folder and its output.
    pub(super) fn prepare(&self, scratch: &Path, output: &Path) -> io::Result<Confined> {
        let Some(rules) = &self.rules else {
            return Ok(Confined(None));
        };
        rules
            .prepare(Some(scratch), Some(output))
            .map(|confined| Confined(Some(confined)))
    }

    /// Returns whether a command cannot write outside of the writable folders.
    pub fn confines_writes(&self) -> bool {
        self.enforced.landlock >= CUTS as i32
    }

    /// Returns whether a command can open no network connection.
    pub fn confines_network(&self) -> bool {
        self.enforced.sockets
    }

    /// Returns whether a command can send no signals to other processes.
    pub fn confines_signals(&self) -> bool {
        self.enforced.landlock >= SCOPES as i32
    }

    /// Returns a sentence for the model.
    pub(super) fn describe(&self) -> &'static str {
        let writable = self.rules.as_ref().is_some_and(|rules| rules.writable);
        match (self.confines_writes(), writable, self.enforced.sockets) {
            (true, true, true) => {
                "Commands can write only below the workspace and $TMPDIR, and have no network."
            }
            (true, true, false) => "Commands can write only below the workspace and $TMPDIR.",
            (true, false, true) => "Commands can write only below $TMPDIR, and have no network.",
            (true, false, false) => "Commands can write only below $TMPDIR.",
            (false, _, true) => "Commands have no network.",
            (false, _, false) => "Commands are not confined.",
        }
    }
}

impl fmt::Display for Confinement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Enforced {
            landlock,
            sockets,
            capabilities,
        } = self.enforced;
        let Some(rules) = &self.rules else {
            return f.write_str("off");
        };
        let mut parts = Vec::new();
        if self.confines_writes() {
            let place = if rules.writable {
                "the workspace and scratch files"
            } else {
                "scratch files"
            };
            parts.push(format!("Landlock {landlock} (writes only to {place})"));
        }
        if self.confines_signals() {
            parts.push("no signals to other processes".to_owned());
        }
        if sockets {
            parts.push("seccomp (no network)".to_owned());
        }
        if capabilities {
            parts.push("no capabilities".to_owned());
        }
        if parts.is_empty() {
            return f.write_str("not supported by this system");
        }
        f.write_str(&parts.join(", "))
    }
}

/// Restrictions that a thread can apply to itself.
#[derive(Debug)]
pub(super) struct Confined(Option<PreparedRules>);

impl Confined {
    /// Restricts the current thread, and the processes that it starts.
    pub(super) fn apply(self) -> io::Result<()> {
        let Some(prepared) = self.0 else {
            return Ok(());
        };
        prepared.apply().map(drop)
    }
}

#[derive(Debug)]
struct PreparedRules {
    ruleset: RulesetCreated,
    filter: Option<Arc<BpfProgram>>,
}

impl PreparedRules {
    fn apply(self) -> io::Result<RestrictionStatus> {
        set_no_new_privs(true)?;
        let status = self.ruleset.restrict_self().map_err(io::Error::other)?;
        if let Some(filter) = &self.filter {
            apply_filter(filter).map_err(io::Error::other)?;
        }
        drop_capabilities()?;
        Ok(status)
    }
}

impl Rules {
    /// Applies the restrictions to a thread that ends.
    fn probe(&self) -> io::Result<Enforced> {
        let prepared = self.prepare(None, None)?;
        let sockets = prepared.filter.is_some();
        let thread = thread::Builder::new().name("shell-probe".to_owned());
        let applied = thread.spawn(move || prepared.apply())?.join();
        let status = applied.map_err(|_| io::Error::other("the probe panicked"))??;
        let landlock = match status.landlock {
            LandlockStatus::Available {
                effective_abi,
                kernel_abi,
            } => kernel_abi.unwrap_or(effective_abi as i32),
            _ => 0,
        };
        Ok(Enforced {
            landlock,
            sockets,
            capabilities: true,
        })
    }

    fn prepare(&self, scratch: Option<&Path>, output: Option<&Path>) -> io::Result<PreparedRules> {
        let ruleset = self.ruleset(scratch, output)?;
        Ok(PreparedRules {
            ruleset,
            filter: self.filter.clone(),
        })
    }

    /// Builds the rules of Landlock.
    fn ruleset(&self, scratch: Option<&Path>, output: Option<&Path>) -> io::Result<RulesetCreated> {
        let write = AccessFs::from_write(FILES);
        let read = if self.readable.is_some() {
            AccessFs::from_read(FILES)
        } else {
            BitFlags::EMPTY
        };
        let mut ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(write | read)
            .and_then(|ruleset| ruleset.scope(Scope::from_all(SCOPES)))
            .map_err(io::Error::other)?;
        if !self.network {
            ruleset = ruleset
                .handle_access(AccessNet::from_all(ABI::V4))
                .map_err(io::Error::other)?;
        }
        let writable = self.writable.then_some(self.root.as_path());
        let writable = writable.into_iter().chain(scratch).chain(WRITABLE.map(Path::new));
        let ruleset = ruleset.create().map_err(io::Error::other)?;
        let mut ruleset = add(ruleset, writable, write | read)?;
        if let Some(output) = output {
            // `echo text >> /dev/stderr` opens the file anew. Without the right to cut a file, `> /dev/stderr` removes no output.
            ruleset = add(ruleset, [output], AccessFs::WriteFile.into())?;
        }
        if let Some(readable) = &self.readable {
            let readable = readable.iter().map(PathBuf::as_path).chain([self.root.as_path()]);
            ruleset = add(ruleset, readable, read)?;
        }
        Ok(ruleset)
    }
}

/// Adds the rules that allow an access below each path that exists.
fn add<'p>(
    ruleset: RulesetCreated,
    paths: impl IntoIterator<Item = &'p Path>,
    access: BitFlags<AccessFs>,
) -> io::Result<RulesetCreated> {
    ruleset
        .add_rules(path_beneath_rules(paths, access))
        .map_err(io::Error::other)
}

/// Drops all capabilities of the current thread. As root, a process with capabilities can read the memory and the environment
/// of the gateway, in spite of Landlock.
fn drop_capabilities() -> io::Result<()> {
    let none = CapabilitySet::empty();
    if capabilities(None)?.permitted.contains(CapabilitySet::SETPCAP) {
        for capability in CapabilitySet::all().iter() {
            match remove_capability_from_bounding_set(capability) {
                // A capability of a later version of Linux.
                Ok(()) | Err(rustix::io::Errno::INVAL) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    set_capabilities(
        None,
        CapabilitySets {
            effective: none,
            permitted: none,
            inheritable: none,
        },
    )?;
    Ok(())
}

/// Builds a filter that refuses sockets and `io_uring`, which can open sockets, too. Pairs of connected sockets remain, and so do
/// sockets of netlink, with which programs list the interfaces of the network. `None` on a processor without support.
fn socket_filter(unix_sockets: bool) -> Option<BpfProgram> {
    /// Bit of the system calls in the x32 ABI, which filters of `x86_64` receive, too.
    const X32: i64 = 0x4000_0000;
    let arch: TargetArch = std::env::consts::ARCH.try_into().ok()?;
    let is_not = |family: i32| {
        let family = u64::try_from(family).ok()?;
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family).ok()
    };
    let mut conditions = vec![is_not(libc::AF_NETLINK)?];
    if unix_sockets {
        conditions.push(is_not(libc::AF_UNIX)?);
    }
    let mut rules = BTreeMap::new();
    let sockets = vec![SeccompRule::new(conditions).ok()?];
    let io_uring = [
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
    ];
    let refused = io_uring.into_iter().map(|call| (call, Vec::new()));
    for (call, rule) in refused.chain([(libc::SYS_socket, sockets)]) {
        if arch == TargetArch::x86_64 {
            rules.insert(call | X32, rule.clone());
        }
        rules.insert(call, rule);
    }
    let refuse = SeccompAction::Errno(u32::try_from(libc::EACCES).ok()?);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).ok()?;
    filter.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> ShellOptions {
        ShellOptions::new("/", "/nonexistent").allow_root(true)
    }

    #[test]
    fn lists_the_enforced_restrictions() {
        let off = Confinement::new(&options().sandbox(Sandbox::Off), Path::new("/tmp")).unwrap();
        assert_eq!(off.to_string(), "off");
        assert_eq!(off.describe(), "Commands are not confined.");
        let auto = Confinement::new(&options(), Path::new("/tmp")).unwrap();
        if !auto.confines_signals() {
            eprintln!("SKIPPED: this kernel has no Landlock of version 6");
            return;
        }
        let text = auto.to_string();
        assert!(text.starts_with("Landlock ") && text.ends_with(" (writes only to scratch files), no signals to other processes, seccomp (no network), no capabilities"), "{text}");
        assert_eq!(
            auto.describe(),
            "Commands can write only below $TMPDIR, and have no network."
        );
        Confinement::new(&options().sandbox(Sandbox::Required), Path::new("/tmp")).unwrap();
    }

    #[test]
    fn process_itself_is_not_confined() {
        let _ = Confinement::new(&options(), Path::new("/tmp")).unwrap();
        let path = std::env::temp_dir().join(format!("tool-shell-unconfined-{}", std::process::id()));
        std::fs::write(&path, "x").unwrap();
        std::fs::remove_file(&path).unwrap();
        std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    }
}
