//! How lenient to be.

/// How far arguments are bent to fit the schema. `docs/coercion.md` has the table; in short:
///
/// | sent for an integer | `Lenient` | `Lossless` | `Strict` |
/// |---|---|---|---|
/// | `"42"` | 42, with a warning | 42, with a warning | an error |
/// | `3.14` | 3, with a warning | an error | an error |
///
/// Set for a [registry](crate::ToolRegistry::with_policy), for one of its
/// [tools](crate::ToolRegistry::set_policy) or for a [call](crate::ToolCall::with_policy); the narrowest one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Policy {
    /// Everything that can be understood is, with a warning for each change (seed 002's rules).
    #[default]
    Lenient,
    /// As `Lenient`, but what would lose information is an error.
    Lossless,
    /// Types must match.
    Strict,
}
