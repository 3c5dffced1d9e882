/// For readers of the code.
#[allow(clippy::unused_async, reason = "a tool is `async`")]
async fn translate(language: Language, text: String) -> String {
    language.say(&text)
}
/// The tool made from the function of the same name.
#[allow(non_camel_case_types, missing_debug_implementations)]
struct translate {}
const _: () = {
    use ::tool_runtime::__private as __rt;
    use __rt::{Respond as _, WithOutputSchema as _};
    #[automatically_derived]
    impl __rt::Tool for translate {
        fn declare() -> __rt::DeclaredTool {
            let params = (
                __rt::Param::<
                    Language,
                >::new("language", concat!("One of ", languages!(), ".")),
                __rt::Param::<String>::new("text", texts::WHAT),
            );
            let declaration = __rt::Declaration::new(
                    "translate",
                    include_str!("translate.md"),
                )
                .title(TITLE);
            __rt::DeclaredTool::function(
                    declaration,
                    params,
                    |(language, text)| async move {
                        __rt::Output(translate(language, text).await)
                            .with_sources()
                            .respond()
                    },
                )
                .with_output_schema()
        }
    }
};
