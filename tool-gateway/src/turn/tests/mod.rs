//! Explores every conversation of a bounded model (`tests/model.rs`), with every order of events.
//!
//! # The bound
//!
//! * A conversation has up to three requests, and a last request that is only restored.
//! * A conversation has up to three calls, in one assistant message or in several. Each call is internal, external, deferred, or internal
//!   and handed over to the client by a permission. Before, between and after the calls there is at most one text block.
//! * A message with calls ends with `tool_use`, or is cut off with `max_tokens`.
//! * The model thinks in every message, or never.
//! * In a separate exploration, a call may also be a call of the client's tool that cannot be read.
//!
//! `GATEWAY_LONG=1` explores the whole bound: two times 473,064 conversations, in less than three minutes if optimized. Without this
//! variable, the bound is one call in up to three requests. The
//! numbers of conversations, messages and states are asserted.
//!
//! The model excludes limits of rounds, time and tokens, system messages, changed histories, and requests that end with an assistant
//! message.
//!
//! # The exploration
//!
//! The explorer walks the tree of these conversations depth first. The state of the machine is copied at each branch, so that a common
//! beginning runs once. The tree branches only where the model decides. All other variations are tried where they occur, and compared:
//!
//! * **Messages with and without streaming.** Two machines run side by side. At the end of a message, both are equal, and so are their
//!   clients ([`Explorer::complete`]).
//! * **A disconnect, a cut-off stream, or an upstream error, after any event of a message.** Events of an incomplete message cause only
//!   output ([`Exchange::on_part`](exchange::Exchange::on_part)), and do not change the gateway's checkpoint, which is a copy. A retry
//!   therefore starts from one checkpoint, wherever the message was cut off. The retry's machine equals the first machine
//!   ([`restart`](exchange::restart)), and its answer is another branch of the tree. This holds for any number of retries.
//! * **Results in any order, with a disconnect before and after each.** All orders run. The tree continues from each distinct resulting
//!   machine ([`Explorer::results`]).
//! * **Deferred calls in any order, with a disconnect after each.** All orders run ([`run_deferred`](request_handler::run_deferred)). A
//!   repeated request runs only the remaining calls ([`RequestHandler::receive`](request_handler::RequestHandler::receive)).
//! * **An equal request that is not a retry.** Its answer is a branch. Afterwards, both answers are restored, or none of them if the client
//!   cannot distinguish them ([`Explorer::branch`]).
//! * **Results of the client in any order, and invalid results.** All orders restore equal messages ([`Explorer::next_request`]). Missing,
//!   duplicate and unknown results are rejected
//!   ([`RequestHandler::reject_wrong_results`](request_handler::RequestHandler::reject_wrong_results)).
//!
//! # The checks
//!
//! The explorer records the messages that the upstream must receive, and compares them with the text of each request. Each conversation is
//! therefore well formed, and each call has one result; `strict-api` accepts each request. ([`accepted_requests`] tests further forms of
//! messages.) An internal call runs once ([`Conversation::run`](model::Conversation::run)). The client reads its messages as strictly as
//! the SDKs ([`ClientView`](client_view::ClientView)), and no message ends before its turn is stored
//! ([`Exchange::on`](exchange::Exchange::on)).

mod model;
mod client_view;
mod exchange;
mod request_handler;
mod explorer;
mod accepted_requests;

use std::time::Instant;

use self::explorer::{Counts, Explorer};
use crate::session::tests::is_long;

/// Explores a bound, and asserts the numbers.
fn explore(calls: usize, requests: usize, with_thinking: bool, with_broken: bool, expected: Counts) {
    let began = Instant::now();
    let counts = Explorer::explore(calls, requests, with_thinking, with_broken);
    // Printed on failure, and with `--no-capture`.
    eprintln!(
        "{calls} calls, {requests} requests: {counts:?} in {:?}",
        began.elapsed()
    );
    assert_eq!(counts, expected, "the model has changed");
}

const fn counts(conversations: usize, requests: usize, messages: usize, states: usize) -> Counts {
    Counts {
        conversations,
        requests,
        messages,
        states,
    }
}

#[test]
fn rules_hold_for_every_conversation_without_thinking() {
    explore(1, 3, false, false, counts(488, 207, 750, 2972));
    if is_long() {
        explore(2, 2, false, false, counts(4196, 651, 5478, 21980));
        explore(3, 3, false, false, counts(473_064, 95_087, 634_862, 2_563_276));
    }
}

#[test]
fn rules_hold_for_every_conversation_with_thinking() {
    explore(1, 3, true, false, counts(488, 207, 750, 3761));
    if is_long() {
        explore(2, 2, true, false, counts(4196, 651, 5478, 25829));
        explore(3, 3, true, false, counts(473_064, 95_087, 634_862, 3_048_673));
    }
}

#[test]
fn rules_hold_for_every_conversation_with_broken_calls() {
    explore(1, 3, false, true, counts(632, 267, 982, 3872));
    if is_long() {
        explore(2, 2, false, true, counts(7300, 1151, 9758, 38_568));
    }
}
