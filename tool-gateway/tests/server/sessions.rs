//! Recognition of sessions: changes by clients do not lose a session, and no client resumes a session of another.

use serde_json::{Map, Value, json};
use tool_gateway::Gateway;
use tool_gateway::session::file::FileStore;

use crate::lab::{Chat, Lab, assistant, call, result, says, text, thinking, user};

/// Builds a mixed turn, its end, and another turn.
fn script() -> Value {
    json!([
        says(&[thinking("s0"), text("One."), call("lookup", "a")]),
        says(&[
            text("Then."),
            json!({ "type": "tool_use", "id": "up_b", "name": "weather", "input": { "x": 1.0, "big": 12_345_678_901_234_567_890_u64, "e": 100.0, "none": null } }),
        ]),
        says(&[thinking("s1"), text("Two.")]),
        says(&[text("Three.")]),
    ])
}

/// Applies a change to every object in a value, the innermost first.
fn objects(value: &mut Value, change: &mut dyn FnMut(&mut Map<String, Value>)) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(|value| objects(value, change));
            change(fields);
        }
        Value::Array(items) => items.iter_mut().for_each(|item| objects(item, change)),
        _ => {}
    }
}

fn of_type(fields: &Map<String, Value>, kind: &str) -> bool {
    fields.get("type").is_some_and(|found| found == kind)
}

/// Joins the neighbouring texts of the model's messages. Thinking is dropped.
fn join_texts(messages: &mut Value, seam: &str) {
    for message in messages.as_array_mut().unwrap() {
        if let (true, Value::Array(blocks)) = (message["role"] == "assistant", &mut message["content"]) {
            let mut joined: Vec<Value> = Vec::new();
            for block in std::mem::take(blocks) {
                match (joined.last_mut(), block["type"].as_str()) {
                    (Some(last), Some("text")) if last["type"] == "text" => {
                        let texts = [&last["text"], &block["text"]].map(|text| text.as_str().unwrap());
                        last["text"] = texts.join(seam).into();
                    }
                    (_, Some("thinking")) => {}
                    _ => joined.push(block),
                }
            }
            *blocks = joined;
        }
    }
}

/// Changes that a client makes to its messages.
type Drift = fn(&mut Value);

/// Observed changes.
const DRIFTS: [(&str, Drift); 17] = [
    ("nothing", |_| {}),
    ("keys sorted", |messages| {
        objects(messages, &mut |fields| {
            let mut sorted: Vec<_> = std::mem::take(fields).into_iter().collect();
            sorted.sort_by(|left, right| left.0.cmp(&right.0));
            *fields = sorted.into_iter().collect();
        });
    }),
    ("nulls added", |messages| {
        objects(messages, &mut |fields| {
            if of_type(fields, "text") {
                fields.insert("citations".to_owned(), Value::Null);
            }
            if of_type(fields, "tool_use") {
                fields.insert("caller".to_owned(), Value::Null);
                fields.insert("toolset_name".to_owned(), Value::Null);
            }
        });
    }),
    ("strings became blocks", |messages| {
        for message in messages.as_array_mut().unwrap() {
            if let Value::String(string) = &message["content"] {
                message["content"] = json!([text(string)]);
            }
        }
    }),
    ("is_error: false added", |messages| {
        objects(messages, &mut |fields| {
            if of_type(fields, "tool_result") {
                fields.insert("is_error".to_owned(), false.into());
            }
        });
    }),
    ("result content became blocks", |messages| {
        objects(messages, &mut |fields| {
            if of_type(fields, "tool_result") {
                let content = fields["content"].as_str().map(|content| json!([text(content)]));
                if let Some(content) = content {
                    fields.insert("content".to_owned(), content);
                }
            }
        });
    }),
    ("cache_control on the last block", |messages| {
        let last = messages.as_array_mut().unwrap().last_mut().unwrap();
        if let Some(block) = last["content"]
            .as_array_mut()
            .and_then(|content| content.last_mut())
        {
            block["cache_control"] = json!({ "type": "ephemeral", "ttl": "1h" });
        }
    }),
    ("a system message after the first", |messages| {
        messages
            .as_array_mut()
            .unwrap()
            .insert(1, json!({ "role": "system", "content": "Remember." }));
    }),
    ("numbers as JavaScript writes them", |messages| {
        let written = messages.to_string().replace("1.0", "1").replace("100.0", "100");
        *messages =
            serde_json::from_str(&written.replace("12345678901234567890", "12345678901234567000")).unwrap();
    }),
    ("thinking dropped", |messages| {
        for message in messages.as_array_mut().unwrap() {
            if let Value::Array(blocks) = &mut message["content"] {
                blocks.retain(|block| block["type"] != "thinking");
            }
        }
    }),
    ("empty texts added", |messages| {
        for message in messages.as_array_mut().unwrap() {
            if let (true, Value::Array(blocks)) = (message["role"] == "assistant", &mut message["content"]) {
                blocks.insert(0, text(""));
            }
        }
    }),
    ("texts joined", |messages| join_texts(messages, "")),
    ("texts joined by a blank line", |messages| {
        join_texts(messages, "\n\n");
    }),
    ("answers of texts became strings", |messages| {
        join_texts(messages, "\n");
        for message in messages.as_array_mut().unwrap() {
            let texts = message["content"].as_array().filter(|blocks| blocks.len() == 1);
            let string = texts.map_or(Value::Null, |blocks| blocks[0]["text"].clone());
            if message["role"] == "assistant" && string.is_string() {
                message["content"] = string;
            }
        }
    }),
    ("texts split, with other space at their ends", |messages| {
        for message in messages.as_array_mut().unwrap() {
            if let (true, Value::Array(blocks)) = (message["role"] == "assistant", &mut message["content"]) {
                let split =
                    std::mem::take(blocks)
                        .into_iter()
                        .flat_map(|block| match block["text"].as_str() {
                            Some(string) if string.len() > 1 => {
                                let (left, right) = string.split_at(1);
                                vec![text(&format!("\n{left} ")), text(&format!("{right}\u{a0}"))]
                            }
                            _ => vec![block],
                        });
                *blocks = split.collect();
            }
        }
    }),
    ("messages split by block", |messages| {
        let split = messages
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|message| match &message["content"] {
                Value::Array(blocks) => {
                    let role = &message["role"];
                    blocks
                        .iter()
                        .map(|block| json!({ "role": role, "content": [block] }))
                        .collect::<Vec<_>>()
                }
                _ => vec![message.clone()],
            });
        *messages = split.collect();
    }),
    ("re-serialised with nulls everywhere", |messages| {
        objects(messages, &mut |fields| {
            if fields.contains_key("type") && !of_type(fields, "ephemeral") {
                fields.insert("cache_control".to_owned(), Value::Null);
                fields.insert("added".to_owned(), Value::Null);
            }
        });
    }),
];

