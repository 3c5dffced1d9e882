//! Answers of the upstream, and the requests for them.

use std::ops::Range;
use std::sync::LazyLock;

/// An answer of the upstream, which a request names in its last message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// A message of 1 KB.
    Plain,
    /// A message of 56 events, each written to the socket separately.
    Events,
    /// These events in one write.
    Burst,
    /// 30 events, 10 ms apart.
    Paced,
    /// A message of 1 KB with a call of the client's tool.
    Call,
}

impl Answer {
    const ALL: [Self; 5] = [Self::Plain, Self::Events, Self::Burst, Self::Paced, Self::Call];

    fn word(self) -> &'static str {
        match self {
            Self::Plain => "answer=plain",
            Self::Events => "answer=events",
            Self::Burst => "answer=burst",
            Self::Paced => "answer=paced",
            Self::Call => "answer=call",
        }
    }

    fn is_stream(self) -> bool {
        matches!(self, Self::Events | Self::Burst | Self::Paced)
    }

    /// Returns the answer that a request names.
    pub fn of(request: &[u8]) -> Option<Self> {
        let wanted = &request[memchr::memmem::rfind(request, b"answer=")?..];
        Self::ALL
            .into_iter()
            .find(|answer| wanted.starts_with(answer.word().as_bytes()))
    }

    /// Returns the pieces that the upstream writes: head and body.
    pub fn pieces(self) -> &'static [Vec<u8>] {
        match self {
            Self::Plain => &PLAIN,
            Self::Events => &EVENTS,
            Self::Burst => &BURST,
            Self::Paced => &PACED,
            Self::Call => &CALL,
        }
    }
}

impl Answer {
    /// Returns the pieces of the answer in the form of Chat Completions.
    pub fn chat_pieces(self) -> &'static [Vec<u8>] {
        match self {
            Self::Plain => &CHAT_PLAIN,
            Self::Events => &CHAT_EVENTS,
            Self::Burst => &CHAT_BURST,
            Self::Paced | Self::Call => panic!("no section translates this answer"),
        }
    }
}

static CHAT_PLAIN: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let text = text(850);
    vec![json(&format!(
        r#"{{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"claude","choices":[{{"index":0,"message":{{"role":"assistant","content":"{text}"}},"finish_reason":"stop"}}],"usage":{CHAT_USAGE}}}"#
    ))]
});
static CHAT_EVENTS: LazyLock<Vec<Vec<u8>>> =
    LazyLock::new(|| stream(chat_events().into_iter().map(|event| chunk(&event))));
static CHAT_BURST: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let whole = stream([chunk(&chat_events().concat())].into_iter());
    vec![whole.concat()]
});
static PLAIN: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| vec![json(&message(&text_block(850), "end_turn"))]);
static CALL: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let call = r#"{"type":"tool_use","id":"toolu_01A09q90qw90lq917835lq9","name":"search_files","input":{"pattern":"fn main"}}"#;
    vec![json(&message(&format!("{},{call}", text_block(740)), "tool_use"))]
});
static EVENTS: LazyLock<Vec<Vec<u8>>> =
    LazyLock::new(|| stream(events(50).into_iter().map(|event| chunk(&event))));
static BURST: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let whole = stream([chunk(&events(50).concat())].into_iter());
    vec![whole.concat()]
});
static PACED: LazyLock<Vec<Vec<u8>>> =
    LazyLock::new(|| stream(events(24).into_iter().map(|event| chunk(&event))));

/// Builds a response with a JSON body.
pub fn json(body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{HEADERS}\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Builds a chunked response. The head is part of the first piece, and the end of the last piece.
fn stream(chunks: impl Iterator<Item = Vec<u8>>) -> Vec<Vec<u8>> {
    let mut pieces: Vec<Vec<u8>> = chunks.collect();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n{HEADERS}\r\n"
    );
    pieces[0].splice(0..0, head.into_bytes());
    let last = pieces.len() - 1;
    pieces[last].extend(b"0\r\n\r\n");
    pieces
}

fn chunk(text: &str) -> Vec<u8> {
    format!("{:x}\r\n{text}\r\n", text.len()).into_bytes()
}

/// Headers of the API.
const HEADERS: &str = "request-id: req_011CSHoEeqs5C35K2UUqR7Fy\r\n\
    anthropic-organization-id: 5b8f0c0e-7c5c-4b0e-9a55-1f8d1d6f6c0a\r\n\
    anthropic-ratelimit-requests-remaining: 3999\r\n\
    anthropic-ratelimit-tokens-remaining: 399000\r\n";

fn message(content: &str, stop_reason: &str) -> String {
    format!(
        r#"{{"id":"msg_01XFDUDYJgAACzvnptvVoYEL","type":"message","role":"assistant","model":"claude","content":[{content}],"stop_reason":"{stop_reason}","stop_sequence":null,"usage":{{"input_tokens":25,"output_tokens":15}}}}"#
    )
}

