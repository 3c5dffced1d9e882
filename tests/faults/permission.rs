//! Faults of decisions: calls that are denied, interrupted or undecided.

use std::any::type_name;

use serde_json::{Map, json};
use tool_runtime::permission::{AllowRules, Decision, Permission, PermissionRequest};
use tool_runtime::{Context, SessionValues, ToolRegistry};

use crate::calls::{brewing, call_of};
use crate::rows::row;

fn brewing_with(permission: Permission) -> ToolRegistry {
    brewing(async |_, _| -> String { panic!("it ran") }).layer(permission)
}

#[tokio::test]
async fn denied() {
    let row = row("permission::denied");
    let permission = Permission::new(async |_| Decision::Deny("no coffee after six".to_owned()));
    row.check(&brewing_with(permission).call(call_of(&row)).await);
}

#[tokio::test]
async fn denied_without_a_text() {
    let row = row("permission::denied_without_a_text");
    let permission = Permission::new(async |_| Decision::Deny(String::new()));
    row.check(&brewing_with(permission).call(call_of(&row)).await);
}

#[tokio::test]
async fn interrupted() {
    let row = row("permission::interrupted");
    let permission = Permission::new(async |_| Decision::Interrupt);
    row.check(&brewing_with(permission).call(call_of(&row)).await);
}

#[tokio::test]
async fn edited_arguments_are_invalid() {
    let row = row("permission::edited_arguments_are_invalid");
    let arguments = Map::from_iter([("cup".to_owned(), json!("many"))]);
    let permission = Permission::new(move |_| std::future::ready(Decision::AllowWith(arguments.clone())));
    row.check(&brewing_with(permission).call(call_of(&row)).await);
}

#[tokio::test]
async fn rules_cannot_be_read() {
    let row = row("permission::rules_cannot_be_read");
    let permission =
        Permission::new(async |request: PermissionRequest| Decision::AllowAlways(request.rule_for_tool()));
    let registry = brewing(async |_, _| "coffee").layer(permission);
    let stored = Map::from_iter([(type_name::<AllowRules>().to_owned(), json!([{ "tool": "brew" }]))]);
    let values = SessionValues::from_json(stored.clone());
    let context = Context::new().with_session_values(values.clone());
    row.check(&registry.call(call_of(&row).with_context(context)).await);
    assert_eq!(values.to_json().unwrap(), stored);
}

#[tokio::test]
async fn decision_panics() {
    let row = row("permission::decision_panics");
    let permission =
        Permission::new(async |request: PermissionRequest| panic!("who is {}?", request.call.name));
    row.check(&brewing_with(permission).call(call_of(&row)).await);
}

#[tokio::test]
async fn decision_panics_before_returning_a_future() {
    let row = row("permission::decision_panics_before_returning_a_future");
    let permission = Permission::new(|request: PermissionRequest| -> std::future::Ready<Decision> {
        panic!("who is {}?", request.call.name)
    });
    row.check(&brewing_with(permission).call(call_of(&row)).await);
}
