//! A gateway that connects to Redis with TLS, a user and a password.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::conversation::{Conversation, text};
use crate::http;
use crate::program::{Folder, Program};
use crate::redis_server::{RedisReply, RedisServer, free_port};
use crate::upstream::Upstream;

/// Certificate of `localhost`, which is its own authority.
const CERTIFICATE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/upstream/localhost.certificate.pem"
);
const KEY: &[u8] = include_bytes!("../upstream/localhost.key.der");

const VARIABLES: [(&str, &str); 2] = [
    ("REDIS_PASSWORD", "hush"),
    (
        "SESSIONS_KEY",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn program_connects_with_tls_and_a_password() {
    let folder = Folder::new("tls");
    let (key, port) = (folder.0.join("key.pem"), free_port().to_string());
    let pem = format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
        STANDARD.encode(KEY)
    );
    std::fs::write(&key, pem).unwrap();
    let options = [
        "--tls-port",
        &port,
        "--tls-cert-file",
        CERTIFICATE,
        "--tls-key-file",
        key.to_str().unwrap(),
        "--tls-ca-cert-file",
        CERTIFICATE,
        "--tls-auth-clients",
        "no",
    ];
    let Some(redis) = RedisServer::start_with(&options) else {
        return;
    };
    redis.run(&["ACL", "SETUSER", "ada", "on", ">hush", "~tg1:*", "+@all"]);
    let upstream = Upstream::start().await;
    let file = folder.0.join("gateway.toml");
    let configuration = format!(
        "store = \"rediss://ada@localhost:{port}/1\"\ntools.offer = \"always\"\n\
         [sessions]\npassword_env = \"REDIS_PASSWORD\"\nencryption_key_env = \"SESSIONS_KEY\"\n\
         [upstream]\nurl = \"{}\"\n",
        upstream.url
    );
    std::fs::write(&file, configuration).unwrap();
    // Without the authority, the program does not send its password, and waits.
    let distrustful = Program::start_with(&file, 0, &VARIABLES);
    assert_eq!(
        (
            distrustful.status("/healthz").await,
            distrustful.status("/readyz").await
        ),
        (200, 503)
    );
    let [password, encryption] = VARIABLES;
    let trustful = Program::start_with(&file, 0, &[password, encryption, ("SSL_CERT_FILE", CERTIFICATE)]);
    trustful.ready().await;
    let call = json!([{ "type": "tool_use", "id": "up_a", "name": "TodoWrite", "input": { "todos": [] } }]);
    let mut conversation = Conversation::new(&[call, json!("Done.")]);
    conversation.body["tools"] = json!([{ "name": "TodoWrite" }]);
    let body = conversation.body.to_string();
    let reply = http::send(trustful.address(), "POST", "/v1/messages", &[], body.as_bytes())
        .await
        .unwrap();
    assert_eq!(
        (reply.status, text(&reply)),
        (200, "Done.".to_owned()),
        "{:?}",
        reply.json()
    );
    // The records are in the database 1, and encrypted.
    let info = redis.run(&["INFO", "keyspace"]);
    assert!(
        info.text().contains("db1:") && !info.text().contains("db0:"),
        "{info:?}"
    );
    let script = "redis.call('SELECT', 1) local t = redis.call('KEYS', 'tg1:*:T:*') return redis.call('HGET', t[1], 'b')";
    let RedisReply::Text(record) = redis.run(&["EVAL", script, "0"]) else {
        panic!("no record");
    };
    assert!(!record.contains("TodoWrite") && record.len() > 100, "{record}");
}
