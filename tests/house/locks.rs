//! Lists the files with manual synchronisation. All other shared state is tokio's.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};

use crate::sources::{CRATES, Module, shown};

/// Files with synchronisation, and the types that they use. Every use is one step under one lock, or one atomic step.
const KNOWN: &[(&str, &[&str])] = &[
    // One table; an attempt is counted in one step.
    ("tool-builtins/src/attempt_limit.rs", &["Mutex"]),
    ("tool-builtins/src/offload/local.rs", &["AtomicU64"]),
    ("tool-builtins/src/offload/memory.rs", &["Mutex", "MutexGuard"]),
    // Permits of tokio's, each released by the thread that has it.
    ("tool-builtins/src/offload/threads.rs", &["Semaphore"]),
    // The lock of a file; a call holds one lock for its whole write, on a blocking thread.
    (
        "tool-builtins/src/workspace/file_locks.rs",
        &["Mutex", "MutexGuard"],
    ),
    // Channels of one receiver each, and the latest state of a command.
    ("tool-builtins/src/shell/command.rs", &["mpsc", "watch"]),
    // A position in an output, read and moved in one step.
    ("tool-builtins/src/shell/session.rs", &["Mutex"]),
    // One map of sessions, each used in one step. Commands that start in a session are added in the step that starts them.
    ("tool-builtins/src/shell/state.rs", &["Mutex", "MutexGuard"]),
    // A watch channel that stops connections, as in hyper-util.
    ("tool-cli/src/check/captured_warnings.rs", &["Mutex"]),
    // Permits of calls, and tokio channels, which only the actor of a server sends to.
    ("tool-mcp/src/client/actor.rs", &["Semaphore", "watch"]),
    ("tool-mcp/src/client/mcp_client.rs", &["watch"]),
    // A service, which each request copies in one step.
    ("tool-mcp/src/client/http_service.rs", &["Mutex"]),
    // A flag, and the latest progress of one call.
    ("tool-mcp/src/client/outgoing.rs", &["AtomicBool", "watch"]),
    // A list of the last lines, for the log.
    ("tool-mcp/src/client/process/stderr.rs", &["Mutex"]),
    // A lock of tokio's, held over all steps that begin a session; others then find the next generation.
    (
        "tool-mcp/src/client/streamable_http/http_wire.rs",
        &["Mutex", "mpsc"],
    ),
    // This lock, and permits of answers, which belong to one task.
    (
        "tool-mcp/src/client/streamable_http/task.rs",
        &["Mutex", "Semaphore"],
    ),
    // The values of a session, written and read in one step each.
    (
        "tool-mcp/src/client/streamable_http/session.rs",
        &["Mutex", "MutexGuard"],
    ),
    // One map of requests, which one step enters or leaves, one reason, of which the first counts, the highest id, and independent flags.
    (
        "tool-mcp/src/client/wire.rs",
        &["AtomicBool", "AtomicI64", "Mutex", "MutexGuard", "Notify", "mpsc"],
    ),
    // The content of one call's result, which one step writes and another step takes.
    ("tool-mcp/src/adapt/verbatim.rs", &["Mutex"]),
    // Permits to parse long texts: one step.
    ("tool-mcp/src/adapt/json.rs", &["Semaphore"]),
    // Bytes are added, or subtracted with the value that added them: one step each.
    ("tool-mcp/src/server/body_budget.rs", &["AtomicUsize"]),
    // Permits of tokio's, and a count of the calls that wait for one.
    ("tool-mcp/src/server/admission.rs", &["AtomicUsize", "Semaphore"]),
    // A tokio channel for one call.
    ("tool-mcp/src/server/call.rs", &["watch"]),
    // Tokio channels for the events of one response.
    ("tool-mcp/src/server/http/body.rs", &["mpsc"]),
    ("tool-mcp/src/server/http/call_stream.rs", &["mpsc", "oneshot"]),
    // A pointer, replaced in one step, then a tokio channel; one map, in which a limit is found or created in one step.
    ("tool-mcp/src/server/mcp_server.rs", &["Mutex", "RwLock", "watch"]),
    // One map, in which a session is found or created in one step.
    ("tool-mcp/src/server/sessions.rs", &["Mutex"]),
    // A list of running calls; each use is one step.
    (
        "tool-mcp/src/server/stdio/connection.rs",
        &["Mutex", "MutexGuard"],
    ),
    // Tokio channels to and from two threads.
    ("tool-mcp/src/server/stdio/serve.rs", &["mpsc"]),
    ("tool-mcp/src/server/stdio/threads.rs", &["mpsc", "oneshot"]),
    ("tool-gateway/src/serve/connections.rs", &["watch"]),
    // A tokio channel that ends with its sender, and a counter for the metrics.
    ("tool-gateway/src/serve/waiting.rs", &["AtomicU64", "watch"]),
    // A tokio channel with the number of signals.
    ("tool-gateway/src/serve/stop_signals.rs", &["watch"]),
    // Only a connection's task counts, in its service and in its stream.
    ("tool-gateway/src/serve/client_stream.rs", &["AtomicUsize"]),
    // One map, changed in one step. The wait for the last request creates tokio's `Notified` before it reads their number.
    (
        "tool-gateway/src/server/access/client_limits.rs",
        &["Mutex", "MutexGuard", "Notify"],
    ),
    // One table, checked and changed in one step.
    (
        "tool-gateway/src/server/access/byte_budget.rs",
        &["Mutex", "MutexGuard"],
    ),
    // Reservation of one body, which only its task uses.
    ("tool-gateway/src/server/admit/request_body.rs", &["Mutex"]),
    // Slots of a tokio semaphore.
    ("tool-gateway/src/off_worker.rs", &["Semaphore"]),
    // Tokio channels, and slots of a tokio semaphore.
    (
        "tool-gateway/src/server/drive/calls.rs",
        &["Semaphore", "mpsc", "watch"],
    ),
    // One map, in which a lock is found or created in one step. A lock without an owner is removed, and only this step returns locks.
    ("tool-gateway/src/server/turns/locks.rs", &["Mutex"]),
    // One state under one lock. A waiter is registered with tokio's `Notify` before it reads the state, so that no change is missed.
    (
        "tool-gateway/src/server/turns/running_turn.rs",
        &["Mutex", "MutexGuard", "Notify", "watch"],
    ),
    // One map, or one list; each use is one step.
    ("tool-gateway/src/upstream/openai/estimates.rs", &["Mutex"]),
    ("tool-gateway/src/upstream/openai/learned.rs", &["Mutex"]),
    ("tool-gateway/src/upstream/openai/model_list.rs", &["Mutex"]),
    // Two independent counters.
    ("tool-gateway/src/server/turns/kept_bytes.rs", &["AtomicUsize"]),
    // The counter of all clients, which `kept_bytes` changes.
    ("tool-gateway/src/server/turns/kept_turns.rs", &["AtomicUsize"]),
    // One table under one lock. The lock of a turn is taken inside, never the other way round.
    (
        "tool-gateway/src/server/turns/turn_table.rs",
        &["AtomicUsize", "Mutex", "MutexGuard", "watch"],
    ),
    // One map; each use is one step. A turn is read and then changed only by the owner of its claim.
    (
        "tool-gateway/src/server/turns/claims.rs",
        &["Mutex", "MutexGuard"],
    ),
    // A flag of the last write, which is read once.
    ("tool-gateway/src/server/turns/shared.rs", &["AtomicBool"]),
    // The current generation and the last ones, replaced in one step under the lock; a mark that is only ever set, under the lock.
    // Afterwards a tokio channel counts the change.
    (
        "tool-gateway/src/server/generations.rs",
        &["AtomicBool", "RwLock", "watch"],
    ),
    // Receives the number of changes.
    ("tool-gateway/src/server/http/mcp_endpoint.rs", &["watch"]),
    // The time of the last claim; each use is one step.
    ("tool-gateway/src/server/http/request_turns.rs", &["Mutex"]),
    ("tool-gateway/src/server/http/gateway.rs", &["AtomicBool"]),
    // One map of processes; each step is complete under its lock. A process has a place before it is in the map, and releases the place at its
    // end. The reasons against tools are replaced as a whole.
    (
        "tool-gateway/src/server/mcp/scoped_clients.rs",
        &["Mutex", "MutexGuard", "Semaphore", "watch"],
    ),
    ("tool-gateway/src/server/mcp/started_server.rs", &["watch"]),
    // A channel of one receiver, and the latest states of the servers.
    ("tool-gateway/src/server/mcp/servers.rs", &["mpsc", "watch"]),
    // One map of digests, each of which depends only on its key.
    ("tool-gateway/src/session/chain.rs", &["Mutex", "MutexGuard"]),
    // One state of the clocks, compared and changed in one step.
    ("tool-gateway/src/session/clock.rs", &["Mutex", "watch"]),
    // The open database is read by its users, and replaced by one thread at a time.
    ("tool-gateway/src/session/database.rs", &["RwLock"]),
    // One connection, and one record of failures; each use is one step.
    ("tool-gateway/src/session/redis/link.rs", &["Mutex"]),
    // A counter for the metrics, and one set, in which each record is looked up and inserted in one step.
    (
        "tool-gateway/src/session/redis/damaged.rs",
        &["AtomicU64", "Mutex"],
    ),
    // A flag for one log entry.
    ("tool-gateway/src/session/redis/redis_store.rs", &["AtomicBool"]),
    // A table that only grows.
    ("tool-gateway/src/settings/permissions.rs", &["RwLock"]),
    ("tool-gateway/src/session/memory/mod.rs", &["Mutex", "MutexGuard"]),
    (
        "tool-gateway/src/session/record_cache.rs",
        &["Mutex", "MutexGuard"],
    ),
    // One table; each use is one step. The lock of the turns may be held, never the other way round.
    (
        "tool-gateway/src/session/local_leases.rs",
        &["Mutex", "MutexGuard"],
    ),
    // The end of a lease, which one task writes, and a flag that is set once.
    (
        "tool-gateway/src/server/turns/lease_keeper.rs",
        &["AtomicBool", "Mutex", "watch"],
    ),
    // One list of writes; the flag of the writing thread changes in the steps that add and take writes.
    (
        "tool-gateway/src/session/file/queue.rs",
        &["Mutex", "MutexGuard", "oneshot"],
    ),
    // One set, to which a model and a code are added in one step.
    ("tool-gateway/src/upstream/translation_warnings.rs", &["Mutex"]),
    // One set, to which a model is added in one step.
    ("tool-gateway/src/upstream/text_calls/counters.rs", &["Mutex"]),
    // One list; a connection is taken or returned in one step. The step that closes expired connections also returns whether others remain.
    (
        "tool-gateway/src/upstream/transport/pool.rs",
        &["Mutex", "MutexGuard"],
    ),
    // A schema is looked up in one step and added in another; two calls may compile one schema twice.
    ("tool-gateway/src/turn/client_schemas.rs", &["Mutex"]),
    // Two independent counters.
    (
        "tool-gateway/src/upstream/script/mod.rs",
        &["AtomicU64", "AtomicUsize"],
    ),
    // The state of a future: being polled or woken. loom found no order of two wakes and a poll in which a wake is lost.
    ("tool-gateway/src/self_wakes.rs", &["AtomicU8", "AtomicWaker"]),
    ("tool-runtime/src/call/deadline.rs", &["Mutex", "MutexGuard"]),
    ("tool-runtime/src/call/tool_call.rs", &["AtomicBool"]),
    // A tokio channel with the latest report.
    ("tool-runtime/src/host/context.rs", &["watch"]),
    ("tool-runtime/src/host/progress.rs", &["watch"]),
    // Functions lock one value, in any number of steps. The guard cannot be held across an `.await`.
    ("tool-runtime/src/host/session_state.rs", &["Mutex", "MutexGuard"]),
    // One map, in which an entry is read or created in one step. No value is locked meanwhile.
    (
        "tool-runtime/src/host/session_values.rs",
        &["Mutex", "MutexGuard"],
    ),
    // One map, in which an entry is read, created or removed in one step.
    ("tool-runtime/src/host/session_store.rs", &["Mutex", "MutexGuard"]),
    // A waiter creates tokio's `Notified` before it reads the rules, and a rule is added before the waiters are woken, so that no rule is
    // missed.
    ("tool-runtime/src/permission.rs", &["Notify"]),
    // One phase that a call shares with its thread; each change is one step. The counter is only for the log. Permits of tokio's.
    (
        "tool-runtime/src/tool/blocking.rs",
        &["AtomicUsize", "Mutex", "Semaphore"],
    ),
];

