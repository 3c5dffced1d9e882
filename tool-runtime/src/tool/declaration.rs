//! [`Declaration`]: a tool as the macro declares it, and the definition that is generated from the declaration.

use std::borrow::Cow;
use std::time::Duration;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use crate::param::params::{ParamSpec, Params};
use crate::schema::clean;
use crate::schema::generate::variants::{Enums, Unreachable};
use crate::schema::generate::{example_order, field_attributes};
use crate::schema::keywords::{marks, pointer};
use crate::wire::definition::{Hints, ToolDefinition};
use crate::wire::issue::Issue;

/// A tool with the values of its attributes, without the types of its parameters.
#[derive(Debug)]
pub struct Declaration {
    pub(crate) name: &'static str,
    pub(crate) description: Cow<'static, str>,
    pub(crate) params: Vec<ParamSpec>,
    pub(crate) hints: Hints,
    pub(crate) strict: bool,
    pub(crate) timeout: Option<Duration>,
    pub(crate) format_errors: Option<ErrorFormatter>,
    pub(crate) examples: Vec<Value>,
    /// Returns the schema of the function's structured value.
    pub(crate) output_schema: Option<fn() -> Value>,
}

/// Formats the errors of a tool's arguments: `errors = path`.
pub(crate) type ErrorFormatter = fn(&[Issue]) -> String;

/// A definition before validation. Its schema has the marks of
/// [`schema::keywords::marks`](crate::schema::keywords::marks).
pub(crate) struct MarkedDefinition {
    pub(crate) definition: ToolDefinition,
    pub(crate) unreachable: Vec<Unreachable>,
}

/// Schema of the arguments, with its marks.
struct MarkedSchema {
    schema: Value,
    unreachable: Vec<Unreachable>,
}

impl Declaration {
    /// Creates a tool without parameters.
    pub fn new(name: &'static str, description: &'static str) -> Self {
        Self {
            name,
            description: description.trim().into(),
            params: Vec::new(),
            hints: Hints::default(),
            strict: false,
            timeout: None,
            format_errors: None,
            examples: Vec::new(),
            output_schema: None,
        }
    }

