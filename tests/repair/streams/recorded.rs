//! Recorded streams, each with a file of its expected result. `UPDATE_GOLDEN=1` updates these files.

use std::fmt::Write;
use std::path::PathBuf;

use tests::long::long;
use tool_runtime::repair::stream::{Dialect, RepairRecord, StreamLimits};
use tool_runtime::repair::{FormatFixing, Status, repair};

use super::client::{Call, calls};
use super::client_events::{blocks, text};
use super::sent::{Sent, send, send_whole};

pub struct Recorded {
    pub name: String,
    pub dialect: Dialect,
    pub fixing: FormatFixing,
    pub bytes: Vec<u8>,
}

/// Returns every file in `recorded/`. The name begins with the dialect; the first line may be a comment with the configuration.
pub fn recorded() -> Vec<Recorded> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder("recorded"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(files.len() > 80);
    files
        .into_iter()
        .map(|file| {
            let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
            let bytes = std::fs::read(&file).unwrap();
            let first = String::from_utf8_lossy(&bytes)
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned();
            let fixing = first
                .strip_prefix(": format_fixing ")
                .map_or_else(FormatFixing::default, |block| {
                    serde_json::from_str(block).unwrap()
                });
            let dialect = match name.split_once('_').unwrap().0 {
                "chat" => Dialect::ChatCompletions,
                "responses" => Dialect::Responses,
                _ => Dialect::Anthropic,
            };
            Recorded {
                name,
                dialect,
                fixing,
                bytes,
            }
        })
        .collect()
}

pub fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("repair/streams")
        .join(name)
}

impl Recorded {
    fn sent(&self) -> Sent {
        send_whole(self.dialect, &self.fixing, &self.bytes)
    }

    fn is_target(&self, call: &Call) -> bool {
        self.fixing.enabled && self.fixing.target_tools.contains(&call.tool)
    }
}

#[test]
fn repairs_recorded_streams_to_the_expected_files() {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut expected_lines = String::new();
    for stream in recorded() {
        let sent = stream.sent();
        let file = folder("repaired").join(format!("{}.sse", stream.name));
        let _ = writeln!(expected_lines, "{}", stream.name);
        for record in &sent.records {
            let _ = writeln!(expected_lines, "    {}", line(record));
        }
        if !sent.skipped.is_empty() {
            let _ = writeln!(expected_lines, "    passed by: {}", sent.skipped.join(", "));
        }
        if update {
            std::fs::write(&file, &sent.bytes).unwrap();
        }
        let expected = std::fs::read(&file).unwrap_or_default();
        let (left, right) = (
            String::from_utf8_lossy(&sent.bytes),
            String::from_utf8_lossy(&expected),
        );
        assert!(
            left == right,
            "{}: it became\n{left}\nand not\n{right}",
            stream.name
        );
    }
    let file = folder("records.txt");
    if update {
        std::fs::write(&file, &expected_lines).unwrap();
    }
    assert_eq!(expected_lines, std::fs::read_to_string(file).unwrap());
}

fn line(record: &RepairRecord) -> String {
    let place = format!("{:?} {:?}", record.choice, record.index).replace("Some", "");
    let mut line = format!(
        "{} {} {place} {:?}",
        record.tool,
        record.call.as_deref().unwrap_or("-"),
        record.status
    );
    for (code, count) in record.fixes.counts() {
        let _ = write!(line, " {}×{count}", code.as_str());
    }
    if let Some(reason) = &record.reason {
        let _ = write!(line, " at {}: {}", reason.offset, reason.message);
    }
    if !record.validated && record.status == Status::Repaired {
        line.push_str(", not validated");
    }
    if record.was_object {
        line.push_str(", was an object");
    }
    line
}

#[test]
fn results_do_not_depend_on_the_cuts() {
    for stream in recorded() {
        let whole = stream.sent();
        let cut = |pieces: Vec<&[u8]>, how: &dyn std::fmt::Display| {
            let sent = send(stream.dialect, &stream.fixing, StreamLimits::default(), pieces);
            assert_eq!(sent, whole, "{} {how}", stream.name);
        };
        cut(stream.bytes.chunks(1).collect(), &"byte by byte");
        // The code after the framer sees only whole events, so some of the cuts are enough by default.
        let step = if long() { 1 } else { 97 };
        for at in (1..stream.bytes.len()).step_by(step) {
            let (left, right) = stream.bytes.split_at(at);
            cut(vec![left, right], &at);
        }
    }
}

