//! [`TurnMachine`]: the state of a turn, which is stored between two messages of the upstream.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::incoming::{CallIds, Incoming};
use super::round_ends::RoundEnds;
use crate::session::record::{Call, Origin, TrueMessage};
use crate::turn::client_calls::BrokenCall;
use crate::turn::rules::Rules;
use crate::wire::block::Block;
use crate::wire::fields::ObjectText;

/// State of a turn. A copy that was stored between two messages of the upstream can continue in another process, with the rules of that
/// process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TurnMachine {
    #[serde(skip)]
    pub(super) rules: Rules,
    pub(super) message: Incoming,
    pub(super) is_started: bool,
    /// Number of rounds in which the gateway ran calls.
    pub(super) rounds: usize,
    pub(super) is_out_of_time: bool,
    pub(super) usage: Map<String, Value>,
    #[serde(default)]
    pub(super) ends: RoundEnds,
    #[serde(default)]
    pub(super) call_ids: CallIds,
    pub(super) truth: Vec<TrueMessage>,
    pub(super) visible: Vec<(Block, Origin)>,
    pub(super) next_index: usize,
    pub(super) phase: Phase,
    /// Names of the tools that ran, in order.
    pub(super) ran: Vec<String>,
    #[serde(default)]
    pub(super) broken: BrokenRounds,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Phase {
    /// The upstream sends a message.
    Asking,
    /// Internal calls run.
    Running {
        calls: Vec<Call>,
        open: BTreeSet<usize>,
        /// Open calls that were stopped, and that run again when the turn continues.
        #[serde(default)]
        stopped: BTreeSet<usize>,
        /// Whether the calls belong to the suspended turn that this one resumes.
        #[serde(skip)]
        is_resumed: bool,
    },
    Over,
}

/// Consecutive rounds with calls that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct BrokenRounds {
    pub(super) in_row: usize,
    /// Text for the client about the last of these calls; `None` after a round without such calls.
    pub(super) notice: Option<String>,
}

impl BrokenRounds {
    /// Handles the end of a message, with the last of its calls that cannot be read.
    pub(super) fn push(&mut self, broken: Option<BrokenCall>) {
        self.in_row = if broken.is_some() { self.in_row + 1 } else { 0 };
        self.notice = broken.map(|broken| broken.notice());
    }
}

/// Lists of a machine that grow with the turn.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct MachineLists {
    pub(crate) truth: Vec<TrueMessage>,
    pub(crate) visible: Vec<(Block, Origin)>,
    /// Calls of the running round.
    pub(crate) calls: Vec<Call>,
}

impl TurnMachine {
    /// Creates a turn that begins with a request to the upstream.
    pub(crate) fn new(rules: Rules) -> Self {
        Self {
            rules,
            message: Incoming::default(),
            is_started: false,
            rounds: 0,
            is_out_of_time: false,
            usage: Map::new(),
            ends: RoundEnds::default(),
            call_ids: CallIds::default(),
            truth: Vec::new(),
            visible: Vec::new(),
            next_index: 0,
            phase: Phase::Asking,
            ran: Vec::new(),
            broken: BrokenRounds::default(),
        }
    }

    /// Creates a turn that resumes a suspended one with these calls. The client has answered the external calls; the deferred calls run
    /// before the first request to the upstream.
    pub(crate) fn resume(rules: Rules, calls: Vec<Call>) -> Self {
        let mut machine = Self::new(rules);
        let deferred = calls.iter().enumerate().filter(|(_, call)| call.is_deferred());
        let open: BTreeSet<usize> = deferred.map(|(index, _)| index).collect();
        if !open.is_empty() {
            machine.phase = Phase::Running {
                calls,
                open,
                stopped: BTreeSet::new(),
                is_resumed: true,
            };
        }
        machine
    }

    /// Replaces the rules.
    pub(crate) fn with_rules(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }

    /// Returns whether deferred calls of the suspended turn are running, or run next.
    pub(crate) fn is_resuming(&self) -> bool {
        matches!(self.phase, Phase::Running { is_resumed: true, .. })
    }

    /// Returns whether the turn is over.
    pub(crate) fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Returns the internal calls without a result.
    pub(crate) fn open_calls(&self) -> Vec<(usize, &Call)> {
        match &self.phase {
            Phase::Running { calls, open, .. } => {
                let open = open.iter().filter_map(|index| Some((*index, calls.get(*index)?)));
                open.collect()
            }
            Phase::Asking | Phase::Over => Vec::new(),
        }
    }

    /// Returns the open calls that may have taken effect.
    pub(crate) fn begun_calls(&self) -> Vec<(usize, &Call)> {
        let mut open = self.open_calls();
        if let Phase::Running { stopped, .. } = &self.phase {
            open.retain(|(index, _)| !stopped.contains(index));
        }
        open
    }

    /// Returns whether the gateway has run calls in this turn.
    pub(crate) fn has_internal_round(&self) -> bool {
        self.rounds > 0
    }

    /// Returns the total usage of all complete rounds.
    pub(crate) fn usage(&self) -> &Map<String, Value> {
        &self.usage
    }

    /// Returns the container in which the upstream's code execution continues in the next round.
    pub(crate) fn container(&self) -> Option<&ObjectText> {
        self.ends.container()
    }

    /// Returns the names of the tools that the gateway ran.
    pub(crate) fn ran(&self) -> &[String] {
        &self.ran
    }

    /// Estimates the size of the machine in memory, in bytes.
    pub(crate) fn size(&self) -> usize {
        let blocks = self.truth.iter().flat_map(|message| &message.blocks);
        let results = match &self.phase {
            Phase::Running { calls, .. } => calls.as_slice(),
            Phase::Asking | Phase::Over => &[],
        };
        let results = results.iter().filter_map(|call| call.result.as_ref());
        blocks.chain(results).map(Block::size).sum()
    }

    /// Takes the lists that grow with the turn, for a record of only the changes.
    pub(crate) fn take_lists(&mut self) -> MachineLists {
        MachineLists {
            truth: std::mem::take(&mut self.truth),
            visible: std::mem::take(&mut self.visible),
            calls: match &mut self.phase {
                Phase::Running { calls, .. } => std::mem::take(calls),
                Phase::Asking | Phase::Over => Vec::new(),
            },
        }
    }

    /// Puts the lists back.
    pub(crate) fn put_lists(&mut self, lists: MachineLists) {
        self.truth = lists.truth;
        self.visible = lists.visible;
        if let Phase::Running { calls, .. } = &mut self.phase {
            *calls = lists.calls;
        }
    }

    pub(super) fn next_index(&mut self) -> usize {
        self.next_index += 1;
        self.next_index - 1
    }
}
