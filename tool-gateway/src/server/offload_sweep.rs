//! Removes offloaded files with their session.
//!
//! A store forgets sessions when it comes to it, and a process may end in between. So there is no notification: from time to time each directory is
//! looked at, and goes if the store does not know its session any more.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use tokio::runtime::Handle;
use tool_builtins::offload::remove_session;

use super::shared::Shared;
use crate::session::record::SessionId;
use crate::session::store::SessionStore;

/// Starts to sweep, now and again until the gateway is gone.
pub(super) fn start(shared: &Arc<Shared>) {
    let Some(directory) = shared.offload_directory.clone() else {
        return;
    };
    let Ok(runtime) = Handle::try_current() else {
        tracing::warn!(
            "offloaded files are not removed with their sessions, since there is no tokio runtime; call `Gateway::router` in one"
        );
        return;
    };
    // Sessions that are being used may not be in the store yet, nor any more.
    let max_age = shared.store.ttl().saturating_add(shared.max_time);
    let interval = (max_age / 4).clamp(MIN_INTERVAL, MAX_INTERVAL);
    let (gateway, closing) = (Arc::downgrade(shared), shared.closing.clone());
    runtime.spawn(async move {
        while let Some(store) = store(&gateway) {
            sweep(&directory, &*store, max_age).await;
            drop(store);
            tokio::select! {
                () = tokio::time::sleep(interval) => {}
                () = closing.cancelled() => return,
            }
        }
    });
}

const MIN_INTERVAL: Duration = Duration::from_millis(100);
const MAX_INTERVAL: Duration = Duration::from_secs(3600);

fn store(gateway: &Weak<Shared>) -> Option<Arc<dyn SessionStore>> {
    Some(Arc::clone(&gateway.upgrade()?.store))
}

/// Removes the directories of sessions that the store does not know, if nothing was written into them for `max_age`.
async fn sweep(directory: &Path, store: &dyn SessionStore, max_age: Duration) {
    let root = directory.to_owned();
    let old = match on_disk(move || old_sessions(&root, max_age)).await {
        Ok(old) => old,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return,
        Err(error) => {
            tracing::warn!(directory = %directory.display(), %error, "offloaded files were not looked through");
            return;
        }
    };
    for (session, path) in old {
        match store.session(&session).await {
            Ok(None) => {}
            Ok(Some(_)) => continue,
            Err(error) => {
                tracing::warn!(%error, "offloaded files were not looked through");
                return;
            }
        }
        let (root, id) = (directory.to_owned(), session.to_string());
        // Once more, since a call of a retried turn may have written meanwhile.
        let remove = move || {
            let is_old = is_old(&path, max_age)?;
            if is_old {
                remove_session(&root, &id)?;
            }
            Ok(is_old)
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

async fn on_disk<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(io::Error::other)?
}

/// The directories of sessions in which nothing was written for `max_age`. Links are left out, and so is whatever has another name.
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
            // A file of it was replaced meanwhile, or all of it removed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(%session, %error, "offloaded files were not looked through"),
        }
    }
    Ok(old)
}

fn is_old(directory: &Path, max_age: Duration) -> io::Result<bool> {
    // Of a directory that was removed in part, the time is that of the removal; its files know better.
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
