//! The coercion rules, row by row: `table.json` says what is sent and what comes of it under each policy, and every
//! row is run against typed and dynamic tools, from text and from a `Value`, at the top and buried deep inside.

mod map_keys;
mod maps;
mod agreement;
mod alike;
mod bury;
mod table;
mod told;
mod typed;
mod ways;

use std::collections::BTreeSet;

use table::{POLICIES, Table};
use ways::{Way, Ways};

/// The floor under the number of rows.
const ROWS: usize = 250;

#[test]
fn every_row_has_its_expectations() {
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
fn typed_tools_show_the_schemas_of_the_table() {
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
async fn every_row_holds_in_every_way() {
    let table = Table::read();
    let mut failures = Vec::new();
    let mut runs = 0;
    let mut typed_buried = 0;
    for policy in POLICIES {
        let ways = Ways::new(&table, policy);
        for row in &table.rows {
            for way in Way::ALL {
                let Some(expected) = row.expectation(policy, way).filter(|_| ways.has(row, way)) else {
                    continue;
                };
                runs += 1;
                typed_buried += usize::from(way == Way::TypedBuriedText);
                let found = ways.run(&table, row, way, &expected).await;
                if !found.is_empty() {
                    failures.push(format!(
                        "{}\n   {policy:?}, {way:?}\n   sent     {}\n   expected {expected}\n   {}",
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
        typed_buried > table.rows.len(),
        "{typed_buried} runs of typed tools, buried"
    );
    assert!(
        failures.is_empty(),
        "{} of {runs} runs differ:\n\n{}",
        failures.len(),
        failures.join("\n\n")
    );
}
