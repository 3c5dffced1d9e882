//! Rules of a turn: the request and the gateway's settings, as the state machine applies them.

use std::sync::Arc;

use crate::server::turns::job::Job;
use crate::server::turns::shared::Shared;
use crate::turn::client_calls::{ClientCallRules, ClientCalls};
use crate::turn::rules::{IdSource, Rules};
use crate::turn::upstream_request;

/// Returns the rules of a request's turn.
pub(super) fn turn_rules(shared: &Shared, job: &Job) -> Rules {
    let tools = &shared.settings.tools;
    let is_deferred = |name: &&String| {
        let name = tools.ownership.internal_name(name);
        tools.deferred.contains(name) || job.generation.deferred.contains(name)
    };
    let is_translated = !shared.upstream.passes_messages();
    let has_text_calls = shared.recovers_text_calls(&job.request);
    let client_calls = (is_translated || has_text_calls).then(|| {
        let rules = ClientCallRules {
            fallback_on_error: shared.settings.format_fixing.fallback_on_error,
            ..shared.settings.client_tools.clone()
        };
        let state = shared.metrics.client_calls.clone();
        Arc::new(ClientCalls::new(&job.request, rules, state))
    });
    Rules {
        internal: Arc::clone(&job.tools.internal),
        external: Arc::clone(&job.tools.external),
        server_prefixes: shared.settings.mcp.name_starts(),
        deferred: Arc::new(job.tools.internal.iter().filter(is_deferred).cloned().collect()),
        max_rounds: shared.settings.limits.rounds,
        max_tokens: shared.settings.limits.tokens,
        ids: IdSource::new(job.client.mint_key),
        // The Messages API sends no thinking that was not asked for.
        hides_thinking: is_translated && !upstream_request::asks_for_thinking(&job.request),
        client_calls: client_calls.clone().filter(|_| is_translated),
        recovered_calls: client_calls.filter(|_| has_text_calls),
    }
}
