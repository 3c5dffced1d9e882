//! Traits that check whether the model or the host supplies a parameter type, with a single compiler error for each
//! invalid type.
//!
//! Each trait has two blanket implementations. The compiler checks the bounds of both at once, and reports the
//! trait's message if both fail, without further unsatisfied bounds.

use std::convert::Infallible;
use std::marker::PhantomData;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::host::context::{CancellationToken, Context};
use crate::host::extension::Extension;
use crate::host::progress::Progress;
use crate::host::session_state::SessionState;
use crate::host::state::State;
use crate::param::declared::Param;
use crate::param::patch::Patch;

/// Source of a parameter. A type without a source has no [`Param`](Self::Param), so it causes no further errors.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a tool",
    label = "expected a type that is `Deserialize`, `JsonSchema` and `Send` for a value from the model, or `State<..>` for a value from the host",
    note = "for a value that the model supplies, a type of your own needs these lines above it, each once:\n#[derive(tool_runtime::serde::Deserialize, tool_runtime::schemars::JsonSchema)]\n#[serde(crate = \"tool_runtime::serde\")]\n#[schemars(crate = \"tool_runtime::schemars\")]",
    note = "if your crate depends on serde 1 and schemars 1 (not 0.8), `#[derive(serde::Deserialize, schemars::JsonSchema)]` is enough",
    note = "a type of chrono, url or uuid needs that crate's feature `serde` and the feature of `tool-runtime` with that crate's name; an `Arc` needs serde's feature `rc`",
    note = "for a value that the host supplies, write `State<{Self}>`, if the type is `Send` and `Sync`, and add the value to the registry: `.with_state(..)`",
    note = "for a value of each session, write `SessionState<{Self}>`, if the type is `Default`, `Serialize`, `Deserialize` and `Send`"
)]
pub trait ParamSource<By>: Sized {
    /// The parameter type [`Param<Self>`].
    type Param;

    /// Returns the parameter unchanged.
    fn param(param: Param<Self>) -> Self::Param;
}

/// Marks the implementation for types that the model supplies.
#[derive(Debug)]
pub struct ByModel;

/// Marks the implementation for types that the host supplies.
#[derive(Debug)]
pub struct ByHost<P>(PhantomData<P>);

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + Send + 'static> ParamSource<ByModel> for T {
    type Param = Param<T>;

    fn param(param: Param<T>) -> Param<T> {
        param
    }
}

#[diagnostic::do_not_recommend]
impl<T: FromHost<P>, P> ParamSource<ByHost<P>> for T {
    type Param = P;

    fn param(param: Param<T>) -> P {
        T::param(param)
    }
}

/// Types that the host supplies. Host parameters are not in the definition, so they need no description.
#[diagnostic::on_unimplemented(
    message = "this parameter has no description",
    label = "missing description: the model relies on it",
    note = "for a value that the model supplies, write a doc comment (`/// ..`) above the parameter, or `#[arg(description = \"..\")]`",
    note = "for a value that the host supplies, write `State<{Self}>`, if the type is `Send` and `Sync`, and add the value to the registry: `.with_state(..)`",
    note = "for a value of each session, write `SessionState<{Self}>`, if the type is `Default`, `Serialize`, `Deserialize` and `Send`"
)]
pub trait FromHost<P>: Sized {
    /// Returns the parameter unchanged: `P` is [`Param<Self>`].
    fn param(param: Param<Self>) -> P;
}

impl<T: StateType<P>, P> FromHost<P> for State<T> {
    fn param(param: Param<Self>) -> P {
        T::param(param)
    }
}

impl<T: SessionStateType<P>, P> FromHost<P> for SessionState<T> {
    fn param(param: Param<Self>) -> P {
        T::param(param)
    }
}

impl<T: ExtensionType<P>, P> FromHost<P> for Extension<T> {
    fn param(param: Param<Self>) -> P {
        T::param(param)
    }
}

#[diagnostic::do_not_recommend]
impl FromHost<Param<Self>> for Context {
    fn param(param: Param<Self>) -> Param<Self> {
        param
    }
}

#[diagnostic::do_not_recommend]
impl FromHost<Param<Self>> for CancellationToken {
    fn param(param: Param<Self>) -> Param<Self> {
        param
    }
}

#[diagnostic::do_not_recommend]
impl FromHost<Param<Self>> for Progress {
    fn param(param: Param<Self>) -> Param<Self> {
        param
    }
}

/// The parameter of a wrapped host type, such as `Option<State<T>>`, which [`Unwrapped`] rejects with its own message.
#[derive(Debug)]
pub struct Wrapped<P>(PhantomData<P>);

