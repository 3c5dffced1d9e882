//! Turns that the history of a request refers to, and that the store does not have: they have expired, or still run on another gateway.

use std::collections::HashSet;
use std::pin::pin;
use std::time::Duration;

use axum::http::StatusCode;
use tokio::time::Instant;

use super::known_request::{LookupTime, recognized};
use crate::server::drive::save;
use crate::server::turns::shared::Shared;
use crate::session::client::{Client, call_digest};
use crate::session::finder::Finder;
use crate::session::known_history::Found;
use crate::session::message_groups::{Group, GroupDigests};
use crate::session::recognize::Recognized;
use crate::session::store::Reach;
use crate::turn::ownership::ClassifiedTools;
use crate::wire::error::ApiError;
use crate::wire::request::MessagesRequest;

/// Returns an id that the gateway created for this client, from the model's last message, if that message is unknown. The turn has expired or
/// was removed, unless it still runs.
pub(super) fn lost_id(
    shared: &Shared,
    client: &Client,
    recognized: &Recognized,
    request: &MessagesRequest,
) -> Option<String> {
    let is_shared = shared.store.reach() == Reach::Shared;
    // A store that only this gateway uses has the turns of a known session, unless they were removed.
    if recognized.found != Found::New && !is_shared {
        return None;
    }
    let calls = unknown_calls(recognized, request);
    if calls.is_empty() {
        return None;
    }
    let own = calls.iter().find(|id| client.mint_key.is_own(id))?;
    let is_running = shared.turns.show_call(&client.principal, |id| calls.contains(id));
    (!is_running).then(|| own.clone())
}

/// Returns the ids of the calls in the model's last message, if that message is unknown.
pub(super) fn unknown_calls(recognized: &Recognized, request: &MessagesRequest) -> HashSet<String> {
    let last = last_answer(&recognized.groups, request).filter(|index| !recognized.turns.contains_key(index));
    let Some(group) = last.and_then(|index| recognized.groups.get(index)) else {
        return HashSet::new();
    };
    let calls = group.blocks(request).filter_map(|block| block.tool_use());
    calls.map(|call| call.id).collect()
}

/// Returns the index of the model's last message.
fn last_answer(groups: &[Group], request: &MessagesRequest) -> Option<usize> {
    groups.iter().rposition(|group| group.is_answer(request))
}

/// Time for which the turn of an own id is looked for: another gateway may not have stored the turn yet.
const LOST_TIME: Duration = Duration::from_secs(2);

/// Result of the search for a turn.
enum Search {
    Found,
    /// A turn of the client runs on another gateway.
    Runs,
    Lost,
}

/// Looks again for the turn of an id that the gateway created. Returns `None` if the turn is lost. While the turn may still run on another gateway, the results are early.
pub(super) async fn find_lost_turn(
    shared: &Shared,
    client: &Client,
    request: &MessagesRequest,
    tools: &ClassifiedTools,
    known: &Recognized,
    id: &str,
    lookup_time: &mut LookupTime,
) -> Result<Option<(Recognized, GroupDigests)>, ApiError> {
    let age = client.mint_key.age(id);
    let time = shared.settings.limits.turn_time.saturating_add(CLOCK_DIFFERENCE);
    let is_unreadable = known.unreadable.is_some() && known.unreadable == last_answer(&known.groups, request);
    // A turn is stored at its end, and an older one has ended. A second look-up of a damaged record fails, too.
    if shared.store.reach() == Reach::Shared && age.is_some_and(|age| age <= time) && !is_unreadable {
        let finder = Finder::new(&*shared.store, client.digest);
        let call = call_digest(&shared.secret, &client.principal, id);
        let search = pin!(async {
            let until = Instant::now() + LOST_TIME;
            while finder.turn_of_call(call).await?.is_none() {
                if Instant::now() >= until {
                    let is_running = shared.store.has_lease(client.digest).await?;
                    return Ok(if is_running { Search::Runs } else { Search::Lost });
                }
                tokio::time::sleep(LOST_TIME / 10).await;
            }
            Ok(Search::Found)
        });
        let search = lookup_time.limit(search).await;
        match search.map_err(|error| save::unread(&error))? {
            Search::Found => {
                let found = recognized(shared, client, request, tools, lookup_time).await?;
                return Ok(Some(found));
            }
            Search::Runs => return Err(turn_runs().with_retry_after(2)),
            Search::Lost => {}
        }
    }
    tracing::warn!(
        "the turn of a call in the history is not in the store, so the messages are forwarded unchanged"
    );
    Ok(None)
}

/// Maximum difference between the clocks of two gateways for which a running turn is recognized.
const CLOCK_DIFFERENCE: Duration = Duration::from_secs(120);

/// Returns the error of a request whose results are early.
pub(super) fn turn_runs() -> ApiError {
    let message =
        "the turn with these calls has not ended yet; send the results when its message is complete";
    ApiError::new(StatusCode::CONFLICT, message)
}
