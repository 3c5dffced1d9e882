//! Tools that a macro of the user's writes: every kind of fragment in every place that takes one.

use tool_runtime::{State, ToolRegistry, testing, tool, tools};

macro_rules! tool_of {
    (
        $(#[$about:meta])*
        $vis:vis fn $name:ident($param:ident: $type:ty = $default:expr, $range:expr, $host:ident: $state:path)
            -> $returned:ty $body:block
        as $called:literal because $why:literal
    ) => {
        $(#[$about])*
        #[tool(name = $called, description = $why, read_only)]
        $vis async fn $name(
            #[doc = $why]
            #[arg(default = $default, range = $range)]
            $param: $type,
            /// Number of one of two types.
            #[arg(name = "other", values = [$default, 7])]
            _other: Option<$type>,
            $host: State<$state>,
        ) -> $returned $body
    };
}

tool_of! {
    /// For readers of the code.
    #[inline]
    pub(crate) fn scaled(number: u32 = 2, 1..=9, factor: u32) -> Result<u32, String> {
        Ok(number.saturating_mul(*factor))
    }
    as "scale" because "Scale a number."
}

/// A tool whose whole text comes in one piece.
macro_rules! whole {
    ($item:item) => {
        #[tool]
        $item
    };
}

whole! {
    /// Negate.
    async fn negate(
        /// What.
        number: i32,
    ) -> i32 {
        -number
    }
}

/// The tokens of a body, and a name that both the macro and its user have.
macro_rules! counting {
    ($($name:ident: $about:literal => { $($body:tt)* }),*) => {$(
        #[doc = $about]
        #[tool]
        async fn $name(
            /// Distance.
            this: u8,
            /// Steps of the range.
            #[arg(default = 1)]
            params: u8,
        ) -> u8 {
            let body = { $($body)* };
            this + params + body
        }
    )*};
}

counting! {
    up: "Increment the counter." => { 10 },
    down: "Count down." => { 0 }
}

/// The block, its attribute, and its tools.
macro_rules! family {
    ($type:ident { $($name:ident: $returned:ty = $value:expr;)* }) => {
        struct $type;

        #[tools]
        impl $type {
            $(
                #[doc = concat!("Tell ", stringify!($name), ".")]
                #[tool]
                async fn $name(&self) -> $returned {
                    $value
                }
            )*
        }
    };
}

family!(Constants {
    answer: u8 = 42;
    question: Option<String> = None;
});

#[tokio::test]
async fn every_definition_registers() -> Result<(), tool_runtime::RegistryError> {
    let mut registry = ToolRegistry::new().with_state(3_u32);
    registry
        .register::<scaled>()?
        .register::<negate>()?
        .register::<up>()?
        .register::<down>()?
        .register_all(Constants)?;
    let about = registry
        .get_tool("scale")
        .map(|tool| tool.definition().description.clone());
    assert_eq!(about.as_deref(), Some("Scale a number."));
    for (name, arguments, answer) in [
        ("scale", r#"{"number": 4}"#, "12"),
        ("scale", "{}", "6"),
        ("negate", r#"{"number": 4}"#, "-4"),
        ("up", r#"{"this": 4}"#, "15"),
        ("answer", "{}", "42"),
        ("question", "{}", "null"),
    ] {
        testing::run_in(&registry, name, arguments)
            .await
            .assert_text(answer);
    }
    Ok(())
}
