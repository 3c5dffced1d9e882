//! Creates the tables of a session file.

use redb::{ReadableTable as _, WriteTransaction};

use super::tables::{
    CALLS, CLIENTS_BY_BYTES, COUNTERS, EXPIRY, FILE_VERSION, KEYS, LOGS, POINTS, POINTS_OF_SESSION,
    PROGRESS_EXPIRY, PROGRESS_OF_CLIENT, SECRET, SEGMENTS, SESSIONS, SESSIONS_OF_CLIENT, SIZES_OF_CLIENTS,
    TURNS, TURNS_OF_SESSION,
};
use super::version_5;
use crate::session::database::Failed;
use crate::session::encoding::{OLDEST_VERSION, VERSION};
use crate::session::store::StoreError;

/// Creates the tables of a new file, or converts the tables of the previous version. Returns the secret of the file. An unknown version is
/// an error. A missing secret is an error, too: a new secret would not match the keys of the stored sessions.
pub(super) fn create(transaction: &WriteTransaction) -> Result<[u8; 32], Failed> {
    let is_new = transaction.list_tables()?.next().is_none();
    {
        let mut versions = transaction.open_table(FILE_VERSION)?;
        if is_new {
            versions.insert((), VERSION)?;
        }
        let version = versions.get(())?.map(|version| version.value());
        match version {
            Some(VERSION) => {}
            Some(OLDEST_VERSION) => {
                version_5::convert(transaction)?;
                versions.insert((), VERSION)?;
            }
            unknown => {
                let problem = match unknown {
                    Some(version) => format!("unknown version {version} of the session file"),
                    None => "missing version of the session file".to_owned(),
                };
                return Err(Failed::Store(StoreError(format!(
                    "{problem}; expected {OLDEST_VERSION} or {VERSION}; use the version of the program that wrote the file, or specify another file"
                ))));
            }
        }
    }
    transaction.open_table(TURNS)?;
    transaction.open_multimap_table(POINTS)?;
    transaction.open_table(TURNS_OF_SESSION)?;
    transaction.open_table(POINTS_OF_SESSION)?;
    transaction.open_table(CALLS)?;
    transaction.open_table(KEYS)?;
    transaction.open_table(SESSIONS)?;
    transaction.open_table(EXPIRY)?;
    transaction.open_table(SESSIONS_OF_CLIENT)?;
    transaction.open_table(SIZES_OF_CLIENTS)?;
    transaction.open_table(CLIENTS_BY_BYTES)?;
    transaction.open_table(COUNTERS)?;
    transaction.open_table(LOGS)?;
    transaction.open_table(SEGMENTS)?;
    transaction.open_table(PROGRESS_EXPIRY)?;
    transaction.open_table(PROGRESS_OF_CLIENT)?;
    let mut secrets = transaction.open_table(SECRET).map_err(lost_secret)?;
    if is_new {
        secrets.insert((), &crate::random::bytes())?;
    }
    let secret = secrets.get(()).map_err(lost_secret)?;
    let secret = secret.ok_or_else(|| lost_secret("missing secret"))?;
    Ok(*secret.value())
}

fn lost_secret(error: impl std::fmt::Display) -> Failed {
    Failed::Store(StoreError(format!(
        "cannot read the secret of the session file: {error}; restore the file from a backup, or specify another file"
    )))
}