macro_rules! wrapped {
    ($($outer:ident)*) => {
        $(#[diagnostic::do_not_recommend]
        impl<T: FromHost<P>, P> FromHost<Wrapped<P>> for $outer<T> {
            fn param(_: Param<Self>) -> Wrapped<P> {
                Wrapped(PhantomData)
            }
        }

        #[diagnostic::do_not_recommend]
        impl<T: Never> FromHost<Infallible> for $outer<T> {
            fn param(_: Param<Self>) -> Infallible {
                T::never()
            }
        })*
    };
}

wrapped!(Option Vec Box Arc Patch);

/// A [`Param`], or a [`Wrapped`] parameter.
pub trait Inner {
    /// Type of the parameter's value.
    type Type;
}

impl<T> Inner for Param<T> {
    type Type = T;
}

impl<P: Inner> Inner for Wrapped<P> {
    type Type = P::Type;
}

/// Rejects wrapped host types.
#[diagnostic::on_unimplemented(
    message = "`{T}` cannot be wrapped",
    label = "expected `{T}`",
    note = "the host supplies exactly one `{T}` for each call; an optional or repeated value goes inside: `State<Option<T>>`, `SessionState<Vec<T>>`; an extension that may be missing is `context.extension::<T>()` of a parameter `context: Context`"
)]
pub trait Unwrapped<T> {
    /// The parameter type [`Param<T>`].
    type Param;

    /// Returns the parameter unchanged.
    fn unwrapped(self) -> Self::Param;
}

#[diagnostic::do_not_recommend]
impl<T> Unwrapped<T> for Param<T> {
    type Param = Self;

    fn unwrapped(self) -> Self {
        self
    }
}

/// Types that a [`State`] may contain.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a state, which concurrent calls share",
    label = "not `Send`, `Sync` and `'static`",
    note = "keep mutable data in a `std::sync::Mutex` or an atomic instead of a `Cell` or `RefCell`, and `Arc` instead of `Rc`",
    note = "an unsized state goes into a box: `State<Box<dyn Trait + Send + Sync>>`"
)]
pub trait StateType<P>: Sized {
    /// Returns the parameter unchanged: `P` is the [`Param`] of a [`State<Self>`].
    fn param(param: Param<State<Self>>) -> P;
}

#[diagnostic::do_not_recommend]
impl<T: Send + Sync + 'static> StateType<Param<State<T>>> for T {
    fn param(param: Param<State<T>>) -> Param<State<T>> {
        param
    }
}

#[diagnostic::do_not_recommend]
impl<T: Never> StateType<Infallible> for T {
    fn param(_: Param<State<T>>) -> Infallible {
        T::never()
    }
}

/// Types that a [`SessionState`] may contain.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a session state, which is stored as JSON",
    label = "not `Default`, `Serialize`, `Deserialize`, `Send` and `'static`",
    note = "a type of your own needs these lines above it, each once:\n#[derive(Default, tool_runtime::serde::Serialize, tool_runtime::serde::Deserialize)]\n#[serde(crate = \"tool_runtime::serde\")]",
    note = "a value that all sessions share is a `State<..>`, a value of one call is an `Extension<..>`"
)]
pub trait SessionStateType<P>: Sized {
    /// Returns the parameter unchanged: `P` is the [`Param`] of a [`SessionState<Self>`].
    fn param(param: Param<SessionState<Self>>) -> P;
}

#[diagnostic::do_not_recommend]
impl<T> SessionStateType<Param<SessionState<T>>> for T
where
    T: Default + Serialize + DeserializeOwned + Send + 'static,
{
    fn param(param: Param<SessionState<T>>) -> Param<SessionState<T>> {
        param
    }
}

#[diagnostic::do_not_recommend]
impl<T: Never> SessionStateType<Infallible> for T {
    fn param(_: Param<SessionState<T>>) -> Infallible {
        T::never()
    }
}

/// Types that an [`Extension`] may contain.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an extension, which is cloned for each call",
    label = "not `Clone`, `Send`, `Sync` and `'static`",
    note = "put `#[derive(Clone)]` on a type of your own, or wrap the value in an `Arc`: `Extension<Arc<..>>`"
)]
pub trait ExtensionType<P>: Sized {
    /// Returns the parameter unchanged: `P` is the [`Param`] of an [`Extension<Self>`].
    fn param(param: Param<Extension<Self>>) -> P;
}

#[diagnostic::do_not_recommend]
impl<T: Clone + Send + Sync + 'static> ExtensionType<Param<Extension<T>>> for T {
    fn param(param: Param<Extension<T>>) -> Param<Extension<T>> {
        param
    }
}

#[diagnostic::do_not_recommend]
impl<T: Never> ExtensionType<Infallible> for T {
    fn param(_: Param<Extension<T>>) -> Infallible {
        T::never()
    }
}

/// A trait without implementations.
pub trait Never {
    /// The method is never called, since no type implements this trait.
    fn never() -> Infallible;
}
