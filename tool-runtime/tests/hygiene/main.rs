//! Programs that must compile: names that the output uses, another prelude, strict lints, other crate paths.

#![deny(
    warnings,
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    clippy::pedantic
)]
#![deny(
    clippy::allow_attributes_without_reason,
    clippy::unwrap_used,
    clippy::indexing_slicing
)]
#![forbid(unsafe_code)]

mod generated;
mod kinds;
mod names;
mod places;

use tool_runtime::{ToolRegistry, tool_set};

/// A prelude of somebody's own.
mod shadowed {
    #![allow(
        dead_code,
        unused_macros,
        unused_imports,
        reason = "they only stand in the way"
    )]

    pub(crate) struct Some;
    pub(crate) struct None;
    pub(crate) struct Ok;
    pub(crate) struct Err;
    pub(crate) struct Box;
    pub(crate) struct Result;
    pub(crate) struct Option;
    pub(crate) struct String;
    pub(crate) struct Vec;
    pub(crate) struct Arc;
    pub(crate) struct Tool;
    pub(crate) struct Send;
    pub(crate) trait Respond {
        fn answer(self);
    }
    impl<T> Respond for T {
        fn answer(self) {}
    }
    pub(crate) mod std {}
    pub(crate) mod core {}
    pub(crate) mod alloc {}
    pub(crate) mod tool_runtime {}
    pub(crate) mod serde {}
    pub(crate) trait Default {}
    pub(crate) trait Clone {}
    pub(crate) trait Fn {}
    pub(crate) trait Into {}
    pub(crate) trait Future {}
    pub(crate) trait Iterator {}
    pub(crate) struct State;
    pub(crate) struct Context;
    pub(crate) struct Param;
    pub(crate) struct Declaration;
    macro_rules! concat {
        () => {};
    }
    pub(crate) use concat;

    /// Answer in a module full of other things.
    #[::tool_runtime::tool(read_only, timeout = "1s", input_examples = [{ "text": "text", "more": [true] }])]
    pub(crate) async fn answer(
        /// A text.
        #[arg(default = "text", length = 1..=9, not_blank, pattern = "x", values = ["text"], example = "text")]
        text: ::std::string::String,
        /// More.
        more: ::std::option::Option<::std::vec::Vec<bool>>,
        #[doc = "One."]
        #[doc = ::core::stringify!(two)]
        both: ::std::option::Option<u8>,
    ) -> ::std::result::Result<::std::string::String, ::std::string::String> {
        ::std::result::Result::Ok(::std::format!("{text} {more:?} {both:?}"))
    }

    /// A family.
    #[derive(Debug)]
    pub(crate) struct Family;

    #[::tool_runtime::tools]
    impl Family {
        /// Answer.
        #[tool]
        async fn answer(
            &self,
            /// A number.
            #[arg(default = 1, range = 1..)]
            this: u8,
        ) -> u8 {
            this
        }
    }
}

/// Module without a prelude.
#[no_implicit_prelude]
mod bare {
    /// Add.
    #[::tool_runtime::tool]
    pub(crate) async fn add(
        /// One.
        #[arg(default = 1, range = 1..=9)]
        a: u8,
        /// Two.
        b: ::std::option::Option<u8>,
    ) -> u8 {
        match b {
            ::std::option::Option::Some(b) => a + b,
            ::std::option::Option::None => a,
        }
    }
}

/// Another name for the crate, and a re-exported name.
mod elsewhere {
    pub(crate) mod agent {
        pub(crate) use tool_runtime as runtime;
    }

    use agent::runtime as renamed;

    /// Go one way.
    #[renamed::tool(crate = agent::runtime)]
    pub(crate) async fn one(
        /// Distance.
        #[arg(default = 2)]
        far: u8,
    ) -> u8 {
        far
    }

    #[derive(Debug)]
    pub(crate) struct Ways;

    #[renamed::tools(crate = crate::elsewhere::renamed)]
    impl Ways {
        /// Go another.
        #[tool]
        async fn another(&self) {}
    }
}

#[test]
fn every_definition_registers() -> Result<(), tool_runtime::RegistryError> {
    /// Tool inside a function.
    #[tool_runtime::tool]
    async fn within(
        /// A unit.
        unit: Unit,
    ) -> Unit {
        unit
    }

    /// Also local.
    #[derive(
        tool_runtime::serde::Serialize, tool_runtime::serde::Deserialize, tool_runtime::schemars::JsonSchema,
    )]
    #[serde(crate = "tool_runtime::serde")]
    #[schemars(crate = "tool_runtime::schemars")]
    struct Unit {
        /// Name of the object.
        of: String,
    }

    let mut registry = ToolRegistry::new();
    registry.register_all(tool_set![within, bare::add, elsewhere::one])?;
    registry.register_all(elsewhere::Ways)?;
    registry.register::<shadowed::answer>()?;
    let definitions = registry.tool_definitions();
    let names: Vec<_> = definitions
        .iter()
        .map(|definition| definition.name.as_str())
        .collect();
    assert_eq!(names, ["within", "add", "one", "another", "answer"],);
    ToolRegistry::new().register_all(shadowed::Family)?;
    Ok(())
}
