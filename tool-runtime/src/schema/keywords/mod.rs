//! Keywords of a schema: their subschemas, pointers and references, and the private marks.

use serde_json::{Map, Value};

pub(crate) mod pointer;
pub(crate) mod subschemas;
pub(crate) mod marks;
pub(crate) mod reference;

/// Keywords of a schema, by name.
pub(crate) type Keywords = Map<String, Value>;
