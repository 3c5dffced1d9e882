//! [`OpenCalls`]: the calls of a request that have no result yet.

/// Ids of calls without a result, in the order of the calls.
#[derive(Debug, Default)]
pub struct OpenCalls(Vec<String>);

impl OpenCalls {
    pub fn push(&mut self, id: &str) {
        self.0.push(id.to_owned());
    }

    /// Removes the calls of an id. Returns whether there were any.
    pub fn answer(&mut self, id: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|open| open != id);
        self.0.len() < before
    }

    pub fn contains(&self, id: &str) -> bool {
        self.0.iter().any(|open| open == id)
    }

    /// Checks that every call has a result; `error` states the fault for the ids of those that have none.
    pub fn check(&self, error: impl FnOnce(&[String]) -> String) -> Result<(), String> {
        match self.0.as_slice() {
            [] => Ok(()),
            ids => Err(error(ids)),
        }
    }
}
