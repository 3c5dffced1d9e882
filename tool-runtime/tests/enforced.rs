//! Constraints in the definition are enforced, also where a Rust type would accept more.

#![allow(clippy::indexing_slicing, reason = "a test")]

use serde_json::json;
use tool_runtime::schemars::JsonSchema;
use tool_runtime::serde::{Deserialize, Serialize};
use tool_runtime::{testing, tool};

/// A value with a door at the back.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
struct Guarded {
    /// A number.
    single: f32,
    #[serde(default)]
    #[schemars(skip)]
    is_admin: bool,
}

/// Show the received value.
#[tool]
async fn guarded(
    /// The value.
    it: Guarded,
) -> Guarded {
    it
}

#[tokio::test]
async fn properties_outside_the_schema_are_hidden_from_types() {
    testing::run::<guarded>(r#"{"it":{"single":1,"is_admin":true}}"#)
        .await
        .assert_warnings(["unknown_property at /it/is_admin"])
        .assert_json(json!({ "single": 1.0, "is_admin": false }));
}

#[tokio::test]
async fn rejects_numbers_beyond_the_range_of_the_type() {
    for sent in ["1e300", "-1e39", "1e400"] {
        let refused = testing::run::<guarded>(format!("{{\"it\":{{\"single\":{sent}}}}}")).await;
        assert_eq!(refused.errors.len(), 1, "{sent}");
        assert_eq!(refused.errors[0].path, "/it/single");
    }
}

/// A type that would hold more than its schema allows.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
struct Lax(#[schemars(with = "i32")] i64);

/// Show the received value.
#[tool]
async fn lax(
    /// The value.
    it: Lax,
) -> Lax {
    it
}

#[tokio::test]
async fn enforces_the_schema_where_the_type_accepts_more() {
    testing::run::<lax>(r#"{"it":2147483647}"#)
        .await
        .assert_no_warnings()
        .assert_text("2147483647");
    for sent in ["2147483648", "-2147483649"] {
        testing::run::<lax>(format!(r#"{{"it":{sent}}}"#))
            .await
            .assert_refused(["integer_out_of_range at /it"]);
    }
}
