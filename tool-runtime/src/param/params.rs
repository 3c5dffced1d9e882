//! [`Params`]: the parameters of a tool, a tuple of [`Param`]s that reads a tuple of values.

use schemars::{Schema, SchemaGenerator};
use serde::Deserializer;
use serde::de::Error;
use serde_json::{Map, Value};

use crate::host::Host;
use crate::host::state::States;
use crate::param::declared::Param;
use crate::param::parameter::Parameter;
use crate::param::string;
use crate::schema::generate::variants::Enums;

/// A tuple of up to 16 [`Field`]s.
pub trait Params: Send + Sync + 'static {
    /// Values of the parameters, in order: the arguments of the function.
    type Values: Send;

    /// Returns the parameters without their types, for the definition and the checks at registration.
    fn specs(&self) -> Vec<ParamSpec>;

    /// Deserializes the arguments, except strings that [`move_strings`](Self::move_strings) moves; missing arguments
    /// get their defaults. Calls `on_error` with the parameter's name for each invalid argument, and then returns
    /// `None`. A missing host value is recorded in `host` and also gives `None`.
    fn read_values<'de, Source: ArgumentSource<'de>>(
        &self,
        source: &Source,
        host: &Host<'_>,
        on_error: &mut dyn FnMut(&'static str, <Source::Value as Deserializer<'de>>::Error),
    ) -> Option<Self::Values>;

    /// Moves owned strings into the values, in place of the empty strings from [`read_values`](Self::read_values). No
    /// error can occur after this.
    fn move_strings(values: &mut Self::Values, take_string: &mut dyn FnMut(usize, &mut String));
}

/// Arguments by the index of their parameter.
pub trait ArgumentSource<'de> {
    /// Deserializer of an argument.
    type Value: Deserializer<'de>;

    /// Returns the argument of the parameter at an index.
    fn value(&self, parameter: usize) -> Option<Self::Value>;

    /// Returns whether a value is an owned string, which is moved into a parameter of type `String`.
    fn is_owned_string(&self, value: &Self::Value) -> bool;
}

/// A declared parameter: a [`Param`].
pub trait Field: Send + Sync + 'static {
    /// Type of the parameter's values.
    type Value: Parameter;

    /// Returns the declared parameter.
    fn param(&self) -> &Param<Self::Value>;
}

impl<T: Parameter> Field for Param<T> {
    type Value = T;

    fn param(&self) -> &Self {
        self
    }
}

/// Second implementation, which is unused: with a single implementation, the compiler would infer the type of an
/// invalid `Param` from it, and report `T` again.
impl<T: Parameter> Field for Box<Param<T>> {
    type Value = T;

    fn param(&self) -> &Param<T> {
        self
    }
}

/// A parameter without its type.
#[derive(Debug)]
pub struct ParamSpec {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) from_model: bool,
    pub(crate) optional: bool,
    /// Schema keywords from the parameter's attributes.
    pub(crate) keywords: Map<String, Value>,
    /// Reason why an attribute is invalid.
    pub(crate) error: Option<String>,
    pub(crate) default: Option<Result<Value, String>>,
    pub(crate) schema: fn(&mut SchemaGenerator) -> Schema,
    pub(crate) variants: fn(&Value, &str) -> Enums,
    pub(crate) is_session_state: bool,
    pub(crate) missing_state: fn(&States) -> Option<&'static str>,
}

impl<T: Parameter> Param<T> {
    fn spec(&self) -> ParamSpec {
        ParamSpec {
            name: self.name,
            description: self.description,
            from_model: T::FROM_MODEL,
            optional: T::FROM_MODEL && (self.default.is_some() || T::missing_value().is_some()),
            keywords: self.keywords.clone(),
            error: self.error.clone().or_else(|| self.check_description()),
            default: self
                .default
                .as_ref()
                .map(|value| (value.show)(&(value.make)()).map_err(|e| e.to_string())),
            schema: T::schema,
            variants: T::variants,
            is_session_state: T::IS_SESSION_STATE,
            missing_state: T::missing_state,
        }
    }

    /// Checks descriptions that are expressions; the macro checks literal ones.
    fn check_description(&self) -> Option<String> {
        (T::FROM_MODEL && self.description.is_empty()).then(|| "its description is blank".to_owned())
    }

    /// Returns the value of a missing argument.
    fn missing_value(&self) -> Option<T> {
        match &self.default {
            Some(default) => Some((default.make)()),
            None => T::missing_value(),
        }
    }

    /// Deserializes the argument, or returns the host's value or the default.
    #[inline]
    fn read_value<'de, Source: ArgumentSource<'de>>(
        &self,
        source: &Source,
        index: usize,
        host: &Host<'_>,
        on_error: &mut dyn FnMut(&'static str, <Source::Value as Deserializer<'de>>::Error),
    ) -> Option<T> {
        if let Some(value) = T::host_value(host) {
            return value.map_err(|error| host.fail(self.name, error)).ok();
        }
        let value = if let Some(value) = source.value(index) {
            if source.is_owned_string(&value)
                && let Some(empty) = string::empty_string()
            {
                return Some(empty);
            }
            return T::read(value).map_err(|error| on_error(self.name, error)).ok();
        } else {
            self.missing_value()
        };
        if value.is_none() {
            on_error(self.name, Error::missing_field(self.name));
        }
        value
    }
}

/// Implements [`Params`] for a tuple; the macro's arguments are the type and the index of each element.
macro_rules! params {
    ($($type:ident $index:tt),*) => {
        impl<$($type: Field),*> Params for ($($type,)*) {
            type Values = ($($type::Value,)*);

            fn specs(&self) -> Vec<ParamSpec> {
                vec![$(self.$index.param().spec()),*]
            }

            #[inline]
            #[allow(unused_variables, clippy::unused_unit, reason = "the empty tuple")]
            fn read_values<'de, Source: ArgumentSource<'de>>(
                &self,
                source: &Source,
                host: &Host<'_>,
                on_error: &mut dyn FnMut(&'static str, <Source::Value as Deserializer<'de>>::Error),
            ) -> Option<Self::Values> {
                // Reads all values before an error is returned, so that the model receives all errors at once.
                let values = ($(self.$index.param().read_value(source, $index, host, on_error),)*);
                Some(($(values.$index?,)*))
            }

            #[inline]
            #[allow(unused_variables, reason = "the empty tuple")]
            fn move_strings(values: &mut Self::Values, take_string: &mut dyn FnMut(usize, &mut String)) {
                $(if let Some(text) = string::as_string_mut(&mut values.$index) {
                    take_string($index, text);
                })*
            }
        }
    };
}

params!();
params!(A 0);
params!(A 0, B 1);
params!(A 0, B 1, C 2);
params!(A 0, B 1, C 2, D 3);
params!(A 0, B 1, C 2, D 3, E 4);
params!(A 0, B 1, C 2, D 3, E 4, F 5);
params!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
params!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
params!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
params!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
params!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
params!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);
params!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12);
params!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13);
params!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14);
params!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15);
params!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15, Q 16);
params!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15, Q 16, R 17);
params!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15, Q 16, R 17, S 18);
params!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15, Q 16, R 17, S 18, T 19);
