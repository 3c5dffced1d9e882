//! Requests to a server of Chat Completions whose profile differs from `generic`.

use serde_json::{Value, json};
use tool_gateway::Gateway;
use tool_gateway::upstream::OpenAiUpstream;
use tool_runtime::Policy;

use crate::lab::{Chat, Lab, Runs, registry};
use crate::openai_thinking::ThinkingServer;
use crate::test_script::TestScript;

fn lab(server: &ThinkingServer, profile: &str, configure: impl FnOnce(Gateway) -> Gateway) -> Lab {
    let runs = Runs::default();
    let upstream = OpenAiUpstream::over(server.clone())
        .with_profile(profile)
        .unwrap();
    let unused = json!({ "turns": [{ "content": [] }] }).to_string();
    Lab {
        app: configure(Gateway::new(registry(&runs), upstream)).router(),
        script: TestScript::from_json(&unused).unwrap(),
        runs,
    }
}

fn call(arguments: &str) -> Value {
    let function = json!({ "name": "Edit", "arguments": arguments });
    let call = json!({ "index": 0, "id": "call_1", "type": "function", "function": function });
    json!({ "tool_calls": [call] })
}

fn requests(server: &ThinkingServer) -> Vec<Value> {
    let requests = server.requests().into_iter();
    requests
        .map(|request| serde_json::from_str(&request).unwrap())
        .collect()
}

#[tokio::test]
async fn nulls_of_strict_tools_are_removed_for_the_client_alone() {
    for coercion in [Policy::Lossless, Policy::Strict] {
        for is_stream in [false, true] {
            let sent = r#"{"path": "a", "n": null, "items": [{"x": null}]}"#;
            let server = ThinkingServer::new([call(sent), json!({ "content": "Done." })]);
            let lab = lab(&server, "openai", |gateway| {
                gateway.with_client_coercion(coercion)
            });
            let mut chat = Chat::new(is_stream);
            let item = json!({ "type": "object", "properties": { "x": { "type": "string" } } });
            let schema = json!({
                "type": "object",
                "properties": { "path": { "type": "string" }, "n": { "type": "integer" }, "items": { "type": "array", "items": item } },
                "required": ["path"],
            });
            chat.body["tools"] = json!([{ "name": "Edit", "strict": true, "input_schema": schema }]);
            let reply = chat.say(&lab, "go").await;
            assert_eq!(
                reply.content()[0]["input"],
                json!({ "path": "a", "items": [{}] }),
                "{}",
                reply.message
            );
            assert_eq!(chat.answer(&lab, &reply).await.text(), "Done.");
            // The model sees its own arguments.
            let messages = server.last_messages();
            assert_eq!(messages[1]["tool_calls"][0]["function"]["arguments"], sent);
            let function = &requests(&server)[0]["tools"][0]["function"];
            assert_eq!(function["strict"], true);
            assert_eq!(function["parameters"]["required"], json!(["path", "n", "items"]));
        }
    }
}

#[tokio::test]
async fn prompt_cache_key_is_the_id_of_the_session() {
    let server = ThinkingServer::new([json!({ "content": "a" }), json!({ "content": "b" })]);
    let lab = lab(&server, "openai", |gateway| gateway);
    let mut chat = Chat::new(true);
    let (session, _) = chat.say(&lab, "go").await.session();
    assert_eq!(chat.say(&lab, "more").await.session().0, session);
    for request in requests(&server) {
        assert_eq!(request["prompt_cache_key"], session);
    }
}

#[tokio::test]
async fn more_stop_sequences_than_the_server_accepts_are_searched_in_the_text() {
    for is_stream in [false, true] {
        let server = ThinkingServer::new([json!({ "content": "a STOP b" }), json!({ "content": "c" })]);
        let lab = lab(&server, "generic", |gateway| gateway);
        let mut chat = Chat::new(is_stream);
        chat.body["stop_sequences"] = json!(["STOP", "1", "2", "3", "4"]);
        let reply = chat.say(&lab, "go").await;
        assert_eq!(reply.message["stop_sequence"], "STOP", "{}", reply.message);
        assert_eq!(
            (reply.stop_reason(), reply.text().as_str()),
            ("stop_sequence", "a ")
        );
        chat.say(&lab, "more").await;
        assert_eq!(server.last_messages()[1]["content"], "a ");
        assert!(
            requests(&server)
                .iter()
                .all(|request| request.get("stop").is_none())
        );
    }
}

#[tokio::test]
async fn a_forced_call_is_not_forced_after_internal_and_broken_rounds() {
    let internal = json!({ "tool_calls": [{ "index": 0, "id": "call_1", "type": "function",
        "function": { "name": "lookup", "arguments": "{\"key\": \"a\"}" } }] });
    for first in [internal, call("{n")] {
        for (profile, thinking) in [
            ("generic", Value::Null),
            ("deepseek", json!({ "type": "disabled" })),
        ] {
            let server = ThinkingServer::new([first.clone(), json!({ "content": "Done." })]);
            let lab = lab(&server, profile, |gateway| gateway);
            let mut chat = Chat::new(true);
            chat.body["tools"] =
                json!([{ "name": "lookup" }, { "name": "Edit", "input_schema": { "type": "object" } }]);
            chat.body["tool_choice"] = json!({ "type": "any" });
            assert_eq!(chat.say(&lab, "go").await.text(), "Done.");
            let requests = requests(&server);
            assert_eq!(requests[0]["tool_choice"], "required");
            assert_eq!(requests[0]["thinking"], thinking);
            assert_eq!(requests[1].get("tool_choice"), None, "{}", requests[1]);
        }
    }
}
