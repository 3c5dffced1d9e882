/// Count the words of a file.
fn count_words(path: String) -> std::io::Result<usize> {
    let text = std::fs::read_to_string(path)?;
    Ok(text.split_whitespace().count())
}
/// The tool made from the function of the same name.
#[allow(non_camel_case_types, missing_debug_implementations)]
struct count_words {}
const _: () = {
    use ::tool_runtime::__private as __rt;
    use __rt::{Respond as _, WithOutputSchema as _};
    #[automatically_derived]
    impl __rt::Tool for count_words {
        fn declare() -> __rt::DeclaredTool {
            let params = (__rt::Param::<String>::new("path", "Its path."),);
            let declaration = __rt::Declaration::new(
                "count_words",
                "Count the words of a file.",
            );
            __rt::DeclaredTool::function(
                    declaration,
                    params,
                    |(path,)| __rt::blocking(move || {
                        __rt::Output(count_words(path)).with_sources().respond()
                    }),
                )
                .with_output_schema()
        }
    }
};
impl Archive {
    /// Number of files.
    fn files(&self) -> usize {
        self.files.len()
    }
}
const _: () = {
    use ::tool_runtime::__private as __rt;
    use __rt::{Respond as _, WithOutputSchema as _};
    #[automatically_derived]
    impl __rt::OneToolsBlockPerType for Archive {
        fn tools(self: __rt::Arc<Self>) -> __rt::Vec<__rt::DeclaredTool> {
            __rt::Vec::from([
                {
                    let params = ();
                    let declaration = __rt::Declaration::new(
                        "files",
                        "Number of files.",
                    );
                    __rt::DeclaredTool::method(
                            declaration,
                            &self,
                            params,
                            |this, ()| __rt::blocking(move || {
                                __rt::Output(Self::files(&this)).with_sources().respond()
                            }),
                        )
                        .with_output_schema()
                },
            ])
        }
    }
};
