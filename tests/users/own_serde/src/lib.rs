//! A user with serde and schemars in the manifest, and with the features in the compiler's notes.

#![deny(warnings)]

use std::sync::Arc;

use tool_runtime::tool;

/// A meeting.
#[derive(serde::Deserialize, schemars::JsonSchema)]
pub struct Meeting {
    /// What it is about.
    about: String,
}

/// Arrange a meeting.
#[tool]
pub async fn arrange(
    /// The meeting.
    meeting: Meeting,
    /// Day of the meeting.
    on: chrono::NaiveDate,
    /// Page of the meeting.
    page: url::Url,
    /// Number of the meeting.
    number: uuid::Uuid,
    /// Who comes.
    guest: Arc<str>,
) -> String {
    format!("{} {on} {page} {number} {guest}", meeting.about)
}

#[cfg(test)]
#[tokio::test]
async fn tool_registers_and_runs() {
    use tool_runtime::testing;

    let number = "67e55044-10b1-426f-9247-bb680e5fe0c8";
    testing::run::<arrange>(format!(
        r#"{{"meeting": {{"about": "tea"}}, "on": "2026-11-22", "page": "https://a.org/", "number": "{number}", "guest": "Ada"}}"#
    ))
    .await
    .assert_text(&format!("tea 2026-11-22 https://a.org/ {number} Ada"));
}
