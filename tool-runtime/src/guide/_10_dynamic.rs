//! Dynamic tools: a schema that is known at run time only gets the same leniency and the same checks.
//!
//! The tools of an MCP server, of a file, of a client's request have no function to put `#[tool]` on. They have a
//! definition; you give it a handler, and from there on they are tools like the others: coercion, errors, isolation,
//! layers, batches.
//!
//! ```
//! use tool_runtime::format::mcp;
//! use tool_runtime::serde_json::{Value, json};
//! use tool_runtime::{Context, Policy, ToolCall, ToolRegistry};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // What another library's server answers to `tools/list`.
//! let listed = json!({
//!     "name": "order_from_afar",
//!     "description": "Order a book from another library.",
//!     "inputSchema": {
//!         "type": "object",
//!         "properties": {
//!             "title": { "type": "string" },
//!             "days": { "type": "integer", "minimum": 1, "maximum": 60 }
//!         },
//!         "required": ["title"]
//!     }
//! });
//!
//! let mut registry = ToolRegistry::new();
//! registry.register_dynamic(mcp::definition(&listed)?, async |arguments: Value, context: Context| {
//!     // Here the server would be asked. The arguments fit its schema already.
//!     let reader = context.session().unwrap_or("a guest");
//!     Ok::<_, String>(format!("{arguments} for {reader}"))
//! })?;
//!
//! let call = ToolCall::new("toolu_01", "order_from_afar", r#"{ "Title": "Ulysses", "days": "30", "gift": true }"#)
//!     .with_context(Context::new().with_session("Ada"));
//! let outcome = registry.call(call.clone()).await;
//! // An unknown argument is kept: what it means is for the other side to say.
//! assert_eq!(outcome.result.text(), Some(r#"{"title":"Ulysses","days":30,"gift":true} for Ada"#));
//! assert_eq!(outcome.warnings.len(), 3);
//!
//! // What the schema forbids never gets there.
//! let result = registry.execute_tool("toolu_02", "order_from_afar", r#"{ "days": 90 }"#).await;
//! assert_eq!(
//!     result.text(),
//!     Some(
//!         "`order_from_afar` was not called because of invalid arguments:\n\
//!          - missing_required:title at /title: missing required parameter; expected a string\n\
//!          - constraint_violated at /days: invalid value 90; expected an integer from 1 to 60, or leave it out"
//!     ),
//! );
//!
//! // A server that wants to judge for itself is sent what came, if it is what the schema says.
//! registry.set_policy("order_from_afar", Policy::Strict)?;
//! assert!(registry.call(call).await.result.is_error);
//! # Ok(())
//! # }
//! ```
//!
//! A handler returns a `Result` of anything that a function with `#[tool]` may return, or a `String`, a `&'static str`, a
//! `Value`, `Blocks`, a `ToolOutput` or `()`. An `async` closure cannot capture a client: write a closure that clones it for
//! each call, since calls run side by side.
//!
//! ```
//! use std::sync::Arc;
//! use tool_runtime::serde_json::{Value, json};
//! use tool_runtime::{ToolDefinition, ToolRegistry};
//!
//! /// The connection to another library: cheap to clone.
//! #[derive(Clone)]
//! struct Client(Arc<str>);
//!
//! impl Client {
//!     async fn send(&self, arguments: Value) -> Result<String, String> {
//!         Ok(format!("{} got {arguments}", self.0))
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! let client = Client("Oslo".into());
//! let definition = ToolDefinition::new("ask_oslo", "Ask another library.", json!({ "type": "object" }));
//! let mut registry = ToolRegistry::new();
//! registry.register_dynamic(definition, move |arguments, _context| {
//!     let client = client.clone();
//!     async move { client.send(arguments).await }
//! })?;
//! let result = registry.execute_tool("toolu_01", "ask_oslo", r#"{ "title": "Emma" }"#).await;
//! assert_eq!(result.text(), Some(r#"Oslo got {"title":"Emma"}"#));
//! # Ok(())
//! # }
//! ```
//!
//! Two differences from annotated functions: unknown arguments reach the handler, and defaults in the schema do not. It
//! reads what is absent as it likes. What attributes say of a function is said of a tool by its name:
//! [`set_policy`](crate::ToolRegistry::set_policy), [`set_timeout`](crate::ToolRegistry::set_timeout). Hints for layers and hosts are
//! part of the definition, by its methods or as MCP's `annotations` in its JSON:
//!
//! ```
//! use tool_runtime::serde_json::{from_str, json};
//! use tool_runtime::ToolDefinition;
//!
//! let schema = json!({ "type": "object", "properties": {} });
//! let built = ToolDefinition::new("close", "Close the library.", schema).with_destructive(false).with_title("Close");
//! let read: ToolDefinition = from_str(r#"{
//!     "name": "close",
//!     "description": "Close the library.",
//!     "annotations": { "destructiveHint": false, "title": "Close" }
//! }"#)?;
//! assert_eq!(built, read);
//! # Ok::<(), tool_runtime::serde_json::Error>(())
//! ```
//!
//! ## All tools of a server
//!
//! [`register_source`](crate::ToolRegistry::register_source) registers a whole list with one handler, which is told whom it is about.
//! Other protocols allow names that models' APIs refuse, such as `loans.list`: these get a name with `_` instead, and the handler the
//! name that the server knows.
//!
//! ```
//! use tool_runtime::format::mcp;
//! use tool_runtime::serde_json::{Value, json};
//! use tool_runtime::{Context, ToolRegistry};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let listed = json!([
//!     { "name": "loans.list", "inputSchema": { "type": "object" } },
//!     { "name": "loans.extend", "inputSchema": { "type": "object", "properties": { "days": { "type": "integer" } } } }
//! ]);
//! let definitions = listed.as_array().unwrap().iter().map(mcp::definition).collect::<Result<Vec<_>, _>>()?;
//!
//! let mut server = ToolRegistry::new();
//! server.register_source(definitions, async |name: String, arguments: Value, _: Context| {
//!     // Here `tools/call` would be sent. This is what comes back.
//!     let result = json!({
//!         "content": [{ "type": "text", "text": format!("{name} {arguments}") }],
//!         "structuredContent": { "until": "Friday" }
//!     });
//!     mcp::output(&result)
//! })?;
//!
//! // Servers that have tools of the same name are told apart by a prefix.
//! let mut registry = ToolRegistry::new();
//! registry.nest("oslo", server)?;
//! let result = registry.execute_tool("toolu_01", "oslo__loans_extend", r#"{ "days": "7" }"#).await;
//! assert_eq!(result.text(), Some(r#"loans.extend {"days":7}"#));
//! assert_eq!(result.structured.unwrap()["until"], "Friday"); // for programs
//! # Ok(())
//! # }
//! ```
//!
//! [`mcp::output`](crate::format::mcp::output) says what becomes of each kind of content.
//!
//! ## Rules between arguments
//!
//! A schema can have rules that one value alone cannot break: `if` and `then`, `not`, `dependentRequired`, `contains`. They are enforced
//! on the coerced arguments, and never decide what a value is coerced to. Each tells the model [what to send](crate::coercion#keywords-that-are-enforced-after-coercion).
//! `format` is information for the model, unless the registry enforces it:
//!
//! ```
//! use tool_runtime::serde_json::{Value, json};
//! use tool_runtime::{Context, ToolDefinition, ToolRegistry};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! let definition = ToolDefinition::new("remind", "Remind a reader.", json!({
//!     "type": "object",
//!     "properties": {
//!         "by": { "enum": ["letter", "mail"] },
//!         "mail": { "type": "string", "format": "email" },
//!         "on": { "type": "string", "format": "date" }
//!     },
//!     "required": ["by"],
//!     "if": { "properties": { "by": { "const": "mail" } } },
//!     "then": { "required": ["mail"] },
//!     "else": { "properties": { "mail": false } }
//! }));
//! let mut registry = ToolRegistry::new().with_formats_enforced(true);
//! registry.register_dynamic(definition, async |arguments: Value, _: Context| arguments)?;
//!
//! let result = registry.execute_tool("toolu_01", "remind", r#"{ "by": "Mail", "on": "2025-02-30" }"#).await;
//! assert_eq!(
//!     result.text(),
//!     Some(
//!         "`remind` was not called because of invalid arguments:\n\
//!          - missing_required:mail at /mail: missing required parameter; expected an email address, for example name@example.org (since `by` is \"mail\")\n\
//!          - constraint_violated at /on: invalid value \"2025-02-30\"; expected a date of the calendar, for example 2025-01-31, or leave it out"
//!     ),
//! );
//! # Ok(())
//! # }
//! ```
//!
//! The schema of a type has such rules with `#[schemars(extend("not" = { "required": ["locker", "street"] }))]`.
//!
//! ## Schemas in other dialects
//!
//! Servers write what their language calls a type, or a keyword of an older draft. Such a schema is read
//! [as meant](crate::coercion#schemas-in-other-dialects), each correction is a warning in the log, and the model is shown the
//! corrected schema. [`with_schema_corrections`](crate::ToolRegistry::with_schema_corrections) turns that off.
//!
//! ```
//! use tool_runtime::serde_json::{Value, json};
//! use tool_runtime::{Context, ToolDefinition, ToolRegistry};
//!
//! let definition = ToolDefinition::new("fine", "Pay a fine.", json!({
//!     "type": "OBJECT",
//!     "properties": {
//!         "amount": { "type": "float", "required": true },
//!         "reason": "string",
//!         "books": { "type": "array", "enum": ["late", "lost"] }
//!     }
//! }));
//! let mut registry = ToolRegistry::new();
//! registry.register_dynamic(definition, async |arguments: Value, _: Context| arguments)?;
//! assert_eq!(
//!     registry.tool_definitions()[0].input_schema,
//!     json!({
//!         "type": "object",
//!         "properties": {
//!             "amount": { "type": "number" },
//!             "reason": { "type": "string" },
//!             "books": { "type": "array", "items": { "type": "string", "enum": ["late", "lost"] } }
//!         },
//!         "required": ["amount"]
//!     }),
//! );
//! # Ok::<(), tool_runtime::RegistryError>(())
//! ```
//!
//! The log also names a property that no value satisfies, and what an API refuses: the Messages API takes no argument `filter[id]`.
//!
//! A schema that is none, or that points to another document, is refused when it is registered, with the place. One
//! with a pattern that [cannot be enforced](crate::coercion#the-definition-and-the-enforced-schema) is taken, with a warning in the
//! log. Two limits hold: a schema nests at most 128
//! arrays and objects deep, as arguments do, and at most 16 unions stand directly in one another,
//! with no property or item between (an `anyOf` or `oneOf` of several, or an `allOf` whose parts cannot be merged).
//!
//! ```
//! use tool_runtime::serde_json::{Value, json};
//! use tool_runtime::{Context, ToolDefinition, ToolRegistry};
//!
//! let wrong = ToolDefinition::new("lend", "Lend a book.", json!({
//!     "type": "object",
//!     "properties": { "weeks": { "type": "intger" } }
//! }));
//! let error = ToolRegistry::new()
//!     .register_dynamic(wrong, async |_: Value, _: Context| "never called")
//!     .unwrap_err();
//! assert!(error.to_string().starts_with(
//!     "the schema of `lend` is invalid at `/properties/weeks/type`: `\"intger\"` does not belong here; write one of"
//! ));
//! ```
//!
//! Next: [how to test all of this](super::_11_testing).
