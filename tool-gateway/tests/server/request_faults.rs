//! Requests that the gateway does not serve, row by row as `docs/faults.md` has them: in their encoding, their path or their state.

use std::io::Write as _;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::http::{Request, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::stream;
use serde_json::json;
use tool_gateway::Gateway;
use tool_gateway::upstream::AnthropicUpstream;

use crate::fault_rows::{Log, row};
use crate::faults::{Silent, chat, comes_to_its_end, lab_with};
use crate::lab::{Chat, Lab, Runs, assistant, call, post, registry, result, says, slow_call, text, user};
use crate::reply::{self, Reply};

async fn send_encoded(lab: &Lab, encoding: &str, body: impl Into<Body>) -> Reply {
    let mut request = post("/v1/messages", "", &[("content-encoding", encoding)]);
    *request.body_mut() = body.into();
    Reply::read(lab.send(request).await).await
}

fn compressed(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn request_has_an_unknown_encoding() {
    let row = row("request_has_an_unknown_encoding");
    for encoding in ["deflate", "gzip, br"] {
        let log = Log::start();
        let (lab, _) = lab_with(Silent, usize::MAX, |gateway| gateway);
        row.client_sees(&send_encoded(&lab, encoding, "{}").await);
        row.host_learns(&lab, &log).await;
        assert!(lab.script.requests().is_empty());
        comes_to_its_end(&lab, &chat(false, "go")).await;
    }
}

#[tokio::test]
async fn request_does_not_match_its_encoding() {
    let row = row("request_does_not_match_its_encoding");
    let log = Log::start();
    let (lab, _) = lab_with(Silent, usize::MAX, |gateway| gateway);
    row.client_sees(&send_encoded(&lab, "gzip", chat(false, "go").body.to_string()).await);
    row.host_learns(&lab, &log).await;
    for encoding in ["br", "zstd"] {
        assert_eq!(send_encoded(&lab, encoding, "{}").await.status, 400, "{encoding}");
    }
    assert!(lab.script.requests().is_empty());
    comes_to_its_end(&lab, &chat(false, "go")).await;
}

/// A short request may be long after decompression.
#[tokio::test]
async fn request_is_too_large_after_decompression() {
    let row = row("request_is_too_large_after_decompression");
    let log = Log::start();
    let (lab, _) = lab_with(Silent, usize::MAX, |gateway| gateway.with_max_body(1 << 20));
    let body = compressed(&vec![b' '; (1 << 20) + 1]);
    assert!(body.len() < 10_000);
    row.client_sees(&send_encoded(&lab, "gzip", body).await);
    row.host_learns(&lab, &log).await;
    assert!(lab.script.requests().is_empty());
    comes_to_its_end(&lab, &chat(false, "go")).await;
}

#[tokio::test]
async fn upload_is_too_large() {
    let row = row("upload_is_too_large");
    let log = Log::start();
    let (lab, _) = lab_with(Silent, usize::MAX, |gateway| gateway.with_max_upload(1 << 20));
    let mut announced = post("/v1/files", "", &[]);
    announced
        .headers_mut()
        .insert("content-length", ((1 << 20) + 1).into());
    row.client_sees(&Reply::read(lab.send(announced).await).await);
    row.host_learns(&lab, &log).await;
    // The length is not known before.
    let pieces = vec![Ok::<_, std::convert::Infallible>(Bytes::from(vec![b'x'; 1 << 20])); 2];
    let streamed = post("/v1/files", "", &[]).map(|_| Body::from_stream(stream::iter(pieces)));
    row.client_sees(&Reply::read(lab.send(streamed).await).await);
    assert!(lab.script.requests().is_empty());
    comes_to_its_end(&lab, &chat(false, "go")).await;
}

/// With the gateway's key, each client could read and delete the files of all others.
#[tokio::test]
async fn files_belong_to_the_gateways_account() {
    let row = row("files_belong_to_the_gateways_account");
    let log = Log::start();
    // No request arrives at this port.
    let upstream = AnthropicUpstream::new("http://127.0.0.1:9", Some("sk-secret".into())).unwrap();
    let (lab, _) = lab_with(Silent, usize::MAX, |gateway| gateway);
    let app = Gateway::new(registry(&Runs::default()), upstream).router();
    let lab = Lab { app, ..lab };
    row.client_sees(&Reply::read(lab.send(post("/v1/files", "a file", &[])).await).await);
    row.host_learns(&lab, &log).await;
    for path in [
        "/v1/messages/batches",
        "/v1/messages/batches/msgbatch_1/results",
        "/v1/files/file_1",
    ] {
        assert_eq!(lab.send(post(path, "{}", &[])).await.status(), 404, "{path}");
    }
}

#[tokio::test]
async fn request_has_an_invalid_model_id() {
    let row = row("request_has_an_invalid_model_id");
    for id in [
        "a%2F..%2F..%2Ffiles",
        "a%252Fb",
        "a%5Cb",
        "a%0Ab",
        &"x".repeat(257),
    ] {
        let log = Log::start();
        let (lab, _) = lab_with(Silent, usize::MAX, |gateway| gateway);
        let get = Request::get(format!("/v1/models/{id}")).body(Body::empty());
        row.client_sees(&Reply::read(lab.send(get.unwrap()).await).await);
        row.host_learns(&lab, &log).await;
        assert!(lab.script.requests().is_empty(), "{id}");
    }
}

/// A turn whose call of the client was sent, while another call runs.
struct OpenTurn {
    lab: Lab,
    rest: Body,
    /// The conversation with the result of the call.
    chat: Chat,
}

impl OpenTurn {
    async fn begin() -> Self {
        let lab = Lab::new(json!([
            says(&[call("own", "a"), slow_call("write", "b", 60_000)]),
            says(&[text("Done.")]),
        ]));
        let mut chat = chat(true, "go");
        let response = lab.send(post("/v1/messages", &chat.body, &[])).await;
        let (rest, seen) = until_stop(response).await;
        let (_, id) = seen.split_once(r#""id":"toolu_"#).unwrap();
        let id = format!("toolu_{}", id.split('"').next().unwrap());
        let call = json!({ "type": "tool_use", "id": id, "name": "own", "input": { "key": "a" } });
        chat.messages().push(assistant(json!([call])));
        chat.messages().push(user(json!([result(&id, "fine")])));
        Self { lab, rest, chat }
    }

    /// Waits for the end of the turn, and checks that its client can answer the call.
    async fn ends(self) {
        reply::bytes(self.rest).await;
        let late = self.chat.ask(&self.lab).await;
        assert_eq!(late.text(), "Done.", "{}", late.message);
        assert_eq!(self.lab.runs.begun(), ["write b"]);
        assert!(self.lab.last_seen().to_string().contains("write of b"));
        self.lab.assert_well_formed();
    }
}

/// Returns the body after the first complete block, and the text before it.
async fn until_stop(response: Response<Body>) -> (Body, String) {
    let (mut body, mut seen) = (response.into_body(), String::new());
    while !seen.contains("content_block_stop") {
        let frame = std::future::poll_fn(|context| std::pin::Pin::new(&mut body).poll_frame(context)).await;
        seen.push_str(std::str::from_utf8(&frame.unwrap().unwrap().into_data().unwrap()).unwrap());
    }
    (body, seen)
}

#[tokio::test(start_paused = true)]
async fn results_arrive_before_the_end_of_their_turn() {
    let row = row("results_arrive_before_the_end_of_their_turn");
    let log = Log::start();
    let turn = OpenTurn::begin().await;
    row.client_sees(&turn.chat.ask(&turn.lab).await);
    row.host_learns(&turn.lab, &log).await;
    turn.ends().await;
}

/// A client learns nothing about the turns of others: another client's id is an unknown id.
#[tokio::test(start_paused = true)]
async fn results_have_an_id_of_another_client() {
    let row = row("results_have_an_id_of_another_client");
    let log = Log::start();
    let turn = OpenTurn::begin().await;
    let lab = &turn.lab;
    let reply = lab
        .ask_with(&turn.chat.body, &[("x-api-key", "key of eve")])
        .await;
    row.client_sees(&reply);
    assert_eq!(
        (reply.text(), reply.session().1),
        ("Done.".to_owned(), "new".to_owned())
    );
    assert_eq!(lab.last_seen()["messages"], turn.chat.body["messages"]);
    row.host_learns(lab, &log).await;
    turn.ends().await;
}

#[tokio::test(start_paused = true)]
async fn gateway_is_being_stopped() {
    let row = row("gateway_is_being_stopped");
    let log = Log::start();
    let mut turns = None;
    let script = json!({ "turns": [says(&[slow_call("write", "a", 60_000)]), says(&[text("Done.")])] });
    let lab = Lab::with(script, |gateway| {
        turns = Some(gateway.turns());
        gateway
    });
    let running = chat(false, "go");
    let refused = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        turns.unwrap().close();
        chat(false, "another").ask(&lab).await
    };
    let (reply, refused) = tokio::join!(running.ask(&lab), refused);
    row.client_sees(&refused);
    assert_eq!(reply.text(), "Done.", "a turn in progress ends");
    row.host_learns(&lab, &log).await;
    for (path, status) in [("/readyz", 503), ("/healthz", 200), ("/v1/tools", 200)] {
        let get = Request::get(path).body(Body::empty()).unwrap();
        assert_eq!(lab.send(get).await.status(), status, "{path}");
    }
}
