//! Sends a stream through the repair.

use tool_runtime::repair::FormatFixing;
use tool_runtime::repair::stream::{Dialect, RepairRecord, StreamLimits, StreamRepairer};

/// Output of a stream, with its records.
#[derive(Debug, PartialEq, Eq)]
pub struct Sent {
    pub bytes: Vec<u8>,
    pub records: Vec<RepairRecord>,
    pub skipped: Vec<String>,
    pub bailout_reason: Option<String>,
}

pub fn send<'a>(
    dialect: Dialect,
    fixing: &FormatFixing,
    limits: StreamLimits,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Sent {
    let mut repairer = StreamRepairer::with(dialect, fixing.clone(), limits);
    let mut bytes = Vec::new();
    for piece in pieces {
        repairer.push(piece, &mut bytes);
    }
    repairer.finish(&mut bytes);
    Sent {
        bytes,
        records: repairer.take_records(),
        skipped: repairer.skipped().to_vec(),
        bailout_reason: repairer.bailout_reason().map(str::to_owned),
    }
}

pub fn send_whole(dialect: Dialect, fixing: &FormatFixing, stream: &[u8]) -> Sent {
    send(dialect, fixing, StreamLimits::default(), [stream])
}
