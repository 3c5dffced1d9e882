//! Rules of a turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tool_gateway::session::memory::MemoryStore;
use tool_gateway::{Gateway, Offer, Ownership};
use tool_runtime::permission::{Decision, Permission, PermissionRequest};
use tool_runtime::{Context, ToolDefinition};

use crate::lab::{
    Chat, Lab, Runs, call, has_two_processes, registry, result, says, scaled, slow_call, text, thinking, user,
};
use crate::protocol::{Scripted, is_chat};
use crate::test_script::TestScript;

/// Returns the blocks of the last message that the upstream received.
fn last_blocks(lab: &Lab) -> Vec<Value> {
    let body = lab.last_seen();
    body["messages"].as_array().unwrap().last().unwrap()["content"]
        .as_array()
        .unwrap()
        .clone()
}

/// R-GW-7, R-TURN-4
#[tokio::test(start_paused = true)]
async fn calls_of_the_gateway_run_and_all_results_are_one_user_message_in_call_order() {
    for is_stream in [false, true] {
        let lab = Lab::new(json!([
            says(&[
                text("I look."),
                slow_call("lookup", "a", 30),
                call("lookup", "b"),
                call("write", "c")
            ]),
            says(&[text("Done.")]),
        ]));
        let mut chat = Chat::new(is_stream);
        let reply = chat.say(&lab, "go").await;
        assert_eq!(
            (reply.shape(), reply.stop_reason()),
            (vec!["text", "text"], "end_turn")
        );
        assert_eq!(lab.runs.begun().len(), 3);
        let blocks = last_blocks(&lab);
        let ids: Vec<_> = blocks
            .iter()
            .map(|block| block["tool_use_id"].as_str().unwrap())
            .collect();
        assert_eq!(ids, ["up_a", "up_b", "up_c"]);
        assert!(blocks[1].to_string().contains("lookup of b"), "{}", blocks[1]);
        lab.assert_well_formed();
        lab.assert_one_prefix();
    }
}

/// R-GW-14
#[tokio::test]
async fn failed_call_is_an_error_result() {
    if is_chat() {
        return; // An error is a text of the result there.
    }
    let mut wrong = call("TodoWrite", "a");
    wrong["input"] = json!({ "todos": "none" });
    let lab = Lab::new(json!([
        says(&[wrong, call("lookup", "b")]),
        says(&[text("Done.")])
    ]));
    let reply = Chat::new(false).say(&lab, "go").await;
    assert_eq!(reply.stop_reason(), "end_turn");
    let blocks = last_blocks(&lab);
    assert_eq!(
        (
            &blocks[0]["is_error"],
            &blocks[0]["content"],
            &blocks[1]["is_error"]
        ),
        (&json!(true), &json!("'todos' must be an array"), &Value::Null)
    );
}

#[tokio::test(start_paused = true)]
async fn calls_of_one_round_run_side_by_side() {
    let calls: Vec<_> = (0..6)
        .map(|n| slow_call("lookup", &format!("k{n}"), 100))
        .collect();
    let lab = Lab::new(json!([says(&calls), says(&[text("Done.")])]));
    let began = tokio::time::Instant::now();
    Chat::new(false).say(&lab, "go").await;
    assert!(
        began.elapsed() < Duration::from_millis(scaled(200)),
        "{:?}",
        began.elapsed()
    );
}

/// R-TURN-2
#[tokio::test]
async fn ownership_follows_the_schema_of_each_request() {
    let lab = Lab::new(json!([says(&[call("lookup", "a")]), says(&[text("Done.")])]));
    let mut chat = Chat::new(false);
    chat.body["tools"] = json!([{ "name": "lookup", "input_schema": crate::lab::schema() }]);
    assert_eq!(chat.say(&lab, "one").await.stop_reason(), "end_turn");
    // Another schema makes the tool external.
    let mut chat = Chat::new(false);
    chat.body["tools"] = json!([{ "name": "lookup", "description": "", "input_schema": { "type": "object", "required": ["x"] } }]);
    let reply = chat.say(&lab, "two").await;
    assert_eq!((reply.shape(), reply.stop_reason()), (vec!["lookup"], "tool_use"));
    assert_eq!(lab.runs.begun(), ["lookup a"]);
}

/// R-GW-5
#[tokio::test]
async fn ownership_by_name_ignores_the_schema() {
    let script = json!({ "turns": [says(&[call("lookup", "a")]), says(&[text("Done.")])] });
    let lab = Lab::with_each(script, |gateway| {
        gateway.with_ownership(Ownership::by_name()).unwrap()
    });
    let mut chat = Chat::new(true);
    chat.body["tools"] =
        json!([{ "name": "lookup", "input_schema": { "type": "object", "required": ["x"] } }]);
    assert_eq!(chat.say(&lab, "go").await.stop_reason(), "end_turn");
    assert_eq!(lab.seen()[0]["tools"][0]["input_schema"], crate::lab::schema());
}

