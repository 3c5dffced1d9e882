//! [`ProgressLog`]: checkpoints of a turn in a store, each as the changes since the previous checkpoint.

use serde::{Deserialize, Serialize};

use super::checkpoint::{Checkpoint, StoredCheckpoint};
use super::session_state::StateMap;
use crate::session::chain::Digest;
use crate::session::encoding::{decode, encode, version};
use crate::session::record::{Call, Origin, SessionId, TrueMessage};
use crate::session::store::{Lease, Progress, StoreError};
use crate::turn::machine::{MachineLists, TurnMachine};
use crate::turn::thinking::RefusedThinking;
use crate::wire::block::Block;
use crate::wire::fields::{ObjectText, RawFields};

/// Progress of a request, which is written in segments. Otherwise a turn with many long results would write all of them with each
/// checkpoint.
#[derive(Debug)]
pub(crate) struct ProgressLog {
    lease: Lease,
    /// Number of logs before this one.
    restart: u32,
    /// Number of segments that were written.
    segments: u64,
    /// Parts of the latest checkpoint that later segments omit.
    written: Written,
}

/// Parts of a checkpoint that grow or seldom change.
#[derive(Debug, Default)]
struct Written {
    lists: MachineLists,
    blocks: Vec<Block>,
    headers: Option<Vec<(String, String)>>,
    message: Option<ObjectText>,
    state: StateMap,
}

/// Changes since the previous checkpoint. Missing fields are unchanged.
#[derive(Debug, Serialize, Deserialize)]
struct Segment {
    session: SessionId,
    /// The machine without its lists.
    machine: TurnMachine,
    truth: ListChange<TrueMessage>,
    visible: ListChange<(Block, Origin)>,
    calls: ListChange<Call>,
    blocks: ListChange<Block>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    headers: Option<Vec<(String, String)>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<ObjectText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<StateMap>,
    end: Option<RawFields>,
    refused_thinking: Option<RefusedThinking>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    generation: Option<Digest>,
}

/// Items of a list that differ from the previous list, with their positions, and the length of the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ListChange<T> {
    len: usize,
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    items: Vec<(usize, T)>,
}

impl<T: Clone + PartialEq> ListChange<T> {
    fn new(before: &[T], after: &[T]) -> Self {
        let items = after.iter().enumerate();
        let items = items.filter(|(index, item)| before.get(*index) != Some(item));
        Self {
            len: after.len(),
            items: items.map(|(index, item)| (index, item.clone())).collect(),
        }
    }

    fn apply(self, list: &mut Vec<T>) -> Result<(), StoreError> {
        list.truncate(self.len);
        for (index, item) in self.items {
            match list.get_mut(index) {
                Some(before) => *before = item,
                None => list.push(item),
            }
        }
        if list.len() == self.len {
            return Ok(());
        }
        Err(StoreError(
            "a segment of a request's progress is missing".to_owned(),
        ))
    }
}

impl ProgressLog {
    pub(crate) fn new(lease: Lease) -> Self {
        Self {
            lease,
            restart: 0,
            segments: 0,
            written: Written::default(),
        }
    }

    /// Returns the next segment, with the changes since the previous checkpoint.
    pub(crate) fn next(&mut self, checkpoint: &Checkpoint) -> Result<Progress, StoreError> {
        let StoredCheckpoint {
            session,
            mut machine,
            headers,
            message,
            blocks,
            end,
            refused_thinking,
            state,
            generation,
        } = checkpoint.to_stored();
        let lists = machine.take_lists();
        let before = &self.written;
        let segment = encode(&Segment {
            session,
            machine,
            truth: ListChange::new(&before.lists.truth, &lists.truth),
            visible: ListChange::new(&before.lists.visible, &lists.visible),
            calls: ListChange::new(&before.lists.calls, &lists.calls),
            blocks: ListChange::new(&before.blocks, &blocks),
            headers: headers.clone().filter(|_| before.headers != headers),
            message: message.clone().filter(|_| before.message != message),
            state: (before.state != state).then(|| state.clone()),
            end,
            refused_thinking,
            generation,
        })?;
        self.written = Written {
            lists,
            blocks,
            headers,
            message,
            state,
        };
        let at = self.segments;
        self.segments += 1;
        Ok(Progress {
            lease: self.lease,
            restart: self.restart,
            at,
            segment,
            is_last: checkpoint.is_complete(),
            precedes_effects: false,
        })
    }

    /// Restarts the log, after a segment that may not have been stored.
    pub(crate) fn restart(&mut self) {
        *self = Self {
            restart: self.restart.saturating_add(1),
            ..Self::new(self.lease)
        };
    }
}

