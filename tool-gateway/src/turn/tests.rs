//! Explores every conversation of a bounded model (`tests/model.rs`), and every order of events in each of them.
//!
//! # The bound
//!
//! * A conversation has up to three requests, and a last one that is only restored.
//! * It has up to three calls, in one message of the model or in several. Each call is internal, external, deferred, or internal and
//!   handed to the client by the permission hook. Before, between and after the calls there is one text block or none.
//! * A message with calls ends with `tool_use`, or is cut off with `max_tokens`.
//! * The model thinks in every message, or never.
//!
//! `GATEWAY_LONG=1` explores the whole bound: two times 473,064 conversations, in less than three minutes if optimized. Without it,
//! there is one call in up to three requests, and of a model that does not think also up to two calls in two. The numbers of
//! conversations, messages and states are asserted.
//!
//! Not in the model: caps on rounds, time and tokens, system messages, changed histories, and requests that end in a message of the
//! model.
//!
//! # The exploration
//!
//! The explorer walks the tree of these conversations depth first. It copies its state where the tree branches, so that nothing runs
//! again for a common beginning. The tree branches only where the model decides. All else is tried at its place, and compared:
//!
//! * **Streamed or not.** Both machines run side by side. At the end of a message they are equal, and so are their clients
//!   ([`Explorer::complete`]).
//! * **A break, a cut stream, or an error of the upstream, after any event of a message.** No event of an incomplete message leads to more
//!   than output ([`Exchange::on_part`]), and the gateway's checkpoint is a copy that these events do not change. So a retry starts from the
//!   same checkpoint, wherever the break was. A machine that starts from it is equal to the one without a break ([`restart`]), and its answer
//!   is another branch of the tree. This holds for any number of breaks.
//! * **Results in any order, with a break before and after each.** All orders run. The tree continues from each machine that results, and
//!   equal ones count as one ([`Explorer::results`]).
//! * **Deferred calls in any order, with a break after each.** All orders run ([`run_deferred`]). The request is received again, and the
//!   other calls are left ([`Explorer::receive`]).
//! * **An equal request that is not a retry.** Its answer is a branch. Afterwards, both answers are restored, or neither if the client
//!   cannot tell them apart ([`Explorer::branch`]).
//! * **The client's results in any order, and wrong ones.** All orders restore the same messages ([`Explorer::next_request`]); missing,
//!   duplicate and unknown results are rejected ([`Explorer::reject_wrong_results`]).
//!
//! # The checks
//!
//! The explorer writes down what the upstream has to see, message by message, and compares it with each request as text: so each
//! conversation is well formed, and each call has one result. An internal call runs once ([`Conversation::run`]). The client reads
//! its messages as strictly as the SDKs ([`ClientView`]), and no message ends before its turn is stored ([`Exchange::on`]).

mod model;
mod client_view;
mod exchange;

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::time::Instant;

use futures_util::FutureExt as _;
use serde_json::{Map, json};

use self::client_view::ClientView;
use self::exchange::{Exchange, TurnInProgress, restart};
use self::model::{CALLS, CLIENT_RESULT, Conversation, Kind, Part, go_on, internal_result, object, result};
use super::action::{Action, Answer};
use super::event::Event;
use super::machine::TurnMachine;
use super::restore::{self, Restored};
use super::rules::{IdSource, Rules};
use crate::session::chain::{AnswerContent, ChainKey};
use crate::session::memory::MemoryStore;
use crate::session::principal::Principal;
use crate::session::recognize::{Client, Recognized, call_digest, recognize};
use crate::session::record::{Origin, Owner, SessionId, TrueMessage, Turn};
use crate::session::store::{SavedTurn, SessionStore};
use crate::wire::block::Block;
use crate::wire::event::StreamEvent;
use crate::wire::message::{push_message, push_text};
use crate::wire::request::MessagesRequest;
use crate::wire::role::Role;

/// The size of the exploration.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counts {
    /// Paths through the tree.
    conversations: usize,
    requests: usize,
    /// Messages of the model.
    messages: usize,
    /// Events of the upstream and results, on machines that were not in this state before. There is a break after each.
    states: usize,
}

struct Explorer {
    key: ChainKey,
    client: Client,
    with_thinking: bool,
    counts: Counts,
}