#[tokio::test]
async fn changes_by_clients_keep_session_and_transcript() {
    for is_stream in [false, true] {
        for (name, drift) in DRIFTS {
            let lab = Lab::new(script());
            let mut chat = Chat::new(is_stream);
            let first = chat.say(&lab, "go").await;
            chat.messages()
                .push(user(json!([result(&first.ids()[0], "rain")])));
            drift(&mut chat.body["messages"]);
            let second = chat.ask(&lab).await;
            assert_eq!(second.text(), "Two.", "{name}");
            assert_eq!(
                second.session(),
                (first.session().0, "minted".to_owned()),
                "{name}"
            );
            let sent = lab.last_seen().to_string();
            assert!(
                sent.contains("lookup of a") && sent.contains("\"s0\"") && sent.contains("up_b"),
                "{name}: {sent}"
            );
            chat.messages().push(assistant(second.message["content"].clone()));
            chat.messages().push(user(json!([text("and then?")])));
            drift(&mut chat.body["messages"]);
            let third = chat.ask(&lab).await;
            assert_eq!(
                third.session(),
                (first.session().0, "minted".to_owned()),
                "{name}"
            );
            let sent = lab.last_seen().to_string();
            assert!(
                sent.contains("lookup of a") && sent.contains("\"s0\"") && sent.contains("\"s1\""),
                "{name}: {sent}"
            );
            lab.assert_well_formed_without_systems();
        }
    }
}

/// R-GW-2
#[tokio::test]
async fn a_session_without_minted_ids_is_found_by_its_history_after_every_drift() {
    for (name, drift) in DRIFTS {
        let lab = Lab::in_order(json!([
            says(&[thinking("s0"), text("One."), call("lookup", "a")]),
            says(&[text("Two.")]),
            says(&[text("Three.")]),
        ]));
        let mut chat = Chat::new(true);
        let first = chat.say(&lab, "go").await;
        assert_eq!(first.session().1, "new");
        chat.messages().push(user("next"));
        drift(&mut chat.body["messages"]);
        assert_eq!(
            chat.ask(&lab).await.session(),
            (first.session().0, "chain".to_owned()),
            "{name}"
        );
        assert!(lab.last_seen().to_string().contains("lookup of a"), "{name}");
    }
}

/// R-GW-4
#[tokio::test]
async fn passed_turns_are_found_by_their_history() {
    for is_stream in [false, true] {
        let lab = Lab::new(script());
        let mut chat = Chat::new(is_stream);
        chat.body["tools"] = json!([{ "name": "weather", "input_schema": { "type": "object" } }]);
        let first = chat.say(&lab, "go").await;
        let second = chat.say(&lab, json!([result("up_a", "x")])).await;
        assert_eq!(second.session(), (first.session().0, "chain".to_owned()));
    }
}

#[tokio::test]
async fn principals_with_the_same_history_have_their_own_sessions() {
    let lab = Lab::new(script());
    let mut ada = Chat::new(true);
    ada.headers = vec![("x-api-key", "ada".to_owned())];
    let first = ada.say(&lab, "go").await;
    // Another principal sends Ada's messages, including her ids.
    let mut bo = ada.clone();
    bo.headers = vec![("x-api-key", "bo".to_owned())];
    let results = json!([result(&first.ids()[0], "rain")]);
    let stolen = bo.say(&lab, results.clone()).await;
    assert_eq!(stolen.session().1, "new");
    assert_ne!(stolen.session().0, first.session().0);
    let sent = lab.last_seen();
    assert!(!sent.to_string().contains("lookup of a"), "{sent}");
    assert_eq!(
        sent["messages"].to_string(),
        json!(bo.body["messages"].as_array().unwrap()[..3]).to_string(),
        "as sent"
    );
    // Ada continues.
    assert_eq!(
        ada.say(&lab, results).await.session(),
        (first.session().0, "minted".to_owned())
    );
}

#[tokio::test]
async fn a_key_of_the_client_may_change_its_text_but_not_its_name() {
    let script_text = json!({ "turns": script() });
    let lab = Lab::with(script_text, |gateway| {
        gateway
            .with_client_key("ada", "old")
            .with_client_key("ada", "new")
    });
    let mut chat = Chat::new(false);
    chat.headers = vec![("authorization", "Bearer old".to_owned())];
    let first = chat.say(&lab, "go").await;
    chat.headers = vec![("x-api-key", "new".to_owned())];
    assert_eq!(
        chat.answer(&lab, &first).await.session(),
        (first.session().0, "minted".to_owned())
    );
}

