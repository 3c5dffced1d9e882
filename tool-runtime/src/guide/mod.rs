//! The guide: from a first tool to an agent with a family of them, a chapter an idea. Nothing here but documentation.
//!
//! For everybody who writes tools for language models, and for those who teach how agents work. You know Rust's `async
//! fn`; nothing else is needed. Every example is a test: what it says comes out, comes out.
//!
//! | chapter | idea |
//! |---|---|
//! | [1. A first tool](_1_first_tool) | a function becomes something that a model can call |
//! | [2. Arguments](_2_arguments) | types and comments are all that the model is told |
//! | [3. Sloppy calls](_3_sloppy_calls) | what models get wrong is mended, or refused with words that help |
//! | [4. Answers](_4_answers) | whatever happens, there is a `tool_result` |
//! | [5. The host](_5_host) | what the model never hears of: state, sessions, deadlines, cancellation |
//! | [6. A family](_6_family) | the methods of a type are tools that share it |
//! | [7. Around every call](_7_layers) | permission, timeouts and long results are layers |
//! | [8. A turn](_8_a_turn) | the loop of an agent, whole |
//! | [9. Formats](_9_formats) | the same tool in the words of each API |
//! | [10. Dynamic tools](_10_dynamic) | tools that are known at run time only |
//! | [11. Testing](_11_testing) | call a tool as a model would |
//! | [12. The expansion](_12_expansion) | what the macro writes, line by line |
//! | [13. Repair](_13_repair) | text that is not JSON, without a registry |
//! | [14. Sessions](_14_sessions) | state that belongs to a conversation |
//!
//! The chapters share a story, the lending desk of a library, and none needs another one's code; within a chapter, an
//! example may use the code of an earlier one. For reference there are [`#[tool]`](macro@crate::tool) with every key,
//! [`ToolRegistry`](crate::ToolRegistry) with every method, and the [rules of coercion](crate::coercion).

pub mod _1_first_tool;
pub mod _2_arguments;
pub mod _3_sloppy_calls;
pub mod _4_answers;
pub mod _5_host;
pub mod _6_family;
pub mod _7_layers;
pub mod _8_a_turn;
pub mod _9_formats;
pub mod _10_dynamic;
pub mod _11_testing;
pub mod _12_expansion;
pub mod _13_repair;
pub mod _14_sessions;