/// R-GW-17
#[tokio::test]
async fn ownership_table_decides_single_names() {
    let script =
        json!({ "turns": [says(&[call("find", "a"), call("lookup", "b")]), says(&[text("Done.")])] });
    let ownership = Ownership::by_schema()
        .with_alias("find", "lookup")
        .with_external(["lookup"])
        .with_internal(["write"]);
    let lab = Lab::with_each(script, |gateway| {
        gateway
            .with_ownership(ownership.clone())
            .unwrap()
            .with_offer(Offer::Always)
    });
    let other = json!({ "type": "object", "required": ["x"] });
    let mut chat = Chat::new(true);
    chat.body["tools"] = json!([
        { "name": "find", "description": "Find.", "input_schema": other },
        { "name": "lookup", "description": "Look up." },
        { "name": "write", "input_schema": other },
    ]);
    let reply = chat.say(&lab, "go").await;
    assert_eq!((reply.shape(), reply.stop_reason()), (vec!["lookup"], "tool_use"));
    assert_eq!(lab.runs.begun(), ["lookup a"]);
    let sent = lab.seen()[0]["tools"].clone();
    let names: Vec<_> = sent
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].clone())
        .collect();
    assert_eq!(
        names,
        ["find", "lookup", "write", "later", "TodoWrite", "TodoRead"]
    );
    assert_eq!(
        (&sent[0]["input_schema"], &sent[0]["description"]),
        (&crate::lab::schema(), &json!("Find."))
    );
    assert_eq!(sent[2]["input_schema"], crate::lab::schema());
    assert_eq!(chat.answer(&lab, &reply).await.text(), "Done.");
    // The tool has the client's name for the model.
    let truth = &lab.last_seen()["messages"][1]["content"][0];
    assert_eq!((&truth["id"], &truth["name"]), (&json!("up_a"), &json!("find")));
    lab.assert_well_formed();
}

/// The model knows a tool by its alias, and would not find the internal name.
#[tokio::test]
async fn errors_of_a_tool_with_an_alias_have_the_name_that_the_model_knows() {
    let mut wrong = call("find", "a");
    wrong["input"] = json!({ "key": { "no": "text" } });
    let script = json!({ "turns": [says(&[wrong]), says(&[text("Done.")])] });
    let ownership = Ownership::by_schema().with_alias("find", "lookup");
    let lab = Lab::with_each(script, |gateway| {
        gateway.with_ownership(ownership.clone()).unwrap()
    });
    let mut chat = Chat::new(true);
    chat.body["tools"] = json!([{ "name": "find", "description": "Find." }]);
    chat.say(&lab, "go").await;
    let result = lab.last_seen().to_string();
    assert!(
        result.contains("`find` was not called because of invalid arguments"),
        "{result}"
    );
    assert!(!result.contains("lookup"), "{result}");
}

#[tokio::test]
async fn settings_with_an_unknown_tool_are_errors_that_name_it() {
    let gateway = || Gateway::new(registry(&Runs::default()), TestScript::embedded());
    let wanted = "there is no tool `lookUp`; the tools are lookup, write, later, TodoWrite, TodoRead; did you mean `lookup`?";
    let ownership = Ownership::by_schema().with_alias("find", "lookUp");
    for error in [
        gateway().with_ownership(ownership).unwrap_err(),
        gateway().with_deferred(["later", "lookUp"]).unwrap_err(),
    ] {
        assert_eq!(error.to_string(), wanted);
    }
}

#[tokio::test]
async fn offer_always_adds_the_gateways_tools() {
    let script = json!({ "turns": [says(&[call("lookup", "a")]), says(&[text("Done.")])] });
    let lab = Lab::with_each(script, |gateway| gateway.with_offer(Offer::Always));
    let mut chat = Chat::new(true);
    chat.body.as_object_mut().unwrap().remove("tools");
    assert_eq!(chat.say(&lab, "go").await.text(), "Done.");
    assert_eq!(lab.seen()[0]["tools"].as_array().unwrap().len(), 5);
    assert_eq!(lab.seen()[0]["tools"][0]["description"], "The tool lookup.");
}

/// R-GW-6
#[tokio::test]
async fn external_tool_without_description_and_schema_gets_empty_values() {
    if is_chat() {
        return; // Tools have another form there.
    }
    let lab = Lab::new(json!([says(&[text("Done.")])]));
    let mut chat = Chat::new(false);
    chat.body["tools"] = json!([{ "name": "lookup" }, { "name": "bare" }, { "type": "web_search_20250305", "name": "web_search" }]);
    chat.say(&lab, "go").await;
    let sent = lab.last_seen()["tools"].clone();
    assert_eq!(sent[1]["description"], "");
    assert_eq!(sent[1]["input_schema"]["type"], "object");
    assert_eq!(
        sent[2],
        json!({ "type": "web_search_20250305", "name": "web_search" })
    );
}

/// R-TURN-3
#[tokio::test]
async fn a_cut_stream_runs_nothing_and_can_be_retried() {
    if is_chat() {
        return; // The script cuts other events off there.
    }
    for is_stream in [false, true] {
        // The stream is cut off at each event. After the tenth event, only `message_stop` is missing.
        for cut in 1..10 {
            let mut broken = says(&[text("I look."), call("write", "a")]);
            broken["cut_after"] = cut.into();
            let lab = Lab::in_order(json!([
                broken,
                says(&[text("Again."), call("write", "b")]),
                says(&[text("Done.")])
            ]));
            let mut chat = Chat::new(is_stream);
            let reply = chat.say(&lab, "go").await;
            assert_eq!(reply.error().0, "api_error", "{cut}");
            assert!(is_stream || reply.status.is_server_error());
            assert_eq!(lab.runs.begun(), Vec::<String>::new(), "{cut}");
            let reply = chat.ask(&lab).await;
            assert_eq!(reply.text(), "Again.\nDone.");
            assert_eq!(lab.runs.begun(), ["write b"]);
            lab.assert_well_formed();
        }
    }
}

