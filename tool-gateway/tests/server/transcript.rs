//! Views of a whole conversation: the upstream's requests, and the client's messages, one for each of its requests.

use std::iter;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use tool_gateway::session::file::FileStore;

use crate::clock::Clock;
use crate::failing_store::FailingStore;
use crate::lab::{Chat, Lab, assistant, call, result, says, text, thinking, user};
use crate::reply;

/// Builds internal, mixed and external rounds with thinking, over two turns.
fn long_script() -> Value {
    json!([
        says(&[thinking("s0"), text("One."), call("lookup", "a")]),
        says(&[
            thinking("s1"),
            call("lookup", "b"),
            call("weather", "c"),
            call("later", "d")
        ]),
        says(&[
            json!({ "type": "thinking", "thinking": "Hm…", "signature": "s2" }),
            text("Two.")
        ]),
        says(&[
            json!({ "type": "redacted_thinking", "data": "r3" }),
            call("write", "e")
        ]),
        says(&[thinking("s4"), text("Three.")]),
        says(&[text("Four.")]),
    ])
}

/// R-TURN-1
#[tokio::test]
async fn an_unchanged_conversation_has_one_prefix_byte_for_byte() {
    for is_stream in [false, true] {
        let lab = Lab::new(long_script());
        let mut chat = Chat::new(is_stream);
        let reply = chat.say(&lab, "go").await;
        chat.answer(&lab, &reply).await;
        assert_eq!(chat.say(&lab, "and then?").await.text(), "Three.");
        assert_eq!(
            chat.say(&lab, json!([text("and"), text("now?")])).await.text(),
            "Four."
        );
        assert_eq!(lab.seen().len(), 6);
        lab.assert_one_prefix();
        lab.assert_well_formed();
        // All other fields are equal, too.
        let rest: Vec<_> = lab
            .seen()
            .into_iter()
            .map(|mut body| body.as_object_mut().unwrap().remove("messages"))
            .collect();
        assert_eq!(rest.len(), 6);
        for pair in lab.seen().windows(2) {
            assert_eq!(pair[0]["tools"].to_string(), pair[1]["tools"].to_string());
        }
    }
}

#[tokio::test]
async fn thinking_is_restored_with_its_signature_if_the_client_drops_it() {
    for is_stream in [false, true] {
        let lab = Lab::new(long_script());
        let mut chat = Chat::new(is_stream);
        let reply = chat.say(&lab, "go").await;
        assert_eq!(reply.content()[0], thinking("s0"), "the client sees it");
        chat.answer(&lab, &reply).await;
        for message in chat.messages() {
            if let Some(blocks) = message["content"].as_array_mut() {
                blocks.retain(|block| block["type"] != "thinking");
            }
        }
        chat.say(&lab, "and then?").await;
        let sent = lab.last_seen().to_string();
        for signature in ["s0", "s1", "s2", "r3"] {
            assert!(sent.contains(&format!("\"{signature}\"")), "{signature}: {sent}");
        }
        assert!(
            sent.contains(r#"{"type":"thinking","thinking":"","signature":"s0"}"#),
            "{sent}"
        );
        lab.assert_one_prefix();
    }
}

#[tokio::test]
async fn arguments_keep_the_text_of_their_numbers_and_keys() {
    // The text is not parsed as `Value`, since the script has the exact text.
    let script = r#"{"turns": [
        {"content": [{"type": "tool_use", "id": "up_a", "name": "weather", "input": {"b": 1e2, "n": 12345678901234567890.0, "a": "\u00e9"}}]},
        {"content": [{"type": "text", "text": "Done."}]}
    ]}"#;
    for is_stream in [false, true] {
        let upstream = crate::test_script::TestScript::from_json(script).unwrap();
        let runs = crate::lab::Runs::default();
        let gateway = tool_gateway::Gateway::new(crate::lab::registry(&runs), upstream.clone());
        let lab = Lab {
            app: gateway.router(),
            script: upstream,
            runs,
        };
        let mut chat = Chat::new(is_stream);
        let reply = chat.say(&lab, "go").await;
        assert_eq!(chat.answer(&lab, &reply).await.text(), "Done.");
        let sent = lab.seen_messages().pop().unwrap();
        let expected = r#""input":{"b": 1e2, "n": 12345678901234567890.0, "a": "\u00e9"}"#;
        assert!(sent[1].contains(expected), "{}", sent[1]);
    }
}

