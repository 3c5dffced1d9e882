//! [`CallIds`]: a unique id for each call of a message.

use std::collections::HashSet;

/// Ids of the calls of a message.
#[derive(Debug, Default)]
pub(super) struct CallIds {
    used: HashSet<String>,
    /// Least number that a new id may have: the ids from the number of calls up to it are in use.
    next: usize,
}

impl CallIds {
    /// Returns the id of the next call: the server's own, unless that is missing, empty or another call's. Compatible servers
    /// send all of these, and a result names its call by the id alone.
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
    fn gives_each_call_an_id_of_its_own() {
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
