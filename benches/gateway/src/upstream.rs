//! The upstream: a process with one thread that writes prepared answers.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::time::MissedTickBehavior;

use crate::answer::{self, Answer};
use crate::http1::Connection;

/// Time between the events of [`Answer::Paced`].
pub const PACE: Duration = Duration::from_millis(10);

pub fn run(listen: SocketAddr) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let listener = TcpListener::bind(listen).await.expect("a free port");
        loop {
            let (socket, _) = listener.accept().await.expect("a connection");
            // A client may close its connections at any time.
            tokio::spawn(async { serve(socket).await.ok() });
        }
    });
}

async fn serve(socket: TcpStream) -> std::io::Result<()> {
    let mut connection = Connection::new(socket)?;
    let models = answer::json(
        r#"{"object":"list","data":[{"id":"claude","object":"model","type":"model","display_name":"Claude","created_at":"2025-01-01T00:00:00Z"}],"has_more":false}"#,
    );
    while let Some(head) = connection.read().await? {
        match Answer::of(&connection.body) {
            Some(answer) => {
                let mut pace = tokio::time::interval(PACE);
                pace.set_missed_tick_behavior(MissedTickBehavior::Burst);
                let pieces = match head.target() {
                    "/v1/chat/completions" => answer.chat_pieces(),
                    _ => answer.pieces(),
                };
                for piece in pieces {
                    if answer == Answer::Paced {
                        pace.tick().await;
                    }
                    connection.write(piece).await?;
                }
            }
            // Proxies also request the list of models, and check the health of the upstream.
            None => connection.write(&models).await?,
        }
    }
    Ok(())
}