/// R-TURN-3
#[tokio::test]
async fn max_tokens_inside_a_call_runs_nothing() {
    for is_stream in [false, true] {
        let mut cut = says(&[
            text("I write."),
            json!({ "type": "tool_use", "id": "up_a", "name": "write", "partial_json": "{\"key\": \"a" }),
        ]);
        cut["stop_reason"] = "max_tokens".into();
        let lab = Lab::new(json!([cut, says(&[text("Done.")])]));
        let mut chat = Chat::new(is_stream);
        let reply = chat.say(&lab, "go").await;
        assert_eq!((reply.shape(), reply.stop_reason()), (vec!["text"], "max_tokens"));
        assert_eq!(chat.say(&lab, "go on").await.text(), "Done.");
        assert_eq!(lab.runs.begun(), Vec::<String>::new());
        lab.assert_well_formed();
    }
}

#[tokio::test]
async fn conversation_continues_after_max_tokens_with_only_an_internal_call() {
    for is_stream in [false, true] {
        let mut cut = says(&[call("write", "a")]);
        cut["stop_reason"] = "max_tokens".into();
        let lab = Lab::in_order(json!([cut, says(&[text("Done.")])]));
        let mut chat = Chat::new(is_stream);
        let reply = chat.say(&lab, "go").await;
        assert_eq!((reply.shape(), reply.stop_reason()), (vec!["text"], "max_tokens"));
        assert_eq!(chat.say(&lab, "go on").await.text(), "Done.");
        lab.assert_well_formed();
    }
}

#[tokio::test]
async fn conversation_continues_after_an_empty_message() {
    for is_stream in [false, true] {
        let lab = Lab::in_order(json!([
            says(&[call("lookup", "a")]),
            says(&[]),
            says(&[text("Done.")])
        ]));
        let mut chat = Chat::new(is_stream);
        let reply = chat.say(&lab, "go").await;
        assert_eq!((reply.shape(), reply.stop_reason()), (vec!["text"], "end_turn"));
        assert_eq!(chat.say(&lab, "go on").await.text(), "Done.");
        lab.assert_well_formed();
        assert!(lab.last_seen().to_string().contains("lookup of a"));
    }
}

#[tokio::test]
async fn a_clients_call_in_a_message_that_was_cut_by_max_tokens_can_be_answered() {
    for is_stream in [false, true] {
        let mut cut = says(&[call("weather", "a"), call("write", "b")]);
        cut["stop_reason"] = "max_tokens".into();
        let lab = Lab::in_order(json!([cut, says(&[text("Done.")])]));
        let mut chat = Chat::new(is_stream);
        let reply = chat.say(&lab, "go").await;
        assert_eq!(
            (reply.shape(), reply.stop_reason()),
            (vec!["weather"], "max_tokens")
        );
        assert_eq!(chat.answer(&lab, &reply).await.text(), "Done.");
        assert_eq!(lab.runs.begun(), Vec::<String>::new());
        lab.assert_well_formed();
    }
}

#[tokio::test]
async fn a_forced_choice_is_auto_after_an_internal_round_and_keeps_disable_parallel_tool_use() {
    if is_chat() {
        return; // The choice of a tool has another form there.
    }
    for choice in [
        json!({ "type": "any" }),
        json!({ "type": "tool", "name": "lookup" }),
    ] {
        let lab = Lab::new(json!([
            says(&[call("lookup", "a")]),
            says(&[call("lookup", "b"), call("weather", "c")]),
            says(&[call("clock", "d")]),
            says(&[text("Done.")]),
            says(&[text("Next.")]),
        ]));
        let mut chat = Chat::new(true);
        let mut forced = choice.clone();
        forced["disable_parallel_tool_use"] = true.into();
        chat.body["tool_choice"] = forced.clone();
        let first = chat.say(&lab, "go").await;
        let second = chat.answer(&lab, &first).await;
        let third = chat.answer(&lab, &second).await;
        assert_eq!(third.text(), "Done.");
        // The next turn is forced again.
        chat.say(&lab, "and now").await;
        let auto = json!({ "type": "auto", "disable_parallel_tool_use": true });
        let choices: Vec<_> = lab
            .seen()
            .iter()
            .map(|body| body["tool_choice"].clone())
            .collect();
        assert_eq!(
            choices,
            [forced.clone(), auto.clone(), auto.clone(), auto, forced]
        );
    }
}

