//! Places of tools: functions, methods, closures, constants; every visibility; doc texts from elsewhere.

use tool_runtime::{IntoTools, ToolRegistry, tool, tool_set, tools};

#[doc = include_str!("about.md")]
#[tool]
async fn from_a_file(
    #[doc = concat!(" Which ", "file.")]
    #[doc = include_str!("about.md")]
    file: String,
) -> String {
    file
}

/// A text of the crate's own.
const ABOUT: &str = "From a constant.";

#[tool(description = ABOUT)]
async fn from_a_constant(#[arg(description = ABOUT)] number: u8) -> u8 {
    number
}

mod deep {
    pub(crate) mod down {
        use tool_runtime::tool;

        /// Function visible two modules above.
        #[tool]
        pub(in crate::places) async fn restricted() {}

        /// Function visible in the parent module.
        #[tool]
        pub(super) async fn above() {}

        /// Function visible in the crate.
        #[tool]
        pub(crate) async fn public() {}
    }

    pub(crate) fn all() -> impl tool_runtime::IntoTools {
        tool_runtime::tool_set![down::above, down::restricted, down::public]
    }
}

/// Generic function with one tool for all types.
fn within_a_generic<T: Default + ToString>() -> (String, impl IntoTools) {
    /// Tool inside a generic function.
    #[tool]
    async fn in_a_generic(
        /// A number.
        number: u8,
    ) -> u8 {
        number
    }

    (T::default().to_string(), tool_set![in_a_generic])
}

struct Place<T>(T);

impl<T: Copy + Into<u64>> Place<T> {
    fn tools(&self) -> (u64, impl IntoTools + use<T>) {
        /// Tool inside a method of a generic type.
        #[tool]
        async fn in_a_method() {}

        let inner = || {
            /// Tool inside a closure.
            #[tool]
            async fn in_a_closure() {}

            tool_set![in_a_closure, in_a_method]
        };
        (self.0.into(), inner())
    }
}

/// A concrete type of a generic type may have a family.
struct Numbers<T>(Vec<T>);

#[tools]
impl Numbers<u8> {
    /// Add all numbers.
    #[tool]
    async fn sum(
        &self,
        /// Second number.
        #[arg(default = Self::NOTHING)]
        more: u8,
    ) -> u8 {
        self.0.iter().sum::<u8>() + more
    }

    const NOTHING: u8 = 0;
}

#[tokio::test]
async fn every_definition_registers() -> Result<(), tool_runtime::RegistryError> {
    let mut registry = ToolRegistry::new();
    registry
        .register::<from_a_file>()?
        .register::<from_a_constant>()?;
    registry.register_all(deep::all())?;
    let (zero, generic) = within_a_generic::<u8>();
    assert_eq!(zero, "0");
    registry.register_all(generic)?;
    let (seven, methods) = Place(7_u8).tools();
    assert_eq!(seven, 7);
    registry.register_all(methods)?;
    registry.register_all(Numbers(vec![1, 2]))?;
    assert_eq!(registry.tool_definitions().len(), 9);
    tool_runtime::testing::run_in(&registry, "sum", r#"{"more": 4}"#)
        .await
        .assert_text("7");
    tool_runtime::testing::run_in(&registry, "in_a_generic", r#"{"number": 4}"#)
        .await
        .assert_text("4");
    Ok(())
}

#[test]
fn descriptions_from_files_and_constants_reach_the_model() {
    let mut registry = ToolRegistry::new();
    assert!(registry.register::<from_a_file>().is_ok());
    assert!(registry.register::<from_a_constant>().is_ok());
    let definitions = registry.tool_definitions();
    let about = include_str!("about.md").trim();
    assert_eq!(
        definitions.first().map(|tool| tool.description.trim()),
        Some(about)
    );
    let schema = definitions.first().map(|tool| tool.input_schema.clone());
    let of_file = schema.and_then(|schema| schema.pointer("/properties/file/description").cloned());
    assert_eq!(of_file, Some(format!("Which file.\n{about}").into()));
    assert_eq!(definitions.get(1).map(|tool| &*tool.description), Some(ABOUT));
}
