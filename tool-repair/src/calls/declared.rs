//! [`Declared`]: names of the declared tools, and the kinds of their parameters.

use std::sync::Arc;

/// Tools of a request, or of a registry.
///
/// Text between tags has no types, so the kinds of the parameters decide whether `5` is a number or a text.
pub trait Declared {
    /// Returns whether a tool has exactly this name.
    fn is_declared(&self, name: &str) -> bool;

    /// Returns whether the name of a tool begins with `start`. If an implementation always returns `true`, the scanner holds more text of
    /// a stream, with the same result.
    fn begins_name(&self, start: &str) -> bool {
        let _ = start;
        true
    }

    /// Returns the kind of a parameter; [`ParameterKind::Other`] for an unknown tool or parameter.
    fn parameter(&self, tool: &str, parameter: &str) -> ParameterKind;
}

impl<D: Declared + ?Sized> Declared for &D {
    fn is_declared(&self, name: &str) -> bool {
        (**self).is_declared(name)
    }

    fn begins_name(&self, start: &str) -> bool {
        (**self).begins_name(start)
    }

    fn parameter(&self, tool: &str, parameter: &str) -> ParameterKind {
        (**self).parameter(tool, parameter)
    }
}

impl<D: Declared + ?Sized> Declared for Arc<D> {
    fn is_declared(&self, name: &str) -> bool {
        (**self).is_declared(name)
    }

    fn begins_name(&self, start: &str) -> bool {
        (**self).begins_name(start)
    }

    fn parameter(&self, tool: &str, parameter: &str) -> ParameterKind {
        (**self).parameter(tool, parameter)
    }
}

/// Kind of a parameter, by the types that its schema allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// Strings only.
    Text,
    /// Strings or `null`.
    NullableText,
    /// Arrays or objects, perhaps beside other types.
    Container,
    /// Any other types, or unknown types.
    Other,
}

/// Returns the declared name that a model means: `functions.` before the name and `:0` after the name are packaging.
pub(super) fn resolve<'n>(name: &'n str, declared: &impl Declared) -> Option<&'n str> {
    let without_index = |name: &'n str| {
        let (name, index) = name.rsplit_once(':')?;
        (!index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit())).then_some(name)
    };
    let bare = name.strip_prefix(NAMESPACE);
    let candidates = [
        Some(name),
        bare,
        without_index(name),
        bare.and_then(without_index),
    ];
    candidates
        .into_iter()
        .flatten()
        .find(|name| declared.is_declared(name))
}

/// Returns whether a declared name, with or without packaging, may begin with `start`.
pub(super) fn may_begin(start: &str, declared: &impl Declared) -> bool {
    if NAMESPACE.starts_with(start) || declared.begins_name(start) {
        return true;
    }
    let start = start.strip_prefix(NAMESPACE).unwrap_or(start);
    let name = start.rsplit_once(':').map_or(start, |(name, _)| name);
    declared.begins_name(start) || declared.begins_name(name)
}

/// Namespace of the tools in formats of OpenAI.
pub(super) const NAMESPACE: &str = "functions.";