#[tokio::test]
async fn a_forced_choice_stays_auto_on_a_resume_after_internal_rounds_only() {
    if is_chat() {
        return; // The choice of a tool has another form there.
    }
    let lab = Lab::new(json!([
        says(&[call("lookup", "a")]),
        says(&[call("weather", "b")]),
        says(&[text("Done.")])
    ]));
    let mut chat = Chat::new(false);
    chat.body["tool_choice"] = json!({ "type": "tool", "name": "lookup" });
    let first = chat.say(&lab, "go").await;
    let mut counted = chat.clone();
    counted
        .messages()
        .push(user(json!([result(&first.ids()[0], "rain")])));
    lab.send(crate::lab::post("/v1/messages/count_tokens", &counted.body, &[]))
        .await;
    let counted = lab.script.requests().pop().unwrap().json().unwrap();
    assert_eq!(counted["tool_choice"]["type"], "auto", "what would be sent");
    chat.answer(&lab, &first).await;
    let kinds: Vec<_> = lab
        .seen()
        .iter()
        .map(|body| body["tool_choice"]["type"].clone())
        .collect();
    assert_eq!(kinds, ["tool", "auto", "auto"]);
}

#[tokio::test]
async fn other_choices_are_not_changed() {
    if is_chat() {
        return; // The choice of a tool has another form there.
    }
    for choice in [json!({ "type": "none" }), json!({ "type": "auto" })] {
        let lab = Lab::new(json!([says(&[call("lookup", "a")]), says(&[text("Done.")])]));
        let mut chat = Chat::new(false);
        chat.body["tool_choice"] = choice.clone();
        chat.say(&lab, "go").await;
        assert!(lab.seen().iter().all(|body| body["tool_choice"] == choice));
    }
}

/// R-TURN-4
#[tokio::test]
async fn round_limit_ends_with_pause_turn_and_can_continue() {
    for is_stream in [false, true] {
        let rounds: Vec<_> = (0..4)
            .map(|n| says(&[text(&format!("Step {n}.")), call("write", &format!("k{n}"))]))
            .collect();
        let mut turns = rounds;
        turns.push(says(&[text("Done.")]));
        turns.push(says(&[text("Next.")]));
        let lab = Lab::with_each(json!({ "turns": turns }), |gateway| gateway.with_max_rounds(2));
        let mut chat = Chat::new(is_stream);
        let reply = chat.say(&lab, "go").await;
        assert_eq!(
            (reply.text().as_str(), reply.stop_reason()),
            ("Step 0.\nStep 1.", "pause_turn")
        );
        // Clients send the message back as the last one.
        let reply = chat.ask(&lab).await;
        assert_eq!(
            (reply.text().as_str(), reply.stop_reason()),
            ("Step 2.\nStep 3.", "pause_turn")
        );
        assert_eq!(reply.session().1, "chain");
        chat.messages()
            .push(crate::lab::assistant(reply.message["content"].clone()));
        let reply = chat.ask(&lab).await;
        assert_eq!(
            (reply.text().as_str(), reply.stop_reason()),
            ("Done.", "end_turn")
        );
        chat.messages()
            .push(crate::lab::assistant(reply.message["content"].clone()));
        assert_eq!(chat.say(&lab, "next").await.text(), "Next.");
        assert_eq!(lab.runs.begun(), ["write k0", "write k1", "write k2", "write k3"]);
        lab.assert_well_formed();
        lab.assert_one_prefix();
    }
}

#[tokio::test]
async fn pause_without_visible_text_lists_the_calls_that_ran() {
    let lab = Lab::with_each(
        json!({ "turns": [says(&[call("write", "a")]), says(&[text("Done.")])] }),
        |gateway| gateway.with_max_rounds(1),
    );
    let mut chat = Chat::new(true);
    let reply = chat.say(&lab, "go").await;
    assert_eq!(
        (reply.text().as_str(), reply.stop_reason()),
        ("[Tools that ran: write.]", "pause_turn")
    );
    assert_eq!(chat.say(&lab, "go on").await.text(), "Done.");
    assert!(!lab.last_seen().to_string().contains("Tools that ran"));
    lab.assert_well_formed();
    lab.assert_one_prefix();
}

#[tokio::test]
async fn pauses_with_nothing_but_thinking_go_on_one_after_the_other() {
    if is_chat() {
        return; // The script has no thinking there.
    }
    let mut turns: Vec<_> = (0..4)
        .map(|n| says(&[thinking(&format!("s{n}")), call("write", &format!("k{n}"))]))
        .collect();
    turns.extend([says(&[thinking("s4")]), says(&[text("Done.")])]);
    let lab = Lab::with_each(json!({ "turns": turns }), |gateway| gateway.with_max_rounds(1));
    let mut chat = Chat::new(true);
    let mut reply = chat.say(&lab, "go").await;
    for _ in 0..4 {
        assert_eq!(
            (reply.shape(), reply.stop_reason()),
            (vec!["thinking", "text"], "pause_turn")
        );
        reply = chat.ask(&lab).await;
        chat.messages()
            .push(crate::lab::assistant(reply.message["content"].clone()));
    }
    assert_eq!(
        (reply.shape(), reply.stop_reason()),
        (vec!["thinking"], "end_turn")
    );
    assert_eq!(chat.say(&lab, "next").await.text(), "Done.");
    assert_eq!(lab.runs.begun(), ["write k0", "write k1", "write k2", "write k3"]);
    lab.assert_well_formed();
    lab.assert_one_prefix();
}

#[tokio::test(start_paused = true)]
async fn over_the_cap_of_time_the_client_gets_pause_turn() {
    let lab = Lab::with_each(
        json!({ "turns": [says(&[slow_call("write", "a", 60)]), says(&[text("Done.")])] }),
        |gateway| gateway.with_max_time(Duration::from_millis(20)),
    );
    let mut chat = Chat::new(false);
    let reply = chat.say(&lab, "go").await;
    assert_eq!(reply.stop_reason(), "pause_turn");
    assert_eq!(chat.ask(&lab).await.text(), "Done.");
    lab.assert_well_formed();
}