/// The arguments that a client joins are the [`repair`] of the original arguments, or unchanged.
#[test]
fn client_receives_the_repair_of_the_complete_arguments() {
    for stream in recorded() {
        let sent = stream.sent();
        if !stream.fixing.fallback_on_error && blocks(&sent.bytes).last().is_some_and(|last| is_error(last)) {
            continue;
        }
        if stream.name == "responses_index_reused" {
            continue; // the client above uses the index, and joins both calls
        }
        if stream.name.starts_with("chat_more_behind_whole") {
            continue; // the calls were sent before they were complete; the expected result is in the file
        }
        let (came, received) = (
            calls(stream.dialect, &stream.bytes),
            calls(stream.dialect, &sent.bytes),
        );
        assert_eq!(came.len(), received.len(), "{}", stream.name);
        for (came, received) in came.iter().zip(&received) {
            let name = &stream.name;
            assert_eq!((&came.tool, &came.id), (&received.tool, &received.id), "{name}");
            let expected = expected(&stream, came, &sent);
            if name == "chat_object_spaced" {
                // The client above serializes objects again; the exact text is in the file.
                let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
                assert_eq!(value(&received.arguments), value(&expected));
                continue;
            }
            if came.in_pieces {
                assert_eq!(text(&received.arguments), text(&expected), "{name}");
            } else {
                assert_eq!(received.arguments, "", "{name}");
            }
            assert_eq!(came.copies.len(), received.copies.len(), "{name}");
            for copy in &received.copies {
                assert_eq!(text(copy), text(&expected), "{name}");
            }
        }
    }
}

/// Returns whether an event is the error that ends a stream.
fn is_error(block: &str) -> bool {
    block.contains("invalid_tool_arguments") || block.contains("api_error")
}

fn expected(stream: &Recorded, came: &Call, sent: &Sent) -> String {
    let whole = text(came.last());
    let unknown = [
        "chat_name_late",
        "chat_drifting_ids_and_names",
        "chat_drifting_ids_alone",
        "chat_finish_with_every_piece",
        "chat_missing_index_behind_truncated",
        "chat_missing_index_repeated_name",
        "chat_same_ids_said_again",
        "chat_error",
        "anthropic_error",
    ]
    .contains(&stream.name.as_str());
    let cut = sent
        .records
        .iter()
        .any(|record| record.call == came.id && record.status == Status::Truncated);
    assert!(
        !came.cut || !stream.is_target(came) || cut,
        "{}: {came:?}",
        stream.name
    );
    match whole {
        Some(whole) if stream.is_target(came) && !unknown && !cut => {
            let repaired = repair(&whole);
            let other = repaired.names_other_tool(&came.tool);
            if other { whole } else { repaired.text.into_owned() }
        }
        _ => came.last().to_owned(),
    }
}

#[test]
fn keeps_all_other_bytes_in_order() {
    for stream in recorded() {
        let others = |bytes: &[u8]| {
            let mut blocks = blocks(bytes);
            // Pings and comments may overtake the held end of a block.
            let about = ["arguments\"", "_arguments.", "partial_json", "event: ping"];
            let other =
                |block: &String| !block.starts_with(':') && !about.iter().any(|word| block.contains(word));
            blocks.retain(other);
            blocks
        };
        let (came, left) = (others(&stream.bytes), others(&stream.sent().bytes));
        if stream.fixing.fallback_on_error {
            assert_eq!(came, left, "{}", stream.name);
        } else {
            let same = left.len() - usize::from(left.last().is_some_and(|last| is_error(last)));
            assert_eq!(came[..same], left[..same], "{}", stream.name);
        }
    }
}

#[test]
fn keeps_every_byte_of_a_stream_without_target_tools() {
    for stream in recorded() {
        for fixing in [
            FormatFixing {
                enabled: false,
                ..stream.fixing.clone()
            },
            FormatFixing {
                target_tools: tool_runtime::repair::TargetTools::named(["Another"]),
                ..stream.fixing.clone()
            },
        ] {
            let sent = send_whole(stream.dialect, &fixing, &stream.bytes);
            assert!(sent.bytes == stream.bytes, "{}", stream.name);
            assert_eq!(sent.records, []);
        }
    }
}