    /// Creates a tool whose description has these lines. A line may depend on a `cfg`.
    pub fn with_lines<const N: usize>(name: &'static str, lines: [&'static str; N]) -> Self {
        let description = lines.join("\n").trim().to_owned().into();
        Self {
            description,
            ..Self::new(name, "")
        }
    }

    /// Sets the parameters.
    #[must_use]
    pub fn with_params(mut self, params: &impl Params) -> Self {
        self.params = params.specs();
        self
    }

    /// Sets the key `title = ".."`.
    #[must_use]
    pub fn title(mut self, title: &str) -> Self {
        self.hints.title = Some(title.to_owned());
        self
    }

    /// Sets the key `read_only`.
    #[must_use]
    pub fn read_only(mut self, value: bool) -> Self {
        self.hints.read_only = Some(value);
        self
    }

    /// Sets the key `destructive`.
    #[must_use]
    pub fn destructive(mut self, value: bool) -> Self {
        self.hints.destructive = Some(value);
        self
    }

    /// Sets the key `idempotent`.
    #[must_use]
    pub fn idempotent(mut self, value: bool) -> Self {
        self.hints.idempotent = Some(value);
        self
    }

    /// Sets the key `open_world`.
    #[must_use]
    pub fn open_world(mut self, value: bool) -> Self {
        self.hints.open_world = Some(value);
        self
    }

    /// Sets the key `deferred`.
    #[must_use]
    pub fn deferred(mut self, value: bool) -> Self {
        self.hints.deferred = Some(value);
        self
    }

    /// Constrains the model's output to the schema: the key `strict`.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Sets the key `timeout = ".."`.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets the key `errors = path`.
    #[must_use]
    pub fn errors(mut self, format_errors: ErrorFormatter) -> Self {
        self.format_errors = Some(format_errors);
        self
    }

    /// Sets the key `input_examples = [..]`: the JSON texts of objects.
    #[must_use]
    pub fn examples<const N: usize>(mut self, examples: [Value; N]) -> Self {
        self.examples.extend(examples);
        self
    }

    /// Returns the definition. Its schema has the marks of
    /// [`schema::keywords::marks`](crate::schema::keywords::marks).
    pub(crate) fn marked_definition(&self) -> MarkedDefinition {
        let MarkedSchema { schema, unreachable } = self.marked_schema();
        let mut definition = ToolDefinition::new(self.name, &*self.description, schema);
        definition.strict = self.strict.then_some(true);
        definition.hints = self.hints.clone();
        definition.input_examples.clone_from(&self.examples);
        for example in &mut definition.input_examples {
            example_order::sort(example, &[&definition.input_schema], &definition.input_schema);
        }
        definition.output_schema = self.output_schema.map(|schema| schema());
        MarkedDefinition {
            definition,
            unreachable,
        }
    }

    /// Returns the schema of the arguments, with a definition for each named type.
    pub(crate) fn schema_of_types(&self) -> Value {
        self.generate(SchemaSettings::draft2020_12())
    }

    fn generate(&self, settings: SchemaSettings) -> Value {
        let mut generator = marks::with_marks(settings).into_generator();
        let mut properties = Map::new();
        let mut required = Vec::new();
        for param in self.params.iter().filter(|param| param.from_model) {
            let mut schema = match Value::from((param.schema)(&mut generator)) {
                Value::Object(schema) => schema,
                // The schema of a type without values.
                Value::Bool(false) => {
                    properties.insert(param.name.to_owned(), Value::Bool(false));
                    continue;
                }
                _ => Map::new(),
            };
            schema.insert("description".to_owned(), param.description.into());
            schema.extend(param.keywords.clone());
            if let Some(Ok(default)) = &param.default {
                schema.insert("default".to_owned(), default.clone());
            }
            properties.insert(param.name.to_owned(), Value::Object(schema));
            if !param.optional {
                required.push(Value::from(param.name));
            }
        }
        let mut keywords = Map::from_iter([
            ("type".to_owned(), "object".into()),
            ("properties".to_owned(), properties.into()),
            ("required".to_owned(), required.into()),
        ]);
        let definitions = generator.take_definitions(true);
        if !definitions.is_empty() {
            keywords.insert("$defs".to_owned(), definitions.into());
        }
        Value::Object(keywords)
    }

    /// Returns the schema of the arguments: an object with all parameters that the model supplies.
    fn marked_schema(&self) -> MarkedSchema {
        let mut schema = self.schema_of_types();
        let in_place = || {
            self.generate(SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true))
        };
        if let Err(types) = field_attributes::restore(&mut schema, in_place) {
            tracing::warn!(
                tool = self.name,
                path = "",
                types = types.join(", "),
                "its types are too many to be written in place, so that schemars ignores `length`, `range` and `regex` above fields of \
                 these types; put such attributes on the types"
            );
        }
        let mut unreachable = Vec::new();
        clean(&mut schema, |schema| {
            let mut enums = self.enums(schema);
            unreachable = std::mem::take(&mut enums.unreachable);
            enums
        });
        MarkedSchema { schema, unreachable }
    }

    /// Returns the enums and maps of the parameters' types.
    fn enums(&self, schema: &Value) -> Enums {
        let mut enums = Enums::default();
        for param in self.params.iter().filter(|param| param.from_model) {
            let pointer = pointer::join("/properties", param.name);
            let Enums {
                values,
                keys,
                maps,
                buffered,
                wrapped_patches,
                unreachable,
            } = (param.variants)(schema, &pointer);
            enums.values.extend(values);
            enums.keys.extend(keys);
            enums.maps.extend(maps);
            enums.buffered.extend(buffered);
            enums.wrapped_patches.extend(wrapped_patches);
            enums.unreachable.extend(unreachable);
        }
        enums
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet, HashMap};
    use std::num::{NonZeroI64, NonZeroU8};

    use schemars::JsonSchema;
    use serde::Deserialize;

    use super::*;
    use crate::param::declared::Param;
    use crate::param::parameter::Parameter;
    use crate::schema::CompiledSchema;

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only the schema is used")]
    struct All {
        numbers: (i8, i32, u64, u128, f32, NonZeroI64, NonZeroU8, usize),
        maps: HashMap<u32, BTreeMap<String, Option<char>>>,
        sets: Option<BTreeSet<String>>,
        fixed: [Option<bool>; 3],
        any: Value,
        unit: (),
        path: std::path::PathBuf,
        duration: Duration,
        result: Result<u8, String>,
        external: External,
        internal: Option<Internal>,
        untagged: Vec<Untagged>,
        flat: Flat,
        #[serde(default)]
        again: Vec<All>,
        #[serde(default)]
        count: u8,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only the schema is used")]
    enum External {
        Unit,
        /// Documented.
        Other,
        Newtype(u16),
        Tuple(i64, String),
        Struct {
            field: Option<Box<External>>,
        },
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(tag = "type")]
    #[expect(dead_code, reason = "only the schema is used")]
    enum Internal {
        Unit,
        Struct {
            #[schemars(with = "crate::NotBlank")]
            field: String,
        },
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "only the schema is used")]
    enum Untagged {
        Text(String),
        Number(f64),
        Many(Vec<Untagged>),
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only the schema is used")]
    struct Flat {
        own: u8,
        #[serde(flatten)]
        external: External,
        #[serde(flatten)]
        internal: Internal,
    }

    fn marked<T: Parameter>() -> Value {
        Declaration::new("take", "Take it.")
            .with_params(&(Param::<T>::unchecked("it", "It."),))
            .marked_schema()
            .schema
    }

    /// Asserts that every keyword in the schema of a Rust type is enforced.
    #[track_caller]
    fn assert_enforced<T: Parameter>() {
        let schema = marked::<T>();
        let (_, unenforced) = CompiledSchema::compile(&schema).unwrap();
        assert!(unenforced.is_empty(), "{unenforced:?} of {schema}");
    }

    #[test]
    fn enforces_every_keyword_of_generated_schemas() {
        assert_enforced::<All>();
        assert_enforced::<Option<All>>();
        assert_enforced::<External>();
        assert_enforced::<Option<Internal>>();
        assert_enforced::<Untagged>();
        assert_enforced::<Flat>();
        assert_enforced::<NonZeroI64>();
    }

    #[test]
    fn marks_integer_ranges() {
        let integer = |schema: Value| schema["properties"]["it"]["$tool_runtime::integer"].clone();
        assert_eq!(integer(marked::<i32>()), "i32");
        assert_eq!(integer(marked::<Option<u8>>()), "u8");
        assert_eq!(integer(marked::<i128>()), "i128");
        assert_eq!(integer(marked::<usize>()), format!("u{}", usize::BITS));
        assert_eq!(
            marked::<Vec<Option<i64>>>()["properties"]["it"]["items"]["$tool_runtime::integer"],
            "i64"
        );
    }

    #[test]
    fn strips_all_marks() {
        let mut schema = marked::<All>();
        marks::strip(&mut schema);
        assert!(!schema.to_string().contains("$tool_runtime"), "{schema}");
        assert!(!schema.to_string().contains("\"format\":\"u"), "{schema}");
        assert!(schema.to_string().contains("\"default\":0"), "{schema}");
        marks::strip_defaults(&mut schema);
        assert!(!schema.to_string().contains("\"default\""), "{schema}");
    }
}