#[tokio::test]
async fn over_the_cap_of_tokens_the_client_gets_pause_turn() {
    let turns = [
        says(&[text("One."), call("write", "a")]),
        says(&[text("Two."), call("write", "b")]),
        says(&[text("Done.")]),
    ];
    // Each round uses 15 tokens.
    let lab = Lab::with_each(json!({ "turns": turns }), |gateway| gateway.with_max_tokens(16));
    let mut chat = Chat::new(true);
    let reply = chat.say(&lab, "go").await;
    assert_eq!(
        (reply.text().as_str(), reply.stop_reason()),
        ("One.\nTwo.", "pause_turn")
    );
    assert_eq!(chat.ask(&lab).await.text(), "Done.");
    lab.assert_well_formed();
}

#[tokio::test(start_paused = true)]
async fn clients_get_pings_while_tools_run() {
    if has_two_processes() {
        return; // A minute.
    }
    let lab = Lab::new(json!([
        says(&[slow_call("later", "a", 25_000), call("weather", "b")]),
        says(&[text("One."), slow_call("lookup", "c", 35_000)]),
        says(&[text("Done.")])
    ]));
    let mut chat = Chat::new(true);
    let reply = chat.say(&lab, "go").await;
    let reply = chat.answer(&lab, &reply).await;
    assert_eq!(reply.text(), "One.\nDone.");
    let kinds: Vec<_> = crate::reply::events(&reply.body)
        .into_iter()
        .map(|event| event["type"].as_str().unwrap().to_owned())
        .collect();
    let start = kinds.iter().position(|kind| kind == "message_start").unwrap();
    let pings = |kinds: &[String]| kinds.iter().filter(|kind| *kind == "ping").count();
    assert_eq!(
        (pings(&kinds[..start]), pings(&kinds[start..])),
        (2, 3),
        "{kinds:?}"
    );
}

/// R-GW: progress of tools is sent as pings, but not more often than useful.
#[tokio::test(start_paused = true)]
async fn progress_causes_additional_pings() {
    let mut registry = registry(&Runs::default());
    let index = ToolDefinition::new("index", "Index.", json!({ "type": "object" }));
    registry
        .register_dynamic(index, |_: Value, context: Context| async move {
            for page in 1..=300 {
                tokio::time::sleep(Duration::from_millis(15)).await;
                context.progress().report(page, 300, "");
            }
            // No further progress.
            tokio::time::sleep(Duration::from_secs(12)).await;
        })
        .unwrap();
    let turns = json!([says(&[call("index", "a")]), says(&[text("Done.")])]);
    let script = TestScript::from_json(&json!({ "turns": turns }).to_string()).unwrap();
    let app = Gateway::new(registry, Scripted::new(&script)).router();
    let lab = Lab {
        app,
        script,
        runs: Runs::default(),
    };
    let mut chat = Chat::new(true);
    chat.body["tools"] = json!([{ "name": "index" }]);
    let reply = chat.say(&lab, "go").await;
    assert_eq!(reply.text(), "Done.");
    let pings = crate::reply::events(&reply.body)
        .into_iter()
        .filter(|event| event["type"] == "ping")
        .count();
    // At 1, 2, 3 and 4 seconds; at 5 for the latest progress; at 15 after ten seconds without progress.
    assert_eq!(pings, 6, "{:?}", reply.body);
}

#[tokio::test]
async fn a_tool_with_the_hint_is_deferred() {
    let runs = Runs::default();
    let mut registry = registry(&runs);
    let mut definition = ToolDefinition::new("pay", "Pay.", json!({ "type": "object" }));
    definition.hints.deferred = Some(true);
    let paid = Arc::new(AtomicBool::new(false));
    let pay = Arc::clone(&paid);
    registry
        .register_dynamic(definition, move |_: Value, _: Context| {
            pay.store(true, Ordering::SeqCst);
            async { Ok::<_, String>("paid") }
        })
        .unwrap();
    let turns = json!([
        says(&[call("pay", "a"), call("weather", "b")]),
        says(&[text("Done.")])
    ]);
    let script = TestScript::from_json(&json!({ "turns": turns }).to_string()).unwrap();
    let app = Gateway::new(registry, Scripted::new(&script)).router();
    let lab = Lab { app, script, runs };
    let mut chat = Chat::new(false);
    chat.body["tools"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "name": "pay" }));
    let reply = chat.say(&lab, "go").await;
    assert!(!paid.load(Ordering::SeqCst));
    assert_eq!(chat.answer(&lab, &reply).await.text(), "Done.");
    assert!(paid.load(Ordering::SeqCst));
    lab.assert_well_formed();
}