#[tokio::test]
async fn edited_answer_is_forwarded_unchanged() {
    let lab = Lab::new(json!([
        says(&[text("One."), call("lookup", "a")]),
        says(&[text("Two.")]),
        says(&[text("Three.")])
    ]));
    let mut chat = Chat::new(false);
    let first = chat.say(&lab, "go").await;
    chat.messages()[1] = assistant("One. And more.");
    let second = chat.say(&lab, "next").await;
    assert_ne!(second.session().0, first.session().0);
    assert_eq!(second.session().1, "new");
    assert_eq!(
        lab.last_seen()["messages"],
        json!(chat.body["messages"].as_array().unwrap()[..3])
    );
}

#[tokio::test]
async fn an_edited_question_in_front_of_a_suspended_turn_restores_that_turn_and_nothing_before_it() {
    let lab = Lab::in_order(json!([
        says(&[text("Zero."), call("lookup", "z")]),
        says(&[text("One.")]),
        says(&[call("lookup", "a"), call("weather", "b")]),
        says(&[text("Two.")]),
    ]));
    let mut chat = Chat::new(true);
    chat.say(&lab, "go").await;
    let suspended = chat.say(&lab, "on").await;
    chat.messages()[0] = user("go, edited");
    let reply = chat.answer(&lab, &suspended).await;
    assert_eq!(reply.session(), (suspended.session().0, "minted".to_owned()));
    let sent = lab.last_seen();
    assert!(!sent.to_string().contains("lookup of z"), "{sent}");
    assert!(
        sent.to_string().contains("lookup of a") && sent.to_string().contains("up_b"),
        "{sent}"
    );
    assert_eq!(sent["messages"][0], user("go, edited"));
    lab.assert_well_formed();
}

#[tokio::test]
async fn an_edit_between_a_known_turn_and_a_suspended_one_loses_neither_results_nor_state() {
    let mut write = call("TodoWrite", "w");
    write["input"] =
        json!({ "todos": [{ "content": "Keep me", "status": "pending", "activeForm": "Keeping" }] });
    let mut read = call("TodoRead", "r");
    read["input"] = json!({});
    let lab = Lab::in_order(json!([
        says(&[text("One.")]),
        says(&[write, call("lookup", "a"), call("weather", "b")]),
        says(&[read]),
        says(&[text("Two.")]),
    ]));
    let mut chat = Chat::new(true);
    chat.say(&lab, "go").await;
    let suspended = chat.say(&lab, "on").await;
    chat.messages()[2] = user("on, edited");
    let reply = chat.answer(&lab, &suspended).await;
    assert_eq!(
        (reply.text(), reply.session().1),
        ("Two.".to_owned(), "minted".to_owned())
    );
    let sent = lab.last_seen().to_string();
    assert!(
        sent.contains("lookup of a") && sent.contains("on, edited"),
        "{sent}"
    );
    assert_eq!(sent.matches("Keep me").count(), 2, "written, and read: {sent}");
    lab.assert_well_formed();
}

#[tokio::test]
async fn edited_suspended_turn_is_forwarded_unchanged() {
    let lab = Lab::new(json!([
        says(&[text("One."), call("lookup", "a"), call("weather", "b")]),
        says(&[text("Two.")])
    ]));
    let mut chat = Chat::new(true);
    let first = chat.say(&lab, "go").await;
    chat.messages()[1]["content"][1]["input"]["key"] = "edited".into();
    let reply = chat.answer(&lab, &first).await;
    assert_eq!(reply.session(), (first.session().0, "minted".to_owned()));
    let sent = lab.last_seen();
    assert_eq!(
        sent["messages"],
        json!(chat.body["messages"].as_array().unwrap()[..3])
    );
    lab.assert_well_formed();
}

/// Claude Code adds the defaults of its schema to the calls that it echoes.
#[tokio::test]
async fn defaults_that_a_client_adds_to_its_calls_keep_the_internal_calls() {
    for is_stream in [false, true] {
        let lab = Lab::in_order(json!([
            says(&[text("One."), call("lookup", "a"), call("edit", "b")]),
            says(&[text("Two."), call("lookup", "c"), call("edit", "d")]),
            says(&[text("Three.")]),
            says(&[text("Four.")]),
            says(&[text("Five.")]),
        ]));
        let mut chat = Chat::new(is_stream);
        let schema =
            json!({ "type": "object", "properties": { "all": { "type": "boolean", "default": false } } });
        let tools = chat.body["tools"].as_array_mut().unwrap();
        tools.push(json!({ "name": "edit", "input_schema": schema }));
        let mut reply = chat.say(&lab, "go").await;
        for _ in 0..2 {
            let echo = chat.messages().last_mut().unwrap()["content"]
                .as_array_mut()
                .unwrap();
            echo.last_mut().unwrap()["input"]["all"] = false.into();
            reply = chat.answer(&lab, &reply).await;
        }
        assert_eq!(reply.text(), "Three.");
        chat.say(&lab, "on").await;
        let sent = lab.last_seen().to_string();
        assert!(
            sent.contains("lookup of a") && sent.contains("lookup of c"),
            "{sent}"
        );
        assert!(
            !sent.contains("\"all\":false}"),
            "the model sent no default: {sent}"
        );
        lab.assert_well_formed();
        lab.assert_one_prefix();
        // Another value is an edit.
        let edited = chat.messages()[1]["content"].as_array_mut().unwrap();
        edited.last_mut().unwrap()["input"]["all"] = true.into();
        chat.say(&lab, "on").await;
        assert!(!lab.last_seen().to_string().contains("lookup of a"));
    }
}

