//! Answers of a server to the first request, from which the client learns the revision of the protocol.

use serde_json::{Map, Value, json};

use crate::adapt::revisions::{LEGACY, MODERN};

const METHOD_NOT_FOUND: i64 = -32601;
pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;

/// Other errors that only servers without a handshake have: headers that differ from the message, and a missing capability.
const MODERN_ERRORS: [i64; 2] = [-32020, -32021];

/// Rewrites the answer to `server/discover` so that `rmcp` decides by the rules of the transport. Over stdio, every error but an
/// unsupported version makes the client send `initialize`, and so does a server that only supports revisions with `initialize`. Over
/// HTTP, two more errors are errors of the connection.
pub(crate) fn discover_answer(answer: Map<String, Value>, is_http: bool) -> Map<String, Value> {
    let error = answer.get("error");
    let code = error.and_then(|error| error.get("code")).and_then(Value::as_i64);
    if is_http && code.is_some_and(|code| MODERN_ERRORS.contains(&code)) {
        return answer;
    }
    let supported = match code {
        Some(UNSUPPORTED_VERSION) => answer
            .get("error")
            .and_then(|error| error.get("data")?.get("supported")),
        _ => answer
            .get("result")
            .and_then(|result| result.get("supportedVersions")),
    };
    let supported: Vec<&str> = supported
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let is_legacy = supported.iter().any(|version| LEGACY.contains(version)) && !supported.contains(&MODERN);
    let is_modern = if error.is_some() {
        code == Some(UNSUPPORTED_VERSION)
    } else {
        !supported.is_empty()
    };
    if is_legacy || !is_modern {
        let text = "no revision without `initialize`";
        return with_value(
            answer,
            "error",
            json!({ "code": METHOD_NOT_FOUND, "message": text }),
        );
    }
    if error.is_some() {
        return answer;
    }
    let result = answer.get("result").unwrap_or(&Value::Null);
    let readable = json!({
        "resultType": "complete",
        "supportedVersions": supported,
        "capabilities": capabilities(result),
        "ttlMs": 0,
        "cacheScope": "private",
    });
    with_value(answer, "result", readable)
}

/// Rewrites the answer to `initialize` so that `rmcp` can read it, even if the server describes itself in another form than
/// the specification.
pub(crate) fn initialize_answer(answer: Map<String, Value>) -> Map<String, Value> {
    let Some(result) = answer.get("result") else {
        return answer;
    };
    let Some(version) = result.get("protocolVersion").and_then(Value::as_str) else {
        return answer;
    };
    let readable = json!({
        "protocolVersion": version,
        "capabilities": capabilities(result),
        "serverInfo": { "name": "", "version": "" },
    });
    with_value(answer, "result", readable)
}

/// Returns the only capability that the client uses.
fn capabilities(result: &Value) -> Value {
    let changes = result
        .pointer("/capabilities/tools/listChanged")
        .and_then(Value::as_bool);
    json!({ "tools": { "listChanged": changes == Some(true) } })
}

fn with_value(mut answer: Map<String, Value>, name: &str, value: Value) -> Map<String, Value> {
    answer.retain(|name, _| !matches!(name.as_str(), "result" | "error"));
    answer.insert(name.to_owned(), value);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(answer: Value) -> Option<i64> {
        let Value::Object(answer) = answer else {
            panic!("no object")
        };
        discover_answer(answer, false).get("error")?.get("code")?.as_i64()
    }

    #[test]
    fn initialize_follows_every_answer_but_one_of_a_modern_server() {
        for (answer, wanted) in [
            (json!({"result": {"supportedVersions": ["2026-07-28"]}}), None),
            (
                json!({"result": {"supportedVersions": ["2025-11-25", "2026-07-28"], "capabilities": 1}}),
                None,
            ),
            (json!({"result": {"supportedVersions": ["2027-01-01"]}}), None), // rmcp reports the versions
            (
                json!({"result": {"supportedVersions": ["2025-06-18"]}}),
                Some(-32601),
            ),
            (json!({"result": {}}), Some(-32601)),
            (json!({"error": {"code": -32601, "message": ""}}), Some(-32601)),
            (json!({"error": {"code": -32020, "message": ""}}), Some(-32601)),
            (json!({"error": {"code": -32021, "message": ""}}), Some(-32601)),
            (json!({"error": "no"}), Some(-32601)),
            (
                json!({"error": {"code": -32022, "data": {"supported": ["2026-07-28"]}}}),
                Some(-32022),
            ),
            (
                json!({"error": {"code": -32022, "data": {"supported": ["2027-01-01"]}}}),
                Some(-32022),
            ),
            (
                json!({"error": {"code": -32022, "data": {"supported": ["2025-11-25"]}}}),
                Some(-32601),
            ),
            (json!({"error": {"code": -32022}}), Some(-32022)),
        ] {
            assert_eq!(code(answer.clone()), wanted, "{answer}");
        }
    }

    #[test]
    fn errors_of_modern_servers_end_the_connection_over_http() {
        for (sent, wanted) in [(-32020, -32020), (-32021, -32021), (-32600, -32601)] {
            let answer = Map::from_iter([("error".to_owned(), json!({ "code": sent }))]);
            assert_eq!(discover_answer(answer, true)["error"]["code"], wanted);
        }
    }

    #[test]
    fn descriptions_of_a_server_in_another_form_are_no_error() {
        let answer = json!({"id": 1, "result": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {"listChanged": true}, "logging": 1},
            "serverInfo": "a string",
        }});
        let Value::Object(answer) = answer else {
            panic!("no object")
        };
        assert_eq!(
            Value::Object(initialize_answer(answer)),
            json!({"id": 1, "result": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {"listChanged": true}},
                "serverInfo": {"name": "", "version": ""},
            }})
        );
    }
}
