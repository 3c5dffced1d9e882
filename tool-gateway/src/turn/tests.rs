//! Explores all orders of events of a bounded model: conversations with up to three calls of either kind, text and thinking
//! between them, up to three requests, results in every order, whole and streamed messages, a break at every step.
//! Two calls and breaks at some steps by default; `GATEWAY_LONG=1` has no such limits, and takes more than seven minutes optimized.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use serde_json::{Value, json};

use super::machine::{Action, Answer, Event, IdSource, Rules, Sent, TurnMachine};
use super::restore;
use crate::session::chain::{ChainKey, after_answer};
use crate::session::memory::MemoryStore;
use crate::session::recognize::{Client, answer_digest, call_digest, recognize};
use crate::session::record::{Origin, Owner, SessionId, Turn};
use crate::session::store::SessionStore;
use crate::wire::block::Block;
use crate::wire::event::StreamEvent;
use crate::wire::message::push_message;
use crate::wire::request::MessagesRequest;

/// Takes every path through a program that asks for choices, one after the other.
#[derive(Default)]
struct Choices {
    path: Vec<(usize, usize)>,
    at: usize,
}

impl Choices {
    fn choose(&mut self, options: usize) -> usize {
        if self.at == self.path.len() {
            self.path.push((0, options));
        }
        let (choice, known) = self.path[self.at];
        assert_eq!(known, options, "the program is not deterministic");
        self.at += 1;
        choice
    }

    /// Goes to the next path; `false` behind the last.
    fn next(&mut self) -> bool {
        self.at = 0;
        while let Some((choice, options)) = self.path.pop() {
            if choice + 1 < options {
                self.path.push((choice + 1, options));
                return true;
            }
        }
        false
    }
}

/// One conversation: client, upstream and tools, and what they have seen.
struct World<'c> {
    choices: &'c mut Choices,
    key: ChainKey,
    store: MemoryStore,
    client: Client,
    /// What the client has of the conversation.
    visible: Vec<Value>,
    /// What the upstream saw last.
    seen: Vec<Value>,
    /// How often each call of the gateway ran, and its results.
    runs: BTreeMap<String, usize>,
    next_id: usize,
    calls_left: usize,
    asks_left: usize,
    may_break: bool,
    /// Whether at every step, or only before the end of a message and between results.
    breaks_anywhere: bool,
    is_streamed: bool,
}

const TEXT: usize = 0;
const INTERNAL: usize = 1;
const EXTERNAL: usize = 2;
const DEFERRED: usize = 3;

