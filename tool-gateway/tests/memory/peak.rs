//! The peak of the memory that a request takes, as a multiple of its body.

use axum::body::Bytes;

use crate::shapes::{Shape, gateway, list, message, send, size};
use crate::{ALLOCATED, alone};

/// Maximum peak of a request, as a multiple of the size of its body: the body, its copy for the upstream, and the parsed parts.
const MAX_RATIO: f64 = 8.0;

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

/// Returns the maximum peak for a shape. A turn keeps each block of an answer, and a request each of its messages: lists of the smallest
/// blocks take more, up to the caps on their numbers.
fn max_ratio(name: &str) -> f64 {
    let is_kept = ["as begun answer", ": messages"]
        .iter()
        .any(|shape| name.ends_with(shape));
    match name {
        _ if name.starts_with("turn: response") => 30.0,
        _ if is_kept => 2.2 * MAX_RATIO,
        _ => MAX_RATIO,
    }
}

fn assert_peaks(rows: &[(String, u16, f64, f64)]) {
    let mut table = String::new();
    for (name, status, peak, rest) in rows {
        table += &format!("{peak:6.1} {rest:6.1} {status} {name}\n");
    }
    eprintln!("{table}");
    let over = rows
        .iter()
        .filter(|(name, _, peak, _)| *peak > max_ratio(name))
        .count();
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

#[test]
fn response_takes_a_small_multiple_of_its_body() {
    let _alone = alone();
    let mut rows = Vec::new();
    for item in [
        r#"{"type":"text","text":"abcdefghijklmnopqrstuvwxyz"}"#,
        r#"{"type":"tool_use","id":"a","name":"n","input":{"a":[1,1,1,1,1,1,1]}}"#,
    ] {
        for &is_turn in ways() {
            let response = Bytes::from(message(&list(item, size())));
            let body = Bytes::from(r#"{"model":"m","messages":[{"role":"user","content":"b"}]}"#);
            let (status, peak, rest) = measure(is_turn, body, response, size());
            let way = if is_turn { "turn" } else { "passed" };
            rows.push((format!("{way}: response of {item}"), status, peak, rest));
        }
    }
    assert_peaks(&rows);
}

/// The cap on blocks bounds the memory of the smallest blocks, each of which a turn keeps.
#[test]
fn smallest_blocks_take_a_bounded_amount() {
    const MAX_BYTES: f64 = 64.0 * 1024.0 * 1024.0;
    let _alone = alone();
    let most = list("1", 2 * 100_000 - 2);
    let begun = format!(
        r#"{{"model":"m","messages":[{{"role":"user","content":"a"}},{{"role":"assistant","content":{most}}}]}}"#
    );
    let plain = r#"{"model":"m","messages":[{"role":"user","content":"b"}]}"#.to_owned();
    let text = message(r#"[{"type":"text","text":"a"}]"#);
    for (body, response) in [(begun, text), (plain, message(&most))] {
        let (status, peak, _) = measure(true, body.into(), response.into(), 1);
        assert_eq!(status, 200);
        assert!(peak < MAX_BYTES, "{peak} bytes");
    }
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
