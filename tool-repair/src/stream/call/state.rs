//! What all calls of a stream share: the configuration, the records and what is held in all.

use super::record::RepairRecord;
use crate::format_fixing::FormatFixing;
use crate::limits::Limits;

/// How much a [`StreamRepairer`](crate::stream::StreamRepairer) keeps. What goes over a limit passes as it came;
/// [`bailout_reason`](crate::stream::StreamRepairer::bailout_reason) says when that is all the rest of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamLimits {
    /// The size of one event. 16 MiB unless set. After an event above, the rest of the stream passes untouched, since
    /// nobody knows which arguments were in it.
    pub event: usize,
    /// How many calls may be under way at once (in a Responses stream: be part of it). 256 unless set. With more, the
    /// rest of the stream passes untouched. Each piece is compared with all calls that are under way, so the time that
    /// one takes grows with their number; their end takes time in proportion to it.
    pub calls: usize,
    /// How many bytes are held over all calls, of arguments and of events that go with them. 64 MiB unless set. The
    /// call that goes over passes as it came.
    pub held: usize,
    /// The limits of the repair of one call's arguments.
    pub arguments: Limits,
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self {
            event: 16 << 20,
            calls: 256,
            held: 64 << 20,
            arguments: Limits::default(),
        }
    }
}

/// What is kept between events, apart from the calls.
#[derive(Debug)]
pub(crate) struct StreamState {
    pub(crate) fixing: FormatFixing,
    pub(crate) limits: StreamLimits,
    records: Vec<RepairRecord>,
    /// The names of the tools whose calls passed untouched.
    skipped: Vec<String>,
    /// Bytes that are held, over all calls.
    pub(crate) held: usize,
    /// The stream ended with an error for a call that could not be repaired.
    pub(crate) failed: bool,
    /// Why the stream cannot be followed any more, if so: all that comes passes.
    lost: Option<String>,
    serial: u64,
    /// A text that was decoded, kept for its room.
    pub(crate) scratch: String,
}

impl StreamState {
    pub(crate) fn new(fixing: FormatFixing, limits: StreamLimits) -> Self {
        Self {
            fixing,
            limits,
            records: Vec::new(),
            skipped: Vec::new(),
            held: 0,
            failed: false,
            lost: None,
            serial: 0,
            scratch: String::new(),
        }
    }

    /// A number for a call that no other call of the stream has.
    pub(crate) fn serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// How many calls there were.
    pub(crate) fn calls(&self) -> u64 {
        self.serial
    }

    /// Why no more than so many calls are followed.
    pub(crate) fn too_many_calls(&self) -> String {
        format!("more than {} calls at once", self.limits.calls)
    }

    /// Gives up on the rest of the stream, unless that has ended with an error.
    pub(crate) fn lose(&mut self, reason: String) {
        if !self.failed && self.lost.is_none() {
            #[cfg(feature = "tracing")]
            tracing::warn!(reason, "the rest of a stream passes untouched");
            self.lost = Some(reason);
        }
    }

    /// Why the rest of the stream passes untouched.
    pub(crate) fn lost(&self) -> Option<&str> {
        self.lost.as_deref()
    }

    /// Whether so many bytes more may be held.
    pub(crate) fn may_hold(&self, bytes: usize) -> bool {
        self.held + bytes <= self.limits.held
    }

    pub(crate) fn record(&mut self, record: RepairRecord) {
        #[cfg(feature = "tracing")]
        record.log(self.fixing.debug_logging);
        if self.records.len() < RECORDS_KEPT {
            self.records.push(record);
        }
    }

    pub(crate) fn take_records(&mut self) -> Vec<RepairRecord> {
        std::mem::take(&mut self.records)
    }

    pub(crate) fn pass_by(&mut self, tool: &str) {
        let known = self.skipped.iter().any(|name| name == tool);
        if !known && self.skipped.len() < NAMES_KEPT && tool.len() <= NAME_KEPT {
            self.skipped.push(tool.to_owned());
        }
    }

    pub(crate) fn skipped(&self) -> &[String] {
        &self.skipped
    }
}

/// How many records wait to be taken; those above are only logged.
const RECORDS_KEPT: usize = 4096;
/// How many names of other tools are kept, and how long they may be.
const NAMES_KEPT: usize = 64;
const NAME_KEPT: usize = 256;
