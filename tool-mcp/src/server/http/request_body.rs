//! Body of a request, up to a limit.

use std::error::Error;
use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use http_body::Body;
use http_body_util::BodyExt as _;
use tokio::time::timeout;

use crate::server::body_budget::ReservedBytes;

/// Maximum time from the first byte of a body to its last.
pub(crate) const TIME: Duration = Duration::from_secs(60);

/// Reason why a body cannot be read.
#[derive(Debug)]
pub(crate) enum UnreadBody {
    TooLarge,
    /// The bodies of all requests are too large.
    OverBudget,
    TimedOut,
    /// The client has gone.
    Failed(String),
}

/// Reads a body of at most `limit` bytes, which are reserved as they arrive: a client that only announces bytes reserves none.
pub(crate) async fn read<B>(body: B, limit: usize, reserved: &mut ReservedBytes) -> Result<Bytes, UnreadBody>
where
    B: Body<Error: Into<Box<dyn Error + Send + Sync>>>,
{
    if body.size_hint().lower() > limit as u64 {
        return Err(UnreadBody::TooLarge);
    }
    let read = async {
        let mut body = std::pin::pin!(body);
        let mut text = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| UnreadBody::Failed(error.into().to_string()))?;
            let Ok(data) = frame.into_data() else { continue };
            let bytes = data.remaining();
            if text.len().saturating_add(bytes) > limit {
                return Err(UnreadBody::TooLarge);
            }
            if !reserved.add(bytes) {
                return Err(UnreadBody::OverBudget);
            }
            bytes::BufMut::put(&mut text, data);
        }
        Ok(text.freeze())
    };
    timeout(TIME, read).await.unwrap_or(Err(UnreadBody::TimedOut))
}
