//! [`ExtraContents`]: finds the calls of `extra_content`, which a server such as Gemini's needs again.

use std::collections::HashMap;

use super::chunk::Chunk;
use crate::wire::object::Object;
use crate::wire::walk;

/// Calls of a stream by their indexes.
#[derive(Debug, Default)]
pub(super) struct ExtraContents {
    calls: HashMap<String, u64>,
    last: Option<u64>,
}

/// `extra_content` of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FoundExtraContent<'c> {
    pub(super) call: u64,
    pub(super) json: &'c str,
}

impl ExtraContents {
    /// Reads the calls of a chunk, of which these have begun with it.
    pub(super) fn read<'c>(
        &mut self,
        data: &'c str,
        mut begun: impl Iterator<Item = u64>,
    ) -> Vec<FoundExtraContent<'c>> {
        let mut found = Vec::new();
        let calls = Chunk::parse(data).and_then(|chunk| chunk.message().tool_calls());
        for call in walk::items(calls.unwrap_or_default()).filter_map(Object::from_json) {
            let [index, function, extra_content] = call.get_all(["index", "function", "extra_content"]);
            let index = index.unwrap_or_default();
            let function = function.and_then(Object::from_json).unwrap_or_default();
            let has_name = function.text("name").is_some_and(|name| !name.is_empty());
            if has_name && let Some(number) = begun.next() {
                self.calls.insert(index.to_owned(), number);
                self.last = Some(number);
            }
            let number = self.calls.get(index).copied().or(self.last);
            if let (Some(call), Some(json)) = (number, extra_content.filter(|json| *json != "null")) {
                found.push(FoundExtraContent { call, json });
            }
        }
        found
    }
}
