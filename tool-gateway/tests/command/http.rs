//! Requests of HTTP/1.0 to a running program.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::Value;

/// Sends a request of the Messages API with further lines of its head, and returns the body of a response with status 200.
pub(crate) fn post_messages(address: &str, headers: &str, body: &Value) -> String {
    let mut connection = TcpStream::connect(address).unwrap();
    let body = body.to_string();
    write!(
        connection,
        "POST /v1/messages HTTP/1.0\r\nhost: {address}\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.0 200 OK"), "{answer}");
    body.to_owned()
}
