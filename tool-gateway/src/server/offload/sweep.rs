//! Removes offloaded files after their session.
//!
//! A store may expire a session at any time, even while no gateway runs, so the gateway cannot rely on notifications. Instead, a task
//! checks all directories at intervals, and removes the directories of sessions that the store does not have.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use tokio::runtime::Handle;
use tool_builtins::offload::remove_session;

use super::owner;
use crate::off_worker::BlockingThreads;
use crate::server::turns::shared::Shared;
use crate::server::turns::turn_table::TurnTable;
use crate::session::clock::Clock;
use crate::session::record::SessionId;
use crate::session::store::SessionStore;

/// Starts a task that sweeps immediately and then at intervals, until the gateway is dropped.
pub(crate) fn start(shared: &Arc<Shared>) {
    let Some(directory) = shared.offload_directory().map(Path::to_owned) else {
        return;
    };
    let Ok(runtime) = Handle::try_current() else {
        tracing::warn!(
            "offloaded files are not removed with their sessions, since there is no tokio runtime; call `Gateway::router` in one"
        );
        return;
    };
    // A turn may use a session that is not in the store: the session is not stored yet, or was already removed. Directories younger than
    // the store's TTL plus the maximum time of a turn are therefore kept.
    let max_age = shared
        .store
        .ttl()
        .saturating_add(shared.settings.limits.turn_time);
    let interval = (max_age / 4).clamp(MIN_INTERVAL, MAX_INTERVAL);
    let sweeper = Sweeper {
        directory,
        max_age,
        clock: Clock::default(),
    };
    let (gateway, closing) = (Arc::downgrade(shared), shared.closing.clone());
    runtime.spawn(async move {
        while let Some((store, turns)) = in_use(&gateway) {
            sweeper.sweep(&*store, &turns).await;
            drop((store, turns));
            tokio::select! {
                () = tokio::time::sleep(interval) => {}
                () = closing.cancelled() => return,
            }
        }
    });
}

const MIN_INTERVAL: Duration = Duration::from_millis(100);
const MAX_INTERVAL: Duration = Duration::from_secs(3600);

/// Returns the session store and the table of turns, or `None` if the gateway was dropped.
fn in_use(gateway: &Weak<Shared>) -> Option<(Arc<dyn SessionStore>, Arc<TurnTable>)> {
    let gateway = gateway.upgrade()?;
    Some((Arc::clone(&gateway.store), Arc::clone(&gateway.turns)))
}

/// Updates the modification time of one file of a session, so that a sweep keeps the directory: the session of a resumed turn may not be
/// stored yet.
pub(crate) async fn renew(shared: &Shared, session: &SessionId) {
    let Some(directory) = shared.offload_directory() else {
        return;
    };
    let directory = directory.join(session.to_string());
    let renew = move || match fs::read_dir(directory)?.next() {
        // The age of a directory is the age of its newest file, so one file is enough.
        Some(file) => fs::File::options()
            .write(true)
            .open(file?.path())?
            .set_modified(SystemTime::now()),
        None => Ok(()),
    };
    match on_disk(renew).await {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(%session, %error, "offloaded files may be removed before their session is stored");
        }
        _ => {}
    }
}

/// Directory of offloaded files, from which the files of removed sessions are removed.
struct Sweeper {
    directory: PathBuf,
    /// Minimum age of removed files.
    max_age: Duration,
    clock: Clock,
}

