//! Bodies of requests and responses, wrapped: an idle timeout, flushing at the end, a permit that lives as long as the body.

pub(crate) mod idle;
pub(crate) mod flushed;
pub(crate) mod holding;