#[tokio::test]
async fn blocks_of_unknown_types_keep_their_text() {
    let block = r#"{"type":"later_result","x":1.50,"y":1e999,"z":{"n" : 12345678901234567890.0}}"#;
    let script = format!(
        r#"{{"turns": [
            {{"content": [{block}, {{"type": "tool_use", "id": "up_a", "name": "lookup", "input": {{}}}}]}},
            {{"content": [{{"type": "text", "text": "Done."}}]}}
        ]}}"#
    );
    for is_stream in [false, true] {
        let upstream = crate::test_script::TestScript::from_json(&script).unwrap();
        let runs = crate::lab::Runs::default();
        let gateway = tool_gateway::Gateway::new(crate::lab::registry(&runs), upstream.clone());
        let lab = Lab {
            app: gateway.router(),
            script: upstream,
            runs,
        };
        let mut body = Chat::new(is_stream).body;
        body["messages"] = json!([user("go")]);
        let response = lab.send(crate::lab::post("/v1/messages", body, &[])).await;
        let shown = reply::bytes(response.into_body()).await;
        let shown = std::str::from_utf8(&shown).unwrap();
        assert!(shown.contains(block), "{shown}");
        let sent = lab.seen_messages().pop().unwrap();
        assert!(sent[1].contains(block), "{}", sent[1]);
    }
}

#[tokio::test]
async fn cache_control_is_that_of_the_current_request() {
    let mark = json!({ "type": "ephemeral" });
    for is_stream in [false, true] {
        let lab = Lab::new(long_script());
        let mut chat = Chat::new(is_stream);
        chat.body["system"] = json!([{ "type": "text", "text": "Be brief.", "cache_control": mark }]);
        let mut first = text("go");
        first["cache_control"] = mark.clone();
        let reply = chat.say(&lab, json!([first])).await;
        assert_eq!(lab.seen()[0]["messages"][0]["content"][0]["cache_control"], mark);
        // The mark is on the result, and no longer on the first text.
        chat.messages()[0] = user(json!([text("go")]));
        let mut answer = result(&reply.ids()[0], "rain");
        answer["cache_control"] = mark.clone();
        let second = chat.say(&lab, json!([answer])).await;
        assert_eq!(second.text(), "Two.");
        let sent = lab.last_seen();
        assert_eq!(sent.to_string().matches("cache_control").count(), 2, "{sent}");
        let results = &sent["messages"].as_array().unwrap().last().unwrap()["content"];
        assert_eq!(
            (&results[1]["tool_use_id"], &results[1]["cache_control"]),
            (&json!("up_c"), &mark)
        );
        // Now on visible blocks of the model: a text before a hidden round, and a call.
        chat.messages()[2] = user(json!([result(&reply.ids()[0], "rain")]));
        for block in chat.messages()[1]["content"].as_array_mut().unwrap() {
            if block["type"] != "thinking" {
                block["cache_control"] = mark.clone();
            }
        }
        chat.say(&lab, "and then?").await;
        let sent = lab.seen()[3].clone();
        assert_eq!(sent["messages"][1]["content"][1]["cache_control"], mark, "{sent}");
        assert_eq!(sent["messages"][3]["content"][2]["cache_control"], mark, "{sent}");
        assert_eq!(sent["messages"][3]["content"][2]["id"], "up_c");
        assert_eq!(sent.to_string().matches("cache_control").count(), 3, "{sent}");
        lab.assert_well_formed();
    }
}

