//! Typed and dynamic tools with one schema have equal results for every input: the inputs of the table's rows, and random ones.

use serde_json::Value;
use tests::dynamic_tool::POLICIES;
use tests::instances;
use tests::long::properties_long;
use tests::random::Random;
use tool_runtime::RawArguments;

use crate::coercion::table::Table;
use crate::coercion::variants::Variants;

/// Returns the number of random inputs for each schema and policy; `PROPERTIES_LONG=1` tests many more.
fn inputs() -> usize {
    if properties_long() { 1_000 } else { 25 }
}

/// Schemas that allow more values than a Rust type or a JSON value can represent.
const NARROWER: [&str; 6] = [
    "even_number",
    "integer_i128",
    "integer_u128",
    "one_uuid",
    "optional_uuid",
    "uuid_list",
];

#[test]
fn typed_and_dynamic_tools_agree_on_every_row() {
    let table = Table::read();
    let mut differences = Vec::new();
    for policy in POLICIES {
        let variants = Variants::new(&table, policy);
        for row in table
            .rows
            .iter()
            .filter(|row| row.untyped.is_none() && row.undynamic.is_none())
        {
            let value = serde_json::from_str::<Value>(&row.sent).ok().map(Into::into);
            for input in std::iter::once(row.sent.as_str().into()).chain(value) {
                let (typed, dynamic) = variants.both(&row.schema, &input);
                if typed != dynamic {
                    differences.push(format!(
                        "{}\n   {policy:?}\n   typed   {typed}\n   dynamic {dynamic}",
                        row.name
                    ));
                }
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}

#[tokio::test]
async fn typed_and_dynamic_tools_agree_on_random_inputs() {
    let table = Table::read();
    let mut random = Random::new(7);
    let mut differences = Vec::new();
    for policy in POLICIES {
        let variants = Variants::new(&table, policy);
        for (name, schema) in &table.schemas {
            if schema.untyped.is_some() || NARROWER.contains(&name.as_str()) {
                continue;
            }
            for _ in 0..inputs() {
                let fitting = instances::fitting(&mut random, &schema.json, &schema.json, 6);
                let value = if random.one_in(4) {
                    fitting
                } else {
                    instances::loosened(&mut random, &fitting)
                };
                for input in [RawArguments::from(value.to_string()), value.clone().into()] {
                    if let Some(what) = variants.disagreement(name, &schema.json, &input).await {
                        differences.push(format!("{name}, {policy:?}: {value}\n   {what}"));
                    }
                }
            }
        }
    }
    let shown = &differences[..differences.len().min(30)];
    assert!(
        differences.is_empty(),
        "{}:\n{}",
        differences.len(),
        shown.join("\n\n")
    );
}
