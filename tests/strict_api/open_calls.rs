//! [`OpenCalls`]: the calls of a request without a result.

/// Ids of calls without a result, in the order of the calls.
#[derive(Debug, Default)]
pub struct OpenCalls(Vec<String>);

impl OpenCalls {
    pub fn push(&mut self, id: &str) {
        self.0.push(id.to_owned());
    }

    /// Removes the calls with an id. Returns whether there were any.
    pub fn answer(&mut self, id: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|open| open != id);
        self.0.len() < before
    }

    pub fn contains(&self, id: &str) -> bool {
        self.0.iter().any(|open| open == id)
    }

    /// Checks that every call has a result. `error` builds the message from the ids of the open calls.
    pub fn check(&self, error: impl FnOnce(&[String]) -> String) -> Result<(), String> {
        match self.0.as_slice() {
            [] => Ok(()),
            ids => Err(error(ids)),
        }
    }
}