/// R-GW-10
#[tokio::test]
async fn rounds_are_one_message_with_the_usage_of_all() {
    let usage = |n: u64| json!({ "input_tokens": n, "output_tokens": 10 * n, "cache_read_input_tokens": 100 * n, "service_tier": "standard" });
    let turn = |blocks: &[Value], n: u64| {
        let mut turn = says(blocks);
        turn["usage"] = usage(n);
        turn["id"] = format!("msg_{n}").into();
        turn["ping"] = true.into();
        turn
    };
    let script = json!([
        turn(
            &[
                thinking("s"),
                text("One."),
                call("lookup", "a"),
                call("write", "b")
            ],
            1
        ),
        turn(&[call("lookup", "c"), text("Two."), call("weather", "d")], 2),
        turn(&[text("Three.")], 4),
    ]);
    for is_stream in [false, true] {
        let lab = Lab::new(script.clone());
        let mut chat = Chat::new(is_stream);
        let reply = chat.say(&lab, "go").await;
        assert_eq!(reply.shape(), ["thinking", "text", "text", "weather"]);
        let expected = json!({ "input_tokens": 3, "output_tokens": 30, "cache_read_input_tokens": 300, "service_tier": "standard" });
        let mut usage = reply.message["usage"].clone();
        let iterations = usage.as_object_mut().unwrap().shift_remove("iterations").unwrap();
        assert_eq!(usage, expected);
        assert_eq!(iterations.as_array().unwrap().len(), 2);
        assert_eq!(
            (reply.message["id"].as_str(), reply.stop_reason()),
            (Some("msg_1"), "tool_use")
        );
        if is_stream {
            let events = reply::events(&reply.body);
            assert_eq!(events[0]["message"]["usage"]["input_tokens"], 1);
            let ends = events.iter().filter(|event| event["type"] == "message_delta");
            assert_eq!(ends.count(), 1);
        }
        // Rounds of a suspended turn count once.
        let reply = chat.answer(&lab, &reply).await;
        assert_eq!(reply.message["usage"]["input_tokens"], 4);
    }
}

/// R-GW-15
#[tokio::test(start_paused = true)]
async fn text_is_streamed_while_tools_run() {
    use axum::body::HttpBody as _;
    let lab = Lab::new(json!([
        says(&[text("One."), crate::lab::slow_call("lookup", "a", 300)]),
        says(&[text("Two.")])
    ]));
    let mut chat = Chat::new(true);
    chat.messages().push(user("go"));
    let response = lab.send(crate::lab::post("/v1/messages", &chat.body, &[])).await;
    let mut body = response.into_body();
    let mut seen = String::new();
    while !seen.contains("One.") {
        let frame = std::future::poll_fn(|context| std::pin::Pin::new(&mut body).poll_frame(context)).await;
        seen.push_str(std::str::from_utf8(&frame.unwrap().unwrap().into_data().unwrap()).unwrap());
    }
    assert!(lab.runs.ended().is_empty(), "the tool runs");
    assert!(!seen.contains("tool_use"), "the call of the gateway is held");
}

#[tokio::test]
async fn a_visible_message_without_blocks_gets_one_text() {
    for is_stream in [false, true] {
        let lab = Lab::in_order(json!([says(&[call("lookup", "a")]), says(&[])]));
        let reply = Chat::new(is_stream).say(&lab, "go").await;
        assert_eq!(
            (reply.shape(), reply.text().as_str()),
            (vec!["text"], "[Tools that ran: lookup.]")
        );
        // Without tools of the gateway, nothing is added.
        let lab = Lab::new(json!([says(&[])]));
        let mut plain = Chat::new(is_stream);
        plain.body["tools"] = json!([]);
        assert_eq!(plain.say(&lab, "go").await.content().len(), 0);
    }
}

#[tokio::test]
async fn stop_reason_is_from_the_last_round() {
    for is_stream in [false, true] {
        for reason in [
            "end_turn",
            "max_tokens",
            "stop_sequence",
            "refusal",
            "pause_turn",
            "model_context_window_exceeded",
        ] {
            let mut last = says(&[text("Last.")]);
            last["stop_reason"] = reason.into();
            let lab = Lab::new(json!([says(&[call("lookup", "a")]), last]));
            assert_eq!(Chat::new(is_stream).say(&lab, "go").await.stop_reason(), reason);
        }
    }
}