#[tokio::test]
async fn truncated_and_compacted_histories_go_up_as_they_were_sent() {
    let lab = Lab::in_order(json!([
        says(&[text("One."), call("lookup", "a")]),
        says(&[text("Two.")]),
        says(&[text("Three.")]),
        says(&[text("Four.")]),
        says(&[text("Five.")]),
    ]));
    let mut chat = Chat::new(false);
    let first = chat.say(&lab, "go").await;
    chat.say(&lab, "next").await;
    // The history is compacted: a summary replaces all messages.
    let mut compacted = Chat::new(false);
    compacted
        .messages()
        .extend([user("A summary."), assistant("I see.")]);
    let reply = compacted.say(&lab, "next").await;
    assert_eq!(reply.session().1, "new");
    assert_eq!(
        lab.last_seen()["messages"],
        json!(compacted.body["messages"].as_array().unwrap()[..3])
    );
    // The beginning is missing.
    let mut truncated = chat.clone();
    truncated.messages().drain(..2);
    let reply = truncated.say(&lab, "more").await;
    assert_eq!(reply.session().1, "new");
    assert!(!lab.last_seen().to_string().contains("lookup of a"));
    // Undone to the first answer: a branch of the session.
    chat.messages().truncate(2);
    let reply = chat.say(&lab, "otherwise").await;
    assert_eq!(reply.session(), (first.session().0, "chain".to_owned()));
    assert!(lab.last_seen().to_string().contains("lookup of a"));
    lab.assert_well_formed();
}

#[tokio::test]
async fn branches_from_one_suspended_turn_do_not_see_each_other() {
    let lab = Lab::in_order(json!([
        says(&[call("lookup", "a"), call("weather", "b")]),
        says(&[text("Left."), call("lookup", "l")]),
        says(&[text("left")]),
        says(&[text("Right."), call("lookup", "r")]),
        says(&[text("right")]),
        says(&[text("more")]),
        says(&[text("more")]),
    ]));
    let mut left = Chat::new(true);
    let first = left.say(&lab, "go").await;
    let mut right = left.clone();
    let id = &first.ids()[0];
    left.say(&lab, json!([result(id, "sun")])).await;
    right.say(&lab, json!([result(id, "rain")])).await;
    left.say(&lab, "and?").await;
    let sent = lab.last_seen().to_string();
    assert!(
        sent.contains("lookup of l") && !sent.contains("lookup of r") && !sent.contains("rain"),
        "{sent}"
    );
    right.say(&lab, "and?").await;
    let sent = lab.last_seen().to_string();
    assert!(
        sent.contains("lookup of r") && !sent.contains("lookup of l") && !sent.contains("sun"),
        "{sent}"
    );
    lab.assert_well_formed();
}

/// Two users send and see equal messages, but the tool's results differed.
fn two_finds() -> Lab {
    Lab::in_order(json!([
        says(&[call("lookup", "ada")]),
        says(&[text("Found.")]),
        says(&[call("lookup", "bo")]),
        says(&[text("Found.")]),
        says(&[text("Next.")]),
        says(&[text("Last.")]),
    ]))
}

#[tokio::test]
async fn one_visible_history_with_two_hidden_ones_resumes_neither() {
    let lab = two_finds();
    let (mut ada, mut bo) = (Chat::new(false), Chat::new(false));
    let first = ada.say(&lab, "find me").await;
    let second = bo.say(&lab, "find me").await;
    let reply = ada.say(&lab, "and?").await;
    assert_eq!(reply.session().1, "new");
    assert!(![first.session().0, second.session().0].contains(&reply.session().0));
    let sent = lab.last_seen();
    assert!(!sent.to_string().contains("lookup of"), "{sent}");
    assert_eq!(
        sent["messages"],
        json!(ada.body["messages"].as_array().unwrap()[..3])
    );
    // A separate session from there.
    let last = ada.say(&lab, "and now?").await;
    assert_eq!(last.session(), (reply.session().0, "chain".to_owned()));
    assert!(!lab.last_seen().to_string().contains("lookup of"));
    lab.assert_one_prefix_of(4);
}

#[tokio::test]
async fn keys_of_the_client_distinguish_sessions_with_one_history() {
    let lab = two_finds();
    let (mut ada, mut bo) = (Chat::new(true), Chat::new(true));
    ada.headers = vec![("x-claude-code-session-id", "11".to_owned())];
    let user_id = json!({ "device_id": "d", "account_uuid": "a", "session_id": "22" }).to_string();
    bo.body["metadata"] = json!({ "user_id": user_id });
    let first = ada.say(&lab, "find me").await;
    let second = bo.say(&lab, "find me").await;
    assert_eq!(
        ada.say(&lab, "and?").await.session(),
        (first.session().0, "key".to_owned())
    );
    let sent = lab.last_seen().to_string();
    assert!(
        sent.contains("lookup of ada") && !sent.contains("lookup of bo"),
        "{sent}"
    );
    assert_eq!(
        bo.say(&lab, "and?").await.session(),
        (second.session().0, "key".to_owned())
    );
    let sent = lab.last_seen().to_string();
    assert!(
        sent.contains("lookup of bo") && !sent.contains("lookup of ada"),
        "{sent}"
    );
}

