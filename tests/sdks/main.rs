//! Repaired streams, read by the official SDKs of OpenAI and Anthropic in Python and JavaScript: the SDKs receive the repaired arguments,
//! and still read all streams that they could read before. MCP's forms are compared with the official SDK.
//!
//! `SDK_PYTHON` is an interpreter with the packages of `requirements.txt` (default: `python3`), `SDK_NODE` a folder with the `node_modules`
//! of `package.json`; `.ci/run programs` creates both in `target/sdks`. Without them, the tests are ignored with a message, or fail if
//! `REPAIR_TESTS=required` is set. `REPAIR_LONG=1` reads ten times as many streams.

mod calls;
mod sample;
mod sdk;
mod check;
mod complete_responses;
mod mcp;

use tests::long::long;
use tests::random::Random;
use tool_runtime::repair::stream::Dialect;

use crate::calls::Kind;
use crate::check::check;
use crate::sample::{Plan, Sample};
use crate::sdk::Sdk;

#[test]
fn python_sdks_read_repaired_streams() {
    if let Some(sdk) = Sdk::python() {
        read_repaired_streams(&sdk);
    }
}

#[test]
fn javascript_sdks_read_repaired_streams() {
    if let Some(sdk) = Sdk::javascript() {
        read_repaired_streams(&sdk);
    }
}

fn read_repaired_streams(sdk: &Sdk) {
    let mut streams = every_plan();
    let mut random = Random::new(31);
    for _ in 0..if long() { 600 } else { 60 } {
        let dialect = *random.pick(&DIALECTS);
        let plan = Plan::any(&mut random);
        streams.push(Sample::new(dialect, &plan, &mut random));
    }
    let sent: Vec<(Dialect, &str)> = streams
        .iter()
        .flat_map(|sample| {
            [
                (sample.dialect, &*sample.original),
                (sample.dialect, &*sample.repaired),
            ]
        })
        .collect();
    let readings = sdk.read(&sent);
    let mut faults = Vec::new();
    let mut compared = 0;
    for (sample, readings) in streams.iter().zip(readings.chunks(2)) {
        for (before, after) in readings[0].iter().zip(&readings[1]) {
            match check(sample, before, after).and_then(|()| complete_responses::check(sample, after)) {
                Ok(is_compared) => compared += usize::from(is_compared),
                Err(fault) => faults.push((sample, fault, before, after)),
            }
        }
    }
    faults.sort_by_key(|(sample, ..)| sample.original.len());
    let messages: Vec<&String> = faults.iter().take(20).map(|(_, fault, ..)| fault).collect();
    if let Some((sample, _, before, after)) = faults.first() {
        panic!(
            "{} readings are wrong: {messages:#?}\nThe first is of {:?}:\nbefore: {before:?}\nafter: {after:?}\n{}\n=>\n{}",
            faults.len(),
            sample.plan,
            sample.original,
            sample.repaired
        );
    }
    assert!(
        compared > streams.len() / 2,
        "only {compared} responses were compared"
    );
}

/// Tests every kind of arguments in every dialect: without another call, after and before another call, and interleaved with another call.
fn every_plan() -> Vec<Sample> {
    let mut random = Random::new(30);
    let mut streams = Vec::new();
    for dialect in DIALECTS {
        for kind in Kind::ALL {
            let plans: &[(&[Kind], bool)] = &[
                (&[kind], false),
                (&[Kind::Json, kind], false),
                (&[kind, Kind::Python], false),
                (&[kind, Kind::Python, kind], true),
            ];
            for (kinds, mixed) in plans {
                let plan = Plan::of(kinds, *mixed, true);
                streams.push(Sample::new(dialect, &plan, &mut random));
            }
            for kinds in [&[kind][..], &[kind, Kind::Python]] {
                let plan = Plan::of(kinds, false, false);
                streams.push(Sample::new(dialect, &plan, &mut random));
            }
        }
    }
    streams
}

const DIALECTS: [Dialect; 3] = [Dialect::ChatCompletions, Dialect::Responses, Dialect::Anthropic];
