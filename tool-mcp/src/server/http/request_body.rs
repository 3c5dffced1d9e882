//! Body of a request, up to a limit.

use std::error::Error;

use bytes::Bytes;
use http_body::Body;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

/// Reason why a body cannot be read.
#[derive(Debug)]
pub(crate) enum UnreadBody {
    TooLarge,
    /// The client has gone.
    Failed(String),
}

/// Reads a body of at most `limit` bytes.
pub(crate) async fn read<B>(body: B, limit: usize) -> Result<Bytes, UnreadBody>
where
    B: Body<Error: Into<Box<dyn Error + Send + Sync>>>,
{
    if body.size_hint().lower() > limit as u64 {
        return Err(UnreadBody::TooLarge);
    }
    match Limited::new(body, limit).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(UnreadBody::TooLarge),
        Err(error) => Err(UnreadBody::Failed(error.to_string())),
    }
}
