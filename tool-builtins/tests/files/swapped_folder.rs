//! [`SwappedFolder`]: a folder that another thread exchanges for a link which leads out.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::folder::TestFolder;

/// The folder `root/name` of an outer folder. A thread exchanges it for a link to `outside`, and back, until [`stop`](Self::stop).
pub(crate) struct SwappedFolder {
    is_done: Arc<AtomicBool>,
    swapping: JoinHandle<u64>,
}

impl SwappedFolder {
    pub(crate) fn start(outer: &TestFolder) -> Self {
        let is_done = Arc::new(AtomicBool::new(false));
        let (name, other) = (outer.path.join("root/name"), outer.path.join("root/other"));
        symlink(outer.path.join("outside"), &other).unwrap();
        let swapping = {
            let is_done = Arc::clone(&is_done);
            std::thread::spawn(move || {
                let mut swaps = 0;
                while !is_done.load(Ordering::Relaxed) {
                    renameat_with(CWD, &name, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                    swaps += 1;
                }
                fs::remove_file(if name.is_symlink() { name } else { other }).unwrap();
                swaps
            })
        };
        Self { is_done, swapping }
    }

    /// Stops the thread, and removes the link. Returns the number of exchanges.
    pub(crate) fn stop(self) -> u64 {
        self.is_done.store(true, Ordering::Relaxed);
        self.swapping.join().unwrap()
    }
}