impl World<'_> {
    /// What the model says: any sequence of text and calls that the bounds allow.
    fn model_message(&mut self) -> Vec<Value> {
        let mut blocks =
            vec![json!({ "type": "thinking", "thinking": "", "signature": format!("s{}", self.next_id) })];
        let mut after_text = false;
        if self.asks_left == 0 {
            blocks.push(json!({ "type": "text", "text": "done" }));
            return blocks;
        }
        self.asks_left -= 1;
        loop {
            let mut options = vec![None];
            if !after_text {
                options.push(Some(TEXT));
            }
            if self.calls_left > 0 {
                options.extend([Some(INTERNAL), Some(EXTERNAL), Some(DEFERRED)]);
            }
            let Some(kind) = options[self.choices.choose(options.len())] else {
                return blocks;
            };
            after_text = kind == TEXT;
            self.next_id += 1;
            let id = self.next_id;
            blocks.push(if kind == TEXT {
                json!({ "type": "text", "text": format!("text {id}") })
            } else {
                self.calls_left -= 1;
                let name = ["", "internal", "external", "deferred"][kind];
                json!({ "type": "tool_use", "id": format!("up_{id}"), "name": name, "input": { "n": id } })
            });
        }
    }

    /// The events of the upstream for a message.
    fn events(&self, blocks: &[Value]) -> Vec<Event> {
        let has_call = blocks.iter().any(|block| block["type"] == "tool_use");
        let reason = if has_call { "tool_use" } else { "end_turn" };
        let start = json!({ "id": "msg", "role": "assistant", "content": [], "usage": { "input_tokens": 7, "output_tokens": 1 } });
        let mut events = vec![json!({ "type": "message_start", "message": start })];
        let mut all = Vec::new();
        for (index, block) in blocks.iter().enumerate() {
            if !self.is_streamed {
                all.push(Event::Block(Block::new(block.to_string())));
                continue;
            }
            let mut start = block.clone();
            let mut deltas = Vec::new();
            match block["type"].as_str().unwrap() {
                "text" => {
                    start["text"] = "".into();
                    deltas.push(json!({ "type": "text_delta", "text": block["text"] }));
                }
                "thinking" => {
                    start["signature"] = "".into();
                    deltas.push(json!({ "type": "signature_delta", "signature": block["signature"] }));
                }
                _ => {
                    start["input"] = json!({});
                    deltas.push(
                        json!({ "type": "input_json_delta", "partial_json": block["input"].to_string() }),
                    );
                }
            }
            events.push(json!({ "type": "content_block_start", "index": index, "content_block": start }));
            let deltas = deltas.into_iter();
            events.extend(
                deltas.map(|delta| json!({ "type": "content_block_delta", "index": index, "delta": delta })),
            );
            events.push(json!({ "type": "content_block_stop", "index": index }));
        }
        let end = [
            json!({ "type": "message_delta", "delta": { "stop_reason": reason, "stop_sequence": null }, "usage": { "output_tokens": 5 } }),
            json!({ "type": "message_stop" }),
        ];
        let parse = |event: &Value| Event::Stream(StreamEvent::parse(event.to_string().as_bytes()).unwrap());
        events
            .iter()
            .map(parse)
            .chain(all)
            .chain(end.iter().map(parse))
            .collect()
    }

    /// The upstream is asked: the conversation must be one that the API takes.
    fn ask(&mut self, messages: &str) -> Vec<Event> {
        self.seen = serde_json::from_str(&format!("[{messages}]")).unwrap();
        well_formed(&self.seen);
        let blocks = self.model_message();
        self.events(&blocks)
    }

    fn run_tool(&mut self, id: &str) -> Block {
        *self.runs.entry(id.to_owned()).or_default() += 1;
        Block::new(
            json!({ "type": "tool_result", "tool_use_id": id, "content": format!("result of {id}") })
                .to_string(),
        )
    }

    /// Takes a turn to its end: what is recorded, and what the client was sent.
    fn run(&mut self, mut machine: TurnMachine, before: &str) -> (Answer, Vec<Sent>) {
        let mut sent: Vec<Sent> = Vec::new();
        let mut answer = None;
        let mut actions: VecDeque<Action> = machine.start().into();
        let mut arriving = VecDeque::new();
        let mut open: Vec<(usize, String)> = Vec::new();
        let mut checkpoint = (machine.clone(), 0);
        let mut is_over = false;
        while !is_over {
            while let Some(action) = actions.pop_front() {
                match action {
                    Action::Send(event) => sent.push(event),
                    Action::Ask(new) => {
                        let mut messages = before.to_owned();
                        for message in &new {
                            push_message(&mut messages, message.role, &message.blocks);
                        }
                        checkpoint = (machine.clone(), sent.len());
                        arriving = self.ask(&messages).into();
                    }
                    Action::Run(calls) => {
                        checkpoint = (machine.clone(), sent.len());
                        open = calls.into_iter().map(|(index, call)| (index, call.id)).collect();
                    }
                    Action::Record(recorded) => answer = Some(recorded),
                    Action::Fail(error) => panic!("{error}"),
                    Action::End => is_over = true,
                }
            }
            if is_over {
                break;
            }
            if self.may_break && (self.breaks_anywhere || arriving.len() < 2) && self.choices.choose(2) == 1 {
                // The connection breaks, and the client sends the same request again.
                self.may_break = false;
                machine = checkpoint.0.clone();
                sent.truncate(checkpoint.1);
                arriving.clear();
                open.clear();
                actions = machine.start().into();
                continue;
            }
            let Some(event) = arriving.pop_front() else {
                let (index, id) = open.remove(self.choices.choose(open.len()));
                let result = self.run_tool(&id);
                actions.extend(machine.on(Event::Result { call: index, result }));
                // What ran is kept, whatever happens next.
                checkpoint = (machine.clone(), sent.len());
                continue;
            };
            actions.extend(machine.on(event));
        }
        (answer.expect("every turn that ends is recorded"), sent)
    }

    /// One request of the client, and the message that it gets; whether it has calls to answer.
    async fn request(&mut self) -> bool {
        let body = json!({ "messages": self.visible, "tools": [] }).to_string();
        let request = MessagesRequest::parse(&body).unwrap();
        let recognized = recognize(&self.key, &self.store, &self.client, &request)
            .await
            .unwrap();
        restore::check(&recognized, &request).unwrap();
        let deferred = restore::deferred(&recognized);
        let results: HashMap<String, Block> = deferred
            .iter()
            .map(|call| (call.id.clone(), self.run_tool(&call.id)))
            .collect();
        if let Some(turn) = recognized.head().filter(|_| !results.is_empty()) {
            let mut turn = Turn::clone(turn);
            for call in &mut turn.calls {
                call.result = call.result.take().or_else(|| results.get(&call.id).cloned());
            }
            self.save(turn).await;
        }
        let restored = restore::restore(&self.key, &recognized, &request, &results).unwrap();
        let rules = Rules {
            internal: BTreeSet::from(["internal".to_owned(), "deferred".to_owned()]),
            deferred: BTreeSet::from(["deferred".to_owned()]),
            max_rounds: 25,
            max_tokens: None,
            ids: IdSource::Counted(self.next_id * 100),
        };
        let machine = TurnMachine::new(rules);
        let (answer, sent) = self.run(machine, &restored.messages);
        let content = client_view(&sent);
        self.visible
            .push(json!({ "role": "assistant", "content": content }));
        let visible_blocks = || answer.visible.iter().map(|(block, _)| block);
        let turn = Turn {
            id: crate::random::id(),
            session: recognized.session.clone().unwrap_or(SessionId("ses".to_owned())),
            head: after_answer(
                &self.key,
                recognized.beginning,
                &recognized.groups,
                visible_blocks(),
            ),
            context: recognized.context,
            answer: answer_digest(&self.key, visible_blocks()),
            truth: answer.truth.clone(),
            is_plain: answer.is_plain,
            drops_thinking: false,
            visible: answer
                .visible
                .iter()
                .map(|(_, origin)| *origin)
                .collect::<Vec<Origin>>(),
            calls: answer.calls.clone(),
            systems: restored.systems.clone(),
            state: None,
        };
        self.save(turn).await;
        let results: Vec<Value> = answer
            .calls
            .iter()
            .filter(|call| call.owner == Owner::Client)
            .map(|call| json!({ "type": "tool_result", "tool_use_id": call.visible_id, "content": "from the client" }))
            .collect();
        let is_suspended = !results.is_empty();
        let next = if is_suspended {
            json!(results)
        } else {
            json!("go on")
        };
        self.visible.push(json!({ "role": "user", "content": next }));
        is_suspended
    }

    async fn save(&self, turn: Turn) {
        let calls = turn
            .visible_ids()
            .map(|id| call_digest(&self.key, &self.client.principal, id))
            .collect();
        self.store.save(turn, calls, Vec::new()).await.unwrap();
    }
}

