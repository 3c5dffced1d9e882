//! Faults of sessions in Redis, row by row as `docs/faults.md` has them. Each test starts a server of Redis.

use std::future::Future;
use std::io::BufRead as _;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::time::Instant;
use tool_gateway::session::redis::RedisStore;

use crate::client_faults::{Program, reply};
use crate::fault_rows::{Log, Row, row};
use crate::faults::{Silent, chat, comes_to_its_end, lab_with, later_chat, listening};
use crate::lab::{Chat, Lab, RETRY, call, result, says, slow_call, text};
use crate::redis_proxy::{RedisProxy, Treatment};
use crate::redis_server::{RedisReply, RedisServer, free_port};
use crate::reply::Reply;
use crate::shared_store::Instances;

/// Response of an upstream.
const MESSAGE: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n\
    {\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\
    \"content\":[{\"type\":\"text\",\"text\":\"Hello.\"}],\"stop_reason\":\"end_turn\",\"stop_sequence\":null,\
    \"usage\":{\"input_tokens\":1,\"output_tokens\":1}}";

/// Creates a store that is connected.
async fn store_at(url: &str) -> RedisStore {
    let store = RedisStore::new(&url.parse().unwrap(), None).unwrap();
    store.connect().await.unwrap();
    store
}

/// Builds a gateway whose upstream calls `write` and then ends the turn.
fn lab_of(store: &RedisStore) -> Lab {
    lab_with(Silent, usize::MAX, |gateway| gateway.with_store(store.clone())).0
}

/// Runs a future while the server hangs. The clock is paused, so that the limits of operations are over at once.
async fn while_it_hangs<T>(server: &RedisServer, done: impl Future<Output = T>) -> T {
    let process = Pid::from_raw(server.process()).unwrap();
    kill_process(process, Signal::STOP).unwrap();
    tokio::time::pause();
    let done = done.await;
    tokio::time::resume();
    kill_process(process, Signal::CONT).unwrap();
    done
}

async fn ready(lab: &Lab) -> Reply {
    let request = Request::get("/readyz").body(Body::empty()).unwrap();
    let response = lab.send(request).await;
    if response.status() == 200 {
        let message = json!({ "type": "ready" }).to_string();
        return Reply::read(response.map(|_| Body::from(message))).await;
    }
    Reply::read(response).await
}

/// Returns the only key of a kind.
fn key_of(server: &RedisServer, kind: &str) -> String {
    let found = server.run(&["KEYS", &format!("tg1:*:{kind}:*")]);
    let keys = found.texts();
    assert_eq!(keys.len(), 1, "{keys:?}");
    keys[0].to_owned()
}

#[tokio::test]
async fn redis_does_not_answer() {
    let row = row("redis_does_not_answer");
    let Some(server) = RedisServer::start() else {
        return;
    };
    for is_stream in [false, true] {
        server.run(&["FLUSHALL"]);
        let lab = lab_of(&store_at(&server.url()).await);
        let (log, chat) = (Log::start(), later_chat(is_stream, "go"));
        row.client_sees(&while_it_hangs(&server, chat.ask(&lab)).await);
        row.host_learns(&lab, &log).await;
        assert!(lab.runs.begun().is_empty());
        comes_to_its_end(&lab, &chat).await;
    }
}

#[tokio::test]
async fn redis_does_not_answer_as_an_answer_passes() {
    let row = row("redis_does_not_answer_as_an_answer_passes");
    let Some(server) = RedisServer::start() else {
        return;
    };
    let lab = lab_of(&store_at(&server.url()).await);
    let log = Log::start();
    let mut chat = chat(false, "go");
    chat.body["tools"] = json!([]);
    let reply = while_it_hangs(&server, async {
        let reply = chat.ask(&lab).await;
        // The turn is stored beside the end of the answer.
        tokio::time::sleep(Duration::from_secs(5)).await;
        reply
    });
    let reply = reply.await;
    row.client_sees(&reply);
    assert_eq!(reply.shape(), ["write"]);
    row.host_learns(&lab, &log).await;
}

#[tokio::test]
async fn redis_does_not_answer_for_ten_seconds() {
    let row = row("redis_does_not_answer_for_ten_seconds");
    let Some(server) = RedisServer::start() else {
        return;
    };
    let lab = lab_of(&store_at(&server.url()).await);
    let log = Log::start();
    let (reply, time) = while_it_hangs(&server, async {
        let began = Instant::now();
        loop {
            let reply = ready(&lab).await;
            if reply.status != 200 {
                return (reply, began.elapsed());
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    })
    .await;
    assert!((10..14).contains(&time.as_secs()), "{time:?}");
    row.client_sees(&reply);
    row.host_learns(&lab, &log).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(ready(&lab).await.status, 200);
}

/// The result of the call is written while the server hangs, so the server executes this write later.
#[tokio::test]
async fn redis_does_not_answer_during_a_call() {
    let row = row("redis_does_not_answer_during_a_call");
    let Some(server) = RedisServer::start() else {
        return;
    };
    let lab = lab_of(&store_at(&server.url()).await);
    let (log, chat) = (Log::start(), later_chat(false, "go"));
    let process = Pid::from_raw(server.process()).unwrap();
    lab.runs.at_the_next_begin(move || {
        kill_process(process, Signal::STOP).unwrap();
        tokio::time::pause();
    });
    let reply = chat.ask(&lab).await;
    tokio::time::resume();
    kill_process(process, Signal::CONT).unwrap();
    row.client_sees(&reply);
    row.host_learns(&lab, &log).await;
    comes_to_its_end(&lab, &chat).await;
}

/// Each command of a turn is executed, and its reply is lost with the connection.
#[tokio::test]
async fn redis_loses_a_reply() {
    let row = row("redis_loses_a_reply");
    let Some(server) = RedisServer::start() else {
        return;
    };
    let proxy = RedisProxy::start(server.port());
    for lost in 0.. {
        let lab = lab_of(&store_at(&proxy.url()).await);
        proxy.take_commands();
        let mut number = 0;
        proxy.treat(move |_| {
            number += 1;
            if number == lost + 1 {
                Treatment::Lose
            } else {
                Treatment::Forward
            }
        });
        let (log, chat) = (Log::start(), later_chat(false, &format!("go {lost}")));
        let reply = chat.ask(&lab).await;
        row.client_sees(&reply);
        assert_eq!(reply.text(), "Done.", "{lost}");
        row.host_learns(&lab, &log).await;
        comes_to_its_end(&lab, &chat).await;
        if proxy.take_commands().len() <= lost {
            assert!(lost > 3, "{lost}");
            break;
        }
    }
}

/// Each command of a turn gets each of these errors before its answer.
#[tokio::test]
async fn redis_answers_with_an_error_that_passes() {
    const ERRORS: [&str; 7] = [
        "MOVED 1 127.0.0.1:1",
        "ASK 1 127.0.0.1:1",
        "TRYAGAIN Multiple keys request during rehashing of slot",
        "LOADING Redis is loading the dataset in memory",
        "READONLY You can't write against a read only replica.",
        "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
        "NOSCRIPT No matching script. Please use EVAL.",
    ];
    let row = row("redis_answers_with_an_error_that_passes");
    let Some(server) = RedisServer::start() else {
        return;
    };
    let proxy = RedisProxy::start(server.port());
    let lab = lab_of(&store_at(&proxy.url()).await);
    let mut number = 0;
    proxy.treat(move |name| {
        let error = ERRORS.get(number % (ERRORS.len() + 1));
        number += 1;
        match error {
            // The error of one command, which the next one does not have.
            Some(error) if error.starts_with("NOSCRIPT") && name != "EVALSHA" => Treatment::Forward,
            Some(error) => Treatment::Fail(error),
            None => Treatment::Forward,
        }
    });
    let (log, chat) = (Log::start(), later_chat(false, "go"));
    let reply = chat.ask(&lab).await;
    row.client_sees(&reply);
    assert_eq!(reply.text(), "Done.");
    row.host_learns(&lab, &log).await;
    comes_to_its_end(&lab, &chat).await;
}

#[tokio::test]
async fn redis_has_no_memory() {
    let row = row("redis_has_no_memory");
    let Some(server) = RedisServer::start() else {
        return;
    };
    let lab = lab_of(&store_at(&server.url()).await);
    server.run(&["CONFIG", "SET", "maxmemory", "1"]);
    let (log, chat) = (Log::start(), later_chat(false, "go"));
    row.client_sees(&chat.ask(&lab).await);
    row.host_learns(&lab, &log).await;
    assert!(lab.runs.begun().is_empty());
    server.run(&["CONFIG", "SET", "maxmemory", "0"]);
    comes_to_its_end(&lab, &chat).await;
}

#[tokio::test]
async fn redis_evicts_sessions_in_use() {
    let row = row("redis_evicts_sessions_in_use");
    let Some(server) = RedisServer::start() else {
        return;
    };
    row.client_sees_no_error();
    server.run(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    let log = Log::start();
    let lab = lab_of(&store_at(&server.url()).await);
    row.host_learns(&lab, &log).await;
    comes_to_its_end(&lab, &later_chat(false, "go")).await;
}

#[tokio::test]
async fn replicas_do_not_have_a_write() {
    let row = row("replicas_do_not_have_a_write");
    let Some(server) = RedisServer::start() else {
        return;
    };
    let store = RedisStore::new(&server.url().parse().unwrap(), None).unwrap();
    let store = store.with_wait_replicas(1);
    store.connect().await.unwrap();
    let lab = lab_of(&store);
    let (log, chat) = (Log::start(), later_chat(false, "go"));
    row.client_sees(&chat.ask(&lab).await);
    row.host_learns(&lab, &log).await;
    assert!(lab.runs.begun().is_empty());
    // The beginning of a deferred call is part of the suspended turn.
    let turns = [
        says(&[call("later", "a"), call("weather", "b")]),
        says(&[text("Done.")]),
    ];
    let instances = Instances::with(&json!({ "turns": turns }), |gateway| {
        gateway.with_store(store.clone())
    });
    let mut chat = Chat::new(false);
    let suspended = chat.say(&instances.one, "go").await;
    row.client_sees(&chat.answer(&instances.one, &suspended).await);
    assert!(instances.one.runs.begun().is_empty());
}

/// The promoted replica does not have the last segment of a request's progress.
#[tokio::test]
async fn redis_fails_over_without_the_last_segment() {
    let row = row("redis_fails_over_without_the_last_segment");
    let Some(server) = RedisServer::start() else {
        return;
    };
    let lab = lab_of(&store_at(&server.url()).await);
    let (log, chat) = (Log::start(), later_chat(false, "go"));
    let port = server.port();
    lab.runs.at_the_next_begin(move || {
        let keys = crate::redis_server::run(port, &["KEYS", "tg1:*:L:*"]).unwrap();
        let lost = crate::redis_server::run(port, &["RPOP", keys.texts()[0]]).unwrap();
        assert!(matches!(lost, RedisReply::Text(_)), "{lost:?}");
    });
    let reply = chat.ask(&lab).await;
    row.client_sees(&reply);
    assert_eq!(reply.text(), "Done.");
    let row = row.with("SESSION", &reply.session().0);
    row.host_learns(&lab, &log).await;
    comes_to_its_end(&lab, &chat).await;
}

/// Suspends a turn, changes the keys of the server, and sends the result of the call to another gateway.
async fn resumes_without(row: &Row, lose: impl Fn(&RedisServer)) {
    let Some(server) = RedisServer::start() else {
        return;
    };
    let lab = async |turn| {
        let store = store_at(&server.url()).await;
        let script = json!({ "turns": [turn], "order": "requests" });
        Lab::with(script, |gateway| gateway.with_store(store))
    };
    let before = lab(says(&[call("weather", "b")])).await;
    let mut chat = later_chat(false, "go");
    let suspended = chat.ask(&before).await;
    let lab = lab(says(&[text("Two.")])).await;
    lose(&server);
    let log = Log::start();
    chat.messages().extend([
        json!({ "role": "assistant", "content": suspended.message["content"] }),
        json!({ "role": "user", "content": [result(&suspended.ids()[0], "fine")] }),
    ]);
    let reply = chat.ask(&lab).await;
    row.client_sees(&reply);
    assert_eq!(reply.text(), "Two.");
    row.host_learns(&lab, &log).await;
    lab.assert_well_formed();
}

#[tokio::test]
async fn redis_fails_over_without_a_turn() {
    resumes_without(&row("redis_fails_over_without_a_turn"), |server| {
        server.run(&["FLUSHALL"]);
    })
    .await;
}

#[tokio::test]
async fn redis_has_lost_the_session_of_a_turn() {
    resumes_without(&row("redis_has_lost_the_session_of_a_turn"), |server| {
        server.run(&["DEL", &key_of(server, "S")]);
    })
    .await;
}

#[tokio::test]
async fn record_in_redis_is_damaged() {
    resumes_without(&row("record_in_redis_is_damaged"), |server| {
        server.run(&["HSET", &key_of(server, "T"), "b", ""]);
    })
    .await;
}

/// The gateway is killed with its runtime, and its lease ends.
#[tokio::test]
async fn gateway_is_killed_during_a_call() {
    let row = row("gateway_is_killed_during_a_call");
    let Some(server) = RedisServer::start() else {
        return;
    };
    let turns = [says(&[slow_call("write", "a", 60_000)]), says(&[text("Done.")])];
    let stores = [store_at(&server.url()).await, store_at(&server.url()).await];
    let next = std::sync::atomic::AtomicUsize::new(0);
    let instances = Instances::with(&json!({ "turns": turns }), |gateway| {
        let number = next.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        gateway.with_store(stores[number.min(1)].clone())
    });
    let chat = chat(false, "go");
    let killed = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let request = crate::lab::post("/v1/messages", &chat.body, &[]);
    killed.spawn(tower::ServiceExt::oneshot(instances.one.app.clone(), request));
    while instances.one.runs.begun().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    killed.shutdown_background();
    server.run(&["HSET", &key_of(&server, "R:*"), "until", "0", "client", "0"]);
    let log = Log::start();
    let reply = instances.two.ask_with(&chat.body, &[RETRY]).await;
    row.client_sees(&reply);
    assert_eq!(reply.text(), "Done.");
    row.host_learns(&instances.two, &log).await;
    assert_eq!(instances.one.runs.begun(), ["write a"]);
    let seen = instances.two.last_seen().to_string();
    assert!(seen.contains("interrupted"), "{seen}");
}

const READY: &str = "GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

/// Starts the program with its sessions in Redis, and returns its first warning, too.
async fn program_with_warning(redis: &str) -> (Program, String) {
    let upstream = listening(MESSAGE).await;
    let configuration = format!("store = \"{redis}\"");
    let mut program = Program::start_configured(&configuration, &upstream, &[("ANTHROPIC_API_KEY", "key")]);
    let mut line = String::new();
    while !line.contains("WARN") {
        line.clear();
        program.log.read_line(&mut line).unwrap();
    }
    (program, line)
}

async fn until_ready(program: &Program) {
    let ready = async {
        while !program.send(READY).await.starts_with("HTTP/1.1 200") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), ready)
        .await
        .unwrap();
}

/// Returns a request for a turn.
fn post() -> String {
    let body = chat(false, "go").body.to_string();
    let length = body.len();
    format!(
        "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

#[tokio::test]
async fn redis_version_is_too_old() {
    let row = row("redis_version_is_too_old");
    let Some(server) = RedisServer::start() else {
        return;
    };
    let proxy = RedisProxy::start(server.port());
    proxy.treat(|name| match name {
        "INFO" => Treatment::Reply("redis_version:6.0.20"),
        _ => Treatment::Forward,
    });
    let (program, line) = program_with_warning(&proxy.url()).await;
    row.host_logs(&line);
    row.client_sees(&reply(&program.send(&post()).await).await);
    row.client_sees(&reply(&program.send(READY).await).await);
    // The operator replaces the server.
    proxy.treat(|_| Treatment::Forward);
    until_ready(&program).await;
}

#[tokio::test]
async fn redis_is_unreachable_at_the_start() {
    let row = row("redis_is_unreachable_at_the_start");
    let free = free_port();
    let (program, line) = program_with_warning(&format!("redis://127.0.0.1:{free}")).await;
    row.host_logs(&line);
    row.client_sees(&reply(&program.send(&post()).await).await);
    row.client_sees(&reply(&program.send(READY).await).await);
    let health = program.send(&READY.replace("readyz", "healthz")).await;
    assert!(health.starts_with("HTTP/1.1 200"), "{health}");
    let Some(_server) = RedisServer::start_on(free, &[]) else {
        return;
    };
    until_ready(&program).await;
    assert_eq!(reply(&program.send(&post()).await).await.text(), "Hello.");
}
