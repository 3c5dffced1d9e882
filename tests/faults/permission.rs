//! Faults of decisions: calls that are denied, interrupted, or not decided about.

use tool_runtime::ToolRegistry;
use tool_runtime::permission::{Decision, Permission, PermissionRequest};

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