fn text_block(length: usize) -> String {
    format!(r#"{{"type":"text","text":"{}"}}"#, text(length))
}

fn text(length: usize) -> String {
    "Hello, world. ".chars().cycle().take(length).collect()
}

const CHAT_USAGE: &str = r#"{"prompt_tokens":25,"completion_tokens":15,"total_tokens":40}"#;

/// Builds a streamed completion of 56 events.
fn chat_events() -> Vec<String> {
    let event = |choices: &str, rest: &str| {
        format!(
            "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"claude\",\"choices\":[{choices}]{rest}}}\n\n"
        )
    };
    let choice = |delta: &str, finish: &str| {
        event(
            &format!(r#"{{"index":0,"delta":{{{delta}}},"finish_reason":{finish}}}"#),
            "",
        )
    };
    let mut events = vec![choice(r#""role":"assistant","content":"""#, "null")];
    events.extend((0..52).map(|number| {
        choice(
            &format!(r#""content":"Some words, number {number:02}. ""#),
            "null",
        )
    }));
    events.extend([
        choice("", r#""stop""#),
        event("", &format!(r#","usage":{CHAT_USAGE}"#)),
        "data: [DONE]\n\n".to_owned(),
    ]);
    events
}

/// Builds a streamed message of the API: six events, and the events of its text.
fn events(texts: usize) -> Vec<String> {
    let event = |kind: &str, rest: &str| format!("event: {kind}\ndata: {{\"type\":\"{kind}\"{rest}}}\n\n");
    let mut events = vec![
        event(
            "message_start",
            r#","message":{"id":"msg_01XFDUDYJgAACzvnptvVoYEL","type":"message","role":"assistant","model":"claude","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"output_tokens":1}}"#,
        ),
        event(
            "content_block_start",
            r#","index":0,"content_block":{"type":"text","text":""}"#,
        ),
        event("ping", ""),
    ];
    events.extend((0..texts).map(|number| {
        let delta = format!(
            r#","index":0,"delta":{{"type":"text_delta","text":"Some words, number {number:02}. "}}"#
        );
        event("content_block_delta", &delta)
    }));
    events.extend([
        event("content_block_stop", r#","index":0"#),
        event(
            "message_delta",
            r#","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":15}"#,
        ),
        event("message_stop", ""),
    ]);
    events
}

/// A request with a number in its last message, so that all requests differ. The gateway treats equal requests as retries.
#[derive(Clone)]
pub struct Request {
    bytes: Vec<u8>,
    /// Positions of the last message and of the number in it.
    message: Range<usize>,
    number: usize,
}

impl Request {
    /// Builds a request with one message.
    pub fn new(answer: Answer) -> Self {
        Self::with_history("", answer, "client")
    }

    /// Builds a request after these messages, each followed by a comma, for the client with this key.
    pub fn with_history(history: &str, answer: Answer, key: &str) -> Self {
        let content = format!("\"{} 000000000000\"", answer.word());
        Self::with_content(history, &content, answer.is_stream(), key)
    }

    /// Builds the request with the result of the client's call, after the message with that call.
    pub fn with_result(history: &str, id: &str, answer: Answer, key: &str) -> Self {
        let word = answer.word();
        let content = format!(
            r#"[{{"type":"tool_result","tool_use_id":"{id}","content":"src/main.rs"}},{{"type":"text","text":"{word} 000000000000"}}]"#
        );
        Self::with_content(history, &content, answer.is_stream(), key)
    }

    /// Builds the request with one message in the form of Chat Completions.
    pub fn chat(answer: Answer) -> Self {
        let message = format!(r#"{{"role":"user","content":"{} 000000000000"}}"#, answer.word());
        let is_stream = answer.is_stream();
        let body = format!(
            r#"{{"model":"claude","max_tokens":1024,"stream":{is_stream},"tools":[{SEARCH_FUNCTION}],"messages":[{{"role":"system","content":"You answer briefly."}},{message}]}}"#
        );
        Self::with_body("/v1/chat/completions", &message, &body, "client")
    }

    fn with_content(history: &str, content: &str, is_stream: bool, key: &str) -> Self {
        let message = format!(r#"{{"role":"user","content":{content}}}"#);
        let body = format!(
            r#"{{"model":"claude","max_tokens":1024,"stream":{is_stream},"system":"You answer briefly.","tools":[{SEARCH_FILES}],"messages":[{history}{message}]}}"#
        );
        Self::with_body("/v1/messages", &message, &body, key)
    }

    fn with_body(path: &str, message: &str, body: &str, key: &str) -> Self {
        let length = body.len();
        let bytes = format!(
            "POST {path} HTTP/1.1\r\n{SDK}x-api-key: {key}\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .into_bytes();
        let number = memchr::memmem::rfind(&bytes, b"000000000000").expect("a number");
        let end = bytes.len() - "]}".len();
        Self {
            message: end - message.len()..end,
            bytes,
            number,
        }
    }

    /// Returns the last message, with the number of the last sent request.
    pub fn message(&self) -> String {
        String::from_utf8_lossy(&self.bytes[self.message.clone()]).into_owned()
    }

    /// Returns the bytes of the request with this number.
    pub fn numbered(&mut self, mut number: u64) -> &[u8] {
        for digit in self.bytes[self.number..self.number + 12].iter_mut().rev() {
            *digit = b'0' + u8::try_from(number % 10).expect("a digit");
            number /= 10;
        }
        &self.bytes
    }
}

const SEARCH_FILES: &str = r#"{"name":"search_files","description":"Finds the files whose text matches a pattern.","input_schema":{"type":"object","properties":{"pattern":{"type":"string","description":"A regular expression."}},"required":["pattern"]}}"#;

const SEARCH_FUNCTION: &str = r#"{"type":"function","function":{"name":"search_files","description":"Finds the files whose text matches a pattern.","parameters":{"type":"object","properties":{"pattern":{"type":"string","description":"A regular expression."}},"required":["pattern"]}}}"#;

/// Headers of an SDK.
const SDK: &str = "host: localhost\r\n\
    accept: application/json\r\n\
    accept-encoding: gzip, deflate\r\n\
    content-type: application/json\r\n\
    user-agent: Anthropic/Python 0.97.0\r\n\
    anthropic-version: 2023-06-01\r\n\
    x-stainless-lang: python\r\n\
    x-stainless-package-version: 0.97.0\r\n\
    x-stainless-os: Linux\r\n\
    x-stainless-arch: x64\r\n\
    x-stainless-runtime: CPython\r\n\
    x-stainless-retry-count: 0\r\n\
    x-stainless-timeout: 600\r\n";
