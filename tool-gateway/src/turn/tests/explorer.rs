//! [`Explorer`]: walks the tree of conversations.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::json;

use super::client_view::ClientView;
use super::exchange::{Exchange, TurnInProgress, restart};
use super::model::{
    CALLS, CLIENT_RESULT, Conversation, Kind, Part, client_calls, internal_result, object, result, user_text,
};
use super::request_handler::{RequestHandler, permutations, rules};
use crate::session::memory::MemoryStore;
use crate::session::record::{Origin, Owner, TrueMessage};
use crate::turn::action::{Action, Answer};
use crate::turn::event::Event;
use crate::turn::machine::TurnMachine;
use crate::wire::block::Block;
use crate::wire::event::StreamEvent;
use crate::wire::message::{push_message, push_text};
use crate::wire::role::Role;

/// Size of the exploration.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Counts {
    /// Paths through the tree.
    pub(super) conversations: usize,
    pub(super) requests: usize,
    /// Messages of the model.
    pub(super) messages: usize,
    /// Events of the upstream and results that bring a machine into a new state. A disconnect follows each event.
    pub(super) states: usize,
}

/// Explores all conversations of a bound, depth first.
pub(super) struct Explorer {
    handler: RequestHandler,
    with_thinking: bool,
    with_broken: bool,
    counts: Counts,
}

impl Explorer {
    pub(super) fn explore(
        max_calls: usize,
        max_requests: usize,
        with_thinking: bool,
        with_broken: bool,
    ) -> Counts {
        let mut explorer = Self {
            handler: RequestHandler::new(),
            with_thinking,
            with_broken,
            counts: Counts::default(),
        };
        let begin = r#"{"role":"user","content":"begin"}"#;
        explorer.request(Conversation {
            visible: begin.to_owned(),
            transcript: begin.to_owned(),
            deferred: Vec::new(),
            turns: Vec::new(),
            store: Rc::new(MemoryStore::new()),
            ran: BTreeSet::new(),
            last_number: 0,
            calls_left: max_calls,
            requests_left: max_requests,
            client_calls: with_broken.then(|| Arc::new(client_calls())),
        });
        explorer.counts
    }

    /// Explores the branches after a request of the client.
    fn request(&mut self, mut conversation: Conversation) {
        let request = Rc::new(self.handler.receive(&mut conversation));
        if conversation.requests_left == 0 {
            self.counts.conversations += 1;
            return;
        }
        self.counts.requests += 1;
        conversation.requests_left -= 1;
        let mut machine = TurnMachine::new(rules(&conversation));
        let actions = machine.start();
        let exchange = Exchange {
            machine,
            view: ClientView::default(),
        };
        let turn_state = TurnInProgress {
            request,
            conversation,
            streamed: exchange.clone(),
            whole: exchange,
            truth: String::new(),
            rounds: 0,
            message: Vec::new(),
        };
        self.ask(turn_state, &actions);
    }

    /// Explores the answers of the upstream.
    fn ask(&mut self, mut turn_state: TurnInProgress, actions: &[Action]) {
        let [Action::Ask(messages)] = actions else {
            panic!("{actions:#?}");
        };
        let mut sent = String::new();
        for message in messages {
            push_message(&mut sent, &message.role, &message.blocks);
        }
        assert_eq!(sent, turn_state.truth);
        assert_accepted(&turn_state.conversation.transcript, &sent);
        assert_eq!(restart(&turn_state.streamed.machine), actions);
        turn_state.rounds += 1;
        turn_state.message.clear();
        let message = json!({ "id": "msg", "role": "assistant", "content": [], "usage": { "input_tokens": 7, "output_tokens": 1 } });
        turn_state.push_both(&StreamEvent::MessageStart(object(&message)));
        self.counts.states += 1;
        if self.with_thinking {
            let part = turn_state.conversation.next_part(Kind::Thinking);
            turn_state.push(part);
            self.counts.states += 3;
        }
        self.extend(&turn_state);
    }

