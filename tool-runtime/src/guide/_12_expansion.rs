//! The expansion: what `#[tool]` writes, line by line, beside what `cargo expand` shows.
//!
//! A macro is code that writes code, and you can read what it wrote. What follows is not a drawing of it. The
//! expansions on this page are the files that the macro's own tests compare with its output, and they are compiled and
//! run here like every other example.
//!
//! # What goes in
//!
#![doc = "```"]
#![doc = "# use tool_runtime::tool;"]
#![doc = include_str!("expansion/get_weather.txt")]
#![doc = "# type WeatherError = String;"]
#![doc = "# async fn forecast(city: &str, days: u8) -> Result<String, WeatherError> {"]
#![doc = "#     Ok(format!(\"{city}: rain for {days} days\"))"]
#![doc = "# }"]
#![doc = "# fn main() {}"]
#![doc = "```"]
//!
//! # What comes out
//!
//! No `#[tool]` is left in it. You could have written this by hand, and it would be the same tool:
//!
#![doc = "```"]
#![doc = include_str!("expansion/get_weather.expanded.txt")]
#![doc = "# type WeatherError = String;"]
#![doc = "# async fn forecast(city: &str, days: u8) -> Result<String, WeatherError> {"]
#![doc = "#     Ok(format!(\"{city}: rain for {days} days\"))"]
#![doc = "# }"]
#![doc = "# #[tokio::main(flavor = \"current_thread\")]"]
#![doc = "# async fn main() {"]
#![doc = "#     tool_runtime::testing::run::<get_weather>(r#\"{ \"city\": \"Oslo\", \"days\": \"2\" }\"#).await"]
#![doc = "#         .assert_warnings([\"string_literal_converted_to_integer at /days\"])"]
#![doc = "#         .assert_text(\"Oslo: rain for 2 days\");"]
#![doc = "# }"]
#![doc = "```"]
//!
//! # Line by line
//!
//! | a function's expansion | what it is for |
//! |---|---|
//! | `/// Look up the forecast for a city.` | Your function comes first, with its comment: it is still in your documentation. |
//! | ``#[allow(clippy::unused_async, reason = "a tool is `async`")]`` | A tool that awaits nothing is `async` all the same, and could not obey this lint. |
//! | `pub async fn get_weather(city: String, days: Option<u8>) -> Result<String, WeatherError>` | As you wrote it, but for the comments on the parameters: Rust allows none there. They have moved down. |
//! | `{ forecast(&city, days.unwrap_or(1)).await }` | The body is not even parsed. |
//! | `/// The tool made from the function of the same name.` | For people who meet the type in your documentation. |
//! | `#[allow(non_camel_case_types, missing_debug_implementations)]` | It has the name of a function, and nobody ever holds a value of it. |
//! | `pub struct get_weather {}` | The tool as a type, for `register::<get_weather>()`. Types and functions do not share their names, so both fit; it is as visible as the function. With `{}`: as a unit struct it would be a value as well, and there is a function of that name. |
//! | `const _: () = {` | A place without a name. What is used inside of it cannot clash with anything of yours. |
//! | `use ::tool_runtime::__private as __rt;` | The only line that says where the runtime is; `crate = path` changes it. Everything below says `__rt`, so a `Vec` or a `Result` of your own is not in the way. |
//! | `use __rt::{Respond as _, WithOutputSchema as _};` | Lets `with_sources()`, `respond()` and `with_output_schema()` below be found. |
//! | `#[automatically_derived]` | Tells lints and coverage that no person wrote this. |
//! | `impl __rt::Tool for get_weather {` | What the registry knows a tool by: one trait with one function. |
//! | `fn declare() -> __rt::DeclaredTool {` | Called once, when the tool is registered. |
//! | `let params = (` | A tuple with a line for each parameter. Its type holds the types of all of them: this is what the arguments will be read into. |
//! | `__rt::Param::<String>::of("city", "City name, e.g. \"Oslo\"."),` | The type, the name, the words. `of` takes what a model can supply; for any other type the compiler's error stands under `String` in *your* code. |
//! | `__rt::Param::<Option<u8>>::of("days", "How many days ahead."),` | Nothing here says that this one is optional. The type knows. |
//! | `let declaration = __rt::Declaration::new("get_weather", "Look up the forecast for a city.");` | What the model will be told. The keys of `#[tool(..)]` would be further calls: `.read_only(true)`, `.timeout(..)`. |
//! | `__rt::DeclaredTool::function(declaration, params,` | Joins what is told, what is read and what is done. The schema is made from `params` at registration. |
//! | `\|(city, days)\|` | One call. The arguments have been coerced, checked and read: these are a `String` and an `Option<u8>`, or we would not be here. |
//! | `async move {` | What runs isolated: its panic, its deadline and its cancellation end this future and nothing else. |
//! | `__rt::Output(get_weather(city, days).await)` | Calls your function. |
//! | `.with_sources()` | Of a `Result` whose error is a `std::error::Error`, its `source()`s will be in the log; nothing else is changed. |
//! | `.respond()` | Makes of whatever was returned what the model reads: the error of a `Result` is a failure, whatever the alias that the type goes by. |
//! | `.with_output_schema()` | Of a function that returns `Structured<T>`, adds the schema of `T`; nothing else is changed. |
//!
//! That is all. No schema, no parsing, no error text: those are decisions, and decisions are in the runtime, where they
//! have tests and documentation of their own.
//!
//! # What real tools have
//!
//! Defaults, parameters that the host supplies, a function that blocks: each changes one line of the expansion.
//!
#![doc = "```"]
#![doc = "# use std::path::PathBuf;"]
#![doc = "# use tool_runtime::{CancellationToken, State, tool};"]
#![doc = "# struct Workspace(PathBuf);"]
#![doc = "# fn search(_: &PathBuf, _: &str, _: u32, _: &CancellationToken) -> Vec<String> { vec![\"src/main.rs\".to_owned()] }"]
#![doc = include_str!("expansion/find_files.txt")]
#![doc = "# #[tokio::main(flavor = \"current_thread\")]"]
#![doc = "# async fn main() {"]
#![doc = "#     let mut registry = tool_runtime::ToolRegistry::new().with_state(Workspace(\"/src\".into()));"]
#![doc = "#     registry.register::<find_files>().unwrap();"]
#![doc = "#     let result = registry.execute_tool(\"toolu_01\", \"find_files\", r#\"{ \"pattern\": \"*.rs\" }\"#).await;"]
#![doc = "#     assert_eq!(result.text(), Some(\"[\\\"src/main.rs\\\"]\"));"]
#![doc = "# }"]
#![doc = "```"]
//!
//! This is its expansion, below the function and its struct:
//!
#![doc = "```"]
#![doc = "# use std::path::PathBuf;"]
#![doc = "# use tool_runtime::{CancellationToken, State};"]
#![doc = "# struct Workspace(PathBuf);"]
#![doc = "# fn search(_: &PathBuf, _: &str, _: u32, _: &CancellationToken) -> Vec<String> { vec![\"src/main.rs\".to_owned()] }"]
#![doc = include_str!("expansion/find_files.expanded.txt")]
#![doc = "# #[tokio::main(flavor = \"current_thread\")]"]
#![doc = "# async fn main() {"]
#![doc = "#     let mut registry = tool_runtime::ToolRegistry::new().with_state(Workspace(\"/src\".into()));"]
#![doc = "#     registry.register::<find_files>().unwrap();"]
#![doc = "#     let result = registry.execute_tool(\"toolu_01\", \"find_files\", r#\"{ \"pattern\": \"*.rs\" }\"#).await;"]
#![doc = "#     assert_eq!(result.text(), Some(\"[\\\"src/main.rs\\\"]\"));"]
#![doc = "# }"]
#![doc = "```"]
//!
//! | a real tool's expansion | what it is for |
//! |---|---|
//! | `.default(\|\| __rt::IntoParam::into_param(100))` | The key `default = 100`. The closure runs for each call without this argument, so a default such as `Uuid::new_v4()` is new each time; it runs once at registration, which checks it. `into_param` converts what was written into the parameter's type: `100` into a `u32`, `"a"` into a `String`, `5` into an `Option<u8>`. |
//! | `.range(1..=10_000)` | The key `range`: in the schema, and enforced. |
//! | `__rt::Param::<State<Workspace>>::named("workspace").from_host()` | A parameter without a comment. `named` instead of `of`: the model supplies no description, because the host supplies the value. `from_host` requires that; for a type that the model would have to supply, the compiler's error asks for the comment. |
//! | `__rt::Param::<CancellationToken>::named("cancel").from_host()` | The call supplies it. Neither is in the definition. |
//! | `.read_only(true)` | A hint, a key of `#[tool(..)]`. |
//! | `\|(pattern, max_results, workspace, cancel)\|` | All parameters, in your order, whoever supplies them. |
//! | `__rt::blocking(move \|\| {` | The key `blocking`: in the place of `async move`. The function, a plain `fn`, runs on one of tokio's threads for blocking code. |
//! | `__rt::Output(find_files(pattern, max_results, workspace, cancel))` | The same call without `.await`. |
//!
//! # A family
//!
//! `#[tools]` leaves the block as it was, and writes one list for all of its tools. Each element is what you have just
//! read, but for the value that its calls share:
//!
#![doc = "```"]
#![doc = "# use std::collections::BTreeMap;"]
#![doc = "# use std::sync::{Mutex, MutexGuard};"]
#![doc = "# #[derive(Default)]"]
#![doc = "# struct Store(Mutex<BTreeMap<String, i64>>);"]
#![doc = "# impl Store {"]
#![doc = "#     fn lock(&self) -> MutexGuard<'_, BTreeMap<String, i64>> { self.0.lock().unwrap() }"]
#![doc = "# }"]
#![doc = include_str!("expansion/store.expanded.txt")]
#![doc = "# #[tokio::main(flavor = \"current_thread\")]"]
#![doc = "# async fn main() {"]
#![doc = "#     let store = std::sync::Arc::new(Store::new());"]
#![doc = "#     let mut registry = tool_runtime::ToolRegistry::new();"]
#![doc = "#     registry.register_all(std::sync::Arc::clone(&store)).unwrap();"]
#![doc = "#     registry.execute_tool(\"toolu_01\", \"put\", r#\"{ \"key\": \"a\", \"number\": 3 }\"#).await;"]
#![doc = "#     assert_eq!((Store::LIMIT, store.lock()[\"a\"]), (5, 3));"]
#![doc = "# }"]
#![doc = "```"]
//!
//! | a family's expansion | what it is for |
//! |---|---|
//! | `impl __rt::OneToolsBlockPerType for Store {` | What makes it a `ToolSet`, which `register_all` takes. A second block with `#[tools]` would write the line again, and then this name is what the compiler says. |
//! | `fn tools(self: __rt::Arc<Self>) -> __rt::Vec<__rt::DeclaredTool> {` | The value is shared by all its tools, and by whoever kept an `Arc` of it. |
//! | `.range(0..)` | A key of `#[arg(..)]`, `range = 0..`: a call of a method that is documented and tested. |
//! | `.idempotent(true)` | A key of `#[tool(..)]`. |
//! | `__rt::DeclaredTool::method(declaration, &self, params,` | As `function`, with a share in the value. |
//! | `\|this, (key, number)\|` | Each call has its own `Arc`, so calls can run side by side. |
//! | `Self::put(&this, key, number).await` | Your method, on `&self`. |
//! | `#[cfg(debug_assertions)]` | Conditions of a method hold for its tool. |
//!
//! # A mistake
//!
//! When the macro refuses something, it says so with the function still in place, and with a stub of the tool, so that
//! the mistake is all that the compiler has to say. Uses of `delete` elsewhere stay quiet, and an editor still knows
//! it.
//!
#![doc = "```compile_fail"]
#![doc = include_str!("expansion/mistake.expanded.txt")]
#![doc = "```"]
//!
//! # `cargo expand`
//!
//! To see the expansion of your own tools, `cargo install cargo-expand` and then `cargo expand`. It asks the compiler
//! for the program with *all* macros expanded; without it you can ask yourself, and read what is less well laid out:
//!
//! ```sh
//! RUSTC_BOOTSTRAP=1 cargo rustc --profile=check -- -Zunpretty=expanded
//! ```
//!
//! This is all of what it prints for a program with `get_weather` in it. The tool is letter for letter what you have
//! read above. The rest is not ours: the prelude in the first lines, and further down what `derive(Debug)`, `format!`
//! and `tool_set!` have become.
//!
#![doc = "```text"]
#![doc = include_str!("expansion/cargo_expand.txt")]
#![doc = "```"]
//!
//! `//` comments do not survive a macro, so the reasons are not in the output. They are on this page, and in
//! `tool-macros/src/expand.rs`, which writes it.
//!
//! Next: [the repair without a registry](super::_13_repair).