#[tokio::test]
async fn a_thread_is_a_session_key() {
    let lab = Lab::in_order(json!([says(&[text("One.")]), says(&[text("Two.")])]));
    let mut chat = Chat::new(false);
    chat.body["thread"] = json!("thread-7");
    let first = chat.say(&lab, "go").await;
    chat.body["system"] = json!("Another prompt.");
    let second = chat.say(&lab, "and?").await;
    assert_eq!(second.session(), (first.session().0, "key".to_owned()));
}

#[tokio::test]
async fn a_key_finds_the_session_but_resumes_no_other_history() {
    let lab = Lab::in_order(json!([
        says(&[text("One."), call("lookup", "a")]),
        says(&[text("Two.")]),
        says(&[text("Three.")]),
        says(&[text("Four.")]),
    ]));
    let mut chat = Chat::new(false);
    chat.headers = vec![("x-claude-code-session-id", "11".to_owned())];
    let first = chat.say(&lab, "go").await;
    // Compacted.
    let mut compacted = Chat::new(false);
    compacted.headers = chat.headers.clone();
    compacted
        .messages()
        .extend([user("A summary."), assistant("I see.")]);
    let reply = compacted.say(&lab, "next").await;
    assert_eq!(reply.session(), (first.session().0, "key".to_owned()));
    assert_eq!(
        lab.last_seen()["messages"],
        json!(compacted.body["messages"].as_array().unwrap()[..3])
    );
    // The key of another principal finds no session.
    chat.headers.push(("x-api-key", "bo".to_owned()));
    assert_eq!(chat.say(&lab, "next").await.session().1, "new");
}

#[tokio::test]
async fn user_id_without_a_session_is_not_a_key() {
    let lab = Lab::in_order(json!([says(&[text("One.")]), says(&[text("Two.")])]));
    let mut chat = Chat::new(false);
    chat.body["metadata"] = json!({ "user_id": "user-1" });
    let one = chat.say(&lab, "go").await;
    let mut other = Chat::new(false);
    other.body["metadata"] = json!({ "user_id": "user-1" });
    let two = other.say(&lab, "hello").await;
    assert_eq!(two.session().1, "new");
    assert_ne!(one.session().0, two.session().0);
}

#[tokio::test]
async fn another_system_prompt_or_other_tools_keep_a_session_with_minted_ids() {
    for change in [0, 1] {
        let lab = Lab::new(script());
        let mut chat = Chat::new(true);
        chat.body["system"] = "one".into();
        let first = chat.say(&lab, "go").await;
        match change {
            0 => chat.body["system"] = "two".into(),
            _ => drop(chat.body["tools"].as_array_mut().unwrap().pop()),
        }
        let second = chat.answer(&lab, &first).await;
        assert_eq!(second.session(), (first.session().0, "minted".to_owned()));
        assert!(lab.last_seen().to_string().contains("lookup of a"));
        lab.assert_well_formed();
    }
}

/// Builds a hidden round, and answers.
fn hidden_round() -> Value {
    json!([
        says(&[call("lookup", "a")]),
        says(&[text("One.")]),
        says(&[text("Two.")]),
        says(&[text("Three.")]),
        says(&[text("Four.")]),
    ])
}

/// Some chat interfaces have a clock in the system prompt.
#[tokio::test]
async fn a_history_is_found_although_system_prompt_or_tools_have_changed() {
    for change in [0, 1, 2] {
        let lab = Lab::in_order(hidden_round());
        let mut chat = Chat::new(true);
        let vary = |chat: &mut Chat, turn: usize| match change {
            0 => chat.body["system"] = format!("It is {turn} o'clock.").into(),
            1 => {
                let tool = json!({ "name": format!("more{turn}"), "input_schema": { "type": "object" } });
                chat.body["tools"].as_array_mut().unwrap().push(tool);
            }
            // The first and the third turn have one context; the third turn must not lose the second.
            _ => chat.body["system"] = format!("{}", turn % 2).into(),
        };
        vary(&mut chat, 0);
        let first = chat.say(&lab, "go").await;
        assert_eq!(first.session().1, "new");
        for turn in 1..4 {
            vary(&mut chat, turn);
            let next = chat.say(&lab, "next").await;
            assert_eq!(
                next.session(),
                (first.session().0, "history".to_owned()),
                "{change} {turn}"
            );
            let sent = lab.last_seen()["messages"].clone();
            assert!(sent.to_string().contains("lookup of a"), "{sent}");
            // A request of the same context is found by it.
            assert_eq!(sent.as_array().unwrap().len(), 3 + 2 * turn, "{sent}");
        }
        lab.assert_well_formed();
        lab.assert_one_prefix();
    }
}

/// Change between the first request of a client and the second.
type ChatChange = fn(&mut Chat);

