//! The peak of the memory that a request takes, as a multiple of its body.

use axum::body::Bytes;

use crate::shapes::{Shape, gateway, list, message, send, streamed};
use crate::{ALLOCATED, alone};

/// Maximum peak of a request, as a multiple of the size of its body: the body, its copy for the upstream, and the parsed parts. The resident
/// memory is larger, by free pages of the allocator (`tests/command/resident_memory.rs`).
const MAX_RATIO: f64 = 5.0;

/// Returns the peak and the rest of a request with this body, as multiples of `size`.
fn measure(is_turn: bool, body: Bytes, response: Bytes, size: usize) -> (u16, f64, f64) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let app = gateway(is_turn, response).router();
        // Tables and metrics are created.
        send(
            &app,
            Bytes::from(r#"{"model":"m","messages":[{"role":"user","content":"a"}]}"#),
        )
        .await;
        let before = ALLOCATED.current_usage();
        ALLOCATED.reset_peak_usage();
        let (status, _) = send(&app, body).await;
        #[expect(clippy::cast_precision_loss, reason = "sizes of bodies are small")]
        let ratio = |bytes: usize| bytes.saturating_sub(before) as f64 / size as f64;
        // The body that is sent was allocated before.
        (
            status,
            1.0 + ratio(ALLOCATED.peak_usage()),
            ratio(ALLOCATED.current_usage()),
        )
    })
}

/// Returns whether the measured requests are turns: by default only turns, which take more; with `GATEWAY_LONG=1` also requests that
/// pass, since each shape takes a second without optimization.
fn ways() -> &'static [bool] {
    if std::env::var_os("GATEWAY_LONG").is_some() {
        &[false, true]
    } else {
        &[true]
    }
}

fn assert_peaks(rows: &[(String, u16, f64, f64)]) {
    let mut table = String::new();
    for (name, status, peak, rest) in rows {
        table += &format!("{peak:6.1} {rest:6.1} {status} {name}\n");
    }
    eprintln!("{table}");
    let over = rows.iter().filter(|(_, _, peak, _)| *peak > MAX_RATIO).count();
    assert_eq!(
        over, 0,
        "requests take more than {MAX_RATIO} times their size:\n{table}"
    );
}

