//! Bounded model: the blocks that the model sends, and a conversation between two requests.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::session::memory::MemoryStore;
use crate::session::record::Turn;
use crate::turn::client_calls::{ClientCallRules, ClientCallState, ClientCalls, ReadCall};
use crate::wire::block::Block;
use crate::wire::fields::ObjectText;
use crate::wire::request::MessagesRequest;

/// A block of the model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Thinking,
    Text,
    Internal,
    External,
    /// An internal call that runs after the client's results if the message also has external calls.
    Deferred,
    /// An internal call that is not permitted and becomes external.
    Interrupted,
    /// A call of the client's tool that cannot be read, in a message of an upstream whose API is translated.
    Broken,
}

pub(super) const CALLS: [Kind; 4] = [Kind::Internal, Kind::External, Kind::Deferred, Kind::Interrupted];

/// A block of the model with a number that is unique in the conversation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Part {
    pub(super) kind: Kind,
    pub(super) number: usize,
}

impl Part {
    pub(super) fn is_call(self) -> bool {
        CALLS.contains(&self.kind) || self.kind == Kind::Broken
    }

    /// Returns whether the client has to answer the part.
    pub(super) fn is_external(self) -> bool {
        matches!(self.kind, Kind::External | Kind::Interrupted)
    }

    /// Returns the upstream's id of a call.
    pub(super) fn id(self) -> String {
        format!("up_{}", self.number)
    }

    /// Returns the block as the upstream receives it later.
    pub(super) fn truth(self) -> Block {
        match self.kind {
            Kind::Broken => Block::call(&self.id(), "External", "{}"),
            _ => self.forms().0,
        }
    }

    /// Returns the block as the upstream sends it: whole, and as the start and the delta of a stream.
    pub(super) fn forms(self) -> (Block, Block, ObjectText) {
        let number = self.number;
        if self.kind == Kind::Broken {
            // Such a call has no pieces.
            let whole = Block::call(&self.id(), "External", "{n");
            return (whole.clone(), whole, object(&json!({})));
        }
        let (whole, start, delta) = match self.kind {
            Kind::Thinking => (
                json!({ "type": "thinking", "thinking": "", "signature": format!("s{number}") }),
                json!({ "type": "thinking", "thinking": "", "signature": "" }),
                json!({ "type": "signature_delta", "signature": format!("s{number}") }),
            ),
            Kind::Text => (
                json!({ "type": "text", "text": format!("text {number}") }),
                json!({ "type": "text", "text": "" }),
                json!({ "type": "text_delta", "text": format!("text {number}") }),
            ),
            Kind::Internal | Kind::External | Kind::Deferred | Kind::Interrupted | Kind::Broken => {
                let name = format!("{:?}", self.kind);
                let input = json!({ "n": number });
                (
                    json!({ "type": "tool_use", "id": self.id(), "name": name, "input": input }),
                    json!({ "type": "tool_use", "id": self.id(), "name": name, "input": {} }),
                    json!({ "type": "input_json_delta", "partial_json": input.to_string() }),
                )
            }
        };
        (
            Block::new(whole.to_string()),
            Block::new(start.to_string()),
            object(&delta),
        )
    }
}

pub(super) fn object(value: &Value) -> ObjectText {
    ObjectText::new(&value.to_string()).unwrap()
}

/// Builds a `tool_result` block.
pub(super) fn result(id: &str, content: &str) -> Block {
    Block::new(json!({ "type": "tool_result", "tool_use_id": id, "content": content }).to_string())
}

/// Returns the reader of the calls of the client's tool.
pub(super) fn client_calls() -> ClientCalls {
    let request = r#"{"messages":[],"tools":[{"name":"External","input_schema":{"type":"object"}}]}"#;
    let rules = ClientCallRules {
        broken_calls: usize::MAX,
        ..ClientCallRules::default()
    };
    let request = MessagesRequest::parse(request).unwrap();
    ClientCalls::new(&request, rules, ClientCallState::default())
}

/// Builds the result of an internal call, or of a call that cannot be read.
pub(super) fn internal_result(part: Part) -> Block {
    if part.kind == Kind::Broken {
        let read = client_calls().read(&part.forms().0, "External", [].into_iter());
        let ReadCall::Broken(broken) = read else {
            panic!("{read:?}")
        };
        return broken.result(&part.id());
    }
    result(&part.id(), &format!("result of {}", part.id()))
}

pub(super) const CLIENT_RESULT: &str = "from the client";

/// Returns the text block of each user message.
pub(super) fn user_text() -> Block {
    Block::text("continue")
}

/// A conversation between two requests.
#[derive(Debug, Clone)]
pub(super) struct Conversation {
    /// Messages of the client's next request, as text.
    pub(super) visible: String,
    /// Messages that the upstream must see in the next request.
    pub(super) transcript: String,
    /// Deferred calls that must run before the next request to the upstream.
    pub(super) deferred: Vec<Part>,
    /// Earlier turns, and a store with these turns.
    pub(super) turns: Vec<Turn>,
    pub(super) store: Rc<MemoryStore>,
    /// Numbers of the internal calls that ran.
    pub(super) ran: BTreeSet<usize>,
    pub(super) last_number: usize,
    pub(super) calls_left: usize,
    pub(super) requests_left: usize,
    /// Reader of the client's calls, if the model sends calls that cannot be read.
    pub(super) client_calls: Option<Arc<ClientCalls>>,
}

impl Conversation {
    pub(super) fn body(&self) -> String {
        format!(r#"{{"messages":[{}],"tools":[]}}"#, self.visible)
    }

    /// Runs an internal call, which must not have run before.
    #[track_caller]
    pub(super) fn run(&mut self, call: Part) -> Block {
        assert!(
            self.ran.insert(call.number),
            "{} runs a second time: {self:#?}",
            call.id()
        );
        internal_result(call)
    }

    pub(super) fn next_part(&mut self, kind: Kind) -> Part {
        self.last_number += 1;
        Part {
            kind,
            number: self.last_number,
        }
    }
}