#[tokio::test]
async fn a_history_in_another_context_is_found_only_with_its_tools_and_without_doubt() {
    let title = |chat: &mut Chat| drop(chat.body.as_object_mut().unwrap().shift_remove("tools"));
    let rows: [(&str, ChatChange); 6] = [
        ("a clock", |_| {}),
        ("a title: no tools", title),
        ("without the tool that was called", |chat| {
            chat.body["tools"].as_array_mut().unwrap().remove(0);
        }),
        ("another client", |chat| {
            chat.headers.push(("x-api-key", "bo".to_owned()));
        }),
        ("a key of another session", |chat| {
            chat.body["thread"] = "other".into();
        }),
        ("an answer of someone else", |chat| {
            chat.messages().extend([user("?"), assistant("I see.")]);
        }),
    ];
    for (name, change) in rows {
        let lab = Lab::in_order(hidden_round());
        let mut chat = Chat::new(false);
        chat.body["system"] = "one".into();
        let first = chat.say(&lab, "go").await;
        chat.body["system"] = "two".into();
        change(&mut chat);
        let second = chat.say(&lab, "next").await;
        let is_found = name == "a clock";
        assert_eq!(
            second.session().1,
            if is_found { "history" } else { "new" },
            "{name}"
        );
        assert_eq!(second.session().0 == first.session().0, is_found, "{name}");
        if !is_found {
            let mut sent = chat.body["messages"].clone();
            sent.as_array_mut().unwrap().pop();
            assert_eq!(lab.last_seen()["messages"], sent, "{name}");
        }
    }
    // Two sessions with one visible history, in two contexts.
    let lab = two_finds();
    let mut chats = ["ada", "bo"].map(|name| {
        let mut chat = Chat::new(false);
        chat.body["system"] = name.into();
        chat
    });
    for chat in &mut chats {
        chat.say(&lab, "find me").await;
    }
    let [mut ada, mut bo] = chats;
    bo.body["system"] = "other".into();
    assert_eq!(bo.say(&lab, "and?").await.session().1, "new");
    assert!(!lab.last_seen().to_string().contains("lookup of"));
    assert_eq!(ada.say(&lab, "and?").await.session().1, "chain");
    // No hidden round, and the setting.
    let turns = json!([says(&[text("One.")]), says(&[text("Two.")])]);
    for (turns, is_ignored) in [(turns, true), (hidden_round(), false)] {
        let script = json!({ "turns": turns, "order": "requests" });
        let lab = Lab::with(script, |gateway| gateway.with_ignore_context(is_ignored));
        let mut chat = Chat::new(false);
        chat.body["system"] = "one".into();
        chat.say(&lab, "go").await;
        chat.body["system"] = "two".into();
        assert_eq!(chat.say(&lab, "next").await.session().1, "new");
    }
}

#[tokio::test]
async fn cache_control_on_system_prompt_and_tools_is_ignored() {
    let lab = Lab::in_order(json!([
        says(&[call("lookup", "a")]),
        says(&[text("One.")]),
        says(&[text("Two.")])
    ]));
    let mut chat = Chat::new(true);
    chat.body["system"] = "one".into();
    let first = chat.say(&lab, "go").await;
    let mark = json!({ "type": "ephemeral" });
    chat.body["system"] = json!([{ "text": "one", "type": "text", "cache_control": mark }]);
    chat.body["tools"][6]["cache_control"] = mark;
    assert_eq!(
        chat.say(&lab, "next").await.session(),
        (first.session().0, "chain".to_owned())
    );
}

/// R-GW-3
#[tokio::test]
async fn unknown_history_is_forwarded_unchanged() {
    let lab = Lab::new(json!([
        says(&[text("no")]),
        says(&[text("no")]),
        says(&[text("Done.")])
    ]));
    let mut chat = Chat::new(true);
    chat.messages().extend([
        user(json!([text("a"), text("b")])),
        user("c"),
        assistant(
            json!([thinking("s"), { "id": "toolu_x", "type": "tool_use", "name": "weather", "input": {} }]),
        ),
        user(json!([result("toolu_x", "rain"), text("d")])),
        json!({ "role": "system", "content": [text("s")], "extra": 1 }),
        assistant("e"),
    ]);
    let reply = chat.say(&lab, "f").await;
    assert_eq!(reply.session().1, "new");
    assert_eq!(
        lab.last_seen()["messages"].to_string(),
        json!(chat.body["messages"].as_array().unwrap()[..7]).to_string()
    );
}

#[tokio::test]
async fn an_id_that_was_minted_here_finds_the_session_after_a_compacted_beginning() {
    let lab = Lab::in_order(json!([
        says(&[call("lookup", "a"), call("weather", "b")]),
        says(&[text("One.")]),
        says(&[text("Two.")]),
    ]));
    let mut chat = Chat::new(false);
    let first = chat.say(&lab, "go").await;
    chat.answer(&lab, &first).await;
    chat.messages()[0] = user("A summary.");
    let reply = chat.say(&lab, "next").await;
    assert_eq!(reply.session(), (first.session().0, "minted".to_owned()));
    lab.assert_well_formed();
}

