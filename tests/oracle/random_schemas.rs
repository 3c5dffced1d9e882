//! Compares `Policy::Strict` with an independent implementation of JSON Schema: both must accept equal values.
//!
//! Each intended difference is a row of `differences.rs`; other differences fail. `PROPERTIES_LONG=1` compares more than a million pairs.

use std::fmt::Write as _;

use serde_json::{Value, json};
use tests::dynamic_tool;
use tests::instances;
use tests::long::properties_long;
use tests::random::Random;
use tests::schemas::{self, Kinds};
use tool_runtime::{Policy, RawArguments, ToolRegistry};

use crate::oracle::differences::{Row, rows};

const SCHEMAS: usize = 200;
const SCHEMAS_LONG: usize = 75_000;

/// Values per schema.
const INSTANCES: usize = 16;

/// Maximum number of differences in a failure.
const SHOWN: usize = 20;

#[test]
fn strict_agrees_with_jsonschema_on_random_schemas() {
    compare(2, |random| {
        let schema = schemas::tool(random, Kinds { unions: true });
        if random.one_in(4) {
            schemas::in_draft_07(&schema)
        } else {
            schema
        }
    });
}

/// Includes keywords that are enforced after coercion.
#[test]
fn strict_agrees_with_jsonschema_on_random_assertions() {
    compare(3, |random| {
        let unions = random.one_in(2);
        let mut schema = schemas::tool(random, Kinds { unions });
        schemas::add_assertions(random, &mut schema);
        schema
    });
}

fn compare(seed: u64, mut schema: impl FnMut(&mut Random) -> Value) {
    let schemas = if properties_long() { SCHEMAS_LONG } else { SCHEMAS };
    let rows = rows();
    let mut random = Random::new(seed);
    let mut found = Found::default();
    for _ in 0..schemas {
        let schema = schema(&mut random);
        let pair = Pair::new(&schema);
        for _ in 0..INSTANCES {
            let instance = instances::object(&mut random, &schema);
            found.compare(&pair, &instance, random.one_in(2), &rows);
        }
    }
    let Found {
        compared,
        valid,
        excused,
        differ,
        report,
    } = found;
    println!("{compared} pairs compared, {valid} of them valid, {excused} differences excused");
    assert!(differ == 0, "{differ} of {compared} differ:\n{report}");
    assert!(
        valid > compared / 5 && valid < compared * 3 / 4,
        "{valid} of {compared} are valid"
    );
    assert!(excused < compared / 50, "{excused} of {compared} are excused");
}

#[test]
fn every_stated_difference_exists() {
    for row in rows() {
        let Row {
            name,
            schema,
            instance,
            ours,
            theirs,
            excuses,
            why,
        } = row;
        let pair = Pair::new(&schema);
        for as_text in [false, true] {
            let answer = pair.ours(&instance, as_text);
            assert_eq!(answer.is_ok(), ours, "ours: {name} ({why}): {answer:?}");
        }
        assert_eq!(pair.theirs(&instance), theirs, "theirs: {name}");
        assert!(ours != theirs, "{name}: no difference");
        assert!(excuses(&schema, &instance), "{name}: not excused by its own row");
        let plain = json!({ "type": "object", "properties": { "alpha": { "$ref": "#" } } });
        assert!(
            !excuses(&plain, &json!({ "alpha": {}, "Other": "a" })),
            "{name}: excuses everything"
        );
    }
}

/// Both implementations with one schema.
struct Pair<'s> {
    schema: &'s Value,
    registry: ToolRegistry,
    oracle: jsonschema::Validator,
}

impl<'s> Pair<'s> {
    fn new(schema: &'s Value) -> Self {
        // Formats are annotations here, as in 2020-12; the oracle would enforce them in draft-07.
        let options = jsonschema::options().should_validate_formats(false);
        let oracle = options.build(schema).unwrap_or_else(|e| panic!("{e}: {schema}"));
        Self {
            schema,
            registry: dynamic_tool::registry(schema),
            oracle,
        }
    }

    /// Returns the verdict of `Policy::Strict`, for text or for a value, which are read by different code.
    fn ours(&self, instance: &Value, as_text: bool) -> Result<(), Vec<String>> {
        let input: RawArguments<'_> = if as_text {
            instance.to_string().into()
        } else {
            instance.clone().into()
        };
        let errors = dynamic_tool::prepare(&self.registry, input, Policy::Strict).errors;
        if errors.is_empty() {
            return Ok(());
        }
        Err(errors.iter().map(ToString::to_string).collect())
    }

    fn theirs(&self, instance: &Value) -> bool {
        self.oracle.is_valid(instance)
    }
}

#[derive(Default)]
struct Found {
    compared: usize,
    valid: usize,
    excused: usize,
    differ: usize,
    report: String,
}

impl Found {
    fn compare(&mut self, pair: &Pair<'_>, instance: &Value, as_text: bool, rows: &[Row]) {
        let (ours, theirs) = (pair.ours(instance, as_text), pair.theirs(instance));
        self.compared += 1;
        self.valid += usize::from(theirs);
        if ours.is_ok() == theirs {
            return;
        }
        if rows.iter().any(|row| (row.excuses)(pair.schema, instance)) {
            self.excused += 1;
            return;
        }
        self.differ += 1;
        if self.differ <= SHOWN {
            let wrong = if theirs {
                "refused, and is valid"
            } else {
                "accepted, and is invalid"
            };
            let _ = writeln!(
                self.report,
                "{wrong}: {instance}\n   schema: {}\n   {ours:?}\n",
                pair.schema
            );
        }
    }
}