/// Blocks, messages and tools are capped: a body with too many of them is rejected, and takes no more memory.
#[test]
fn request_takes_a_small_multiple_of_its_body() {
    let _alone = alone();
    let mut rows = Vec::new();
    for shape in Shape::all() {
        for &is_turn in ways() {
            let body = Bytes::from(shape.body());
            let size = body.len();
            let (status, peak, rest) = measure(
                is_turn,
                body,
                Bytes::from(message(r#"[{"type":"text","text":"a"}]"#)),
                size,
            );
            let way = if is_turn { "turn" } else { "passed" };
            rows.push((format!("{way}: {}", shape.name), status, peak, rest));
        }
    }
    assert_peaks(&rows);
}

/// Maximum number of content blocks of a response.
const MAX_RESPONSE_BLOCKS: usize = 8_000;

/// Maximum peak of a response with that many blocks, in bytes. A turn keeps each block, and each call also as a call and with the id for the
/// client: a list of the smallest calls takes more than a multiple of its size, up to the cap on blocks.
const MAX_RESPONSE: f64 = 16.0 * 1024.0 * 1024.0;

/// Responses of many blocks, whole and streamed: texts, calls, and texts before a call.
fn responses(blocks: usize) -> impl Iterator<Item = (String, String)> {
    const TEXT: &str = r#"{"type":"text","text":"abcdefghijklmnopqrstuvwxyz"}"#;
    const CALL: &str = r#"{"type":"tool_use","id":"a","name":"n","input":{"a":[1,1,1,1,1,1,1]}}"#;
    [
        ("texts", TEXT, TEXT),
        ("calls", CALL, CALL),
        ("texts and a call", TEXT, CALL),
    ]
    .into_iter()
    .flat_map(move |(name, item, last)| {
        let mut items = vec![item; blocks - 1];
        items.push(last);
        let whole = message(&format!("[{}]", items.join(",")));
        [
            (name.to_owned(), whole),
            (format!("streamed {name}"), streamed(&items)),
        ]
    })
}

#[test]
fn response_takes_a_small_multiple_of_its_body() {
    let _alone = alone();
    let mut rows = Vec::new();
    let request = Bytes::from(r#"{"model":"m","messages":[{"role":"user","content":"b"}]}"#);
    for blocks in [1_000, MAX_RESPONSE_BLOCKS] {
        for (name, response) in responses(blocks) {
            for &is_turn in ways() {
                let size = response.len();
                let (status, peak, rest) = measure(is_turn, request.clone(), response.clone().into(), size);
                assert_eq!(status, 200, "{name}");
                let way = if is_turn { "turn" } else { "passed" };
                #[expect(clippy::cast_precision_loss, reason = "sizes of bodies are small")]
                let is_bounded = peak * (size as f64) < MAX_RESPONSE;
                eprintln!("{peak:6.1} {rest:6.1} {way}: response of {blocks} {name}");
                if !is_bounded {
                    rows.push((format!("{way}: response of {blocks} {name}"), status, peak, rest));
                }
            }
        }
    }
    assert_peaks(&rows);
}

#[test]
fn response_with_too_many_blocks_is_refused() {
    let _alone = alone();
    let request = Bytes::from(r#"{"model":"m","messages":[{"role":"user","content":"b"}]}"#);
    for (name, response) in responses(MAX_RESPONSE_BLOCKS + 1) {
        let size = response.len();
        let (status, peak, rest) = measure(true, request.clone(), response.into(), size);
        assert_eq!(status, 502, "{name}");
        #[expect(clippy::cast_precision_loss, reason = "sizes of bodies are small")]
        let is_bounded = peak < MAX_RATIO || peak * (size as f64) < MAX_RESPONSE;
        assert!(is_bounded, "{name}: {peak}");
        // A retry of a stream that has begun receives its first part.
        assert!(name.starts_with("streamed") || rest < 0.1, "{name}: {rest}");
    }
}

/// The cap on blocks bounds the memory of the smallest blocks in a message that the answer continues.
#[test]
fn smallest_blocks_take_a_bounded_amount() {
    let _alone = alone();
    let most = list("1", 2 * 100_000 - 2);
    let body = format!(
        r#"{{"model":"m","messages":[{{"role":"user","content":"a"}},{{"role":"assistant","content":{most}}}]}}"#
    );
    let size = body.len();
    let text = message(r#"[{"type":"text","text":"a"}]"#);
    let (status, peak, _) = measure(true, body.into(), text.into(), size);
    assert_eq!(status, 200);
    assert!(peak < MAX_RATIO, "{peak}");
}

#[test]
fn rejects_a_request_with_too_many_parts() {
    let _alone = alone();
    let user = r#"{"role":"user","content":"a"}"#;
    let tools = |tools: &str| format!(r#"{{"model":"m","messages":[{user}],"tools":{tools}}}"#);
    let messages = |messages: &str| format!(r#"{{"model":"m","messages":{messages}}}"#);
    let blocks = format!(r#"[{{"role":"user","content":{}}}]"#, list("1", 2 * 100_000 + 2));
    for body in [
        messages(&blocks),
        messages(&list(user, (user.len() + 1) * 100_000 + 1)),
        tools(&list("{}", 3 * 10_000 + 1)),
        format!(
            r#"{{"model":"m","messages":[{user}],"metadata":{}}}"#,
            list("1", 2 * 2_000_000)
        ),
    ] {
        let size = body.len();
        let (status, peak, rest) = measure(true, body.into(), Bytes::new(), size);
        assert_eq!(status, 413);
        assert!(peak < MAX_RATIO && rest < 0.1, "{peak} {rest}");
    }
}
