//! Coercion rules by row: `table.json` has inputs with their results under each policy. Every row is run with typed and dynamic tools, from
//! text and from a `Value`, at the top level and nested.

mod conjunctions;
mod invalid_items;
mod left_out;
mod map_keys;
mod maps;
mod agreement;
mod assertions;
mod case_sensitivity;
mod equality;
mod nesting;
mod packaging;
mod table;
mod error_messages;
mod patches;
mod policies;
mod typed;
mod unenforced;
mod untagged;
mod variants;
mod wrapped;

use std::collections::BTreeSet;

use table::Table;
use tests::dynamic_tool::POLICIES;
use variants::{Variant, Variants};

/// Minimum number of rows.
const ROWS: usize = 250;

#[test]
fn table_is_complete() {
    let table = Table::read();
    assert!(table.rows.len() >= ROWS, "{} rows", table.rows.len());
    let names: BTreeSet<_> = table.rows.iter().map(|row| &row.name).collect();
    assert_eq!(names.len(), table.rows.len(), "each row has a name of its own");
    let typed = table.rows.iter().filter(|row| row.untyped.is_none()).count();
    assert!(typed * 2 >= table.rows.len(), "{typed} rows run typed");
    let used: BTreeSet<_> = table.rows.iter().map(|row| &row.schema).collect();
    let declared: BTreeSet<_> = table.schemas.keys().collect();
    assert_eq!(used, declared, "every schema has a row");
}

#[test]
fn typed_tools_have_the_schemas_of_the_table() {
    let table = Table::read();
    let registry = typed::registry();
    let mut differences = Vec::new();
    for tool in registry.tool_definitions() {
        let Some(schema) = table.schemas.get(&tool.name) else {
            differences.push(format!("`{}` is not in the table", tool.name));
            continue;
        };
        let shown = table::without(&tool.input_schema, &["description"]);
        let wanted = table::without(&schema.json, &["default", "x-"]);
        if shown != wanted {
            differences.push(format!(
                "`{}`\n   shown:  {shown}\n   wanted: {wanted}",
                tool.name
            ));
        }
    }
    for (name, schema) in &table.schemas {
        if schema.untyped.is_none() && registry.get_tool(name).is_none() {
            differences.push(format!("`{name}` has no typed tool and no reason why"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[tokio::test]
async fn every_row_holds_for_every_variant() {
    let table = Table::read();
    let mut failures = Vec::new();
    let mut runs = 0;
    let mut typed_nested = 0;
    for policy in POLICIES {
        let variants = Variants::new(&table, policy);
        for row in &table.rows {
            for variant in Variant::ALL {
                let Some(expected) = row
                    .expectation(policy, variant)
                    .filter(|_| variants.has(row, variant))
                else {
                    continue;
                };
                runs += 1;
                typed_nested += usize::from(variant == Variant::TypedNestedText);
                let found = variants.run(&table, row, variant, &expected).await;
                if !found.is_empty() {
                    failures.push(format!(
                        "{}\n   {policy:?}, {variant:?}\n   sent     {}\n   expected {expected}\n   {}",
                        row.name,
                        row.sent,
                        found.join("\n   ")
                    ));
                }
            }
        }
    }
    assert!(runs > table.rows.len() * POLICIES.len() * 3, "{runs} runs");
    assert!(
        typed_nested > table.rows.len() / 2,
        "{typed_nested} runs of typed tools, nested"
    );
    assert!(
        failures.is_empty(),
        "{} of {runs} runs differ:\n\n{}",
        failures.len(),
        failures.join("\n\n")
    );
}
