//! Schemas of dynamic tools in other dialects: the table of `docs/coercion.md`, and the warnings of the registration.

use serde_json::{Map, Value, json};
use tests::dynamic_tool;
use tests::warnings::warnings_of;
use tool_runtime::{Policy, ToolDefinition, ToolRegistry};

/// Returns the shown schema, and the warnings of the registration.
fn register(registry: ToolRegistry, schema: &Value) -> Result<(Value, Vec<String>), String> {
    let mut registry = registry;
    let definition = ToolDefinition::new(dynamic_tool::NAME, "Takes arguments.", schema.clone());
    let (registered, warnings) = warnings_of(|| {
        registry
            .register_dynamic(definition, async |arguments: Value, _| arguments)
            .is_ok()
    });
    if !registered {
        let definition = ToolDefinition::new(dynamic_tool::NAME, "Takes arguments.", schema.clone());
        return Err(registry
            .register_dynamic(definition, async |_, _| "")
            .unwrap_err()
            .to_string());
    }
    Ok((registry.tool_definitions()[0].input_schema.clone(), warnings))
}

fn corrected(schema: &Value) -> (Value, Vec<String>) {
    register(ToolRegistry::new(), schema).unwrap_or_else(|error| panic!("{error}: {schema}"))
}

/// A row of the document, with the JSON of both columns.
struct Row {
    written: Value,
    shown: Value,
}