#[tokio::test]
async fn a_suspended_turn_in_a_file_is_resumed_by_the_next_process() {
    let folder = std::env::temp_dir().join(format!("tool-gateway-resume-{}", std::process::id()));
    let turns = json!([
        says(&[
            thinking("s0"),
            text("One."),
            call("TodoWrite", "t"),
            call("weather", "b")
        ]),
        says(&[text("Two.")]),
        says(&[text("Three.")]),
    ]);
    let mut write = turns.clone();
    write[0]["content"][2]["input"] =
        json!({ "todos": [{ "content": "Ask", "status": "pending", "activeForm": "Asking" }] });
    let process = || {
        let store = FileStore::open(folder.join("sessions.redb")).unwrap();
        Lab::with(json!({ "turns": write }), |gateway| gateway.with_store(store))
    };
    let mut chat = Chat::new(true);
    let first = {
        let lab = process();
        chat.say(&lab, "go").await
    };
    let lab = process();
    let second = chat.answer(&lab, &first).await;
    assert_eq!(
        (second.text().as_str(), second.session()),
        ("Two.", (first.session().0, "minted".to_owned()))
    );
    lab.assert_well_formed();
    let sent = lab.last_seen()["messages"].to_string();
    assert!(
        sent.contains("\"s0\"") && sent.contains("\"name\":\"TodoWrite\""),
        "{sent}"
    );
    assert_eq!(
        chat.say(&lab, "next").await.session(),
        (first.session().0, "minted".to_owned())
    );
    drop(lab);
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn secret_of_the_gateway_counts_before_the_one_of_the_store() {
    let folder = std::env::temp_dir().join(format!("tool-gateway-secret-{}", std::process::id()));
    let process = |configure: fn(Gateway, FileStore) -> Gateway| {
        let store = FileStore::open(folder.join("sessions.redb")).unwrap();
        let script = json!({ "turns": [says(&[text("One.")])], "order": "requests" });
        Lab::with(script, |gateway| configure(gateway, store))
    };
    let mut chat = Chat::new(false);
    let session = {
        let lab = process(|gateway, store| gateway.with_secret([1; 32]).with_store(store));
        chat.say(&lab, "go").await.session().0
    };
    for (configure, is_found) in [
        (
            (|gateway, store| gateway.with_store(store).with_secret([1; 32])) as fn(Gateway, FileStore) -> _,
            true,
        ),
        (
            |gateway, store| gateway.with_store(store).with_secret([2; 32]),
            false,
        ),
        (|gateway, store| gateway.with_store(store), false),
    ] {
        let lab = process(configure);
        let mut chat = chat.clone();
        assert_eq!(chat.say(&lab, "again").await.session().0 == session, is_found);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// The session has expired, or the store was lost. A gateway with the same secret knows that the session has been there.
#[tokio::test]
async fn turn_of_an_own_id_that_is_not_in_the_store_is_lost() {
    let lab = |secret: u8, texts: &[&str]| {
        let turns: Vec<_> = texts.iter().map(|said| says(&[text(said)])).collect();
        let turns = [vec![says(&[call("weather", "b")])], turns].concat();
        let script = json!({ "turns": turns, "order": "requests" });
        Lab::with(script, |gateway| gateway.with_secret([secret; 32]))
    };
    let mut chat = Chat::new(false);
    let reply = chat.say(&lab(1, &[]), "go").await;
    let own = reply.ids().remove(0);
    assert_eq!(own.len(), "toolu_".len() + 22 + 4 + 6);
    let of_earlier_version = &own[..28];
    for (secret, id, expected) in [
        (1, own.as_str(), "lost"),
        (1, of_earlier_version, "new"),
        (2, &own, "new"),
    ] {
        let lab = lab(secret, &["Two."]);
        // The first response of the script is for another conversation.
        Chat::new(false).say(&lab, "other").await;
        let mut chat = chat.clone();
        let messages = Value::Array(chat.messages().clone()).to_string();
        let messages = messages.replace(&own, id);
        *chat.messages() = serde_json::from_str(&messages).unwrap();
        chat.messages()
            .push(json!({ "role": "user", "content": [result(id, "sunny")] }));
        let sent = Value::Array(chat.messages().clone());
        let answer = chat.ask(&lab).await;
        assert_eq!(
            (answer.text().as_str(), answer.session().1.as_str()),
            ("Two.", expected)
        );
        assert_eq!(
            lab.last_seen()["messages"],
            sent,
            "the messages are forwarded unchanged"
        );
    }
}

#[tokio::test]
async fn an_answer_with_other_space_or_unreadable_arguments_is_restored_by_its_ids() {
    let mut malformed = call("weather", "b");
    malformed["partial_json"] = "{'city': 'Paris'}".into();
    malformed.as_object_mut().unwrap().remove("input");
    let lab = Lab::in_order(json!([
        says(&[text("I look. "), call("write", "a"), malformed]),
        says(&[text("Two.")]),
        says(&[text("Three.")]),
    ]));
    let mut chat = Chat::new(true);
    let reply = chat.say(&lab, "go").await;
    // Like some clients, this one trims texts, and wraps arguments that are not JSON.
    chat.messages()[1]["content"][0]["text"] = "I look.".into();
    chat.messages()[1]["content"][1]["input"] = json!({ "INVALID_JSON": "{'city': 'Paris'}" });
    let reply = chat.answer(&lab, &reply).await;
    assert_eq!(
        (reply.text().as_str(), reply.session().1.as_str()),
        ("Two.", "minted")
    );
    assert!(lab.last_seen()["messages"].to_string().contains("write of a"));
    // Also in later requests.
    assert_eq!(chat.say(&lab, "next").await.text(), "Three.");
    assert!(lab.last_seen()["messages"].to_string().contains("write of a"));
    lab.assert_well_formed();
    lab.assert_one_prefix();
}

/// Some chat interfaces store an answer as one string.
#[tokio::test]
async fn a_joined_answer_keeps_hidden_round_and_list_and_an_edited_one_does_not() {
    let mut write = call("TodoWrite", "w");
    write["input"] =
        json!({ "todos": [{ "content": "Keep me", "status": "pending", "activeForm": "Keeping" }] });
    let read = json!({ "type": "tool_use", "id": "up_r", "name": "TodoRead", "input": {} });
    for (answer, is_known) in [
        ("if x:\n    y Done.", true),
        ("if x:\n    yDone.", true),
        ("\u{feff}if x:\n    y\n\nDone.\n", true),
        // White space inside of a text, and other characters.
        ("if x:\n  y Done.", false),
        ("if x:\n    y Done", false),
        ("if x:\n    y done.", false),
    ] {
        let lab = Lab::in_order(json!([
            says(&[text("if x:\n    y"), write.clone()]),
            says(&[text("Done.")]),
            says(std::slice::from_ref(&read)),
            says(&[text("Three.")]),
            says(&[text("Four.")]),
        ]));
        let mut chat = Chat::new(false);
        let first = chat.say(&lab, "go").await;
        chat.messages()[1] = assistant(answer);
        let second = chat.say(&lab, "what is to do?").await;
        assert_eq!(second.session().0 == first.session().0, is_known, "{answer:?}");
        assert_eq!(
            second.session().1,
            if is_known { "chain" } else { "new" },
            "{answer:?}"
        );
        let sent = lab.last_seen()["messages"].to_string();
        assert_eq!(
            sent.matches("Keep me").count(),
            if is_known { 2 } else { 0 },
            "{sent}"
        );
        if !is_known {
            assert_eq!(
                lab.last_seen()["messages"][1],
                assistant(answer),
                "as it was sent"
            );
        }
        // Later messages are of an edited history, too.
        let third = chat.say(&lab, "and?").await;
        assert_eq!(
            third.session(),
            (second.session().0, "chain".to_owned()),
            "{answer:?}"
        );
        lab.assert_well_formed();
    }
}

#[tokio::test]
async fn a_mark_on_a_joined_text_belongs_to_its_last_block() {
    let lab = Lab::in_order(json!([
        says(&[text("One."), call("lookup", "a")]),
        says(&[text("Two."), call("weather", "b")]),
        says(&[text("Three.")]),
        says(&[text("Four.")]),
    ]));
    let mark = json!({ "type": "ephemeral" });
    let mut chat = Chat::new(true);
    let first = chat.say(&lab, "go").await;
    chat.messages()[1]["content"][0]["text"] = "One.\n\nTwo.".into();
    chat.messages()[1]["content"][0]["cache_control"] = mark.clone();
    chat.messages()[1]["content"].as_array_mut().unwrap().remove(1);
    chat.answer(&lab, &first).await;
    let sent = lab.last_seen();
    assert_eq!(sent["messages"][1]["content"][0], text("One."), "{sent}");
    assert_eq!(sent["messages"][3]["content"][0]["cache_control"], mark, "{sent}");
    assert_eq!(sent.to_string().matches("cache_control").count(), 1, "{sent}");
    // The mark is on the call after the text, and on both parts of one text.
    let call = &mut chat.messages()[1]["content"][1];
    call["cache_control"] = mark.clone();
    let third = &mut chat.messages()[3]["content"];
    *third = json!([{ "type": "text", "text": "Th", "cache_control": mark }, { "type": "text", "text": "ree.", "cache_control": mark }]);
    chat.messages()[1]["content"][0]
        .as_object_mut()
        .unwrap()
        .shift_remove("cache_control");
    chat.say(&lab, "next").await;
    let sent = lab.last_seen();
    assert_eq!(sent["messages"][3]["content"][1]["cache_control"], mark, "{sent}");
    let marked = json!([{ "type": "text", "text": "Three.", "cache_control": mark }]);
    assert_eq!(sent["messages"][5]["content"], marked, "{sent}");
    lab.assert_well_formed();
}

/// A subagent has the session id of its parent, but a separate history and list.
#[tokio::test]
async fn agents_of_one_session_have_their_own_lists_with_every_kind_of_key() {
    let write = |task: &str| {
        let todos = json!([{ "content": task, "status": "pending", "activeForm": task }]);
        json!({ "type": "tool_use", "id": "up_w", "name": "TodoWrite", "input": { "todos": todos } })
    };
    let read = || json!({ "type": "tool_use", "id": "up_r", "name": "TodoRead", "input": {} });
    for kind in ["header", "user_id", "thread"] {
        let lab = Lab::in_order(json!([
            says(&[write("of the parent")]),
            says(&[text("One.")]),
            says(&[read()]),
            says(&[write("of the agent")]),
            says(&[text("Two.")]),
            says(&[read()]),
            says(&[text("Three.")]),
            says(&[read()]),
            says(&[text("Four.")]),
        ]));
        let chat = |agent: Option<&str>| {
            let mut chat = Chat::new(true);
            match kind {
                "header" => chat.headers.push(("x-claude-code-session-id", "11".to_owned())),
                "user_id" => {
                    let user_id = json!({ "session_id": "11" }).to_string();
                    chat.body["metadata"] = json!({ "user_id": user_id });
                }
                _ => chat.body["thread"] = "11".into(),
            }
            let agent = agent.map(|agent| ("x-claude-code-agent-id", agent.to_owned()));
            chat.headers.extend(agent);
            chat
        };
        let seen = || lab.last_seen()["messages"].to_string();
        let parent = chat(None).say(&lab, "go").await;
        let agent = chat(Some("a")).say(&lab, "you are an agent").await;
        assert_eq!(agent.session().1, "new", "{kind}");
        assert_ne!(agent.session().0, parent.session().0, "{kind}");
        assert!(!seen().contains("of the parent"), "{kind}: {}", seen());
        // After a compaction, only the key finds the session.
        let mut compacted = chat(None);
        compacted
            .messages()
            .extend([user("A summary."), assistant("I see.")]);
        let reply = compacted.say(&lab, "what is to do?").await;
        assert_eq!(reply.session(), (parent.session().0, "key".to_owned()), "{kind}");
        assert!(
            seen().contains("of the parent") && !seen().contains("of the agent"),
            "{kind}: {}",
            seen()
        );
        let mut compacted = chat(Some("a"));
        compacted
            .messages()
            .extend([user("Another summary."), assistant("I see.")]);
        let reply = compacted.say(&lab, "what is to do?").await;
        assert_eq!(reply.session(), (agent.session().0, "key".to_owned()), "{kind}");
        assert!(
            seen().contains("of the agent") && !seen().contains("of the parent"),
            "{kind}: {}",
            seen()
        );
    }
}