/// R-GW-8, R-TURN-5
#[tokio::test]
async fn calls_of_the_client_suspend_the_turn() {
    for is_stream in [false, true] {
        let lab = Lab::new(json!([
            says(&[text("I ask."), call("weather", "a"), call("clock", "b")]),
            says(&[text("Done.")])
        ]));
        let mut chat = Chat::new(is_stream);
        let reply = chat.say(&lab, "go").await;
        assert_eq!(
            (reply.shape(), reply.stop_reason()),
            (vec!["text", "weather", "clock"], "tool_use")
        );
        assert_eq!(reply.content()[1]["input"], json!({ "key": "a" }));
        assert!(
            reply
                .ids()
                .iter()
                .all(|id| id.starts_with("toolu_") && id.len() >= 28),
            "{:?}",
            reply.ids()
        );
        // In another order, and with a text after it.
        let ids = reply.ids();
        let results = json!([result(&ids[1], "noon"), result(&ids[0], "rain"), text("Well?")]);
        let resumed = chat.say(&lab, results).await;
        assert_eq!(
            (resumed.text().as_str(), resumed.session()),
            ("Done.", (reply.session().0, "minted".to_owned()))
        );
        let blocks = last_blocks(&lab);
        assert_eq!(
            blocks,
            [result("up_a", "rain"), result("up_b", "noon"), text("Well?")]
        );
        lab.assert_well_formed();
        lab.assert_one_prefix();
    }
}

/// Returns all sequences of up to three blocks of these kinds.
fn mixtures() -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..3 {
        let longer: Vec<Vec<usize>> = all
            .iter()
            .flat_map(|start| (0..5).map(|kind| [start.as_slice(), &[kind]].concat()))
            .collect();
        all.extend(longer);
    }
    all.sort();
    all.dedup();
    all.retain(|kinds| kinds.contains(&0) && kinds.iter().any(|kind| *kind > 0));
    all
}

/// R-GW-9, R-TURN-6, R-TURN-7
#[tokio::test]
async fn mixed_turns_in_every_order_run_the_gateways_calls_once_and_resume() {
    if is_chat() {
        return; // Texts are before the calls of a message there.
    }
    // Processes are started for each conversation.
    let step = if has_two_processes() { 40 } else { 1 };
    for is_stream in [false, true] {
        for kinds in mixtures().into_iter().step_by(step) {
            let message = |at: &str| {
                let blocks = kinds.iter().enumerate().map(|(place, kind)| {
                    let key = format!("{at}{place}");
                    match kind {
                        0 => call("weather", &key),
                        1 => call("lookup", &key),
                        2 => call("later", &key),
                        3 => text(&format!("text {key}")),
                        _ => thinking(&format!("signature {key}")),
                    }
                });
                blocks.collect::<Vec<_>>()
            };
            // Three such turns in sequence.
            let lab = Lab::new(json!([
                says(&message("x")),
                says(&message("y")),
                says(&message("z")),
                says(&[text("Done.")])
            ]));
            let mut chat = Chat::new(is_stream);
            let mut reply = chat.say(&lab, "go").await;
            let shown: Vec<_> = kinds.iter().filter(|kind| **kind == 0 || **kind > 2).collect();
            for round in ["x", "y", "z"] {
                assert_eq!(reply.stop_reason(), "tool_use", "{kinds:?}");
                assert_eq!(reply.content().len(), shown.len(), "{kinds:?} {}", reply.message);
                let has_run =
                    |name: &str, at: usize| lab.runs.begun().contains(&format!("{name} {round}{at}"));
                for (at, kind) in kinds.iter().enumerate() {
                    assert_eq!(has_run("lookup", at), *kind == 1);
                    assert!(!has_run("later", at), "deferred calls wait for the client");
                }
                reply = chat.answer(&lab, &reply).await;
            }
            assert_eq!(reply.text(), "Done.", "{kinds:?}");
            let mut runs = lab.runs.begun();
            runs.sort();
            let count = runs.len();
            runs.dedup();
            let expected = 3 * kinds.iter().filter(|kind| [1, 2].contains(*kind)).count();
            assert_eq!((runs.len(), count), (expected, expected), "{kinds:?}: {runs:?}");
            lab.assert_well_formed();
            lab.assert_one_prefix();
            // The true transcript has every block of the upstream.
            let truth = lab.last_seen()["messages"][1]["content"].clone();
            assert_eq!(truth, json!(message("x")), "{kinds:?}");
        }
    }
}

/// R-GW-18
#[tokio::test]
async fn deferred_calls_run_at_the_first_resume_and_later_branches_reuse_their_results() {
    let lab = Lab::new(json!([
        says(&[call("later", "a"), call("weather", "b")]),
        says(&[text("Done.")])
    ]));
    let mut chat = Chat::new(true);
    let reply = chat.say(&lab, "go").await;
    assert_eq!(lab.runs.begun(), Vec::<String>::new());
    let mut branch = chat.clone();
    chat.answer(&lab, &reply).await;
    assert_eq!(lab.runs.begun(), ["later a"]);
    let other = branch
        .say(&lab, json!([result(&reply.ids()[0], "another answer")]))
        .await;
    assert_eq!(other.text(), "Done.");
    assert_eq!(lab.runs.begun(), ["later a"]);
    assert!(last_blocks(&lab)[0].to_string().contains("later of a"));
    lab.assert_well_formed();
}

