//! Rounds of a turn: the calls of a complete message run, and their results are sent to the upstream with the next request.

use std::collections::BTreeSet;

use super::incoming::Incoming;
use super::state::{Phase, TurnMachine};
use crate::session::record::{Call, Origin, Owner, TrueMessage};
use crate::turn::action::{Action, Sent};
use crate::wire::block::Block;
use crate::wire::role::Role;
use crate::wire::usage::{self, TokenCounts};

impl TurnMachine {
    /// Handles the end of the upstream's message.
    pub(super) fn on_message(&mut self, actions: &mut Vec<Action>) {
        let mut incoming = std::mem::take(&mut self.message);
        self.ends.push(&mut incoming.usage, &incoming.end);
        usage::add(&mut self.usage, &incoming.usage);
        self.message.end.clone_from(&incoming.end);
        let ids = &mut self.rules.ids;
        let complete = incoming.complete(self.truth.len(), &mut self.call_ids, || ids.mint());
        self.visible.extend(complete.visible);
        // No API accepts an empty message in a history.
        if !complete.message.blocks.is_empty() {
            self.truth.push(complete.message);
        }
        let has_broken = complete.broken.is_some();
        self.broken.push(complete.broken);
        let mut calls = complete.calls;
        self.correct_names(&mut calls);
        let is_mixed = calls.iter().any(|call| call.owner == Owner::External);
        let is_deferred = |call: &Call| self.rules.deferred.contains(&call.name);
        // A deferred call waits until no other call can become external.
        let waits = is_mixed
            || calls
                .iter()
                .any(|call| call.owner == Owner::Internal && call.result.is_none() && !is_deferred(call));
        let run: Vec<(usize, Call)> = calls
            .iter()
            .enumerate()
            .filter(|(_, call)| call.owner == Owner::Internal && call.result.is_none())
            .filter(|(_, call)| !waits || !is_deferred(call))
            .map(|(index, call)| (index, call.clone()))
            .collect();
        if run.is_empty() {
            if is_mixed {
                self.suspend(calls, actions);
            } else if has_broken {
                self.end_round(calls, actions);
            } else {
                self.finish(actions);
            }
            return;
        }
        let open = run.iter().map(|(index, _)| *index).collect();
        self.phase = Phase::Running {
            calls,
            open,
            stopped: BTreeSet::new(),
            is_resumed: false,
        };
        actions.push(Action::Run(run));
    }

    /// Corrects the case of internal tools' names. The true transcript keeps the model's spelling.
    fn correct_names(&self, calls: &mut [Call]) {
        for call in calls.iter_mut().filter(|call| call.owner == Owner::Internal) {
            if let Some(name) = self.rules.internal_name(&call.name)
                && name != call.name
            {
                tracing::warn!(
                    called = call.name,
                    tool = name,
                    "a tool was called in other letters"
                );
                call.name = name.to_owned();
            }
        }
    }

    /// Handles the end of an internal call. The last call ends the round.
    pub(super) fn on_done(&mut self, actions: &mut Vec<Action>) {
        let Phase::Running { calls, open, .. } = &mut self.phase else {
            return;
        };
        if !open.is_empty() {
            return;
        }
        if calls.iter().all(|call| call.owner == Owner::Internal) {
            let deferred = calls.iter().enumerate().filter(|(_, call)| call.result.is_none());
            let deferred: Vec<_> = deferred.map(|(index, call)| (index, call.clone())).collect();
            if !deferred.is_empty() {
                open.extend(deferred.iter().map(|(index, _)| *index));
                actions.push(Action::Run(deferred));
                return;
            }
        }
        let calls = std::mem::take(calls);
        self.end_round(calls, actions);
    }

    /// Ends a round whose calls of the gateway have results: suspends the turn, or asks for the next message.
    fn end_round(&mut self, mut calls: Vec<Call>, actions: &mut Vec<Action>) {
        self.rounds += 1;
        self.show_interrupted(&mut calls, actions);
        if calls.iter().any(|call| call.owner == Owner::External) {
            return self.suspend(calls, actions);
        }
        let results = TrueMessage {
            role: Role::User,
            blocks: calls.into_iter().filter_map(|call| call.result).collect(),
        };
        self.truth.push(results);
        let client_calls = self.rules.reader_of(true);
        let most_broken = client_calls.map_or(0, |calls| calls.rules().broken_calls);
        if self.broken.in_row > most_broken
            && let Some(notice) = self.broken.notice.take()
        {
            self.add_text(&notice, actions);
            self.set_stop_reason(r#""end_turn""#);
            return self.finish(actions);
        }
        if self.is_over_a_cap() {
            self.set_stop_reason(r#""pause_turn""#);
            return self.finish(actions);
        }
        self.message = Incoming::default();
        self.phase = Phase::Asking;
        actions.push(Action::Ask(self.truth.clone()));
    }

    /// Sends the client the calls that have become external.
    fn show_interrupted(&mut self, calls: &mut [Call], actions: &mut Vec<Action>) {
        let at = self.truth.len().saturating_sub(1);
        for call in calls
            .iter_mut()
            .filter(|call| call.owner == Owner::External && call.id == call.visible_id)
        {
            let block_at = self.truth.get(at).and_then(|message| {
                message
                    .blocks
                    .iter()
                    .position(|block| block.tool_use().is_some_and(|other| other.id == call.id))
            });
            let Some(block_at) = block_at else { continue };
            let Some(block) = self
                .truth
                .get(at)
                .and_then(|message| message.blocks.get(block_at))
                .cloned()
            else {
                continue;
            };
            call.visible_id = self.rules.ids.mint();
            // The permission was asked for the repaired arguments; the true transcript has arguments that the API accepts.
            let block = block.repaired().with_string("id", &call.visible_id);
            let block = block.with_string("name", &call.name);
            let index = self.next_index();
            actions.push(Action::Send(Sent::Block {
                index,
                block: block.clone(),
            }));
            self.visible.push((
                block,
                Origin {
                    message: at,
                    block: block_at,
                },
            ));
        }
    }

    /// Adds a message of the gateway to the client's message and to the true transcript.
    fn add_text(&mut self, text: &str, actions: &mut Vec<Action>) {
        let block = Block::text(text);
        let index = self.next_index();
        actions.push(Action::Send(Sent::Block {
            index,
            block: block.clone(),
        }));
        let origin = Origin {
            message: self.truth.len(),
            block: 0,
        };
        self.visible.push((block.clone(), origin));
        self.truth.push(TrueMessage {
            role: Role::Assistant,
            blocks: vec![block],
        });
    }

    /// Returns whether the limit of rounds, time or tokens forbids another round.
    fn is_over_a_cap(&self) -> bool {
        let tokens = || TokenCounts::new(&self.usage).total();
        self.is_out_of_time
            || self.rounds >= self.rules.max_rounds
            || self.rules.max_tokens.is_some_and(|max| tokens() >= max)
    }
}
