/// Compile a crate.
#[allow(clippy::too_many_lines)]
#[tracing::instrument(skip_all)]
#[cfg_attr(docsrs, doc(cfg(feature = "compiler")))]
#[cfg(all(feature = "compiler", not(windows)))]
#[deprecated = "use `check`"]
#[allow(clippy::unused_async, reason = "a tool is `async`")]
pub async fn compile(#[allow(unused_variables)] name: String) -> Answer {
    //! Inside.
    build(&name)
}
/// The tool made from the function of the same name.
#[cfg(all(feature = "compiler", not(windows)))]
#[allow(non_camel_case_types, missing_debug_implementations)]
pub struct compile {}
#[cfg(all(feature = "compiler", not(windows)))]
#[allow(deprecated)]
const _: () = {
    use ::tool_runtime::__private as __rt;
    use __rt::{Respond as _, WithOutputSchema as _};
    #[automatically_derived]
    impl __rt::Tool for compile {
        fn declare() -> __rt::DeclaredTool {
            let params = (__rt::Param::<String>::new("name", "Its name.").not_blank(),);
            let declaration = __rt::Declaration::new("compile", "Compile a crate.");
            __rt::DeclaredTool::function(
                    declaration,
                    params,
                    |(name,)| async move {
                        __rt::Output(compile(name).await).with_sources().respond()
                    },
                )
                .with_output_schema()
        }
    }
};