impl Explorer {
    fn explore(max_calls: usize, max_requests: usize, with_thinking: bool) -> Counts {
        let mut explorer = Self {
            key: ChainKey::new([3; 32]),
            client: Client {
                principal: Principal::from_key_name("p"),
                keys: Vec::new(),
            },
            with_thinking,
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
        });
        explorer.counts
    }

    /// Explores the branches after a request of the client.
    fn request(&mut self, mut conversation: Conversation) {
        let request = Rc::new(self.receive(&mut conversation));
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

    fn recognize(&self, conversation: &Conversation, request: &MessagesRequest) -> Recognized {
        let recognized = recognize(&self.key, &*conversation.store, &self.client, request);
        recognized.now_or_never().unwrap().unwrap()
    }

    /// Handles a request as the gateway does before it asks the upstream: runs the deferred calls, and restores the messages.
    #[track_caller]
    fn receive(&self, conversation: &mut Conversation) -> (Recognized, Restored) {
        let body = conversation.body();
        let request = MessagesRequest::parse(&body).unwrap();
        loop {
            let recognized = self.recognize(conversation, &request);
            restore::check(&recognized, &request).unwrap();
            let calls = restore::deferred(&recognized);
            let ids: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
            let deferred = std::mem::take(&mut conversation.deferred);
            assert_eq!(ids, deferred.iter().map(|call| call.id()).collect::<Vec<_>>());
            let results = deferred.iter().map(|call| (call.id(), internal_result(*call)));
            let results: HashMap<String, Block> = results.collect();
            let restored = restore::restore(&self.key, &recognized, &request, &results).unwrap();
            assert_eq!(restored.messages, conversation.transcript);
            let Some((first, rest)) = deferred.split_first() else {
                return (recognized, restored);
            };
            let mut turn = Turn::clone(recognized.last_known_turn().unwrap());
            run_deferred(&rules(conversation), &turn, &deferred);
            // The first call runs and is stored, and the connection breaks. When the request is received again, the others are left.
            let result = conversation.run(*first);
            conversation.deferred = rest.to_vec();
            for call in turn.calls.iter_mut().filter(|call| call.id == first.id()) {
                call.result = Some(result.clone());
            }
            self.save(conversation, turn);
        }
    }

    /// Stores a turn in a copy of the store: other branches of the tree continue from the original.
    fn save(&self, conversation: &mut Conversation, turn: Turn) {
        conversation.turns.retain(|other| other.id != turn.id);
        conversation.turns.push(turn);
        let store = MemoryStore::new();
        for turn in &conversation.turns {
            let calls = turn
                .visible_ids()
                .map(|id| call_digest(&self.key, &self.client.principal, id))
                .collect();
            store
                .save(SavedTurn {
                    client: call_digest(&self.key, &self.client.principal, "client"),
                    turn: turn.clone(),
                    calls,
                    keys: Vec::new(),
                    progress: None,
                })
                .now_or_never()
                .unwrap()
                .unwrap();
        }
        conversation.store = Rc::new(store);
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
            let blocks: Vec<Block> = turn_state.message.iter().map(|part| part.forms().0).collect();
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
        // Deferred calls run after the others, and if none is the client's.
        let mut runs = vec![of_kinds(&[Kind::Internal, Kind::Interrupted])];
        if of_kinds(&[Kind::External, Kind::Interrupted]).is_empty() {
            runs.push(of_kinds(&[Kind::Deferred]));
        }
        runs.retain(|run| !run.is_empty());
        if runs.is_empty() {
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

    /// Explores the next round: all calls of the message were internal, and have their results.
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
        let turn = self.turn(&turn_state.request, before, answer);
        self.save(&mut conversation, turn);
        // As some clients do, this one drops thinking.
        let mut echoed = content.clone();
        echoed.retain(|block| block["type"] != "thinking");
        let echoed = if echoed.is_empty() { content } else { echoed };
        let echoed: Vec<Block> = echoed.iter().map(|block| Block::new(block.to_string())).collect();
        push_message(&mut conversation.visible, &Role::Assistant, &echoed);
        // Without a truth, the message is a notice of the gateway, which the model never sees.
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

    /// Builds the record of a turn.
    fn turn(&self, request: &(Recognized, Restored), conversation: &Conversation, answer: &Answer) -> Turn {
        let (recognized, restored) = request;
        let blocks = || answer.visible.iter().map(|(block, _)| block);
        let content = AnswerContent::new(&self.key, blocks());
        let turns = conversation.turns.len();
        let session = recognized.session.clone();
        Turn {
            id: format!("turn {turns}"),
            session: session.unwrap_or_else(|| SessionId(format!("session {turns}"))),
            point: content.point(recognized.beginning, &recognized.groups),
            context: recognized.context,
            answer: content.digest(),
            outline: content.outline(blocks().all(|block| block.raw_input().is_none())),
            truth: answer.truth.clone(),
            is_unchanged: answer.is_unchanged,
            drops_thinking: false,
            visible: answer.visible.iter().map(|(_, origin)| *origin).collect(),
            calls: answer.calls.clone(),
            systems: restored.systems.clone(),
            state: Map::new(),
        }
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
            push_message(&mut next.visible, &Role::User, results.iter().chain([&go_on()]));
            next
        };
        let mut next = with_user(&[]);
        if ids.is_empty() {
            push_message(&mut next.transcript, &Role::User, [&go_on()]);
            return next;
        }
        if conversation.requests_left > 0 {
            self.reject_wrong_results(&ids, with_user);
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
            &results.chain([go_on()]).collect::<Vec<_>>(),
        );
        let waits = |part: &&Part| part.kind == Kind::Deferred && !conversation.ran.contains(&part.number);
        next.deferred = calls.iter().filter(waits).copied().collect();
        let mut last = None;
        for order in permutations(&ids) {
            let results: Vec<Block> = order.iter().map(|id| result(id, CLIENT_RESULT)).collect();
            next.visible = with_user(&results).visible;
            if let Some(mut earlier) = last.replace(next.clone()) {
                self.receive(&mut earlier);
            }
        }
        next
    }

    /// Results are rejected if one of them is missing, duplicate or unknown.
    fn reject_wrong_results(&self, ids: &[&str], with_user: impl Fn(&[Block]) -> Conversation) {
        let right = || ids.iter().map(|id| result(id, CLIENT_RESULT));
        let wrong: [Vec<Block>; 4] = [
            Vec::new(),
            right().skip(1).collect(),
            right().chain(right().take(1)).collect(),
            right().chain([result("toolu_x", CLIENT_RESULT)]).collect(),
        ];
        for results in wrong {
            let conversation = with_user(&results);
            let body = conversation.body();
            let request = MessagesRequest::parse(&body).unwrap();
            let recognized = self.recognize(&conversation, &request);
            assert!(restore::check(&recognized, &request).is_err(), "{body}");
        }
    }

    /// The client sends the request `before` again, and the model answers with other thinking and `content`. Restores the request that
    /// continues from this answer, and `next`, which continues from the first.
    fn branch(&self, before: &Conversation, next: &Conversation, content: &[Block]) {
        let mut branch = before.clone();
        branch.turns.clone_from(&next.turns);
        branch.store = Rc::clone(&next.store);
        let request = self.receive(&mut branch);
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
        let turn = self.turn(&request, &branch, &answer);
        self.save(&mut branch, turn);
        push_message(&mut branch.visible, &Role::Assistant, content);
        push_message(&mut branch.visible, &Role::User, [&go_on()]);
        // Two turns with one visible history: the gateway cannot know from which one the client continues, and sends the client's message.
        let is_ambiguous = branch.visible == next.visible;
        let sent_up = if is_ambiguous { content } else { &truth };
        push_message(&mut branch.transcript, &Role::Assistant, sent_up);
        push_message(&mut branch.transcript, &Role::User, [&go_on()]);
        if !is_ambiguous {
            let mut next = next.clone();
            next.turns.clone_from(&branch.turns);
            next.store = Rc::clone(&branch.store);
            self.receive(&mut next);
        }
        self.receive(&mut branch);
    }
}

fn rules(conversation: &Conversation) -> Rules {
    Rules {
        internal: ["Internal", "Deferred", "Interrupted"].map(str::to_owned).into(),
        deferred: ["Deferred".to_owned()].into(),
        max_rounds: 25,
        max_tokens: None,
        ids: IdSource {
            key: Some([u8::try_from(conversation.requests_left).unwrap(); 32]),
            ..IdSource::default()
        },
    }
}

/// Runs deferred calls in a machine that resumes their turn, in all orders, with a stop after each. When all have results, the machine is
/// equal to one of a turn that resumes nothing.
fn run_deferred(rules: &Rules, turn: &Turn, deferred: &[Part]) {
    let ids: Vec<String> = deferred.iter().map(|call| call.id()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    for order in permutations(&ids) {
        let mut machine = TurnMachine::resume(rules.clone(), turn.calls.clone());
        for (done, id) in order.iter().enumerate() {
            assert!(machine.is_resuming());
            let actions = machine.start();
            let [Action::Run(calls)] = actions.as_slice() else {
                panic!("{actions:#?}");
            };
            assert_eq!(calls.len(), ids.len() - done, "{actions:#?}");
            for (call, _) in calls {
                assert_eq!(machine.clone().on(Event::Stopped { call: *call }), []);
            }
            let call = calls.iter().find(|(_, call)| call.id == **id).unwrap().0;
            let result = result(id, "of a deferred call");
            let actions = machine.on(Event::Result { call, result });
            let is_last = done + 1 == ids.len();
            let expected = is_last.then(|| Action::Ask(Vec::new()));
            assert_eq!(actions, Vec::from_iter(expected));
        }
        assert_eq!(machine, TurnMachine::new(rules.clone()));
    }
}

/// Checks the origin of each visible block: the same block in the truth, with another id if it is a call. A notice has none.
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

/// Returns all permutations of some items.
fn permutations<'i>(items: &[&'i str]) -> Vec<Vec<&'i str>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let from = |place: usize| {
        let mut rest = items.to_vec();
        let first = rest.remove(place);
        permutations(&rest)
            .into_iter()
            .map(move |rest| [vec![first], rest].concat())
    };
    (0..items.len()).flat_map(from).collect()
}

