//! [`UnstoredTurns`]: what deferred calls have done, where it could not be stored.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::running_turns::{KEPT, KEPT_BYTES, KEPT_FOR};
use crate::session::record::Turn;

/// Resumed turns with results that could not be stored, by their id, so that a retry runs no call again. They are kept as long as what
/// other retries need, and as many.
#[derive(Debug, Default)]
pub(crate) struct UnstoredTurns(Mutex<HashMap<String, Unstored>>);

#[derive(Debug)]
struct Unstored {
    turn: Turn,
    bytes: usize,
    since: Instant,
}

impl UnstoredTurns {
    /// Those that are not kept for too long.
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Unstored>> {
        // No change can panic half-way.
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, unstored| unstored.since.elapsed() <= KEPT_FOR);
        turns
    }

    pub(crate) fn get(&self, id: &str) -> Option<Turn> {
        Some(self.lock().get(id)?.turn.clone())
    }

    /// Keeps a turn in place of what was kept of it before. If there are too many, the oldest go.
    pub(crate) fn keep(&self, turn: Turn) {
        let unstored = Unstored {
            bytes: turn.size(),
            since: Instant::now(),
            turn,
        };
        let mut turns = self.lock();
        turns.insert(unstored.turn.id.clone(), unstored);
        let bytes = |turns: &HashMap<_, Unstored>| turns.values().map(|turn| turn.bytes).sum::<usize>();
        while turns.len() > 1 && (turns.len() > KEPT || bytes(&turns) > KEPT_BYTES) {
            let oldest = turns.iter().min_by_key(|(_, unstored)| unstored.since);
            let Some(oldest) = oldest.map(|(id, _)| id.clone()) else {
                break;
            };
            turns.remove(&oldest);
        }
    }

    /// Forgets a turn that is stored now.
    pub(crate) fn remove(&self, id: &str) {
        self.lock().remove(id);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Map;

    use super::*;
    use crate::session::chain::ChainKey;
    use crate::session::record::{Role, SessionId, TrueMessage};
    use crate::wire::block::Block;

    fn turn(id: &str, bytes: usize) -> Turn {
        let digest = ChainKey::new([1; 32]).digest(&[]);
        Turn {
            id: id.to_owned(),
            session: SessionId::random(),
            point: digest,
            context: digest,
            answer: digest,
            outline: digest,
            truth: vec![TrueMessage {
                role: Role::User,
                blocks: vec![Block::text(&"x".repeat(bytes))],
            }],
            is_unchanged: false,
            drops_thinking: false,
            visible: Vec::new(),
            calls: Vec::new(),
            systems: Vec::new(),
            state: Map::new(),
        }
    }

    fn ids(turns: &UnstoredTurns) -> Vec<String> {
        let turns = turns.lock();
        let in_order: BTreeMap<_, _> = turns.values().map(|turn| (turn.since, &turn.turn.id)).collect();
        in_order.into_values().cloned().collect()
    }

    #[test]
    fn turns_that_no_client_retries_are_forgotten() {
        let turns = UnstoredTurns::default();
        turns.keep(turn("old", 1));
        turns.keep(turn("new", 1));
        assert_eq!(ids(&turns), ["old", "new"]);
        turns.lock().get_mut("old").unwrap().since = Instant::now().checked_sub(2 * KEPT_FOR).unwrap();
        assert!(turns.get("old").is_none() && turns.get("new").is_some());
        assert_eq!(ids(&turns), ["new"]);
    }

    #[test]
    fn of_too_many_turns_the_oldest_are_forgotten() {
        let turns = UnstoredTurns::default();
        for number in 0..KEPT + 2 {
            turns.keep(turn(&format!("{number}"), 1));
        }
        assert_eq!(ids(&turns).len(), KEPT);
        assert_eq!(ids(&turns)[0], "2");
        turns.keep(turn("large", KEPT_BYTES));
        assert_eq!(ids(&turns), ["large"], "the newest stays in any case");
        turns.remove("large");
        assert!(ids(&turns).is_empty());
    }
}
