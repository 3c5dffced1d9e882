//! Storage of a turn: its state before each step that depends on it, its progress, and at last its record.

use std::iter;
use std::sync::atomic::Ordering;

use super::begin::Drive;
use super::calls;
use super::pending_saves::UnsavedEffects;
use super::save::{self, SaveError, next_progress, save, save_progress};
use super::suspended::Suspended;
use super::turn_record::turn_record;
use crate::off_worker::in_place;
use crate::server::observe::metrics::TurnEnd;
use crate::server::observe::spans;
use crate::server::offload;
use crate::server::turns::checkpoint::Checkpoint;
use crate::server::turns::running_turn::PING;
use crate::session::record::Call;
use crate::session::store::{Progress, Reach};
use crate::session::turn_record::TurnRecord;
use crate::turn::action::{Action, Answer, Sent};
use crate::turn::restore;
use crate::wire::error::ApiError;

/// Maximum number of times that a turn sends its log again.
const MAX_RESENT: u32 = 3;

impl Drive<'_> {
    /// Stores the state before an action, so that a later process can continue from there.
    pub(super) async fn store_before(&mut self, action: &Action) -> Result<(), ApiError> {
        let is_step = matches!(action, Action::Run(_) | Action::Ask(_) | Action::Record(_));
        let has_lease = || {
            let suspended = self.suspended.as_ref();
            self.lease.is_valid() && suspended.is_none_or(Suspended::has_lease)
        };
        if is_step && !has_lease() {
            let suspended = self.suspended.as_ref();
            let is_lost = self.lease.is_lost() || suspended.is_some_and(Suspended::has_lost_lease);
            return Err(if is_lost {
                save::fenced()
            } else {
                save::not_renewed()
            });
        }
        match action {
            // After a crash, a call is repeated unless the store has recorded its beginning.
            Action::Run(calls) if self.machine.is_resuming() => match &mut self.suspended {
                Some(suspended) => suspended.begin(self.shared, self.job, calls).await,
                None => Ok(()),
            },
            Action::Run(calls) => {
                self.resume().await?;
                // After a crash, a repeatable call runs again whether or not the store has recorded its beginning.
                if calls.iter().all(|(_, call)| self.is_repeatable(call)) {
                    return self.begin_checkpoint().await;
                }
                self.store_before_effects().await
            }
            Action::Ask(_) => {
                self.resume().await?;
                let store_fails = self.shared.store_fails.load(Ordering::Relaxed);
                if self.is_at_its_beginning() && !store_fails {
                    // The claim has recorded the request, and a later process begins it again.
                    self.running.set_checkpoint(self.now());
                    return Ok(());
                }
                self.begin_checkpoint().await?;
                // A request without effects need not wait for the store, but is not sent in vain while the store fails.
                if self.shared.store_fails.load(Ordering::Relaxed) {
                    return self.saved().await;
                }
                Ok(())
            }
            Action::Record(answer) => {
                self.resume().await?;
                self.record(answer).await
            }
            Action::Send(_) | Action::Fail(_) | Action::FailUpstream(_) | Action::End => Ok(()),
        }
    }

    /// Returns whether the turn has a lease in the store, and no state besides.
    fn is_at_its_beginning(&self) -> bool {
        self.is_new && self.rounds == 0 && self.job.lease.fence > 0
    }

    /// Stores the results of the suspended turn's deferred calls, and restores the messages with these results.
    async fn resume(&mut self) -> Result<(), ApiError> {
        let Some(suspended) = &mut self.suspended else {
            return Ok(());
        };
        suspended.store(self.shared, self.job, &self.state).await?;
        self.unsaved_effects = UnsavedEffects::default();
        let results = self.suspended.take().map(Suspended::into_results);
        self.conversation.restored = in_place(self.job.request.len(), || {
            restore::restore(
                &self.shared.secret,
                &self.job.recognized,
                &self.job.request,
                &results.unwrap_or_default(),
            )
        })?;
        Ok(())
    }

    /// Keeps an action in memory because the state before it could not be stored. A retry continues with this action, and repeats no
    /// earlier one.
    pub(super) fn leave_to_retry(&mut self, action: Action) {
        if self.suspended.is_some() {
            // Another request may run the deferred calls before the retry, so the retry claims the suspended turn again.
            return;
        }
        let mut checkpoint = self.now();
        checkpoint.rest = iter::once(action).chain(self.actions.drain(..)).collect();
        self.running.set_checkpoint(checkpoint);
    }

    /// Stores a checkpoint before calls that must not be repeated. A store of several gateways may execute this write before earlier ones.
    async fn store_before_effects(&mut self) -> Result<(), ApiError> {
        if self.shared.store.reach() == Reach::Shared {
            self.saved().await?;
        }
        self.precedes_effects = true;
        let saved = self.checkpoint().await;
        self.precedes_effects = false;
        saved
    }

    /// Stores a checkpoint from which the turn can continue.
    pub(super) async fn checkpoint(&mut self) -> Result<(), ApiError> {
        self.begin_checkpoint().await?;
        self.saved().await
    }

    /// Begins to store a checkpoint. The turn continues meanwhile.
    pub(super) async fn begin_checkpoint(&mut self) -> Result<(), ApiError> {
        self.has_unsaved_results = false;
        let UnsavedEffects { new, saving } = &mut self.unsaved_effects;
        *saving += std::mem::take(new);
        let checkpoint = self.now();
        let progress = next_progress(self.shared, &mut self.progress, &checkpoint);
        self.running.set_checkpoint(checkpoint);
        self.begin_append(progress?).await;
        Ok(())
    }

    /// Stores the turn.
    pub(super) async fn record(&mut self, answer: &Answer) -> Result<(), ApiError> {
        if let Some(last) = answer.truth.last()
            && self.shared.leaves_text_calls(&self.job.request)
        {
            let model = spans::model(&self.job.request);
            self.shared.metrics.text_calls.check_off(&model, &last.blocks);
        }
        let turn = in_place(self.job.request.len().max(self.machine.size()), || {
            turn_record(
                &self.shared.secret,
                self.job,
                &self.conversation,
                answer,
                self.state.clone(),
            )
        });
        let end = if turn.is_suspended() {
            TurnEnd::Suspended
        } else {
            TurnEnd::Finished
        };
        offload::record_client(self.shared, self.job).await;
        let record = TurnRecord::new(turn);
        let saved = loop {
            let progress = self.last_progress();
            let (shared, client, record) = (self.shared, &self.job.client, record.clone());
            let saved = async move { save(shared, client, record, 0, progress).await.map(drop) };
            self.saves.push(saved).await;
            match self.saves.all().await {
                Err(SaveError::Gap { have }) if self.resent < MAX_RESENT => self.restart_log(have),
                saved => break self.on_saved(saved).await,
            }
        };
        // With a store in memory, a failed save loses only the session; the client still receives the answer.
        if self.shared.store.reach().is_durable() {
            saved?;
        }
        self.shared.metrics.turn(end);
        Ok(())
    }

    /// Returns the progress of the complete turn with its remaining output, for retries in a later process.
    fn last_progress(&mut self) -> Option<Progress> {
        if !self.shared.store.reach().is_durable() {
            return None;
        }
        let mut checkpoint = self.now();
        let sends = self.actions.iter().filter_map(|action| match action {
            Action::Send(sent) => Some(sent.clone()),
            _ => None,
        });
        checkpoint.sent.extend(sends);
        self.progress.next(&checkpoint).ok()
    }

    async fn begin_append(&mut self, progress: Option<Progress>) {
        if let Some(mut progress) = progress {
            progress.precedes_effects = self.precedes_effects;
            let saved = save_progress(self.shared, &self.job.client, progress);
            self.saves.push(saved).await;
        }
    }

    /// Waits until everything so far is stored.
    pub(super) async fn saved(&mut self) -> Result<(), ApiError> {
        while !self.saves.is_empty() {
            let saved = self.saves.all().await;
            self.on_saved(saved).await?;
        }
        Ok(())
    }

    /// Sends the held output after successful writes. If the store has lost segments, sends the log again.
    pub(super) async fn on_saved(&mut self, saved: Result<(), SaveError>) -> Result<(), ApiError> {
        match saved {
            Ok(()) => {
                self.unsaved_effects.saving = 0;
                for sent in self.held.drain(..) {
                    self.silence.stop();
                    self.running.send(sent);
                }
                Ok(())
            }
            Err(SaveError::Gap { have }) if self.resent < MAX_RESENT => {
                self.restart_log(have);
                let Some(checkpoint) = self.running.checkpoint() else {
                    return Ok(());
                };
                let progress = next_progress(self.shared, &mut self.progress, &checkpoint)?;
                self.begin_append(progress).await;
                Ok(())
            }
            Err(error) => {
                self.progress.restart();
                Err(error.into())
            }
        }
    }

    /// Begins the log again, since the store has lost a part, for example in a failover to a replica.
    fn restart_log(&mut self, have: u64) {
        tracing::warn!(session = %self.job.session, have, "the store has lost segments of a request's progress, which is stored again");
        self.resent += 1;
        self.progress.restart();
    }

    /// Sends output to the client, or holds it until the state before it is stored.
    pub(super) fn send(&mut self, sent: Sent) {
        if self.saves.is_empty() && self.held.is_empty() {
            self.silence.stop();
            self.running.send(sent);
        } else {
            self.held.push(sent);
        }
    }

    /// Creates a checkpoint of the turn.
    fn now(&self) -> Checkpoint {
        let mut checkpoint = self.running.now(
            &self.machine,
            self.conversation.refused_thinking,
            self.state.clone(),
            self.job.generation.digest,
        );
        let held = self.held.iter().filter(|sent| **sent != PING);
        checkpoint.sent.extend(held.cloned());
        checkpoint
    }

    /// Returns whether a call may run again after a crash.
    fn is_repeatable(&self, call: &Call) -> bool {
        let name = self.shared.settings.tools.ownership.internal_name(&call.name);
        calls::is_repeatable(&self.job.generation.registry, name)
    }
}
