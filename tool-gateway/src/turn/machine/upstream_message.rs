//! The upstream's message: each event or block is added to the message, and sent to the client unless it is an internal call.

use super::incoming::{NOWHERE, Shown};
use super::state::{Phase, TurnMachine};
use crate::session::record::{Origin, TrueMessage};
use crate::turn::action::{Action, Answer, Sent};
use crate::turn::client_calls::{ReadCall, ValidCall};
use crate::wire::block::Block;
use crate::wire::event::StreamEvent;
use crate::wire::message::WholeMessage;
use crate::wire::role::Role;
use crate::wire::usage;

impl TurnMachine {
    pub(super) fn on_stream(&mut self, event: StreamEvent, actions: &mut Vec<Action>) {
        match event {
            StreamEvent::MessageStart(message) => {
                self.message.start(&message.object());
                if !std::mem::replace(&mut self.is_started, true) {
                    actions.push(Action::event(StreamEvent::MessageStart(message)));
                }
            }
            StreamEvent::BlockStart { index, block } => self.on_block_start(index, block, actions),
            StreamEvent::BlockDelta { index, delta } => {
                if let Some(index) = self.message.push_delta(index, &delta) {
                    actions.push(Action::event(StreamEvent::BlockDelta { index, delta }));
                }
            }
            StreamEvent::BlockStop { index } => {
                if let Some(index) = self.message.stop_block(index) {
                    actions.push(Action::event(StreamEvent::BlockStop { index }));
                }
            }
            StreamEvent::MessageDelta(fields) => self.message.add_end(fields),
            StreamEvent::MessageStop => self.on_message(actions),
            StreamEvent::Error(error) => {
                self.phase = Phase::Over;
                actions.push(Action::Fail(error));
            }
            StreamEvent::Ping | StreamEvent::Other(_) => actions.push(Action::event(event)),
        }
    }

    fn on_block_start(&mut self, upstream_index: usize, mut block: Block, actions: &mut Vec<Action>) {
        // Clients append the pieces of the arguments to the arguments of the start.
        let started = block.clone().with_object_input();
        if started.raw_input().is_none() {
            block = started;
        }
        let call = block.tool_use();
        let shown = if self.rules.hides_thinking && block.is_thinking() {
            Shown::default()
        } else {
            self.shown(call.as_ref().map(|call| call.name.as_str()))
        };
        if let Some(index) = shown.index {
            let block = shown.block(&block);
            actions.push(Action::event(StreamEvent::BlockStart { index, block }));
        }
        self.message.start_block(upstream_index, block, shown);
    }

    /// Handles a whole block. `is_from_text` is whether the block is a call that was recovered from text.
    pub(super) fn on_block(&mut self, block: Block, is_from_text: bool, actions: &mut Vec<Action>) {
        let mut block = block.with_object_input();
        let call = block.tool_use();
        let called = call.as_ref().map(|call| call.name.as_str());
        let mut coerced = None;
        if let Some(called) = called
            && let Some(client_calls) = self.rules.reader_of(is_from_text)
            && self.rules.internal_name(called).is_none()
        {
            let name = self.rules.declared_name(called);
            let internal = self.rules.internal.iter().map(String::as_str);
            match client_calls.read(&block, name, internal) {
                ReadCall::Valid(ValidCall { sent, shown }) => {
                    block = sent;
                    coerced = shown.map(Box::new);
                }
                ReadCall::Broken(broken) if client_calls.rules().fallback_on_error => {
                    return self.message.push_broken(&block, broken);
                }
                ReadCall::Broken(broken) => {
                    self.phase = Phase::Over;
                    return actions.push(Action::FailUpstream(broken.error()));
                }
            }
        }
        let shown = Shown {
            coerced,
            ..self.shown(called)
        };
        if let Some(index) = shown.index {
            let block = shown.block(&block);
            actions.push(Action::Send(Sent::Block { index, block }));
        }
        self.message.push_block(block, shown, is_from_text);
    }

    /// Handles a message without calls. In the first round, this message is the answer, and is sent to the client unchanged.
    pub(super) fn on_whole(&mut self, message: WholeMessage, actions: &mut Vec<Action>) {
        if self.is_started || message.blocks().next().is_none() {
            let (start, end) = message.start_and_end();
            self.on_stream(StreamEvent::MessageStart(start), actions);
            for block in message.shared_blocks() {
                self.on_block(block, false, actions);
            }
            self.on_stream(StreamEvent::MessageDelta(end), actions);
            return self.on_stream(StreamEvent::MessageStop, actions);
        }
        self.phase = Phase::Over;
        self.is_started = true;
        usage::add(&mut self.usage, &message.usage());
        self.next_index = message.blocks().len();
        let mut sent_up = Vec::with_capacity(self.next_index);
        self.visible.reserve_exact(self.next_index);
        let mut is_unchanged = true;
        for block in message.shared_blocks() {
            let kind = block.kind();
            let is_blank = block.is_blank_text(kind);
            let origin = Origin {
                message: 0,
                block: sent_up.len(),
            };
            if kind.is_counted() {
                self.visible
                    .push((block.clone(), if is_blank { NOWHERE } else { origin }));
            }
            if is_blank {
                is_unchanged = false;
                continue;
            }
            if !kind.is_call() {
                sent_up.push(block);
                continue;
            }
            let accepted = block.clone().with_object_input();
            is_unchanged &= accepted == block;
            sent_up.push(accepted);
        }
        // No API takes an empty message back.
        if !sent_up.is_empty() {
            self.truth.push(TrueMessage {
                role: Role::Assistant,
                blocks: sent_up,
            });
        }
        actions.push(Action::Record(Answer {
            truth: self.truth.clone(),
            visible: self.visible.clone(),
            calls: Vec::new(),
            is_unchanged,
        }));
        actions.push(Action::Send(Sent::Message(message)));
        actions.push(Action::End);
    }

    /// Allocates the position and the id of the next block in the client's stream. `called` is the tool if the block is a call.
    fn shown(&mut self, called: Option<&str>) -> Shown {
        let is_internal = called.is_some_and(|name| self.rules.internal_name(name).is_some());
        Shown {
            id: (called.is_some() && !is_internal).then(|| self.rules.ids.mint()),
            index: (!is_internal).then(|| self.next_index()),
            coerced: None,
        }
    }
}
