//! [`CallIds`]: a unique id for each call of a message.

use std::collections::HashSet;

/// Ids of the calls of a message.
#[derive(Debug, Default)]
pub(super) struct CallIds {
    used: HashSet<String>,
    /// Smallest number for a new id: the ids from the number of calls up to this number are in use.
    next: usize,
}

impl CallIds {
    /// Returns the id of the next call: the server's id, unless it is missing, empty or a duplicate. Compatible
    /// servers send such ids, and a result refers to its call only by the id.
    pub(super) fn unique(&mut self, id: Option<String>) -> String {
        let mut id = id.unwrap_or_default();
        self.next = self.next.max(self.used.len());
        while id.is_empty() || self.used.contains(&id) {
            id = format!("call_{}", self.next);
            self.next += 1;
        }
        self.used.insert(id.clone());
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assigns_unique_ids() {
        let mut ids = CallIds::default();
        for (sent, id) in [
            ("call_1", "call_1"),
            ("", "call_2"),
            ("call_1", "call_3"),
            ("x", "x"),
        ] {
            assert_eq!(ids.unique(Some(sent.to_owned())), id);
        }
        assert_eq!(ids.unique(None), "call_4");
    }
}
