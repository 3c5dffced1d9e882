//! [`LearnedCorrections`]: changes of requests that a server has required, by model.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::response::correction::Correction;

/// Changes that requests to a model need, each kept for an hour.
#[derive(Debug, Default)]
pub(super) struct LearnedCorrections(Mutex<HashMap<String, Vec<LearnedCorrection>>>);

#[derive(Debug)]
struct LearnedCorrection {
    correction: Correction,
    end: Instant,
}

/// Time for which a change is kept.
const KEPT: Duration = Duration::from_secs(3600);

/// Maximum number of models with changes.
const MAX_MODELS: usize = 256;

impl LearnedCorrections {
    /// Returns a request's body with the changes of the model. `changed` is called with each change that has an effect.
    pub(super) fn apply(&self, model: &str, body: String, mut changed: impl FnMut(&Correction)) -> String {
        let corrections = self.corrections(model);
        corrections
            .into_iter()
            .fold(body, |body, correction| match correction.apply(&body) {
                Some(applied) => {
                    changed(&correction);
                    applied
                }
                None => body,
            })
    }

    /// Returns the changes of a model. The lock is not held while a body is changed.
    fn corrections(&self, model: &str) -> Vec<Correction> {
        let models = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let learned = models.get(model).into_iter().flatten();
        let learned = learned.filter(|learned| learned.end > now);
        learned.map(|learned| learned.correction.clone()).collect()
    }

    /// Stores a correction for requests to `model`, after the server has accepted a request with the correction. An equal correction, and the
    /// reverse one, are replaced. With [`MAX_MODELS`] other models, the correction is discarded.
    pub(super) fn learn(&self, model: &str, correction: Correction) {
        let now = Instant::now();
        let mut models = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        models.retain(|_, learned| {
            learned.retain(|learned| learned.end > now);
            !learned.is_empty()
        });
        if models.len() < MAX_MODELS || models.contains_key(model) {
            let end = now + KEPT;
            let learned = models.entry(model.to_owned()).or_default();
            learned.retain(|learned| !learned.correction.is_replaced_by(&correction));
            learned.push(LearnedCorrection { correction, end });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn changes_are_kept_for_an_hour_for_their_model() {
        let learned = LearnedCorrections::default();
        learned.learn("m", Correction::Without("top_k"));
        let body = || r#"{"model":"m","top_k":5}"#.to_owned();
        let mut changes = 0;
        let mut apply = |model| learned.apply(model, body(), |_| changes += 1);
        assert_eq!(apply("m"), r#"{"model":"m"}"#);
        assert_eq!(apply("other"), body());
        tokio::time::advance(KEPT).await;
        assert_eq!(apply("m"), body());
        assert_eq!(changes, 1);
    }

    #[test]
    fn equal_and_reverse_changes_are_replaced() {
        let learned = LearnedCorrections::default();
        for _ in 0..100 {
            learned.learn("m", Correction::OtherMaxField("max_tokens"));
            learned.learn("m", Correction::Without("top_k"));
            learned.learn("m", Correction::OtherMaxField("max_completion_tokens"));
        }
        assert_eq!(
            learned.corrections("m"),
            [
                Correction::Without("top_k"),
                Correction::OtherMaxField("max_completion_tokens")
            ]
        );
    }
}
