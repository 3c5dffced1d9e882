//! Defaults that a client adds to the arguments of its calls. Claude Code parses the arguments by the schema of its tool, and echoes a call
//! of `Edit` with `"replace_all": false`, which the model did not send.

use std::collections::HashMap;

use serde_json::Value;

use super::record::Turn;
use crate::wire::block::{Block, BlockText};
use crate::wire::object::{Change, Object};
use crate::wire::request::MessagesRequest;

/// Returns the blocks without the properties that are not in the calls of the turn, and that have the default value of their schema. Returns
/// `None` if there are none.
pub(super) fn without_added<'b>(
    request: &MessagesRequest,
    blocks: impl Iterator<Item = BlockText<'b>>,
    turn: &Turn,
) -> Option<Vec<Block>> {
    let mut originals = turn.visible_blocks().filter_map(|(_, block)| block.tool_use());
    let mut is_changed = false;
    let blocks = blocks.map(|block| {
        let sent = block.tool_use();
        let original = sent.as_ref().and_then(|_| originals.next());
        let (Some(sent), Some(original)) = (sent, original) else {
            return Block::new(block.as_str());
        };
        match without_defaults(request, &sent.name, &sent.input, &original.input) {
            Some(input) if sent.name == original.name => {
                is_changed = true;
                block.with_json("input", &input)
            }
            _ => Block::new(block.as_str()),
        }
    });
    let blocks = blocks.collect();
    is_changed.then_some(blocks)
}

/// Returns the sent arguments without the defaults that the original arguments do not have; `None` if there are none.
fn without_defaults(request: &MessagesRequest, name: &str, sent: &str, original: &str) -> Option<String> {
    let (sent, original) = (Object::parse(sent).ok()?, Object::parse(original).ok()?);
    let mut added = defaults(request, name)?;
    for field in original.fields() {
        added.remove(&*field.name());
    }
    let mut is_changed = false;
    let mut text = String::new();
    sent.write(&mut text, |name, value| {
        let is_default =
            |default: &Value| serde_json::from_str::<Value>(value).is_ok_and(|value| value == *default);
        if added.get(name).is_some_and(is_default) {
            is_changed = true;
            return None;
        }
        Some(Change::Keep)
    });
    is_changed.then_some(text)
}

/// Returns the defaults in the schema of a tool that the request declares.
fn defaults(request: &MessagesRequest, name: &str) -> Option<HashMap<String, Value>> {
    let tool = request
        .tools()
        .filter_map(Object::from_json)
        .find(|tool| tool.is("name", name))?;
    let properties = Object::from_json(Object::from_json(tool.get("input_schema")?)?.get("properties")?)?;
    let default = |schema: &str| serde_json::from_str(Object::from_json(schema)?.get("default")?).ok();
    let defaults = properties
        .fields()
        .filter_map(|field| Some((field.name().into_owned(), default(field.value)?)));
    Some(defaults.collect())
}
