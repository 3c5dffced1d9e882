//! [`CallIds`]: a unique id for each call of a message.

/// Ids of the calls of a message.
#[derive(Debug, Default)]
pub(super) struct CallIds(Vec<String>);

impl CallIds {
    /// The id of the next call: the server's own, unless that is missing, empty or another call's. Compatible servers
    /// send all of these, and a result names its call by the id alone.
    pub(super) fn unique(&mut self, id: Option<String>) -> String {
        let is_free = |id: &String, ids: &[String]| !id.is_empty() && !ids.contains(id);
        let mut number = self.0.len();
        let mut id = id.unwrap_or_default();
        while !is_free(&id, &self.0) {
            id = format!("call_{number}");
            number += 1;
        }
        self.0.push(id.clone());
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