/// Returns the rows of the table that follows a heading of the document.
fn rows(heading: &str) -> Vec<Row> {
    let document = include_str!("../../docs/coercion.md");
    let (_, section) = document
        .split_once("\n### Schemas in other dialects\n")
        .expect("the section");
    let (_, table) = section.split_once(heading).expect("the table");
    let lines = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let json = |cell: &str| {
        let text = cell.trim().trim_matches('`');
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    let row = |line: &str| {
        let [written, shown] = line.trim_matches('|').split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        Row {
            written: json(written),
            shown: json(shown),
        }
    };
    lines.map(row).collect()
}

#[test]
fn corrects_the_schemas_of_the_document() {
    let of_parameters = rows("| schema of a parameter `x` | read as |");
    assert!(of_parameters.len() > 15, "{}", of_parameters.len());
    let holding = |schema: &Value| json!({ "type": "object", "properties": { "x": schema } });
    let of_parameters = of_parameters
        .into_iter()
        .map(|Row { written, shown }| (holding(&written), holding(&shown)));
    let of_tools = rows("| schema of all arguments | shown as |");
    assert!(of_tools.len() > 3);
    let of_tools = of_tools
        .into_iter()
        .map(|Row { written, shown }| (written, shown));
    for (written, expected) in of_parameters.chain(of_tools) {
        let (shown, warnings) = corrected(&written);
        assert_eq!(shown, expected, "{written}");
        let is_silent = written == json!({ "type": "object" });
        assert_eq!(warnings.is_empty(), is_silent, "{written}: {warnings:?}");
        let (again, warnings) = corrected(&shown);
        assert_eq!(again, shown, "{written}");
        assert_eq!(warnings, [""; 0], "{shown}");
    }
}

#[test]
fn renames_the_keys_of_a_sources_tools() {
    let renamed = rows("| schema of all arguments | renamed to |");
    assert_eq!(renamed.len(), 2);
    for Row { written, shown } in renamed {
        let mut registry = ToolRegistry::new();
        let definition = ToolDefinition::new("tool", "Takes arguments.", written.clone());
        let (_, warnings) = warnings_of(|| {
            registry
                .register_source([definition], async |_, _, _| "")
                .map(drop)
                .unwrap();
        });
        assert_eq!(registry.tool_definitions()[0].input_schema, shown, "{written}");
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        let (host_shown, warnings) = corrected(&written);
        assert_eq!(host_shown, written, "a host's key is kept");
        assert_eq!(warnings.len(), 1, "{warnings:?}");
    }
}

#[test]
fn corrections_can_be_turned_off() {
    let off = || ToolRegistry::new().with_schema_corrections(false);
    for Row { written, shown } in rows("| schema of a parameter `x` | read as |") {
        let schema = json!({ "type": "object", "properties": { "x": written } });
        if let Ok((definition, _)) = register(off(), &schema) {
            assert_eq!(definition, schema, "{shown}");
        }
    }
    for Row { written, .. } in rows("| schema of all arguments | shown as |") {
        if let Ok((definition, warnings)) = register(off(), &written) {
            assert_eq!(definition, written);
            let lacks_type = written["type"] != "object";
            assert_eq!(warnings.len(), usize::from(lacks_type), "{warnings:?}");
        }
    }
    let error = register(
        off(),
        &json!({ "type": "object", "properties": { "x": { "type": "float" } } }),
    );
    assert!(error.unwrap_err().contains("`\"float\"` does not belong here"));
}

#[test]
fn enforces_the_corrected_schema() {
    let rows = [
        (
            json!({ "type": "object", "properties": { "price": { "type": "float" } }, "required": ["price"] }),
            json!({ "price": "888.5" }),
            json!({ "price": 888.5 }),
        ),
        (
            json!({ "type": "OBJECT", "properties": {
                "commands": { "type": "ARRAY", "items": { "type": "STRING" } }, "n": { "type": "INTEGER" } } }),
            json!({ "commands": ["a", "b"], "n": "3" }),
            json!({ "commands": ["a", "b"], "n": 3 }),
        ),
        (
            json!({ "type": "object", "properties": {
                "query": { "type": "string", "required": false }, "max_results": { "type": "integer", "default": 100 } } }),
            json!({ "query": "x", "max_results": "5" }),
            json!({ "query": "x", "max_results": 5 }),
        ),
        (json!({}), json!({ "x": 1 }), json!({ "x": 1 })),
        (
            json!({ "type": "object", "properties": [] }),
            json!({}),
            json!({}),
        ),
        (
            json!({ "type": "object", "properties": { "config": {
                "type": "object",
                "$defs": { "Address": { "type": "object", "properties": { "zip": { "type": "string" } }, "required": ["zip"] } },
                "properties": { "home": { "$ref": "#/$defs/Address" } } } } }),
            json!({ "config": { "home": { "zip": 10115 } } }),
            json!({ "config": { "home": { "zip": "10115" } } }),
        ),
        (
            json!({ "type": "object", "properties": { "days": { "type": "array", "enum": ["Mon", "Tue"] } } }),
            json!({ "days": ["mon"] }),
            json!({ "days": ["Mon"] }),
        ),
    ];
    for (schema, sent, expected) in rows {
        let registry = dynamic_tool::registry(&schema);
        let request = dynamic_tool::prepare(&registry, sent, Policy::Lenient);
        assert_eq!(Value::Object(request.arguments), expected, "{schema}");
        assert!(request.errors.is_empty(), "{schema}: {:?}", request.errors);
    }
    let required = json!({ "type": "object", "properties": { "a": { "type": "dict", "required": true } } });
    let registry = dynamic_tool::registry(&required);
    let request = dynamic_tool::prepare(&registry, json!({}), Policy::Lenient);
    assert_eq!(
        request.errors[0].to_string(),
        "missing_required:a at /a: missing required parameter; expected an object"
    );
}

#[test]
fn enums_with_values_of_another_type_take_the_values_of_the_type() {
    for (schema, sent, read) in [
        (
            json!({ "type": ["integer", "null"], "enum": ["1", "2", null] }),
            json!(1),
            json!(1),
        ),
        (
            json!({ "type": ["integer", "null"], "enum": ["1", "2", null] }),
            json!("2"),
            json!(2),
        ),
        (
            json!({ "type": ["integer", "null"], "enum": ["1", "2", null] }),
            json!(null),
            json!(null),
        ),
        (
            json!({ "type": ["boolean", "null"], "enum": ["true", null] }),
            json!(true),
            json!(true),
        ),
        (json!({ "type": "integer", "enum": ["1", 2] }), json!(1), json!(1)),
        (json!({ "type": "integer", "enum": ["1", 2] }), json!(2), json!(2)),
        (
            json!({ "type": ["array", "null"], "enum": ["a", "b", null] }),
            json!(["a"]),
            json!(["a"]),
        ),
        (
            json!({ "type": ["array", "null"], "enum": ["a", "b", null] }),
            json!(null),
            json!(null),
        ),
    ] {
        let registry = dynamic_tool::registry(
            &json!({ "type": "object", "properties": { "x": schema }, "required": ["x"] }),
        );
        let request = dynamic_tool::prepare(&registry, json!({ "x": sent }), Policy::Lenient);
        assert!(request.errors.is_empty(), "{schema}: {:?}", request.errors);
        assert_eq!(Value::Object(request.arguments), json!({ "x": read }), "{schema}");
    }
}

/// A value of another type cannot be read as this type: the schema has the meaning of JSON Schema.
#[test]
fn keeps_enums_without_descriptions_of_values() {
    for schema in [
        json!({ "type": "integer", "enum": ["one", 2] }),
        json!({ "type": "integer", "enum": [1, null] }),
        json!({ "type": ["integer", "object"], "enum": ["1", { "a": 1 }] }),
        json!({ "type": ["integer", "null"], "enum": [1, null] }),
        json!({ "type": ["array", "null"], "items": {}, "enum": [["a"], null] }),
        json!({ "type": ["array", "null"], "items": {}, "enum": [null] }),
        json!({ "type": "array", "items": {}, "enum": ["a", null] }),
    ] {
        let schema = json!({ "type": "object", "properties": { "x": schema } });
        let (shown, _) = corrected(&schema);
        assert_eq!(shown, schema);
    }
}

/// An unsatisfiable schema has a meaning if a value need not match it.
#[test]
fn keeps_enums_in_conditions() {
    for (schema, sent) in [
        (
            json!({ "not": { "type": "array", "items": {}, "enum": ["a"] } }),
            json!(["a"]),
        ),
        (
            json!({ "if": { "type": "integer", "enum": ["1"] }, "then": false }),
            json!(1),
        ),
        (
            json!({ "oneOf": [{ "type": "integer", "enum": ["1"] }, { "type": "integer" }] }),
            json!(1),
        ),
        (
            json!({ "anyOf": [{ "type": "integer", "enum": ["1"] }, { "type": "integer", "minimum": 2 }] }),
            json!(2),
        ),
        (
            json!({ "contains": { "type": "integer", "enum": ["1"] }, "minContains": 0, "maxContains": 0 }),
            json!([1]),
        ),
        (
            json!({ "not": { "type": "object", "properties": { "y": { "type": "integer", "enum": ["1"] } } } }),
            json!({ "y": 1 }),
        ),
    ] {
        let schema = json!({ "type": "object", "properties": { "x": schema } });
        let (shown, warnings) = corrected(&schema);
        assert_eq!(shown, schema);
        let is_correction = |warning: &String| warning.contains(" read as ");
        assert!(!warnings.iter().any(is_correction), "{warnings:?}");
        let registry = dynamic_tool::registry(&schema);
        let request = dynamic_tool::prepare(&registry, json!({ "x": sent }), Policy::Lenient);
        assert!(request.errors.is_empty(), "{schema}: {:?}", request.errors);
    }
    let enums = |enumerated: Value| json!({ "type": "object", "properties": { "not": enumerated }, "not": { "type": "array", "items": {}, "enum": ["a"] } });
    let (shown, _) = corrected(&enums(json!({ "type": "integer", "enum": ["1"] })));
    assert_eq!(shown, enums(json!({ "type": "integer", "enum": [1] })));
}

/// A definition that a condition refers to has one meaning in all its uses.
#[test]
fn keeps_definitions_of_conditions() {
    let refers = |reference: &str| json!({ "$ref": reference });
    for (condition, sent) in [
        (json!({ "not": refers("#/$defs/A") }), json!(1)),
        (json!({ "if": refers("#/$defs/A"), "then": false }), json!(1)),
        (
            json!({ "oneOf": [refers("#/$defs/A"), { "type": "integer" }] }),
            json!(1),
        ),
        (
            json!({ "anyOf": [refers("#/$defs/A"), { "minimum": 2 }] }),
            json!(2),
        ),
        (
            json!({ "contains": refers("#a"), "minContains": 0, "maxContains": 0 }),
            json!([1]),
        ),
        (json!({ "not": refers("#/$defs/B") }), json!(1)),
        (json!({ "not": { "allOf": [refers("#/$defs/B")] } }), json!(1)),
    ] {
        let definitions = json!({
            "A": { "$anchor": "a", "type": "integer", "enum": ["1"] },
            "B": { "$ref": "#/$defs/A" },
        });
        let schema = json!({ "type": "object", "properties": { "x": condition }, "$defs": definitions });
        let (shown, warnings) = corrected(&schema);
        assert_eq!(shown, schema);
        let is_correction = |warning: &String| warning.contains(" read as ");
        assert!(!warnings.iter().any(is_correction), "{warnings:?}");
        let registry = dynamic_tool::registry(&schema);
        let request = dynamic_tool::prepare(&registry, json!({ "x": sent }), Policy::Lenient);
        assert!(request.errors.is_empty(), "{schema}: {:?}", request.errors);
    }
    let in_a_property = json!({ "type": "object", "properties": {
        "x": { "not": refers("#/$defs/A") }, "y": { "$defs": { "A": { "type": "integer", "enum": ["1"] } } } } });
    let (shown, _) = corrected(&in_a_property);
    assert_eq!(shown["properties"]["y"], in_a_property["properties"]["y"]);
}

/// Next to `null` alone, a schema is not a condition, and a value must match it.
#[test]
fn definitions_beside_null_are_corrected() {
    for alternative in [
        json!({ "$ref": "#/$defs/A" }),
        json!({ "type": "integer", "enum": ["1"] }),
    ] {
        let nullable = json!({ "anyOf": [alternative, { "type": "null" }] });
        let schema = json!({ "type": "object", "properties": { "x": nullable },
            "$defs": { "A": { "type": "integer", "enum": ["1"] } } });
        let registry = dynamic_tool::registry(&schema);
        for sent in [json!(1), json!(null)] {
            let request = dynamic_tool::prepare(&registry, json!({ "x": sent }), Policy::Lenient);
            assert!(request.errors.is_empty(), "{schema}: {:?}", request.errors);
        }
    }
}

#[test]
fn warnings_name_the_place_and_the_reading() {
    let schema = json!({ "type": "object", "properties": {
        "price": { "type": "float", "required": true },
        "city": "string",
        "days": { "type": "array", "items": { "type": "string" }, "enum": ["Mon"] },
    } });
    let (_, warnings) = corrected(&schema);
    assert_eq!(
        warnings,
        [
            "the string `string` was read as a schema of this type, at `/properties/city` of the schema",
            "the values of an array were read as those of its items, at `/properties/days/enum` of the schema",
            "`true` was read as an item of the object's `required`, at `/properties/price/required` of the schema",
            "`\"float\"` was read as `\"number\"`, at `/properties/price/type` of the schema",
        ]
    );
}

/// A second reading, or none.
#[test]
fn rejects_schemas_without_a_clear_meaning() {
    for (schema, place) in [
        (json!({ "x": "The name of a city." }), "/properties/x"),
        (json!({ "x": { "type": "intger" } }), "/properties/x/type"),
        (json!({ "x": { "type": null } }), "/properties/x/type"),
        (json!({ "x": { "type": "List<int" } }), "/properties/x/type"),
        (json!({ "x": null }), "/properties/x"),
        (
            json!({ "x": { "type": "number", "exclusiveMinimum": true } }),
            "/properties/x/exclusiveMinimum",
        ),
        (
            json!({ "x": { "anyOf": [{ "type": "string", "required": true }] } }),
            "/properties/x/anyOf/0/required",
        ),
        (
            json!({ "x": { "$ref": "#/$defs/A" }, "y": { "$defs": { "A": {} } }, "z": { "$defs": { "A": { "type": "string" } } } }),
            "/properties/x/$ref",
        ),
        (
            json!({ "x": { "$ref": "#/$defs/A/properties/b" }, "y": { "$defs": { "A": {} } } }),
            "/properties/x/$ref",
        ),
    ] {
        let schema = json!({ "type": "object", "properties": schema });
        let error = register(ToolRegistry::new(), &schema).unwrap_err();
        assert!(error.contains(&format!("is invalid at `{place}`")), "{error}");
    }
}

/// Each schema keeps its `$defs`, and the innermost ones apply.
#[test]
fn references_lead_to_the_definitions_of_their_schema() {
    let part = |name: &str| json!({ "$defs": { "A": { "type": name } }, "properties": { "a": { "$ref": "#/$defs/A" } } });
    let schema = json!({ "type": "object", "properties": { "x": part("string"), "y": part("integer") } });
    let (shown, warnings) = corrected(&schema);
    assert_eq!(
        shown["properties"]["x"]["properties"]["a"]["$ref"],
        "#/properties/x/$defs/A"
    );
    assert_eq!(
        shown["properties"]["y"]["properties"]["a"]["$ref"],
        "#/properties/y/$defs/A"
    );
    assert_eq!(warnings.len(), 2);
}

#[test]
fn output_schemas_are_corrected() {
    let mut definition = ToolDefinition::new("sum", "Adds.", json!({ "type": "object", "properties": {} }));
    definition.output_schema =
        Some(json!({ "type": "object", "properties": { "sum": { "type": "float" } } }));
    let mut registry = ToolRegistry::new();
    let ((), warnings) = warnings_of(|| {
        registry.register_dynamic(definition, async |_, _| "").unwrap();
    });
    let shown = registry.tool_definitions()[0].output_schema.clone();
    assert_eq!(
        shown,
        Some(json!({ "type": "object", "properties": { "sum": { "type": "number" } } }))
    );
    assert_eq!(
        warnings,
        ["output schema: `\"float\"` was read as `\"number\"`, at `/properties/sum/type` of the schema"]
    );
}

#[test]
fn lists_keywords_that_apis_reject() {
    let schema = json!({
        "type": "object",
        "properties": { "filter[id]": { "type": "string" }, "inner": { "type": "object", "properties": { "$top": {} } } },
        "anyOf": [{ "required": ["filter[id]"] }, { "required": ["inner"] }],
        "not": { "required": ["filter[id]", "inner"] },
    });
    for registry in [
        ToolRegistry::new(),
        ToolRegistry::new().with_schema_corrections(false),
    ] {
        let (shown, warnings) = register(registry, &schema).unwrap();
        assert_eq!(shown, schema);
        assert_eq!(
            warnings,
            [
                "the Messages API refuses the property key `filter[id]`; expected 1 to 64 of a-z, A-Z, 0-9, `_`, `.` and `-`, \
                 at `/properties/filter[id]` of the schema",
                "OpenAI's APIs refuse `not` at the root; move it into a property, or check it in the tool, at `/not` of the schema",
            ]
        );
    }
}

#[test]
fn names_properties_that_no_value_satisfies() {
    let recursive = json!({ "type": "object", "properties": { "x": { "$ref": "#/$defs/N" } },
        "$defs": { "N": { "type": "object", "properties": { "next": { "$ref": "#/$defs/N" } }, "required": ["next"] } } });
    let x = |schema: Value| json!({ "type": "object", "properties": { "x": schema } });
    for (schema, expected) in [
        (
            x(json!({ "type": "integer", "enum": ["many"] })),
            "`type` and `enum` together, at `/properties/x`",
        ),
        (
            x(json!({ "type": "object", "enum": ["a"] })),
            "`type` and `enum` together, at `/properties/x`",
        ),
        (
            x(json!({ "type": "string", "minLength": 3, "maxLength": 2 })),
            "`type`, `minLength` and `maxLength` together, at `/properties/x`",
        ),
        (
            x(json!({ "type": "string", "enum": ["abc"], "maxLength": 2 })),
            "`type`, `enum` and `maxLength` together, at `/properties/x`",
        ),
        (
            x(json!({ "type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2 })),
            "`type`, `exclusiveMinimum` and `exclusiveMaximum` together, at `/properties/x`",
        ),
        (
            x(json!({ "type": "number", "minimum": 1.5, "maximum": 1 })),
            "`type`, `minimum` and `maximum` together, at `/properties/x`",
        ),
        (
            x(json!({ "type": "array", "items": { "type": "string", "const": 1 }, "minItems": 1 })),
            "`type` and `const` together, at `/properties/x/items`",
        ),
        (
            x(json!({ "allOf": [{ "type": "string" }, { "type": "integer" }] })),
            "this schema, at `/properties/x`",
        ),
        (
            x(json!({ "anyOf": [{ "type": "string", "const": 1 }, { "type": "boolean", "const": 2 }] })),
            "this schema, at `/properties/x`",
        ),
        (
            x(
                json!({ "type": "object", "properties": {}, "additionalProperties": false, "required": ["y"] }),
            ),
            "`type`, `required` and `additionalProperties` together, at `/properties/x`",
        ),
        (
            x(
                json!({ "type": "object", "properties": { "y": { "type": "null", "const": 1 } }, "required": ["y"] }),
            ),
            "`type` and `const` together, at `/properties/x/properties/y`",
        ),
        (recursive, "this schema, at `/properties/x`"),
    ] {
        let (_, warnings) = corrected(&schema);
        assert_eq!(
            warnings,
            [format!("no value satisfies {expected} of the schema")],
            "{schema}"
        );
    }
}

#[test]
fn names_required_properties_that_are_not_declared() {
    let object = |keywords: Value| {
        let mut object = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
        object
            .as_object_mut()
            .unwrap()
            .extend(keywords.as_object().unwrap().clone());
        object
    };
    let required = json!({ "required": ["a", "b"] });
    let in_a_property = json!({ "type": "object", "properties": { "x": { "type": ["array", "null"], "items": object(required.clone()) } } });
    let of_a_definition = json!({ "type": "object", "properties": { "x": { "$ref": "#/$defs/X" } }, "$defs": { "X": object(required.clone()) } });
    let of_parts = json!({ "type": "object", "properties": { "x": { "allOf": [object(json!({})), { "required": ["b"] }] } } });
    for (schema, place) in [
        (object(required.clone()), "/required"),
        (in_a_property, "/properties/x/items/required"),
        (of_a_definition, "/properties/x"),
        (of_parts, "/properties/x"),
        (
            json!({ "type": "object", "properties": {}, "required": ["b"] }),
            "/required",
        ),
    ] {
        let (shown, warnings) = corrected(&schema);
        assert_eq!(shown, schema);
        let expected = format!("`b` is required, and no property declares it, at `{place}` of the schema");
        assert_eq!(warnings, [expected], "{schema}");
    }
    for silent in [
        json!({ "required": ["a"] }),
        json!({ "required": ["b"], "additionalProperties": { "type": "string" } }),
        json!({ "required": ["b"], "additionalProperties": true }),
        json!({ "required": ["b"], "patternProperties": { "^b": {} } }),
        json!({ "anyOf": [{ "required": ["a"] }, { "required": ["b"] }] }),
        json!({ "not": { "required": ["b"] } }),
        json!({ "if": { "required": ["a"] }, "then": { "properties": { "b": {} } }, "required": ["b"] }),
        json!({ "allOf": [{ "properties": { "b": {} } }], "required": ["b"] }),
    ] {
        let schema = json!({ "type": "object", "properties": { "x": object(silent) } });
        let (_, warnings) = corrected(&schema);
        assert_eq!(warnings, [""; 0], "{schema}");
    }
}

#[test]
fn lists_no_satisfied_properties() {
    let tree = json!({ "$ref": "#/$defs/T" });
    for schema in [
        json!(false),
        json!({ "type": "integer", "minimum": 1, "maximum": 1 }),
        json!({ "type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 3 }),
        json!({ "type": "array", "items": false }),
        json!({ "type": "array", "maxItems": 0, "items": { "type": "string", "minLength": 1 } }),
        json!({ "type": "object", "properties": { "a": { "anyOf": [{ "type": "string" }, false] } }, "required": ["a"] }),
        json!({ "anyOf": [{ "type": "string", "const": 1 }, { "type": "null" }] }),
        json!({ "type": "object", "properties": { "a": {}, "b": {} }, "anyOf": [{ "properties": { "a": false } }, { "properties": { "b": false } }] }),
        json!({ "type": "object", "patternProperties": { "^y": {} }, "additionalProperties": false, "required": ["y"] }),
        tree,
    ] {
        let schema = json!({
            "type": "object",
            "properties": { "x": schema },
            "$defs": { "T": { "type": "object", "properties": { "left": { "$ref": "#/$defs/T" } } } },
        });
        assert_eq!(corrected(&schema).1, [""; 0], "{schema}");
    }
}

#[test]
fn extension_keywords_are_shown_and_not_obeyed() {
    let schema = json!({
        "type": "object",
        "properties": {
            "count": { "type": "integer", "x-strict": true, "x-integer": "u8", "x-validation": [0], "x-default": true },
            "room": { "type": "string", "x-not-blank": true, "x-integer": "rooms" },
            "mode": { "enum": ["read"], "x-case-sensitive": true, "x-patch": { "x-strict": true } },
            "map": { "type": "object", "properties": { "red": {} }, "x-enum-map": 7 },
            "many": { "type": "array", "items": {}, "contains": { "minimum": 3 }, "x-validation": [1] },
        },
        "x-strict": "on weekdays",
        "x-validation": true,
        "$tool_runtime::strict": true,
        "$tool_runtime::validation": [0, 7],
    });
    let (shown, warnings) = corrected(&schema);
    assert_eq!((shown, warnings), (schema.clone(), Vec::new()));
    let registry = dynamic_tool::registry(&schema);
    let sent = json!({ "count": "300", "room": " ", "mode": "READ", "map": { "red": 1 }, "many": [1, "4"] });
    let request = dynamic_tool::prepare(&registry, sent, Policy::Lenient);
    assert_eq!(request.errors, []);
    let expected =
        json!({ "count": 300, "room": " ", "mode": "read", "map": { "red": 1 }, "many": [1, "4"] });
    assert_eq!(Value::Object(request.arguments), expected);
    let mut definition = ToolDefinition::new("output", "Has an output schema.", json!({ "type": "object" }));
    let output_schema = json!({ "type": "string", "x-not-blank": true, "x-integer": "of rooms" });
    definition.output_schema = Some(output_schema.clone());
    let mut registry = ToolRegistry::new();
    registry.register_dynamic(definition, async |_, _| " ").unwrap();
    assert_eq!(registry.tool_definitions()[0].output_schema, Some(output_schema));
}

#[test]
fn deep_and_large_schemas_are_corrected_in_time() {
    let deep = (0..100_000).fold(json!({}), |inner, _| {
        Value::Object(Map::from_iter([("items".to_owned(), inner)]))
    });
    let mut registry = ToolRegistry::new();
    let definition = ToolDefinition::new("deep", "Is deep.", deep);
    assert!(registry.register_dynamic(definition, async |_, _| "").is_err());
    let properties: Map<String, Value> = (0..5_000)
        .map(|number| {
            (
                format!("p{number}"),
                json!({ "type": "List<float>", "required": true }),
            )
        })
        .collect();
    let (shown, warnings) = corrected(&json!({ "type": "object", "properties": properties }));
    // Two for each property, and one about the size of the definition.
    assert_eq!(
        (shown["required"].as_array().unwrap().len(), warnings.len()),
        (5_000, 10_001)
    );
}
