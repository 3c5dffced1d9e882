//! [`StopSignals`]: Ctrl-C and SIGTERM.

use std::io;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// Number of stop signals since the creation of this value.
pub(super) struct StopSignals {
    received: watch::Receiver<usize>,
}

impl StopSignals {
    pub(super) fn listen() -> io::Result<Self> {
        let mut signals = Signals::listen()?;
        let (sender, received) = watch::channel(0);
        tokio::spawn(async move {
            while signals.next().await.is_ok() {
                sender.send_modify(|count| *count += 1);
            }
        });
        Ok(Self { received })
    }

    /// Waits until `wanted` signals have been received.
    pub(super) async fn received(&self, wanted: usize) {
        let mut received = self.received.clone();
        if received.wait_for(|count| *count >= wanted).await.is_err() {
            // The sender has ended, so no more signals are received.
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(unix)]
struct Signals {
    interrupted: Signal,
    terminated: Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupted: signal(SignalKind::interrupt())?,
            terminated: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) -> io::Result<()> {
        tokio::select! {
            _ = self.interrupted.recv() => {}
            _ = self.terminated.recv() => {}
        }
        Ok(())
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
    fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> io::Result<()> {
        tokio::signal::ctrl_c().await
    }
}