#[test]
fn synchronisation_is_listed() {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for name in CRATES {
        Module::of_crate(name).walk(&mut Vec::new(), &mut |_, module| {
            let mut words = BTreeSet::new();
            collect(&module.tokens, &mut words);
            if !words.is_empty() {
                found.insert(shown(&module.file), words);
            }
        });
    }
    let known = KNOWN.iter().map(|(file, words)| {
        let words = words.iter().map(|&word| word.to_owned()).collect();
        ((*file).to_owned(), words)
    });
    assert_eq!(
        found,
        known.collect(),
        "what shares state by hand (left), and what is known to (right). If it takes more than one step, check \
         every order of them with a model checker (`loom`, `shuttle`), then add it to `KNOWN`",
    );
}

fn collect(tokens: &TokenStream, found: &mut BTreeSet<String>) {
    for token in tokens.clone() {
        match token {
            TokenTree::Group(group) => collect(&group.stream(), found),
            TokenTree::Ident(word) => {
                let word = word.to_string();
                if SHARING.contains(&word.as_str()) || (word.starts_with("Atomic") && word != "Atomic") {
                    found.insert(word);
                }
            }
            _ => {}
        }
    }
}

/// Types of shared state. A value that is created once and never changed (`LazyLock`) is not shared state.
const SHARING: [&str; 11] = [
    "Mutex",
    "MutexGuard",
    "RwLock",
    "Condvar",
    "Barrier",
    "UnsafeCell",
    "Notify",
    "Semaphore",
    "mpsc",
    "oneshot",
    "watch",
];
