//! Registries of tools: [`ToolRegistry`] registers tools and runs calls.

pub(crate) mod tool_registry;
mod settings;
mod inspect;
mod call;

pub use tool_registry::ToolRegistry;