impl Sweeper {
    /// Removes the directories of sessions that are not in the store, if the newest file is older than `max_age` and no turn of the session
    /// runs or may continue after a failure. After a change of the wall clock, nothing is removed for `max_age`: the clock determines the
    /// ages of files, and which sessions of a file have expired.
    async fn sweep(&self, store: &dyn SessionStore, turns: &Arc<TurnTable>) {
        let max_age = self.max_age;
        if !self.clock.may_remove(max_age) {
            return;
        }
        let root = self.directory.clone();
        let old = match on_disk(move || old_sessions(&root, max_age)).await {
            Ok(old) => old,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => {
                tracing::warn!(directory = %self.directory.display(), %error, "offloaded files could not be checked");
                return;
            }
        };
        for (session, path) in old {
            match store.has_session(owner::client(&path), &session).await {
                Ok(false) => {}
                Ok(true) => continue,
                Err(error) => {
                    tracing::warn!(%error, "offloaded files could not be checked");
                    return;
                }
            }
            let (root, id, turns) = (self.directory.clone(), session.clone(), Arc::clone(turns));
            // The age is checked again: a retried turn may have written a file in the meantime.
            let remove = move || {
                let is_unused = is_old(&path, max_age)? && !turns.has_active(&id);
                if is_unused {
                    owner::remove(&path)?;
                    remove_session(&root, &id.to_string())?;
                }
                Ok(is_unused)
            };
            match on_disk(remove).await {
                Ok(true) => tracing::debug!(%session, "offloaded files were removed with their session"),
                Ok(false) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    tracing::warn!(%session, %error, "offloaded files were not removed with their session");
                }
            }
        }
    }
}

/// Threads that read modification times and remove offloaded files.
static THREADS: BlockingThreads = BlockingThreads::new(8);

pub(super) async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    THREADS.run(work).await.map_err(io::Error::other)?
}

/// Returns the directories of sessions without a write for `max_age`. Links and other names are skipped.
fn old_sessions(directory: &Path, max_age: Duration) -> io::Result<Vec<(SessionId, PathBuf)>> {
    let mut old = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let Some(session) = entry.file_name().to_str().and_then(SessionId::parse) else {
            continue;
        };
        if !entry.file_type()?.is_dir() {
            continue;
        }
        match is_old(&entry.path(), max_age) {
            Ok(true) => old.push((session, entry.path())),
            Ok(false) => {}
            // The directory, or a file in it, was removed or replaced by another task.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(%session, %error, "offloaded files could not be checked"),
        }
    }
    Ok(old)
}

fn is_old(directory: &Path, max_age: Duration) -> io::Result<bool> {
    // Removing a file updates the directory's modification time, so the age is the age of the newest file.
    let mut written = None;
    for entry in fs::read_dir(directory)? {
        written = written.max(Some(entry?.metadata()?.modified()?));
    }
    let written = match written {
        Some(written) => written,
        None => fs::symlink_metadata(directory)?.modified()?,
    };
    let age = SystemTime::now().duration_since(written).unwrap_or_default();
    Ok(age > max_age)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use crate::session::clock::Reading;
    use crate::session::memory::MemoryStore;
    use crate::session::tests::Folder;

    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 3600);

    /// A sessions file does not find sessions that a wrong clock lets expire, and finds them again later.
    #[tokio::test]
    async fn files_stay_for_their_time_to_live_after_the_wall_clock_was_set() {
        let (wall, monotonic) = (Arc::new(AtomicU64::new(1 << 30)), Arc::new(AtomicU64::new(0)));
        let read = {
            let (wall, monotonic) = (Arc::clone(&wall), Arc::clone(&monotonic));
            move || Reading {
                wall: Duration::from_secs(wall.load(Ordering::Relaxed)),
                monotonic: Duration::from_secs(monotonic.load(Ordering::Relaxed)),
            }
        };
        let folder = Folder::new("sweep-clock");
        let root = folder.file().parent().unwrap().to_owned();
        let sweeper = Sweeper {
            directory: root.clone(),
            max_age: DAY,
            clock: Clock::new(read),
        };
        let (store, turns) = (MemoryStore::new(), Arc::new(TurnTable::default()));
        let directory = root.join(format!("ses_{}", "a".repeat(22)));
        let leave = || {
            fs::create_dir_all(&directory).unwrap();
            let file = fs::File::create(directory.join("up_a.md")).unwrap();
            file.set_modified(SystemTime::now() - DAY * 2).unwrap();
        };
        for (is_set, seconds, is_removed) in [
            (false, 3600, true),
            (true, 3600, false),
            (false, 80_000, false),
            (false, 6_400, true),
        ] {
            leave();
            wall.fetch_add(
                seconds + if is_set { 2 * 24 * 3600 } else { 0 },
                Ordering::Relaxed,
            );
            monotonic.fetch_add(seconds, Ordering::Relaxed);
            sweeper.sweep(&store, &turns).await;
            assert_eq!(!directory.exists(), is_removed, "{is_set} {seconds}");
        }
    }
}
