//! Accepts connections, and serves each connection until its client disconnects or the program stops.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;

use crate::self_wakes::SelfWakes;

/// Serves until `stop` is ready, then accepts no more connections, and returns after all running requests have been answered. `idle` is the
/// timeout for the headers of a request, also on an idle connection.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    idle: Duration,
    stop: impl Future<Output = ()>,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(idle);
    let connections = GracefulShutdown::new();
    let mut stop = pin!(stop);
    let mut earliest = tokio::time::interval(EARLIEST);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = earliest.tick() => continue,
            () = &mut stop => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                wait_after(&error).await;
                continue;
            }
        };
        // Events are small, and clients wait for each one.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection delays small writes");
        }
        let service = TowerToHyperService::new(router.clone());
        let connection = http.serve_connection(TokioIo::new(stream), service);
        let mut connection = Box::pin(connections.watch(connection));
        tokio::spawn(async move {
            let wakes = SelfWakes::default();
            if let Err(error) = poll_fn(|cx| wakes.poll(cx, |cx| connection.as_mut().poll(cx))).await {
                tracing::debug!(%error, "a connection broke off");
            }
        });
    }
    drop(listener);
    connections.shutdown().await;
}

/// Period of a timer that ends before the timers of requests. Whenever a new timer is the first to end, the runtime wakes the thread that
/// waits for the network; without this timer, that would happen once for each request.
const EARLIEST: Duration = Duration::from_secs(1);

/// Waits after a failed accept. Without file descriptors or memory, accepting fails until connections end, and the loop must not use up the
/// processor meanwhile.
async fn wait_after(error: &io::Error) {
    let is_of_connection = matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
    );
    if !is_of_connection {
        tracing::error!(%error, "no connection can be accepted; trying again in a second");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