/// Reads the latest checkpoint from the segments of a log. Returns `None` if there are no segments.
pub(crate) fn read(segments: &[Vec<u8>]) -> Result<Option<Checkpoint>, StoreError> {
    let Some(first) = segments.first() else {
        return Ok(None);
    };
    // Before version 6, each segment was a whole checkpoint.
    if version(first)? < 6 {
        return Ok(Some(Checkpoint::from_stored(decode(first)?)));
    }
    let (mut written, mut latest) = (Written::default(), None);
    for segment in segments {
        let segment: Segment = decode(segment)?;
        segment.truth.apply(&mut written.lists.truth)?;
        segment.visible.apply(&mut written.lists.visible)?;
        segment.calls.apply(&mut written.lists.calls)?;
        segment.blocks.apply(&mut written.blocks)?;
        written.headers = segment.headers.or(written.headers);
        written.message = segment.message.or(written.message);
        written.state = segment.state.unwrap_or(written.state);
        latest = Some((
            segment.session,
            segment.machine,
            segment.end,
            segment.refused_thinking,
            segment.generation,
        ));
    }
    Ok(
        latest.map(|(session, mut machine, end, refused_thinking, generation)| {
            machine.put_lists(written.lists);
            Checkpoint::from_stored(StoredCheckpoint {
                session,
                machine,
                headers: written.headers,
                message: written.message,
                blocks: written.blocks,
                end,
                refused_thinking,
                state: written.state,
                generation,
            })
        }),
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::session::chain::ChainKey;
    use crate::turn::action::{Action, Sent};
    use crate::turn::event::Event;
    use crate::turn::rules::Rules;
    use crate::wire::event::StreamEvent;

    const LENGTH: usize = 10_000;

    /// Runs a turn whose model calls a tool several times in each round, with a checkpoint after each event that needs one.
    fn checkpoints(rounds: usize, calls: usize) -> Vec<Checkpoint> {
        let rules = Rules {
            internal: Arc::new(BTreeSet::from(["long".to_owned()])),
            max_rounds: 100,
            ..Rules::default()
        };
        let mut machine = TurnMachine::new(rules);
        let (mut sent, mut all) = (Vec::new(), Vec::new());
        let session = SessionId::random();
        let mut add = |machine: &TurnMachine, actions: Vec<Action>| {
            let outputs = actions.into_iter().filter_map(|action| match action {
                Action::Send(output) => Some(output),
                _ => None,
            });
            sent.extend::<Vec<Sent>>(outputs.collect());
            all.push(Checkpoint {
                session: session.clone(),
                machine: machine.clone(),
                headers: None,
                sent: sent.clone(),
                refused_thinking: None,
                state: StateMap::from_iter([("rounds".to_owned(), machine.ran().len().into())]),
                generation: Some(session_generation()),
                rest: Vec::new(),
            });
        };
        let started = machine.start();
        add(&machine, started);
        for round in 0..rounds {
            let start = json!({ "type": "message_start", "message": { "id": "m", "usage": {} } }).to_string();
            let mut actions = machine.on(Event::Stream(StreamEvent::parse(&start).unwrap()));
            actions.extend(machine.on(Event::Block(Block::text(&"y".repeat(LENGTH)))));
            for call in 0..calls {
                let block = json!({ "type": "tool_use", "id": format!("{round}-{call}"), "name": "long", "input": {} });
                actions.extend(machine.on(Event::Block(Block::new(block.to_string()))));
            }
            actions.extend(machine.on(Event::Stream(StreamEvent::MessageStop)));
            add(&machine, actions);
            // The last call ends first.
            for call in (0..calls).rev() {
                let result = Block::text(&"x".repeat(LENGTH));
                let actions = machine.on(Event::Result { call, result });
                add(&machine, actions);
            }
        }
        all
    }

    fn session_generation() -> Digest {
        ChainKey::new([2; 32]).digest(&[])
    }

    fn log() -> ProgressLog {
        let digest = ChainKey::new([1; 32]).digest(&[]);
        ProgressLog::new(Lease {
            request: digest,
            sample: 0,
            fence: 0,
        })
    }

    fn assert_equal(read: Option<Checkpoint>, written: &Checkpoint) {
        let read = read.unwrap();
        assert_eq!(
            (&read.machine, &read.state, read.generation),
            (
                &written.machine.clone().with_rules(Rules::default()),
                &written.state,
                written.generation
            )
        );
        let (read, written) = (read.to_stored(), written.to_stored());
        assert_eq!((read.blocks, read.message), (written.blocks, written.message));
    }

    #[test]
    fn segments_store_each_checkpoint_as_its_new_messages() {
        let (mut log, mut segments) = (log(), Vec::new());
        for (at, checkpoint) in checkpoints(3, 5).iter().enumerate() {
            let progress = log.next(checkpoint).unwrap();
            assert_eq!(progress.at, at as u64);
            segments.push(progress.segment);
            assert_equal(read(&segments).unwrap(), checkpoint);
        }
        // Results are part of the running round, and later of the messages.
        let written: usize = segments.iter().map(Vec::len).sum();
        assert!(written < 3 * 3 * 6 * LENGTH, "{written} bytes");
        assert!(read(&segments[2..]).is_err(), "the beginning is missing");
    }

    #[test]
    fn log_starts_again_after_a_failure() {
        let mut log = log();
        let checkpoints = checkpoints(1, 3);
        for checkpoint in &checkpoints {
            log.next(checkpoint).unwrap();
        }
        log.restart();
        let progress = log.next(&checkpoints[4]).unwrap();
        assert_eq!(progress.at, 0);
        assert_equal(read(&[progress.segment]).unwrap(), &checkpoints[4]);
    }

    /// A crash during an update of the program loses no call.
    #[test]
    fn checkpoints_of_version_5_are_read() {
        for checkpoint in checkpoints(2, 2) {
            let whole = String::from_utf8(encode(&checkpoint.to_stored()).unwrap()).unwrap();
            let old = whole.replacen("\"version\":6", "\"version\":5", 1);
            assert_ne!(old, whole);
            assert_equal(read(&[old.into_bytes()]).unwrap(), &checkpoint);
        }
        assert!(read(&[]).unwrap().is_none());
    }
}
