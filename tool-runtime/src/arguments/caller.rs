//! [`Caller`]: the side that writes arguments. Models copy envelopes and names of tools into them.

/// The side that wrote some arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller<'a> {
    /// A model, which calls the tool by this name.
    Model(&'a str),
    /// A model, which calls the tool by a name that is not known.
    AnyModel,
    /// The host: examples, defaults and results.
    Host,
}