    /// Explores all ends of the incomplete message, and all blocks that may follow.
    fn extend(&mut self, turn_state: &TurnInProgress) {
        let has_call = turn_state.message.iter().any(|part| part.is_call());
        if has_call {
            self.complete(turn_state.clone(), "tool_use");
            self.complete(turn_state.clone(), "max_tokens");
        } else {
            self.complete(turn_state.clone(), "end_turn");
        }
        let mut kinds = Vec::new();
        if turn_state
            .message
            .last()
            .is_none_or(|part| part.kind != Kind::Text)
        {
            kinds.push(Kind::Text);
        }
        if turn_state.conversation.calls_left > 0 {
            kinds.extend(CALLS);
            kinds.extend(self.with_broken.then_some(Kind::Broken));
        }
        for kind in kinds {
            let mut turn_state = turn_state.clone();
            let part = turn_state.conversation.next_part(kind);
            turn_state.conversation.calls_left -= usize::from(part.is_call());
            turn_state.push(part);
            self.counts.states += 3;
            self.extend(&turn_state);
        }
    }

    /// Explores the results of a complete message.
    fn complete(&mut self, mut turn_state: TurnInProgress, reason: &'static str) {
        self.counts.messages += 1;
        self.counts.states += 2;
        if reason == "max_tokens" {
            // Internal calls do not run, and would have no result.
            turn_state
                .message
                .retain(|part| !part.is_call() || part.kind == Kind::External);
        }
        if !turn_state.message.is_empty() {
            let blocks: Vec<Block> = turn_state.message.iter().map(|part| part.truth()).collect();
            push_message(&mut turn_state.truth, &Role::Assistant, &blocks);
        }
        let end = json!({ "delta": { "stop_reason": reason, "stop_sequence": null }, "usage": { "output_tokens": 5 } });
        turn_state.push_both(&StreamEvent::MessageDelta(object(&end).object().into()));
        let actions = turn_state.streamed.on(Event::Stream(StreamEvent::MessageStop));
        assert_eq!(
            turn_state.whole.on(Event::Stream(StreamEvent::MessageStop)),
            actions
        );
        assert_eq!(turn_state.streamed, turn_state.whole);

        let of_kinds = |kinds: &[Kind]| -> Vec<Part> {
            let parts = turn_state
                .message
                .iter()
                .filter(|part| kinds.contains(&part.kind));
            parts.copied().collect()
        };
        // Deferred calls run after all other calls, and only without external calls.
        let mut runs = vec![of_kinds(&[Kind::Internal, Kind::Interrupted])];
        if of_kinds(&[Kind::External, Kind::Interrupted]).is_empty() {
            runs.push(of_kinds(&[Kind::Deferred]));
        }
        runs.retain(|run| !run.is_empty());
        if runs.is_empty() {
            let is_hidden = turn_state.message.iter().any(|part| part.kind == Kind::Broken)
                && of_kinds(&[Kind::External]).is_empty();
            if is_hidden {
                return self.next_round(turn_state, &actions);
            }
            return self.finish(&turn_state, &actions, reason);
        }
        let mut outcomes = vec![(turn_state, actions)];
        for run in runs {
            let before = std::mem::take(&mut outcomes);
            for (turn_state, actions) in before {
                self.results(&turn_state, &actions, &run, &mut outcomes);
            }
        }
        for (turn_state, actions) in outcomes {
            if turn_state.message.iter().any(|part| part.is_external()) {
                self.finish(&turn_state, &actions, reason);
            } else {
                self.next_round(turn_state, &actions);
            }
        }
    }