#[tokio::test(start_paused = true)]
async fn deferred_calls_run_once_when_two_branches_resume_at_the_same_time() {
    let lab = Lab::new(json!([
        says(&[slow_call("later", "a", 50), call("weather", "b")]),
        says(&[text("Done.")])
    ]));
    let mut chat = Chat::new(true);
    let reply = chat.say(&lab, "go").await;
    let (mut one, mut two) = (chat.clone(), chat);
    let id = &reply.ids()[0];
    let (one, two) = tokio::join!(
        one.say(&lab, json!([result(id, "one")])),
        two.say(&lab, json!([result(id, "two")])),
    );
    assert_eq!((one.text(), two.text()), ("Done.".to_owned(), "Done.".to_owned()));
    assert_eq!(lab.runs.begun(), ["later a"]);
    lab.assert_well_formed();
}

#[tokio::test]
async fn a_deferred_call_runs_at_once_when_the_client_has_none() {
    let lab = Lab::new(json!([says(&[call("later", "a")]), says(&[text("Done.")])]));
    assert_eq!(Chat::new(true).say(&lab, "go").await.text(), "Done.");
    assert_eq!(lab.runs.begun(), ["later a"]);
}

/// R-TURN-7
#[tokio::test]
async fn rejects_a_resume_with_wrong_ids_like_the_api() {
    for is_stream in [false, true] {
        let lab = Lab::new(json!([
            says(&[
                call("weather", "a"),
                call("clock", "b"),
                call("lookup", "c"),
                call("later", "d")
            ]),
            says(&[text("Done.")]),
        ]));
        let mut chat = Chat::new(is_stream);
        let reply = chat.say(&lab, "go").await;
        let ids = reply.ids();
        let both = [result(&ids[0], "1"), result(&ids[1], "2")];
        for (content, expected) in [
            (
                json!([both[0]]),
                format!(
                    "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: {}. \
                     Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
                    ids[1]
                ),
            ),
            (
                json!("What now?"),
                format!("messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: {}", ids[0]),
            ),
            (
                json!([both[0], both[1], result("toolu_other", "3")]),
                "unexpected `tool_use_id` found in `tool_result` blocks: toolu_other. Each `tool_result` block must have a \
                 corresponding `tool_use` block in the previous message."
                    .to_owned(),
            ),
            (
                json!([both[0], both[1], both[0]]),
                format!("each `tool_use` must have a single result. Found multiple `tool_result` blocks with id: {}", ids[0]),
            ),
            // Ids of the upstream are not sent to clients.
            (json!([both[0], both[1], result("up_c", "3")]), "unexpected `tool_use_id`".to_owned()),
        ] {
            let mut wrong = chat.clone();
            wrong.messages().push(user(content.clone()));
            let refused = wrong.ask(&lab).await;
            assert_eq!(refused.status, 400, "{content}");
            let (kind, message) = refused.error();
            assert_eq!(kind, "invalid_request_error");
            assert!(message.contains(&expected), "{message}\n{expected}");
        }
        assert_eq!(lab.seen().len(), 1, "nothing went up");
        assert_eq!(lab.runs.begun(), ["lookup c"], "no deferred call ran");
        assert_eq!(chat.say(&lab, json!(both)).await.text(), "Done.");
        lab.assert_well_formed();
    }
}

#[tokio::test]
async fn path_in_an_error_refers_to_the_client_message() {
    let lab = Lab::new(json!([says(&[call("weather", "a")]), says(&[text("Done.")])]));
    let mut chat = Chat::new(false);
    chat.messages()
        .extend([user("one"), json!({ "role": "system", "content": "s" })]);
    chat.say(&lab, "two").await;
    let refused = chat.say(&lab, "and?").await;
    assert!(
        refused.error().1.starts_with("messages.3: "),
        "{}",
        refused.message
    );
}

#[tokio::test]
async fn errors_of_later_rounds_are_shown() {
    // A message that is not streamed has it next to the stop reason.
    let details = json!({ "type": "refusal", "category": "cyber" });
    let first = json!({ "id": "m", "type": "message", "role": "assistant", "content": [call("lookup", "a")],
        "stop_reason": "tool_use", "stop_sequence": null, "stop_details": null, "usage": { "input_tokens": 1 } });
    let second = json!({ "id": "n", "type": "message", "role": "assistant", "content": [],
        "stop_reason": "refusal", "stop_sequence": null, "stop_details": details, "usage": { "input_tokens": 1 } });
    let upstream = crate::lab::Whole::new([first, second]);
    let registry = registry(&Runs::default());
    let app = Gateway::new(registry, upstream).router();
    let body = json!({ "messages": [user("go")], "tools": [{ "name": "lookup" }] });
    let response = tower::ServiceExt::oneshot(app, crate::lab::post("/v1/messages", body, &[])).await;
    let reply = crate::reply::Reply::read(response.unwrap()).await;
    assert_eq!(
        (reply.stop_reason(), &reply.message["stop_details"]),
        ("refusal", &details)
    );
}

/// R-TURN-6
#[tokio::test]
async fn a_deferred_call_waits_beside_one_that_is_handed_to_the_client() {
    let runs = Runs::default();
    let permission =
        Permission::new(
            async |request: PermissionRequest| match request.definition().name.as_str() {
                "write" => Decision::Interrupt,
                _ => Decision::Allow,
            },
        );
    let registry = registry(&runs).layer(permission);
    let turns = json!([
        says(&[call("write", "a"), call("later", "b")]),
        says(&[text("Done.")])
    ]);
    let script = TestScript::from_json(&json!({ "turns": turns }).to_string()).unwrap();
    let gateway = Gateway::new(registry, Scripted::new(&script));
    let app = gateway.with_deferred(["later"]).unwrap().router();
    let lab = Lab { app, script, runs };
    let mut chat = Chat::new(false);
    let reply = chat.say(&lab, "go").await;
    assert_eq!(reply.shape(), ["write"]);
    assert!(lab.runs.begun().is_empty(), "the client has not answered yet");
    assert_eq!(chat.answer(&lab, &reply).await.text(), "Done.");
    assert_eq!(lab.runs.begun(), ["later b"]);
    lab.assert_well_formed();
}

