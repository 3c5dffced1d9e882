//! Group of the processes that a server has started.

/// Process group, which is killed when this value is dropped.
#[derive(Debug)]
pub(crate) struct Group {
    /// `None` after the end of the group: another group may have its number then.
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
}

#[cfg(unix)]
impl Group {
    /// Takes the id of the process that leads the group.
    pub(crate) fn new(leader: Option<u32>) -> Self {
        let leader = leader.and_then(|id| i32::try_from(id).ok());
        Self {
            leader: leader.and_then(rustix::process::Pid::from_raw),
        }
    }

    /// Sends SIGTERM.
    pub(crate) fn terminate(&self) {
        self.send(rustix::process::Signal::TERM);
    }

    /// Sends SIGKILL, for the last time.
    pub(crate) fn kill(&mut self) {
        self.send(rustix::process::Signal::KILL);
        self.leader = None;
    }

    fn send(&self, signal: rustix::process::Signal) {
        if let Some(leader) = self.leader {
            // The only expected error is that no process of the group exists.
            let _ = rustix::process::kill_process_group(leader, signal);
        }
    }
}

/// Without process groups, the process alone is killed, by tokio.
#[cfg(not(unix))]
impl Group {
    pub(crate) fn new(_leader: Option<u32>) -> Self {
        Self {}
    }

    pub(crate) fn terminate(&self) {}

    pub(crate) fn kill(&mut self) {}
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