#[tokio::test]
async fn system_messages_stay_where_they_were_first_sent() {
    let system = |text: &str| json!({ "role": "system", "content": text });
    let lab = Lab::new(json!([
        says(&[call("lookup", "a"), call("weather", "b")]),
        says(&[text("One.")]),
        says(&[text("Two.")]),
        says(&[text("Three.")]),
    ]));
    let mut chat = Chat::new(true);
    let reply = chat.say(&lab, "go").await;
    // The command line client inserts a system message after the first message.
    chat.messages().insert(1, system("first"));
    chat.answer(&lab, &reply).await;
    let roles = |body: &Value| {
        let messages = body["messages"].as_array().unwrap().iter();
        messages
            .map(|message| message["role"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(roles(&lab.last_seen()), ["user", "assistant", "user", "system"]);
    // Three more: an early one, one before the new message, one after it.
    chat.messages().insert(2, system("second"));
    chat.messages()
        .extend([system("third"), user("next"), system("fourth")]);
    let reply = chat.ask(&lab).await;
    assert_eq!(
        (reply.text().as_str(), reply.session().1.as_str()),
        ("Two.", "minted")
    );
    chat.messages().push(assistant(reply.message["content"].clone()));
    chat.say(&lab, "and next").await;
    lab.assert_one_prefix();
    lab.assert_well_formed_without_systems();
    let sent = lab.last_seen().to_string();
    for text in ["first", "second", "third", "fourth"] {
        assert_eq!(sent.matches(&format!("\"{text}\"")).count(), 1, "{text}: {sent}");
    }
}

#[tokio::test]
async fn a_system_message_between_messages_of_the_user_stays_there() {
    let system = json!({ "role": "system", "content": "between" });
    let lab = Lab::new(json!([says(&[call("weather", "a")]), says(&[text("Done.")])]));
    let mut chat = Chat::new(false);
    chat.messages().extend([user("one"), system.clone()]);
    let reply = chat.say(&lab, "two").await;
    let roles = |body: Value| {
        body["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|m| m["role"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(roles(lab.last_seen()), ["user", "system", "user"]);
    // A system message must not be between a call and its result.
    chat.messages()
        .extend([user(json!([result(&reply.ids()[0], "rain")])), system.clone()]);
    assert_eq!(chat.say(&lab, "three").await.text(), "Done.");
    assert_eq!(
        roles(lab.last_seen()),
        ["user", "system", "user", "assistant", "user", "system"]
    );
    lab.assert_one_prefix();
    lab.assert_well_formed_without_systems();
    chat.say(&lab, "four").await;
    lab.assert_one_prefix();
}

#[tokio::test]
async fn rejected_thinking_is_retried_once_without_thinking() {
    let refusal = |message: &str| json!({ "error": { "status": 400, "body": { "type": "error", "error": { "type": "invalid_request_error", "message": message } } } });
    for message in [
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        "messages.1: thinking block is bound to a different conversation",
    ] {
        let lab = Lab::in_order(json!([
            says(&[thinking("s0"), text("One."), call("lookup", "a")]),
            says(&[thinking("s1"), text("Two.")]),
            refusal(message),
            says(&[thinking("s2"), text("Three.")]),
            says(&[thinking("s3"), text("Four.")]),
        ]));
        let mut chat = Chat::new(true);
        chat.say(&lab, "go").await;
        assert_eq!(chat.say(&lab, "next").await.text(), "Three.", "{message}");
        let seen = lab.seen();
        assert!(
            seen[2].to_string().contains("s0") && !seen[3].to_string().contains("thinking"),
            "{}",
            seen[3]
        );
        // Accepted messages are sent from now on.
        let last = chat.say(&lab, "and next").await;
        assert_eq!(last.text(), "Four.");
        let sent = lab.last_seen().to_string();
        assert!(
            !sent.contains("s0") && !sent.contains("s1") && sent.contains("\"s2\""),
            "{sent}"
        );
        let messages = lab.seen_messages();
        assert!(messages[4].starts_with(&messages[3]));
        lab.assert_well_formed();
    }
}

#[tokio::test]
async fn rejected_thinking_is_omitted_from_later_rounds() {
    let message = "messages.1.content.0: Invalid `signature` in `thinking` block";
    let refusal = json!({ "error": { "status": 400, "body": { "type": "error", "error": { "type": "invalid_request_error", "message": message } } } });
    let lab = Lab::in_order(json!([
        says(&[thinking("s0"), text("One."), call("lookup", "a")]),
        says(&[text("Two.")]),
        refusal,
        says(&[call("lookup", "b")]),
        says(&[text("Three.")]),
    ]));
    let mut chat = Chat::new(false);
    chat.say(&lab, "go").await;
    assert_eq!(chat.say(&lab, "next").await.text(), "Three.");
    let sent = lab.last_seen().to_string();
    assert!(!sent.contains("s0") && sent.contains("lookup of b"), "{sent}");
    lab.assert_well_formed();
}

#[tokio::test]
async fn thinking_rejected_after_an_internal_round_is_not_stored() {
    let message = "messages.3.content.0: Invalid `signature` in `thinking` block";
    let refusal = json!({ "error": { "status": 400, "body": { "type": "error", "error": { "type": "invalid_request_error", "message": message } } } });
    let lab = Lab::in_order(json!([
        says(&[thinking("s0"), text("One."), call("lookup", "a")]),
        refusal,
        says(&[thinking("s1"), text("Two."), call("lookup", "b")]),
        says(&[thinking("s2"), text("Three.")]),
        says(&[text("Four.")]),
    ]));
    let mut chat = Chat::new(true);
    let reply = chat.say(&lab, "go").await;
    assert_eq!(reply.text(), "One.\nTwo.\nThree.");
    // Marks find their blocks although earlier blocks are missing.
    for block in chat.messages()[1]["content"].as_array_mut().unwrap() {
        if block["text"] == "Two." {
            block["cache_control"] = json!({ "type": "ephemeral" });
        }
    }
    assert_eq!(chat.say(&lab, "next").await.text(), "Four.");
    let seen = lab.seen();
    let has = |at: usize| ["s0", "s1", "s2"].map(|signature| seen[at].to_string().contains(signature));
    assert_eq!(has(1), [true, false, false], "refused");
    assert_eq!(has(2), [false, false, false], "asked once more");
    assert_eq!(has(3), [false, true, false], "what came after it stays");
    assert_eq!(has(4), [false, true, true], "as it is stored");
    let marked = &seen[4]["messages"][3]["content"][1];
    assert_eq!(
        (&marked["text"], &marked["cache_control"]["type"]),
        (&json!("Two."), &json!("ephemeral"))
    );
    lab.assert_well_formed();
}

/// Otherwise a retry would send thinking again, and remove the thinking of later rounds, too.
#[tokio::test]
async fn rejected_thinking_is_omitted_after_a_failure() {
    let error = |status: u16, message: &str| json!({ "error": { "status": status, "body": { "type": "error", "error": { "type": "api_error", "message": message } } } });
    let lab = |store: &FailingStore, turns: Value| {
        let script = json!({ "order": "requests", "turns": turns });
        Lab::with(script, |gateway| {
            gateway.with_store(store.clone()).with_secret([7; 32])
        })
    };
    for in_another_process in [false, true] {
        let store = FailingStore::durable();
        let first = lab(
            &store,
            json!([
                says(&[thinking("s0"), text("One."), call("lookup", "a")]),
                says(&[text("Two.")]),
                error(
                    400,
                    "messages.1.content.0: Invalid `signature` in `thinking` block"
                ),
                says(&[thinking("s1"), text("Three."), call("lookup", "b")]),
                error(500, "busy"),
                says(&[text("Four.")]),
                says(&[text("Five.")]),
            ]),
        );
        let mut chat = Chat::new(true);
        chat.say(&first, "go").await;
        assert_eq!(chat.say(&first, "next").await.error().1, "busy");
        let second = lab(&store, json!([says(&[text("Four.")]), says(&[text("Five.")])]));
        let lab = if in_another_process { &second } else { &first };
        let reply = chat.ask(lab).await;
        assert_eq!(reply.text(), "Three.\nFour.");
        chat.messages().push(assistant(reply.message["content"].clone()));
        assert_eq!(chat.say(lab, "and next").await.text(), "Five.");
        for sent in lab.seen().iter().rev().take(2) {
            let sent = sent.to_string();
            assert!(!sent.contains("s0") && sent.contains("s1"), "{sent}");
        }
        lab.assert_well_formed();
    }
}

#[tokio::test]
async fn cache_control_of_a_prefilled_answer_is_not_stored() {
    let lab = Lab::in_order(json!([
        says(&[text(" two."), call("lookup", "a")]),
        says(&[text("Done.")]),
        says(&[text("End.")])
    ]));
    let mut chat = Chat::new(false);
    let mut beginning = text("One,");
    beginning["cache_control"] = json!({ "type": "ephemeral" });
    chat.messages()
        .extend([user("go"), assistant(json!([beginning]))]);
    let reply = chat.ask(&lab).await;
    let mut content = vec![text("One,")];
    content.extend(reply.content().iter().cloned());
    chat.messages().pop();
    chat.messages().push(assistant(content));
    assert_eq!(chat.say(&lab, "next").await.text(), "End.");
    let sent = lab.last_seen().to_string();
    assert!(
        sent.contains("lookup of a") && !sent.contains("cache_control"),
        "{sent}"
    );
}

/// Reads the size of the store in memory.
async fn store_bytes(lab: &Lab) -> usize {
    let metrics = Request::get("/metrics").body(Body::empty()).unwrap();
    let metrics = reply::bytes(lab.send(metrics).await.into_body()).await;
    let metrics = String::from_utf8(metrics.to_vec()).unwrap();
    let bytes = metrics
        .lines()
        .find_map(|line| line.strip_prefix("tool_gateway_store_bytes "));
    bytes.unwrap().parse().unwrap()
}

/// The client sends the message again with each request, so a second copy only takes space.
#[tokio::test]
async fn prefilled_answer_without_hidden_rounds_is_not_stored() {
    for is_stream in [false, true] {
        let lab = Lab::in_order(json!([says(&[text(" two.")]), says(&[text("End.")])]));
        let mut chat = Chat::new(is_stream);
        let beginning = format!("One{}", ",".repeat(100_000));
        chat.messages()
            .extend([user("go"), assistant(json!([text(&beginning)]))]);
        let reply = chat.ask(&lab).await;
        let bytes = store_bytes(&lab).await;
        assert!((1_000..20_000).contains(&bytes), "{bytes}");
        // The conversation continues, with the client's own text.
        let mut content = vec![text(&beginning)];
        content.extend(reply.content().iter().cloned());
        chat.messages().pop();
        chat.messages().push(assistant(content));
        let reply = chat.say(&lab, "next").await;
        assert_eq!(
            (reply.text(), reply.session().1),
            ("End.".to_owned(), "chain".to_owned())
        );
        let sent = lab.last_seen();
        assert_eq!(sent["messages"][1]["content"][0]["text"], beginning);
        assert_eq!(sent["messages"][1]["content"][1]["text"], " two.");
    }
}

/// The hidden rounds follow the text that the client sends, for any form in which the client returns the message.
#[tokio::test]
async fn prefilled_answer_with_hidden_rounds_is_not_stored() {
    let folder = std::env::temp_dir().join(format!("tool-gateway-prefilled-{}", std::process::id()));
    let filler = ",".repeat(100_000);
    let beginning = format!("One{filler}");
    let rounds = [
        says(&[thinking("s0"), text(" two,"), call("lookup", "a")]),
        says(&[text(" three.")]),
        says(&[text("End.")]),
    ];
    for (form, is_file) in ["blocks", "one text", "messages", "two messages"]
        .into_iter()
        .flat_map(|form| [(form, false), (form, true)])
    {
        let file = folder.join(format!("{form}.redb"));
        let script = json!({ "order": "requests", "turns": rounds });
        let lab = Lab::with(script, |gateway| {
            if is_file {
                gateway.with_store(FileStore::open(&file).unwrap())
            } else {
                gateway
            }
        });
        let mut chat = Chat::new(is_file);
        chat.messages()
            .extend([user("go"), assistant(json!([text(&beginning)]))]);
        let reply = chat.ask(&lab).await;
        let answer = [text(" two,"), text(" three.")];
        assert_eq!(
            reply.content().iter().skip(1).collect::<Vec<_>>(),
            answer.each_ref()
        );
        if is_file {
            let bytes = std::fs::read(&file).unwrap();
            let has = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
            assert!(has(" two,") && !has(&filler[..200]));
        } else {
            let bytes = store_bytes(&lab).await;
            assert!((1_000..20_000).contains(&bytes), "{bytes}");
        }
        chat.messages().pop();
        let all = || iter::once(text(&beginning)).chain(answer.iter().cloned());
        match form {
            "blocks" => chat.messages().push(assistant(all().collect::<Value>())),
            "one text" => {
                let joined = format!("{beginning} two, three.");
                chat.messages().push(assistant(joined));
            }
            "messages" => chat
                .messages()
                .extend(all().map(|block| assistant(json!([block])))),
            _ => chat
                .messages()
                .extend([assistant(beginning.as_str()), assistant(json!(answer))]),
        }
        let reply = chat.say(&lab, "next").await;
        assert_eq!(
            (reply.text().as_str(), reply.session().1.as_str()),
            ("End.", "chain"),
            "{form}"
        );
        let (seen, sent) = (lab.seen(), lab.last_seen());
        let asked = |at: usize| seen[1]["messages"][at]["content"].clone();
        let content = |at: usize| sent["messages"][at]["content"].clone();
        assert!(content(1) == json!([text(&beginning)]), "{form}");
        let is_asked = (2..4).all(|at| content(at) == asked(at));
        assert!(is_asked, "{form}");
        assert_eq!(content(4), json!([text(" three.")]), "{form}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn another_refusal_is_not_repeated() {
    let error = json!({ "error": { "status": 400, "body": { "type": "error", "error": { "type": "invalid_request_error", "message": "no" } } } });
    let lab = Lab::in_order(json!([says(&[thinking("s0"), call("lookup", "a")]), error]));
    let mut chat = Chat::new(false);
    let reply = chat.say(&lab, "go").await;
    assert_eq!((reply.status.as_u16(), reply.error().1), (400, "no"));
    assert_eq!(lab.seen().len(), 2);
}

#[tokio::test]
async fn the_model_never_sees_the_text_of_a_message_without_content() {
    for empty in [
        json!({ "content": [call("lookup", "a")], "stop_reason": "max_tokens" }),
        json!({ "content": [], "stop_reason": "end_turn" }),
    ] {
        let lab = Lab::in_order(json!([
            says(&[call("lookup", "x"), call("weather", "y")]),
            empty,
            says(&[text("Done.")])
        ]));
        let mut chat = Chat::new(true);
        let reply = chat.say(&lab, "go").await;
        let reply = chat.answer(&lab, &reply).await;
        assert_eq!(reply.text(), "[The model gave no answer.]");
        assert_eq!(chat.say(&lab, "go on").await.text(), "Done.");
        let sent = lab.last_seen()["messages"].to_string();
        assert!(!sent.contains("gave no answer"), "{sent}");
        lab.assert_well_formed();
    }
}

/// A turn stores the places of up to 1,000 system messages. With more, a new one between known messages stays there, too, and the hidden round
/// is restored all the same.
#[tokio::test]
async fn many_system_messages_stay_at_the_clients_places() {
    for (count, expected) in [(998, "after"), (1_000, "between")] {
        let lab = Lab::new(json!([
            says(&[call("lookup", "a")]),
            says(&[text("One.")]),
            says(&[text("Two.")])
        ]));
        let mut chat = Chat::new(false);
        let system = |text: &str| json!({ "role": "system", "content": text });
        chat.messages().push(user("go"));
        chat.messages().extend(vec![system("s"); count]);
        let reply = chat.say(&lab, "on").await;
        assert_eq!(reply.text(), "One.");
        chat.messages().insert(1, system("new"));
        let reply = chat.say(&lab, "next").await;
        assert_eq!(
            (reply.text().as_str(), reply.session().1.as_str()),
            ("Two.", "chain")
        );
        let sent = lab.last_seen();
        let messages = sent["messages"].as_array().unwrap();
        assert_eq!(messages.len(), count + 7);
        let answer = messages
            .iter()
            .rposition(|message| message["role"] == "assistant");
        let new = messages.iter().position(|message| message["content"] == "new");
        let place = if new > answer { "after" } else { "between" };
        assert_eq!(place, expected, "{count}");
        assert!(sent.to_string().contains("tool_result"), "{count}");
        lab.assert_well_formed_without_systems();
    }
}

#[tokio::test]
async fn many_system_messages_take_linear_time() {
    let lab = Lab::new(json!([says(&[text("Done.")])]));
    let mut took = Vec::new();
    for count in [2_000, 8_000] {
        let mut chat = Chat::new(false);
        for _ in 0..count {
            let system = json!({ "role": "system", "content": "s" });
            chat.messages().extend([user("a"), system, assistant("b")]);
        }
        chat.messages().push(user("a"));
        let clock = Clock::start();
        assert_eq!(chat.ask(&lab).await.status, 200);
        took.push(clock.worked());
    }
    // Four times as many; quadratic time would be sixteen times as long.
    let at_least = Duration::from_millis(20);
    assert!(took[1] < took[0].max(at_least) * 9, "{took:?}");
}