/// Explores a bound, and compares the numbers.
fn explore(calls: usize, requests: usize, with_thinking: bool, expected: Counts) {
    let began = Instant::now();
    let counts = Explorer::explore(calls, requests, with_thinking);
    // In the output of a failure, and of `--no-capture`.
    eprintln!(
        "{calls} calls, {requests} requests: {counts:?} in {:?}",
        began.elapsed()
    );
    assert_eq!(counts, expected, "the model has changed");
}

fn is_long() -> bool {
    std::env::var_os("GATEWAY_LONG").is_some()
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
    explore(1, 3, false, counts(488, 207, 750, 2972));
    explore(2, 2, false, counts(4196, 651, 5478, 21980));
    if is_long() {
        explore(3, 3, false, counts(473_064, 95_087, 634_862, 2_563_276));
    }
}

#[test]
fn rules_hold_for_every_conversation_with_thinking() {
    explore(1, 3, true, counts(488, 207, 750, 3761));
    if is_long() {
        explore(2, 2, true, counts(4196, 651, 5478, 25829));
        explore(3, 3, true, counts(473_064, 95_087, 634_862, 3_048_673));
    }
}

#[test]
fn a_message_that_was_cut_off_runs_nothing() {
    let rules = Rules {
        internal: BTreeSet::from(["internal".to_owned()]),
        max_rounds: 25,
        max_tokens: None,
        ..Rules::default()
    };
    let mut machine = TurnMachine::new(rules);
    let events = [
        json!({ "type": "message_start", "message": { "usage": { "input_tokens": 1 } } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "tool_use", "id": "a", "name": "internal", "input": {} } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "max_tokens" } }),
        json!({ "type": "message_stop" }),
    ];
    let mut actions = Vec::new();
    for event in &events {
        actions.extend(machine.on(Event::Stream(StreamEvent::parse(&event.to_string()).unwrap())));
    }
    assert!(
        !actions.iter().any(|action| matches!(action, Action::Run(_))),
        "{actions:?}"
    );
    let recorded = actions.iter().find_map(|action| match action {
        Action::Record(answer) => Some(&answer.truth),
        _ => None,
    });
    assert_eq!(recorded, Some(&Vec::new()));
}
