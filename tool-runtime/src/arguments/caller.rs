//! [`Caller`]: the author of arguments. Models copy envelopes and names of tools into them.

/// The author of arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller<'a> {
    /// A model that calls the tool by this name.
    Model(&'a str),
    /// A model that calls the tool by an unknown name.
    AnyModel,
    /// The host, for examples, defaults and results.
    Host,
}