#[tokio::test]
async fn a_call_that_is_handed_to_the_client_has_the_arguments_that_were_decided_about() {
    if is_chat() {
        return; // The script has no other form of malformed arguments there.
    }
    let runs = Runs::default();
    let registry = registry(&runs).layer(Permission::new(async |_| Decision::Interrupt));
    let mut malformed = call("write", "a");
    malformed["partial_json"] = "{'key': 'production'}".into();
    malformed.as_object_mut().unwrap().remove("input");
    let turns = json!([says(&[malformed]), says(&[text("Done.")])]);
    let script = TestScript::from_json(&json!({ "turns": turns }).to_string()).unwrap();
    let app = Gateway::new(registry, Scripted::new(&script)).router();
    let lab = Lab { app, script, runs };
    let mut chat = Chat::new(true);
    let reply = chat.say(&lab, "go").await;
    assert_eq!(reply.content()[0]["input"], json!({ "key": "production" }));
    assert_eq!(chat.answer(&lab, &reply).await.text(), "Done.");
    lab.assert_well_formed();
}

#[tokio::test]
async fn a_tool_of_the_gateways_is_not_offered_under_a_name_that_is_an_alias() {
    let script = json!({ "turns": [says(&[text("Done.")])] });
    let ownership = Ownership::by_schema().with_alias("write", "lookup");
    let lab = Lab::with_each(script, |gateway| {
        gateway
            .with_ownership(ownership.clone())
            .unwrap()
            .with_offer(Offer::Always)
    });
    let mut chat = Chat::new(false);
    chat.body["tools"] = json!([]);
    chat.say(&lab, "go").await;
    let names: Vec<_> = lab.last_seen()["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].clone())
        .collect();
    assert_eq!(names, ["lookup", "later", "TodoWrite", "TodoRead"]);
}

#[tokio::test]
async fn caps_beyond_the_range_of_the_clock_are_none() {
    let turns =
        json!({ "turns": [says(&[call("lookup", "a"), call("weather", "b")]), says(&[text("Done.")])] });
    let lab = Lab::with_each(turns, |gateway| {
        gateway
            .with_max_time(Duration::MAX)
            .with_store(MemoryStore::new().with_ttl(Duration::MAX))
    });
    let mut chat = Chat::new(false);
    let reply = chat.say(&lab, "go").await;
    assert_eq!(chat.answer(&lab, &reply).await.text(), "Done.");
}

/// Models may write the name of a tool in another case.
#[tokio::test]
async fn name_with_other_case_is_internal_and_kept_in_the_transcript() {
    if is_chat() {
        return; // The client does not see a call of no tool there.
    }
    for is_stream in [false, true] {
        let lab = Lab::in_order(json!([
            says(&[call("LookUp", "a"), call("LATER", "b"), call("weather", "c")]),
            says(&[text("Two.")]),
            says(&[call("Weather", "d")]),
        ]));
        let mut chat = Chat::new(is_stream);
        let first = chat.say(&lab, "go").await;
        assert_eq!(first.shape(), ["weather"]);
        assert_eq!(lab.runs.begun(), ["lookup a"], "the deferred call waits");
        assert_eq!(chat.answer(&lab, &first).await.text(), "Two.");
        assert_eq!(lab.runs.begun(), ["lookup a", "later b"]);
        let sent = lab.last_seen();
        let calls = sent["messages"][1]["content"].as_array().unwrap().iter();
        let names: Vec<_> = calls.map(|block| block["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["LookUp", "LATER", "weather"], "as the model wrote them");
        lab.assert_well_formed();
        let metrics = lab.send(
            axum::http::Request::get("/metrics")
                .body(axum::body::Body::empty())
                .unwrap(),
        );
        let metrics = crate::reply::bytes(metrics.await.into_body()).await;
        let metrics = String::from_utf8(metrics.to_vec()).unwrap();
        assert!(metrics.contains(r#"tool="lookup",outcome="ok"} 1"#), "{metrics}");
        // The client's own tools keep the model's spelling.
        assert_eq!(chat.say(&lab, "and?").await.shape(), ["Weather"]);
    }
}

#[tokio::test]
async fn tool_declared_with_other_case_is_external() {
    if is_chat() {
        return; // The client does not see a call of no tool there.
    }
    let lab = Lab::new(json!([says(&[call("LOOKUP", "a"), call("Lookup", "b")])]));
    let mut chat = Chat::new(true);
    let own = json!({ "name": "LOOKUP", "description": "Mine.", "input_schema": { "type": "object" } });
    chat.body["tools"].as_array_mut().unwrap().push(own);
    assert_eq!(chat.say(&lab, "go").await.shape(), ["LOOKUP", "Lookup"]);
    assert!(lab.runs.begun().is_empty());
}
