//! Command `repair`, which repairs one text, texts in JSON lines, or the calls in a stream.

// A module uses only modules that are declared before it.
mod line_column;
mod excerpt;
mod explain;
pub(crate) mod text;
pub(crate) mod lines;
pub(crate) mod stream;
