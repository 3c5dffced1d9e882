//! State that all calls of a stream share: the configuration, the records and the number of held bytes.

use super::record::RepairRecord;
use crate::format_fixing::FormatFixing;
use crate::limits::Limits;

/// Limits of a [`StreamRepairer`](crate::stream::StreamRepairer). Arguments and events over a limit pass unchanged.
/// [`bailout_reason`](crate::stream::StreamRepairer::bailout_reason) returns the reason why the rest of a stream passes
/// unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamLimits {
    /// Maximum size of an event. Defaults to 16 MiB. After a larger event, the rest of the stream passes unchanged,
    /// since the arguments in that event are unknown.
    pub event: usize,
    /// Maximum number of open calls (in a Responses stream: of all calls). Defaults to 256. With more calls, the rest
    /// of the stream passes unchanged. Each piece is compared with all open calls, so the time for a piece is
    /// proportional to their number. The time for ending all open calls is linear in their number, too.
    pub calls: usize,
    /// Maximum number of held bytes over all calls, of arguments and of events with arguments. Defaults to 64 MiB.
    /// The call that exceeds the limit passes unchanged.
    pub held: usize,
    /// Limits for repairing the arguments of a call.
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

/// State between events, except for the calls.
#[derive(Debug)]
pub(crate) struct StreamState {
    pub(crate) fixing: FormatFixing,
    pub(crate) limits: StreamLimits,
    records: Vec<RepairRecord>,
    /// Names of the tools whose calls passed unchanged.
    skipped: Vec<String>,
    /// Number of held bytes over all calls.
    pub(crate) held: usize,
    /// Whether the stream ended with an error for a call that could not be repaired.
    pub(crate) failed: bool,
    /// Reason why the rest of the stream passes unchanged.
    bailout_reason: Option<String>,
    serial: u64,
    /// Buffer for decoded text, reused for its capacity.
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
            bailout_reason: None,
            serial: 0,
            scratch: String::new(),
        }
    }

    /// Returns a number that is unique among the calls of the stream.
    pub(crate) fn serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// Returns the number of calls that have begun.
    pub(crate) fn calls(&self) -> u64 {
        self.serial
    }

    /// Returns the message about the maximum number of calls.
    pub(crate) fn too_many_calls(&self) -> String {
        format!("more than {} calls at once", self.limits.calls)
    }

    /// Stops reading the rest of the stream, unless it has ended with an error.
    pub(crate) fn bail_out(&mut self, reason: String) {
        if !self.failed && self.bailout_reason.is_none() {
            #[cfg(feature = "tracing")]
            tracing::warn!(reason, "the rest of a stream passes unchanged");
            self.bailout_reason = Some(reason);
        }
    }

    /// Returns the reason why the rest of the stream passes unchanged.
    pub(crate) fn bailout_reason(&self) -> Option<&str> {
        self.bailout_reason.as_deref()
    }

    /// Returns whether `bytes` more bytes may be held.
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

    pub(crate) fn record_skipped(&mut self, tool: &str) {
        let known = self.skipped.iter().any(|name| name == tool);
        if !known && self.skipped.len() < NAMES_KEPT && tool.len() <= NAME_KEPT {
            self.skipped.push(tool.to_owned());
        }
    }

    pub(crate) fn skipped(&self) -> &[String] {
        &self.skipped
    }
}

/// Maximum number of records that are kept until the caller takes them. Later records are only logged.
const RECORDS_KEPT: usize = 4096;
/// Maximum number of kept names of skipped tools.
const NAMES_KEPT: usize = 64;
/// Maximum length of a kept name of a skipped tool.
const NAME_KEPT: usize = 256;
