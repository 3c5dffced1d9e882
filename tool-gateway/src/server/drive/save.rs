//! Stores turns.

use std::sync::atomic::Ordering;

use axum::http::StatusCode;

use crate::server::turns::checkpoint::Checkpoint;
use crate::server::turns::progress_log::ProgressLog;
use crate::server::turns::shared::Shared;
use crate::session::client::{Client, call_digest, key_digest};
use crate::session::store::{Appended, Progress, SaveOutcome, SavedTurn, StoreError};
use crate::session::turn_record::TurnRecord;
use crate::wire::error::ApiError;

/// Stores a turn with its ids and keys, and with the progress of its request, in place of this revision; 0 for a new turn. Returns the new
/// revision.
///
/// Callers ignore the error of a store in memory, since only the session is lost; the client still receives the answer.
pub(crate) async fn save(
    shared: &Shared,
    client: &Client,
    record: TurnRecord,
    revision: u64,
    progress: Option<Progress>,
) -> Result<u64, SaveError> {
    write(
        shared,
        client,
        saved_turn(shared, client, record, revision, progress),
    )
    .await
}

/// Stores a suspended turn in place of this revision, before calls that must not be repeated begin. Returns the new revision.
pub(crate) async fn save_before_effects(
    shared: &Shared,
    client: &Client,
    record: TurnRecord,
    revision: u64,
) -> Result<u64, SaveError> {
    let saved = SavedTurn {
        precedes_effects: true,
        ..saved_turn(shared, client, record, revision, None)
    };
    write(shared, client, saved).await
}

fn saved_turn(
    shared: &Shared,
    client: &Client,
    record: TurnRecord,
    revision: u64,
    progress: Option<Progress>,
) -> SavedTurn {
    let key = &shared.secret;
    SavedTurn {
        calls: record
            .turn()
            .visible_ids()
            .map(|id| call_digest(key, &client.principal, id))
            .collect(),
        keys: client
            .keys
            .iter()
            .map(|name| key_digest(key, &client.principal, name))
            .collect(),
        record,
        revision,
        progress,
        precedes_effects: false,
    }
}

async fn write(shared: &Shared, client: &Client, saved: SavedTurn) -> Result<u64, SaveError> {
    let saved = shared.store.save(client.digest, saved).await;
    shared.store_fails.store(saved.is_err(), Ordering::Relaxed);
    match saved {
        Ok(SaveOutcome::Saved { revision }) => Ok(revision),
        Ok(SaveOutcome::Conflict { .. }) => {
            let message = "another request has changed the suspended turn; retry the request, and it continues from there";
            let error = ApiError::new(StatusCode::CONFLICT, message).with_retry_after(2);
            Err(SaveError::Failed(error))
        }
        Ok(SaveOutcome::Fenced) => Err(SaveError::Failed(fenced())),
        Ok(SaveOutcome::Gap { have }) => Err(SaveError::Gap { have }),
        Err(error) => Err(SaveError::Failed(failed(&error))),
    }
}

/// Failure of a write.
#[derive(Debug)]
pub(crate) enum SaveError {
    /// The store has lost segments of the request's progress, for example in a failover to a replica.
    Gap {
        /// Number of segments in the store.
        have: u64,
    },
    Failed(ApiError),
}

impl From<SaveError> for ApiError {
    fn from(error: SaveError) -> Self {
        match error {
            SaveError::Gap { have } => failed(&StoreError(format!(
                "expected segment {have} of a request's progress"
            ))),
            SaveError::Failed(error) => error,
        }
    }
}

/// Stores a segment of a request's progress.
pub(crate) async fn save_progress(
    shared: &Shared,
    client: &Client,
    progress: Progress,
) -> Result<(), SaveError> {
    let saved = shared.store.append(client.digest, progress).await;
    shared.store_fails.store(saved.is_err(), Ordering::Relaxed);
    match saved {
        Ok(Appended::Kept) => Ok(()),
        Ok(Appended::Fenced) => Err(SaveError::Failed(fenced())),
        Ok(Appended::Gap { have }) => Err(SaveError::Gap { have }),
        Err(error) => Err(SaveError::Failed(failed(&error))),
    }
}

/// Returns the error of a turn that another gateway has continued.
pub(crate) fn fenced() -> ApiError {
    ApiError::new(
        StatusCode::from_u16(529).unwrap_or(StatusCode::SERVICE_UNAVAILABLE),
        "another gateway has continued this request, since this one did not answer in time; retry the request",
    )
}

/// Returns the error of a turn whose lease was not renewed, since the store does not answer.
pub(crate) fn not_renewed() -> ApiError {
    failed(&StoreError(
        "the lease of a request was not renewed in time".to_owned(),
    ))
}

/// Returns whether this is the error of a turn that another gateway has continued: no other error of a running turn has its status.
pub(crate) fn is_fenced(error: &ApiError) -> bool {
    error.status.as_u16() == 529
}

/// Returns the next segment of a request's progress; `None` if the store is not durable.
pub(crate) fn next_progress(
    shared: &Shared,
    log: &mut ProgressLog,
    checkpoint: &Checkpoint,
) -> Result<Option<Progress>, ApiError> {
    if !shared.store.reach().is_durable() {
        return Ok(None);
    }
    let progress = log.next(checkpoint);
    progress.map(Some).map_err(|error| failed(&error))
}

fn failed(error: &StoreError) -> ApiError {
    tracing::error!(%error, "the session was not stored");
    ApiError::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "the session cannot be stored, so no further call runs; retry the request later, and it continues from here",
    )
    .with_retry_after(2)
}

/// Logs the error of an unreadable store. Returns the error for the client.
pub(crate) fn unread(error: &StoreError) -> ApiError {
    tracing::error!(%error, "the session was not looked up");
    ApiError::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "the session cannot be looked up, so no call runs; retry the request later",
    )
    .with_retry_after(2)
}
