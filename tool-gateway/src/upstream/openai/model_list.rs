//! [`KeptModelList`]: the server's models in the form of the Messages API, with the names of `[[models]]`.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::models::ModelRule;
use super::response::models::named;

/// Time for which the list of a server is kept.
const KEPT: Duration = Duration::from_secs(60);

/// The latest list of the server.
#[derive(Debug, Default)]
pub(super) struct KeptModelList(Mutex<Option<KeptModels>>);

#[derive(Debug)]
struct KeptModels {
    models: Vec<Value>,
    end: Instant,
}

impl KeptModelList {
    /// Returns the models, if they were listed in the last minute.
    pub(super) fn get(&self) -> Option<Vec<Value>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = kept.as_ref().filter(|kept| kept.end > Instant::now())?;
        Some(kept.models.clone())
    }

    /// Keeps the models for a minute.
    pub(super) fn keep(&self, models: Vec<Value>) {
        let end = Instant::now() + KEPT;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(KeptModels { models, end });
    }
}

/// Returns the models of a server and the names of `[[models]]` that match one name each.
pub(super) fn with_names(mut models: Vec<Value>, rules: &[ModelRule]) -> Vec<Value> {
    let find = |models: &[Value], name: &str| {
        let is_named = |model: &&Value| model.get("id").and_then(Value::as_str) == Some(name);
        models.iter().find(is_named).cloned()
    };
    for rule in rules {
        let Some(name) = rule.literal_name().filter(|name| find(&models, name).is_none()) else {
            continue;
        };
        let served = find(&models, rule.serve.as_deref().unwrap_or(name));
        models.push(named(name, served.as_ref()));
    }
    models
}
