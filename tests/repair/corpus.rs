//! Replays the seeds of fuzzing and its former failures. The properties of the fuzz targets hold for all of them.

use tests::corpus::replay;

#[path = "../../fuzz/properties.rs"]
mod properties;
#[path = "../../fuzz/streams.rs"]
mod streams;
#[path = "../../fuzz/text_calls.rs"]
pub mod text_calls;

#[test]
fn replays_the_seeds_of_complete_texts() {
    replay("whole", properties::whole);
}

/// Replays the seeds of whole texts in pieces of all sizes, too.
#[test]
fn replays_the_seeds_of_texts_in_pieces() {
    replay("chunks", properties::chunks);
    replay("whole", |text| {
        for header in [
            &[0, 1, 1][..],
            &[0, 2, 3, 0],
            &[0, 3, 20, 1, 2],
            &[1, 1, 1],
            &[7, 2, 5, 2],
            &[193, 1, 20],
        ] {
            properties::chunks(&[header, text].concat());
        }
    });
}

#[test]
fn replays_the_seeds_of_streams() {
    replay("sse", streams::sse);
    // Also tests every text as the arguments of a call: in each dialect, complete and cut off, with several limits.
    replay("whole", |text| {
        for header in [
            [8, 1, 200],
            [9, 1, 9],
            [10, 1, 5],
            [13, 1, 7],
            [26, 1, 3],
            [27, 1, 30],
        ] {
            streams::sse(&[&header, text].concat());
        }
    });
}

#[test]
fn replays_the_seeds_of_calls() {
    replay("calls", |input| {
        text_calls::calls(input);
    });
    // Also tests every text of the other targets as an answer, with each set of formats.
    replay("whole", |text| {
        for header in [[0, 1, 1], [1, 1, 3], [6, 1, 7], [8, 1, 2]] {
            text_calls::calls(&[&header, text].concat());
        }
    });
}
