//! Tools with several parameters and attributes, since the top level of arguments has separate rules.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use tool_runtime::tool;

use super::enums::{External, Kind};
use super::structs::{Closed, Point, Tree};
use crate::properties::typed::probe::{Probe, Reader, answer};

/// Answers with its arguments.
#[tool]
#[expect(clippy::too_many_arguments, reason = "that is the point")]
async fn many(
    /// The first.
    first: String,
    /// The second.
    second_one: Option<i64>,
    /// The third.
    #[arg(default = true)]
    third: bool,
    /// The fourth, in a name with escapes.
    #[arg(name = "fourth-one", default = 2.5)]
    fourth: f64,
    /// The fifth.
    fifth: Vec<Point>,
    /// The sixth.
    sixth: Option<Closed>,
    /// The seventh.
    seventh: BTreeMap<String, Kind>,
    /// The eighth.
    eighth: Option<External>,
    /// The ninth.
    ninth: Option<Tree>,
    /// Records the deserializer.
    reader: Reader,
    /// The last.
    last: Option<Value>,
) -> String {
    let one = (first, second_one, third, fourth, fifth, sixth);
    answer(&(one, seventh, eighth, ninth, last), reader)
}

#[derive(Debug, Deserialize)]
struct Many {
    first: String,
    second_one: Option<i64>,
    #[serde(default = "yes")]
    third: bool,
    #[serde(rename = "fourth-one", default = "two_and_a_half")]
    fourth: f64,
    fifth: Vec<Point>,
    sixth: Option<Closed>,
    seventh: BTreeMap<String, Kind>,
    eighth: Option<External>,
    ninth: Option<Tree>,
    #[serde(rename = "reader")]
    _reader: [bool; 1],
    last: Option<Value>,
}

fn yes() -> bool {
    true
}

fn two_and_a_half() -> f64 {
    2.5
}

/// Answers with its arguments.
#[tool]
#[expect(clippy::too_many_arguments, reason = "that is the point")]
async fn limited_parameters(
    /// A range.
    #[arg(range = 1..=10_000)]
    number: u32,
    /// A range of floats.
    #[arg(range = -1.5..=1.5, default = 0.5)]
    ratio: f32,
    /// A length.
    #[arg(length = 1..=4)]
    text: String,
    /// A pattern.
    #[arg(pattern = "^[a-e]*$")]
    letters: Option<String>,
    /// Values.
    #[arg(values = ["a", "be", "é"])]
    word: Option<String>,
    /// List of numbers.
    #[arg(values = [1, 2, 300])]
    level: Option<i16>,
    /// Text that is not blank.
    #[arg(not_blank)]
    title: Option<String>,
    /// Strict.
    #[arg(strict)]
    strict: Option<Vec<i32>>,
    /// Records the deserializer.
    reader: Reader,
) -> String {
    answer(
        &(number, ratio, text, letters, word, level, title, strict),
        reader,
    )
}

#[derive(Debug, Deserialize)]
struct Limited {
    number: u32,
    #[serde(default = "half")]
    ratio: f32,
    text: String,
    letters: Option<String>,
    word: Option<String>,
    level: Option<i16>,
    title: Option<String>,
    strict: Option<Vec<i32>>,
    #[serde(rename = "reader")]
    _reader: [bool; 1],
}

fn half() -> f32 {
    0.5
}

/// Answers that it was called.
#[tool]
async fn reader_alone(
    /// Records the deserializer.
    reader: Reader,
) -> String {
    answer(&(), reader)
}

#[derive(Deserialize)]
struct Alone {
    #[serde(rename = "reader")]
    _reader: [bool; 1],
}

pub fn probes() -> Vec<Probe> {
    vec![
        Probe::of::<many, Many>("many", |it| {
            let one = (
                &it.first,
                it.second_one,
                it.third,
                it.fourth,
                &it.fifth,
                &it.sixth,
            );
            format!("{:?}", (one, &it.seventh, &it.eighth, &it.ninth, &it.last))
        }),
        Probe::of::<limited_parameters, Limited>("limited_parameters", |it| {
            let Limited {
                number,
                ratio,
                text,
                letters,
                word,
                level,
                title,
                strict,
                ..
            } = it;
            format!("{:?}", (number, ratio, text, letters, word, level, title, strict))
        }),
        Probe::of::<reader_alone, Alone>("reader_alone", |_| "()".to_owned()),
    ]
}
