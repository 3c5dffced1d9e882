//! `repair`: repairs one text, texts in JSON lines, or the calls in a stream.

// Dependencies first: a module uses only modules declared before it.
mod line_column;
mod excerpt;
mod explain;
pub(crate) mod text;
pub(crate) mod lines;
pub(crate) mod stream;
