//! The parameters of a tool together: a tuple of [`Param`]s that reads a tuple of values.

use std::fmt;
use std::marker::PhantomData;

use schemars::{Schema, SchemaGenerator};
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

use crate::host::Host;
use crate::param::Param;
use crate::parameter::Parameter;
use crate::state::States;
use crate::variants::Names;

/// A tuple of up to 16 [`Field`]s.
pub trait Params: Send + Sync + 'static {
    /// The values, in the same order: what the function is called with.
    type Values: Send;

    /// What there is to say about each, for the definition and for the checks at registration.
    fn specs(&self) -> Vec<ParamSpec>;

    /// Reads all values from one JSON object in one pass, strictly; absent ones take their default.
    fn stream<'de, De: Deserializer<'de>>(
        &self,
        object: De,
        host: &Host<'_>,
    ) -> Result<Self::Values, De::Error>;

    /// Reads each value from where its name leads; absent ones take their default. Every value that its type
    /// refuses is told with the name of its parameter, and then there are no values.
    fn pick<'de, From: Lookup<'de>>(
        &self,
        object: &From,
        host: &Host<'_>,
        refuse: &mut dyn FnMut(&'static str, <From::Value as Deserializer<'de>>::Error),
    ) -> Option<Self::Values>;
}

/// An object whose members are found by name.
pub trait Lookup<'de> {
    /// A member's value.
    type Value: Deserializer<'de>;

    /// The value of the member of that name.
    fn value(&self, name: &str) -> Option<Self::Value>;
}

/// A declared parameter: a [`Param`].
pub trait Field: Send + Sync + 'static {
    /// Its type.
    type Value: Parameter;

    /// What was declared.
    fn param(&self) -> &Param<Self::Value>;
}

impl<T: Parameter> Field for Param<T> {
    type Value = T;

    fn param(&self) -> &Self {
        self
    }
}

/// Nobody needs it; but where this was the only trait's implementation, the compiler would conclude that a `Param`
/// that could not be declared is one of `T`, and complain about `T` again.
impl<T: Parameter> Field for Box<Param<T>> {
    type Value = T;

    fn param(&self) -> &Param<T> {
        self
    }
}

/// One parameter, its type forgotten.
#[derive(Debug)]
pub struct ParamSpec {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) from_model: bool,
    pub(crate) optional: bool,
    /// What the attributes add to the schema.
    pub(crate) keywords: Map<String, Value>,
    /// Why something of that cannot be said.
    pub(crate) problem: Option<String>,
    pub(crate) default: Option<Result<Value, String>>,
    pub(crate) schema: fn(&mut SchemaGenerator) -> Schema,
    pub(crate) variants: fn() -> Vec<Names>,
    pub(crate) missing_state: fn(&States) -> Option<&'static str>,
}

impl<T: Parameter> Param<T> {
    fn spec(&self) -> ParamSpec {
        ParamSpec {
            name: self.name,
            description: self.description,
            from_model: T::FROM_MODEL,
            optional: T::FROM_MODEL && (self.default.is_some() || T::absent().is_some()),
            keywords: self.keywords.clone(),
            problem: self.problem.clone().or_else(|| self.blank()),
            default: self
                .default
                .as_ref()
                .map(|value| (value.show)(&(value.make)()).map_err(|e| e.to_string())),
            schema: T::schema,
            variants: T::variants,
            missing_state: T::missing_state,
        }
    }

    /// The macro sees to literal descriptions; this is for those that come from elsewhere.
    fn blank(&self) -> Option<String> {
        (T::FROM_MODEL && self.description.is_empty()).then(|| "its description is blank".to_owned())
    }

    /// Its value when the model sent none.
    fn absent(&self) -> Option<T> {
        match &self.default {
            Some(default) => Some((default.make)()),
            None => T::absent(),
        }
    }

    /// The value that was sent, or what stands for one that was not.
    fn pick<'de, From: Lookup<'de>>(
        &self,
        object: &From,
        host: &Host<'_>,
        refuse: &mut dyn FnMut(&'static str, <From::Value as Deserializer<'de>>::Error),
    ) -> Option<T> {
        let sent = object.value(self.name).filter(|_| T::FROM_MODEL);
        let value = sent
            .map(T::read)
            .transpose()
            .and_then(|value| self.settle(value, host));
        value.map_err(|error| refuse(self.name, error)).ok()
    }

    /// The value that was read, or what stands for one that was not.
    fn settle<E: Error>(&self, read: Option<T>, host: &Host<'_>) -> Result<T, E> {
        let value = if T::FROM_MODEL {
            read.or_else(|| self.absent())
        } else {
            T::supply(host)
        };
        value.ok_or_else(|| E::missing_field(self.name))
    }
}

/// Finds the position of a key among the names of the model's parameters.
struct Position<'a>(&'a [Option<&'static str>]);

impl<'de> DeserializeSeed<'de> for Position<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<usize>, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Position<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a parameter")
    }

    fn visit_str<E>(self, name: &str) -> Result<Option<usize>, E> {
        Ok(self.0.iter().position(|known| *known == Some(name)))
    }
}

/// Reads the value of one parameter.
struct Read<T>(PhantomData<T>);

impl<'de, T: Parameter> DeserializeSeed<'de> for Read<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        T::read(deserializer)
    }
}

/// Reads all values of a tuple of parameters.
struct Reader<'a, 'h, P>(&'a P, &'a Host<'h>);

/// Implements [`Params`] for one tuple; its arguments are the type and the place of each element.
macro_rules! params {
    ($($type:ident $place:tt),*) => {
        impl<$($type: Field),*> Params for ($($type,)*) {
            type Values = ($($type::Value,)*);

            fn specs(&self) -> Vec<ParamSpec> {
                vec![$(self.$place.param().spec()),*]
            }

            fn stream<'de, De: Deserializer<'de>>(&self, object: De, host: &Host<'_>) -> Result<Self::Values, De::Error> {
                object.deserialize_map(Reader(self, host))
            }

            #[allow(unused_variables, clippy::unused_unit, reason = "the empty tuple")]
            fn pick<'de, From: Lookup<'de>>(
                &self,
                object: &From,
                host: &Host<'_>,
                refuse: &mut dyn FnMut(&'static str, <From::Value as Deserializer<'de>>::Error),
            ) -> Option<Self::Values> {
                // All are read before any is judged: the model learns all its mistakes at once.
                let values = ($(self.$place.param().pick(object, host, refuse),)*);
                Some(($(values.$place?,)*))
            }
        }

        impl<'de, $($type: Field),*> Visitor<'de> for Reader<'_, '_, ($($type,)*)> {
            type Value = ($($type::Value,)*);

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with the tool's arguments")
            }

            #[allow(unused_mut, unused_variables, clippy::unused_unit, reason = "the empty tuple")]
            fn visit_map<Access: MapAccess<'de>>(self, mut map: Access) -> Result<Self::Value, Access::Error> {
                let names = [$($type::Value::FROM_MODEL.then_some(self.0.$place.param().name)),*];
                let mut values = ($(None::<$type::Value>,)*);
                while let Some(position) = map.next_key_seed(Position(&names))? {
                    match position {
                        $(Some($place) => values.$place = Some(map.next_value_seed(Read(PhantomData::<$type::Value>))?),)*
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(($(self.0.$place.param().settle(values.$place, self.1)?,)*))
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
