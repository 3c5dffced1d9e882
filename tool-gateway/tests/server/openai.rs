//! A gateway before a server of Chat Completions.

use serde_json::{Value, json};
use tool_gateway::Gateway;
use tool_gateway::upstream::OpenAiUpstream;

use crate::lab::{Chat, Lab, Runs, call, registry, says, text};
use crate::test_script::TestScript;

/// A gateway before a script that plays a server of Chat Completions.
fn lab(turns: &Value) -> Lab {
    let script = TestScript::from_json(&json!({ "turns": turns }).to_string()).unwrap();
    let runs = Runs::default();
    let upstream = OpenAiUpstream::over(script.clone());
    let gateway = Gateway::new(registry(&runs), upstream)
        .with_deferred(["later"])
        .unwrap();
    Lab {
        app: gateway.router(),
        script,
        runs,
    }
}

/// Returns the requests that the upstream received.
fn chat_requests(lab: &Lab) -> Vec<Value> {
    let requests = lab.script.requests().into_iter();
    requests
        .map(|request| {
            assert_eq!(request.path, "/v1/chat/completions");
            request.json().unwrap()
        })
        .collect()
}

#[tokio::test]
async fn mixed_turns_are_resumed() {
    for is_stream in [false, true] {
        let mixed = says(&[text("I ask."), call("lookup", "a"), call("weather", "b")]);
        let lab = lab(&json!([mixed, says(&[text("Done.")])]));
        let mut chat = Chat::new(is_stream);
        let reply = chat.say(&lab, "go").await;
        assert_eq!(reply.shape(), ["text", "weather"], "{}", reply.message);
        assert_eq!(lab.runs.ended(), ["lookup a"]);
        let resumed = chat.answer(&lab, &reply).await;
        assert_eq!(resumed.text(), "Done.");
        let requests = chat_requests(&lab);
        let messages = requests.last().unwrap()["messages"].clone();
        let roles: Vec<_> = messages
            .as_array()
            .unwrap()
            .iter()
            .map(|message| message["role"].clone())
            .collect();
        assert_eq!(roles, ["user", "assistant", "tool", "tool"], "{messages:#}");
        assert_eq!(messages[2]["content"], "lookup of a");
        assert_eq!(messages[3]["content"], "from the client");
    }
}
