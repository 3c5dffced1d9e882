//! Files that share state by hand. All other shared state is tokio's.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};

use crate::sources::{CRATES, Module, shown};

/// Files with synchronisation, and its types. Each is one step under one lock, or one atomic step.
const KNOWN: &[(&str, &[&str])] = &[
    // One table; an attempt is counted in one step.
    ("tool-builtins/src/attempt_limit.rs", &["Mutex"]),
    ("tool-builtins/src/offload/local.rs", &["AtomicU64"]),
    ("tool-builtins/src/offload/memory.rs", &["Mutex", "MutexGuard"]),
    // What hyper-util calls watching a connection.
    ("tool-cli/src/check/log_warnings.rs", &["Mutex"]),
    ("tool-gateway/src/serve/connections.rs", &["watch"]),
    // A channel of tokio's that has how many signals came.
    ("tool-gateway/src/serve/stop_signals.rs", &["watch"]),
    // A connection's task alone counts, in its service and in its stream.
    ("tool-gateway/src/serve/client_stream.rs", &["AtomicUsize"]),
    // One map, changed in one step. The wait for the last request makes tokio's `Notified` before it looks at their number.
    (
        "tool-gateway/src/server/access/client_limits.rs",
        &["Mutex", "MutexGuard", "Notify"],
    ),
    // A channel and slots of tokio's.
    (
        "tool-gateway/src/server/drive/calls.rs",
        &["Semaphore", "mpsc", "watch"],
    ),
    // One map, in which a lock is found or made in one step. It is removed only when it has no owner, and is handed out
    // in that step alone.
    ("tool-gateway/src/server/turns/locks.rs", &["Mutex"]),
    // One state under one lock. Who waits for a change is enabled in tokio's `Notify` before it looks, so that none is missed.
    (
        "tool-gateway/src/server/turns/running_turn.rs",
        &["AtomicUsize", "Mutex", "MutexGuard", "Notify", "watch"],
    ),
    // One table under one lock; a turn's own lock is taken inside of it, and never the other way round.
    (
        "tool-gateway/src/server/turns/turn_table.rs",
        &["AtomicUsize", "Mutex", "MutexGuard", "watch"],
    ),
    // One map, each use of which is one step; a turn is read and then changed with a claim on it alone.
    (
        "tool-gateway/src/server/turns/claims.rs",
        &["Mutex", "MutexGuard"],
    ),
    // One map of digests, each of which depends on its key alone.
    ("tool-gateway/src/session/chain.rs", &["Mutex", "MutexGuard"]),
    // What is open is looked at while it is used, and replaced by one at a time.
    ("tool-gateway/src/session/database.rs", &["RwLock"]),
    ("tool-gateway/src/session/memory.rs", &["Mutex", "MutexGuard"]),
    // One list: a connection is taken or put back in one step. Who closes the expired says in the same step whether any are left.
    (
        "tool-gateway/src/upstream/transport/pool.rs",
        &["Mutex", "MutexGuard"],
    ),
    // Two counters that know nothing of each other.
    (
        "tool-gateway/src/upstream/script/mod.rs",
        &["AtomicU64", "AtomicUsize"],
    ),
    // Whether a future is polled or was woken: loom found no order of one or two wakes and its polls in which a wake is lost.
    ("tool-gateway/src/self_wakes.rs", &["AtomicU8", "AtomicWaker"]),
    ("tool-runtime/src/call/deadline.rs", &["Mutex", "MutexGuard"]),
    ("tool-runtime/src/call/tool_call.rs", &["AtomicBool"]),
    // A channel of tokio's that has the latest report.
    ("tool-runtime/src/host/context.rs", &["watch"]),
    ("tool-runtime/src/host/progress.rs", &["watch"]),
    // Functions lock one value, in as many steps as they like; the guard cannot be held across an `.await`.
    ("tool-runtime/src/host/session_state.rs", &["Mutex", "MutexGuard"]),
    // One map, in which an entry is read or made in one step. No value is locked meanwhile.
    (
        "tool-runtime/src/host/session_values.rs",
        &["Mutex", "MutexGuard"],
    ),
    // One map, in which an entry is read, made or removed in one step.
    ("tool-runtime/src/host/session_store.rs", &["Mutex", "MutexGuard"]),
    // Who waits for a rule makes tokio's `Notified` before it looks at the rules, and a rule is added before the waiting are woken, so that
    // none is missed.
    ("tool-runtime/src/permission.rs", &["Notify"]),
    // One phase between a call and its thread, each change one step; the number beside it is for the log alone.
    ("tool-runtime/src/tool/blocking.rs", &["AtomicUsize", "Mutex"]),
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

/// Types of shared state. A value that is made once and never changed (`LazyLock`) is not shared state.
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