/// Checks that the API takes a conversation: every call has one result, in the next message, before all else.
#[track_caller]
fn well_formed(messages: &[Value]) {
    assert_eq!(messages.last().unwrap()["role"], "user", "{messages:?}");
    for (place, message) in messages.iter().enumerate() {
        let ids = |message: &Value, kind: &str, field: &str| -> Vec<String> {
            let blocks = message["content"].as_array().cloned().unwrap_or_default();
            let blocks = blocks.into_iter().filter(|block| block["type"] == kind);
            blocks
                .map(|block| block[field].as_str().unwrap().to_owned())
                .collect()
        };
        let calls = ids(message, "tool_use", "id");
        let results = messages
            .get(place + 1)
            .map(|next| ids(next, "tool_result", "tool_use_id"))
            .unwrap_or_default();
        assert_eq!(calls, results, "results in the order of the calls: {messages:#?}");
        assert!(
            calls.iter().all(|id| id.starts_with("up_")),
            "the upstream's own ids: {messages:#?}"
        );
    }
}

/// Reads what the client sees as a strict client does, and gives the content.
#[track_caller]
fn client_view(sent: &[Sent]) -> Vec<Value> {
    let mut content: Vec<Value> = Vec::new();
    let mut open = None;
    let mut stage = 0;
    for event in sent {
        match event {
            Sent::Event(StreamEvent::MessageStart(message)) => {
                assert_eq!(
                    (stage, message["usage"]["input_tokens"].as_u64()),
                    (0, Some(7)),
                    "{sent:#?}"
                );
                stage = 1;
            }
            Sent::Event(StreamEvent::BlockStart { index, block }) => {
                assert_eq!((stage, open, *index), (1, None, content.len()), "{sent:#?}");
                open = Some(*index);
                content.push(Value::Object(block.clone()));
            }
            Sent::Event(StreamEvent::BlockDelta { index, delta }) => {
                assert_eq!(open, Some(*index), "{sent:#?}");
                let block = content.last_mut().unwrap();
                for (field, value) in delta {
                    match field.as_str() {
                        "type" => {}
                        "partial_json" => {
                            block["input"] = serde_json::from_str(value.as_str().unwrap()).unwrap();
                        }
                        field => block[field] = value.clone(),
                    }
                }
            }
            Sent::Event(StreamEvent::BlockStop { index }) => {
                assert_eq!(open.take(), Some(*index), "{sent:#?}");
            }
            Sent::Block { index, block } => {
                assert_eq!((stage, open, *index), (1, None, content.len()), "{sent:#?}");
                content.push(serde_json::from_str(block.as_str()).unwrap());
            }
            Sent::Event(StreamEvent::MessageDelta(fields)) => {
                assert_eq!((stage, open), (1, None), "{sent:#?}");
                let calls = content.iter().any(|block| block["type"] == "tool_use");
                let reason = if calls { "tool_use" } else { "end_turn" };
                assert_eq!(fields["delta"]["stop_reason"], reason, "{sent:#?}");
                stage = 2;
            }
            Sent::Event(StreamEvent::MessageStop) => {
                assert_eq!(stage, 2, "{sent:#?}");
                stage = 3;
            }
            Sent::Event(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(stage, 3, "{sent:#?}");
    assert!(
        content
            .iter()
            .all(|block| !matches!(block["name"].as_str(), Some("internal" | "deferred"))),
        "{content:?}"
    );
    assert!(!content.is_empty(), "a client cannot echo an empty message");
    content
}

/// The upstream's last view of the conversation holds every call that was made, each with one result.
#[tokio::test(flavor = "current_thread")]
async fn every_order_of_events_is_right() {
    let mut choices = Choices::default();
    let mut explored = 0_u64;
    let is_long = std::env::var_os("GATEWAY_LONG").is_some();
    loop {
        let mut world = World {
            key: ChainKey::new([3; 32]),
            store: MemoryStore::new(),
            client: Client {
                principal: "p".to_owned(),
                keys: Vec::new(),
            },
            visible: vec![json!({ "role": "user", "content": "begin" })],
            seen: Vec::new(),
            runs: BTreeMap::new(),
            next_id: 0,
            calls_left: 2,
            asks_left: 2,
            may_break: true,
            breaks_anywhere: is_long,
            is_streamed: false,
            choices: &mut choices,
        };
        if is_long {
            (world.calls_left, world.asks_left) = (3, 3);
        }
        world.is_streamed = world.choices.choose(2) == 1;
        for _ in 0..3 {
            let is_suspended = world.request().await;
            if !is_suspended && world.asks_left == 0 {
                break;
            }
        }
        // Once more, so that the whole conversation goes up again, and its results are those that were recorded.
        (world.calls_left, world.asks_left, world.may_break) = (0, 0, false);
        world.request().await;
        let text = json!(world.seen).to_string();
        for (id, runs) in &world.runs {
            assert_eq!(*runs, 1, "{id} ran {runs} times: {:?}", choices.path);
            assert_eq!(
                text.matches(&format!("result of {id}\"")).count(),
                1,
                "{id}: {text}"
            );
        }
        explored += 1;
        if !choices.next() {
            break;
        }
    }
    // In the output of a failure, and of `--no-capture`.
    eprintln!("{explored} conversations explored");
    assert!(explored > 1_000, "{explored}");
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
        actions.extend(machine.on(Event::Stream(
            StreamEvent::parse(event.to_string().as_bytes()).unwrap(),
        )));
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