    /// Ends the open calls in all orders, and collects the different outcomes.
    fn results(
        &mut self,
        turn_state: &TurnInProgress,
        actions: &[Action],
        open: &[Part],
        outcomes: &mut Vec<(TurnInProgress, Vec<Action>)>,
    ) {
        assert_eq!(restart(&turn_state.streamed.machine), actions);
        let [Action::Run(calls)] = actions else {
            panic!("{actions:#?}");
        };
        let ids: Vec<&str> = calls.iter().map(|(_, call)| call.id.as_str()).collect();
        assert_eq!(ids, open.iter().map(|part| part.id()).collect::<Vec<_>>());
        for (place, part) in open.iter().enumerate() {
            self.counts.states += 1;
            let mut turn_state = turn_state.clone();
            let call = calls[place].0;
            let event = match part.kind {
                Kind::Interrupted => Event::Interrupted { call },
                _ => Event::Result {
                    call,
                    result: turn_state.conversation.run(*part),
                },
            };
            let actions = turn_state.streamed.on(event);
            let mut rest = open.to_vec();
            rest.remove(place);
            if rest.is_empty() {
                let is_same = |(other, same): &(TurnInProgress, Vec<Action>)| {
                    other.streamed == turn_state.streamed && *same == actions
                };
                if !outcomes.iter().any(is_same) {
                    turn_state.whole = turn_state.streamed.clone();
                    outcomes.push((turn_state, actions));
                }
                continue;
            }
            assert_eq!(actions, []);
            let actions = restart(&turn_state.streamed.machine);
            self.results(&turn_state, &actions, &rest, outcomes);
        }
    }

    /// Explores the next round, after all calls of the message were internal and have results.
    fn next_round(&mut self, mut turn_state: TurnInProgress, actions: &[Action]) {
        let calls = turn_state.message.iter().filter(|part| part.is_call());
        let results: Vec<Block> = calls.map(|part| internal_result(*part)).collect();
        push_message(&mut turn_state.truth, &Role::User, &results);
        self.ask(turn_state, actions);
    }

    /// Explores the next request of the client, after the end of the turn.
    fn finish(&mut self, turn_state: &TurnInProgress, actions: &[Action], reason: &str) {
        let [Action::Record(answer), Action::End] = actions else {
            panic!("{actions:#?}");
        };
        check_origins(answer);
        let before = &turn_state.conversation;
        let content = turn_state.streamed.view.clone().finish(reason, turn_state.rounds);
        for call in content.iter().filter(|block| block["type"] == "tool_use") {
            let id = call["id"].to_string();
            assert!(
                id.starts_with("\"toolu_") && !before.visible.contains(&id),
                "{content:#?}"
            );
        }
        let mut conversation = before.clone();
        let turn = self.handler.turn(&turn_state.request, before, answer);
        self.handler.save(&mut conversation, turn);
        // Like some clients, this client drops thinking.
        let mut echoed = content.clone();
        echoed.retain(|block| block["type"] != "thinking");
        let echoed = if echoed.is_empty() { content } else { echoed };
        let echoed: Vec<Block> = echoed.iter().map(|block| Block::new(block.to_string())).collect();
        push_message(&mut conversation.visible, &Role::Assistant, &echoed);
        // Without true messages, the message is a notice of the gateway, which the model never sees.
        if !turn_state.truth.is_empty() {
            push_text(&mut conversation.transcript, &turn_state.truth);
        }
        let next = self.next_request(turn_state, answer, &conversation);
        if next.requests_left > 0 {
            self.branch(before, &next, &[Block::text("again")]);
            if answer.calls.is_empty() {
                self.branch(before, &next, &echoed);
            }
        }
        self.request(next);
    }

