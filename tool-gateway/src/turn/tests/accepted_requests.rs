//! Hidden rounds after messages of every form, in requests that the API must accept.
//!
//! The messages have up to three blocks of [`FORMS`]. Each message arrives as a stream and as one body, and is repeated in the turn, so
//! that its ids are repeated. Stream and body lead to equal requests. `strict-api` accepts each request, and the transcript of the client's
//! next request.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::model::object;
use crate::session::record::TrueMessage;
use crate::turn::action::{Action, Answer};
use crate::turn::event::Event;
use crate::turn::machine::TurnMachine;
use crate::turn::rules::{IdSource, Rules};
use crate::wire::block::Block;
use crate::wire::event::StreamEvent;
use crate::wire::message::push_message;
use crate::wire::role::Role;

/// Forms of a block.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    Thinking,
    Text(&'static str),
    /// Call with the tool, the id, and the optional text of the field `input`.
    Call(&'static str, &'static str, Option<&'static str>),
}

const FORMS: [Form; 12] = [
    Form::Thinking,
    Form::Text("text"),
    Form::Text(""),
    Form::Text("\n\u{a0}"),
    Form::Call("internal", "a", Some(r#"{"n":1.0}"#)),
    Form::Call("internal", "a", Some("null")),
    Form::Call("internal", "b", None),
    Form::Call("internal", "", Some(r#""{\"n\":1}""#)),
    Form::Call("internal", "", Some(r#""not JSON""#)),
    Form::Call("internal", "c", Some("[1]")),
    Form::Call("external", "a", Some("5")),
    Form::Call("external", "d", Some(r#"{"n":1}"#)),
];

impl Form {
    /// Returns the block of a message that is not streamed.
    fn whole(self) -> Block {
        match self {
            Self::Thinking => Block::new(r#"{"type":"thinking","thinking":"","signature":"s"}"#),
            Self::Text(text) => Block::text(text),
            Self::Call(name, id, input) => {
                let input = input.map(|input| format!(r#","input":{input}"#));
                let input = input.unwrap_or_default();
                Block::new(format!(
                    r#"{{"type":"tool_use","id":"{id}","name":"{name}"{input}}}"#
                ))
            }
        }
    }

    /// Returns the events of a stream. A call has its arguments in its start event, like in upstreams with other forms.
    fn events(self, index: usize) -> Vec<StreamEvent> {
        let (block, delta) = match self {
            Self::Text(text) => (
                Block::text(""),
                Some(json!({ "type": "text_delta", "text": text })),
            ),
            Self::Thinking | Self::Call(..) => (self.whole(), None),
        };
        let delta = delta.map(|delta| StreamEvent::BlockDelta {
            index,
            delta: object(&delta).into(),
        });
        [StreamEvent::BlockStart { index, block }]
            .into_iter()
            .chain(delta)
            .chain([StreamEvent::BlockStop { index }])
            .collect()
    }
}

/// Handles a whole message or its events. Returns the actions that are not output.
fn push(machine: &mut TurnMachine, message: &[Form], is_streamed: bool) -> Vec<Action> {
    let has_calls = message.iter().any(|form| matches!(form, Form::Call(..)));
    let reason = if has_calls { "tool_use" } else { "end_turn" };
    let start = json!({ "id": "m", "role": "assistant", "content": [], "usage": {} });
    let end = json!({ "delta": { "stop_reason": reason, "stop_sequence": null } });
    let mut events = vec![Event::Stream(StreamEvent::MessageStart(object(&start)))];
    for (index, form) in message.iter().enumerate() {
        if is_streamed {
            events.extend(form.events(index).into_iter().map(Event::Stream));
        } else {
            events.push(Event::Block(form.whole()));
        }
    }
    let end = StreamEvent::MessageDelta(object(&end).object().into());
    events.extend([end, StreamEvent::MessageStop].map(Event::Stream));
    let actions = events.into_iter().flat_map(|event| machine.on(event));
    actions
        .filter(|action| !matches!(action, Action::Send(_)))
        .collect()
}

fn result(id: &str) -> Block {
    super::model::result(id, "done")
}

/// Asserts that the API accepts these messages after a user message, and that each call has a unique id.
#[track_caller]
fn assert_accepted(messages: &[TrueMessage]) {
    let mut text = r#"{"role":"user","content":"begin"}"#.to_owned();
    for message in messages {
        push_message(&mut text, &message.role, &message.blocks);
    }
    // Neighbouring messages of one role count as one message.
    if messages.last().is_some_and(|last| last.role == Role::Assistant) {
        push_message(&mut text, &Role::User, &[Block::text("go on")]);
    }
    let messages: Vec<Value> = serde_json::from_str(&format!("[{text}]")).unwrap();
    let body = json!({ "model": "m", "max_tokens": 1, "messages": messages });
    if let Err(error) = strict_api::check("/v1/messages", &body, &[]) {
        panic!("{error}: {body:#}");
    }
    let blocks = messages
        .iter()
        .filter_map(|message| message["content"].as_array())
        .flatten();
    let calls = blocks.filter(|block| block["type"] == "tool_use");
    let ids: Vec<&str> = calls.map(|call| call["id"].as_str().unwrap()).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{ids:?}");
}

/// Asserts that the transcript of a recorded turn is accepted, with the client's results.
#[track_caller]
fn assert_record_accepted(answer: &Answer) {
    let mut messages = answer.truth.clone();
    if !answer.calls.is_empty() {
        let results = answer.calls.iter().map(|call| match &call.result {
            Some(result) => result.clone(),
            None => result(&call.id),
        });
        let blocks = results.collect();
        messages.push(TrueMessage {
            role: Role::User,
            blocks,
        });
    }
    assert_accepted(&messages);
    let visible = |id: &str| answer.calls.iter().any(|call| call.visible_id == id);
    for (block, _) in &answer.visible {
        assert!(
            block.tool_use().is_none_or(|call| visible(&call.id)),
            "{answer:#?}"
        );
    }
}

/// Explores a turn whose first messages are these, each with the results of its calls. Returns the number of requests.
#[track_caller]
fn explore(message: &[Form], is_streamed: bool) -> (Vec<Vec<TrueMessage>>, Option<Answer>) {
    let mut machine = TurnMachine::new(Rules {
        internal: Arc::new(["internal".to_owned()].into()),
        max_rounds: 5,
        ids: IdSource {
            key: Some([1; 32]),
            ..IdSource::default()
        },
        ..Rules::default()
    });
    machine.start();
    let (mut requests, mut recorded) = (Vec::new(), None);
    for _ in 0..2 {
        let mut actions = push(&mut machine, message, is_streamed);
        while let Some(Action::Run(calls)) = actions.first().cloned() {
            actions = Vec::new();
            for (call, known) in calls {
                let result = result(&known.id);
                actions.extend(machine.on(Event::Result { call, result }));
            }
            actions.retain(|action| !matches!(action, Action::Send(_)));
        }
        match actions.swap_remove(0) {
            Action::Ask(messages) => requests.push(messages),
            Action::Record(answer) => {
                recorded = Some(answer);
                break;
            }
            action => panic!("{action:?}"),
        }
    }
    for messages in &requests {
        assert_accepted(messages);
    }
    if let Some(answer) = &recorded {
        assert_record_accepted(answer);
    }
    (requests, recorded)
}

#[test]
fn the_api_accepts_hidden_rounds_after_messages_of_every_form() {
    let mut messages: Vec<Vec<Form>> = vec![Vec::new()];
    let mut asked = 0;
    for _ in 0..3 {
        messages = messages
            .iter()
            .flat_map(|message| FORMS.map(|form| [message.clone(), vec![form]].concat()))
            .collect();
        for message in &messages {
            let streamed = explore(message, true);
            let whole = explore(message, false);
            assert_eq!(streamed, whole, "{message:?}");
            asked += streamed.0.len();
        }
    }
    assert!(asked > 1_000, "{asked}");
}
