//! [`RequestHandler`]: handles requests like the gateway, without a server.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::Map;

use super::model::{CLIENT_RESULT, Conversation, Part, internal_result, result};
use crate::session::chain::ChainKey;
use crate::session::client::{Client, call_digest};
use crate::session::memory::MemoryStore;
use crate::session::message_groups::AnswerContent;
use crate::session::principal::Principal;
use crate::session::recognize::{Recognized, recognize};
use crate::session::record::{SessionId, Turn};
use crate::session::store::{SavedTurn, SessionStore};
use crate::session::turn_record::TurnRecord;
use crate::turn::action::{Action, Answer};
use crate::turn::event::Event;
use crate::turn::machine::TurnMachine;
use crate::turn::restore::{self, Restored};
use crate::turn::rules::{IdSource, Rules};
use crate::wire::block::Block;
use crate::wire::request::MessagesRequest;

/// Recognizes and restores the requests of one client, and stores their turns.
pub(super) struct RequestHandler {
    key: ChainKey,
    client: Client,
}

impl RequestHandler {
    pub(super) fn new() -> Self {
        let key = ChainKey::new([3; 32]);
        Self {
            client: Client::new(&key, Principal::from_key_name("p"), Vec::new()),
            key,
        }
    }

    fn recognize(&self, conversation: &Conversation, request: &MessagesRequest) -> Recognized {
        let recognized = recognize(&self.key, &*conversation.store, &self.client, request, None);
        recognized.now_or_never().unwrap().unwrap().0
    }

    /// Handles a request until the upstream is needed: runs the deferred calls, and restores the messages.
    #[track_caller]
    pub(super) fn receive(&self, conversation: &mut Conversation) -> (Recognized, Restored) {
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
            assert_eq!(restored.messages.to_text(&request), conversation.transcript);
            let Some((first, rest)) = deferred.split_first() else {
                return (recognized, restored);
            };
            let mut turn = Turn::clone(recognized.last_known_turn().unwrap());
            run_deferred(&rules(conversation), &turn, &deferred);
            // After the first call is stored, the client disconnects. The repeated request has the remaining calls.
            let result = conversation.run(*first);
            conversation.deferred = rest.to_vec();
            for call in turn.calls.iter_mut().filter(|call| call.id == first.id()) {
                call.result = Some(result.clone());
            }
            self.save(conversation, turn);
        }
    }

    /// Stores a turn in a copy of the store, since other branches of the tree continue from the original.
    pub(super) fn save(&self, conversation: &mut Conversation, turn: Turn) {
        conversation.turns.retain(|other| other.id != turn.id);
        conversation.turns.push(turn);
        let store = MemoryStore::new();
        for turn in &conversation.turns {
            let calls = turn
                .visible_ids()
                .map(|id| call_digest(&self.key, &self.client.principal, id))
                .collect();
            let saved = SavedTurn {
                record: TurnRecord::new(turn.clone()),
                revision: 0,
                calls,
                keys: Vec::new(),
                progress: None,
                precedes_effects: false,
            };
            store
                .save(self.client.digest, saved)
                .now_or_never()
                .unwrap()
                .unwrap();
        }
        conversation.store = Rc::new(store);
    }

    /// Builds the record of a turn.
    pub(super) fn turn(
        &self,
        request: &(Recognized, Restored),
        conversation: &Conversation,
        answer: &Answer,
    ) -> Turn {
        let (recognized, restored) = request;
        let blocks = || answer.visible.iter().map(|(block, _)| block);
        let content = AnswerContent::new(&self.key, &blocks());
        let turns = conversation.turns.len();
        let session = recognized.session.clone();
        Turn {
            id: format!("turn {turns}"),
            session: session.unwrap_or_else(|| SessionId::new(format!("session {turns}"))),
            point: content.point(&recognized.answer_place),
            context: recognized.context,
            answer: content.exact(),
            outline: content.joined(blocks().all(|block| block.raw_input().is_none())),
            is_joined: true,
            begun: None,
            truth: answer.truth.clone(),
            is_unchanged: answer.is_unchanged,
            drops_thinking: false,
            generation: None,
            visible: answer.visible.iter().map(|(_, origin)| *origin).collect(),
            calls: answer.calls.clone(),
            systems: restored.systems.clone(),
            state: Map::new(),
        }
    }

    /// Checks that missing, duplicate and unknown results are rejected.
    pub(super) fn reject_wrong_results(&self, ids: &[&str], with_user: impl Fn(&[Block]) -> Conversation) {
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
}

pub(super) fn rules(conversation: &Conversation) -> Rules {
    Rules {
        server_prefixes: Vec::new(),
        internal: Arc::new(["Internal", "Deferred", "Interrupted"].map(str::to_owned).into()),
        external: Arc::default(),
        deferred: Arc::new(["Deferred".to_owned()].into()),
        max_rounds: 25,
        max_tokens: None,
        ids: IdSource {
            key: Some([u8::try_from(conversation.requests_left).unwrap(); 32]),
            ..IdSource::default()
        },
        hides_thinking: false,
        client_calls: conversation.client_calls.clone(),
        recovered_calls: None,
    }
}

/// Runs deferred calls in a machine that resumes their turn, in all orders, with a disconnect after each. After the last result, the
/// machine equals the machine of a new turn.
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

/// Returns all permutations of some items.
pub(super) fn permutations<'i>(items: &[&'i str]) -> Vec<Vec<&'i str>> {
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
