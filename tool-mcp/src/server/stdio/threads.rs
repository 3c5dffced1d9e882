//! Threads that read and write the pipes of a client. Tasks would keep the runtime from ending until the client writes a line.

use std::io::{self, Read, Write};
use std::thread;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::adapt::lines::{Line, LineDecoder};

/// Maximum number of bytes of a message.
const MESSAGE_BYTES: usize = 16 << 20;
/// Maximum number of messages that wait in each direction.
const QUEUE: usize = 256;

/// Starts a thread that reads lines up to the end of the input.
pub(crate) fn read(mut input: impl Read + Send + 'static) -> io::Result<mpsc::Receiver<Line>> {
    let (sender, lines) = mpsc::channel(QUEUE);
    thread::Builder::new()
        .name("mcp-input".to_owned())
        .spawn(move || {
            let mut decoder = LineDecoder::new(MESSAGE_BYTES);
            let (mut buffer, mut received) = (vec![0; 64 << 10], Vec::new());
            loop {
                let count = match input.read(&mut buffer) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    read => read.unwrap_or(0),
                };
                if count == 0 {
                    received.extend(decoder.finish());
                }
                decoder.push(buffer.get(..count).unwrap_or_default(), &mut received);
                for line in received.drain(..) {
                    if sender.blocking_send(line).is_err() {
                        return;
                    }
                }
                if count == 0 {
                    return;
                }
            }
        })?;
    Ok(lines)
}

/// Messages for the client.
#[derive(Debug, Clone)]
pub(crate) struct Output(mpsc::Sender<Vec<u8>>);

impl Output {
    /// Starts a thread that writes messages. The receiver is notified when all messages are written.
    pub(crate) fn start(mut pipe: impl Write + Send + 'static) -> io::Result<(Self, oneshot::Receiver<()>)> {
        let (sender, mut messages) = mpsc::channel::<Vec<u8>>(QUEUE);
        let (end, ended) = oneshot::channel();
        thread::Builder::new()
            .name("mcp-output".to_owned())
            .spawn(move || {
                while let Some(line) = messages.blocking_recv() {
                    if pipe.write_all(&line).and_then(|()| pipe.flush()).is_err() {
                        break;
                    }
                }
                // The server may have ended before.
                let _ = end.send(());
            })?;
        Ok((Self(sender), ended))
    }

    /// Sends a message. Waits while the client does not read.
    pub(crate) async fn send(&self, message: &Value) {
        // Without a client, the connection ends.
        let _ = self.0.send(line(message)).await;
    }

    /// Sends a message that the client can miss.
    pub(crate) fn try_send(&self, message: &Value) {
        let _ = self.0.try_send(line(message));
    }

    /// Waits until the client has closed its end.
    pub(crate) async fn closed(&self) {
        self.0.closed().await;
    }
}

fn line(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}