    /// Builds the next request of the client, which answers its calls.
    fn next_request(
        &self,
        turn_state: &TurnInProgress,
        answer: &Answer,
        conversation: &Conversation,
    ) -> Conversation {
        let calls: Vec<Part> = turn_state
            .message
            .iter()
            .copied()
            .filter(|part| part.is_call())
            .collect();
        let ids: Vec<&str> = answer
            .calls
            .iter()
            .filter(|call| call.owner == Owner::External)
            .map(|call| call.visible_id.as_str())
            .collect();
        assert_eq!(ids.len(), calls.iter().filter(|part| part.is_external()).count());
        let with_user = |results: &[Block]| {
            let mut next = conversation.clone();
            push_message(
                &mut next.visible,
                &Role::User,
                results.iter().chain([&user_text()]),
            );
            next
        };
        let mut next = with_user(&[]);
        if ids.is_empty() {
            push_message(&mut next.transcript, &Role::User, [&user_text()]);
            return next;
        }
        if conversation.requests_left > 0 {
            self.handler.reject_wrong_results(&ids, with_user);
        }
        let results = calls.iter().map(|part| {
            if part.is_external() {
                result(&part.id(), CLIENT_RESULT)
            } else {
                internal_result(*part)
            }
        });
        push_message(
            &mut next.transcript,
            &Role::User,
            results.chain([user_text()]).collect::<Vec<_>>(),
        );
        let waits = |part: &&Part| part.kind == Kind::Deferred && !conversation.ran.contains(&part.number);
        next.deferred = calls.iter().filter(waits).copied().collect();
        let mut last = None;
        for order in permutations(&ids) {
            let results: Vec<Block> = order.iter().map(|id| result(id, CLIENT_RESULT)).collect();
            next.visible = with_user(&results).visible;
            if let Some(mut earlier) = last.replace(next.clone()) {
                self.handler.receive(&mut earlier);
            }
        }
        next
    }

    /// Repeats the request `before`, which the model answers with other thinking and `content`. Restores the request that continues from
    /// this answer, and `next`, which continues from the first answer.
    fn branch(&self, before: &Conversation, next: &Conversation, content: &[Block]) {
        let mut branch = before.clone();
        branch.turns.clone_from(&next.turns);
        branch.store = Rc::clone(&next.store);
        let request = self.handler.receive(&mut branch);
        let number = usize::MAX;
        let kind = Kind::Thinking;
        let mut truth = vec![Part { kind, number }.forms().0];
        truth.extend_from_slice(content);
        let origins = (1..truth.len()).map(|block| Origin { message: 0, block });
        let answer = Answer {
            visible: content.iter().cloned().zip(origins).collect(),
            truth: vec![TrueMessage {
                role: Role::Assistant,
                blocks: truth.clone(),
            }],
            calls: Vec::new(),
            is_unchanged: true,
        };
        let turn = self.handler.turn(&request, &branch, &answer);
        self.handler.save(&mut branch, turn);
        push_message(&mut branch.visible, &Role::Assistant, content);
        push_message(&mut branch.visible, &Role::User, [&user_text()]);
        // After two turns with one visible history, the gateway cannot know which turn continues, and forwards the client's message.
        let is_ambiguous = branch.visible == next.visible;
        let sent_up = if is_ambiguous { content } else { &truth };
        push_message(&mut branch.transcript, &Role::Assistant, sent_up);
        push_message(&mut branch.transcript, &Role::User, [&user_text()]);
        if !is_ambiguous {
            let mut next = next.clone();
            next.turns.clone_from(&branch.turns);
            next.store = Rc::clone(&branch.store);
            self.handler.receive(&mut next);
        }
        self.handler.receive(&mut branch);
    }
}

/// Checks that each visible block equals its origin in the true messages, except for the id of a call. A notice has no origin.
fn check_origins(answer: &Answer) {
    for (visible, origin) in &answer.visible {
        let Some(message) = answer.truth.get(origin.message) else {
            assert_eq!(origin.message, usize::MAX, "{answer:#?}");
            continue;
        };
        let block = &message.blocks[origin.block];
        let block = match visible.tool_use() {
            Some(call) => block.with_string("id", &call.id),
            None => block.clone(),
        };
        assert_eq!(block, *visible, "{answer:#?}");
    }
}

/// Asserts that the API accepts a request with these messages.
#[track_caller]
fn assert_accepted(transcript: &str, turn: &str) {
    let comma = if turn.is_empty() { "" } else { "," };
    let body = format!(r#"{{"model":"m","max_tokens":1,"messages":[{transcript}{comma}{turn}]}}"#);
    let body = serde_json::from_str(&body).unwrap();
    assert_eq!(strict_api::check("/v1/messages", &body, &[]), Ok(()), "{body:#}");
}
