/// Make an account.
#[allow(clippy::unused_async, reason = "a tool is `async`")]
async fn make_account(
    name: String,
    full_name: String,
    role: String,
    age: Option<u8>,
    tell: Vec<String>,
) {}
/// The tool made from the function of the same name.
#[allow(non_camel_case_types, missing_debug_implementations)]
struct make_account {}
const _: () = {
    use ::tool_runtime::__private as __rt;
    use __rt::{Respond as _, WithOutputSchema as _};
    #[automatically_derived]
    impl __rt::Tool for make_account {
        fn declare() -> __rt::DeclaredTool {
            let params = (
                __rt::Param::<String>::new("user", "The name to log in with.")
                    .length(2..=20)
                    .pattern("^[a-z]+$"),
                __rt::Param::<String>::new("full_name", "Name of the person.")
                    .length(..64)
                    .example(__rt::IntoParam::into_param("Ada Lovelace"))
                    .not_blank(),
                __rt::Param::<String>::new("role", "Permissions of it.")
                    .default(|| __rt::IntoParam::into_param("reader"))
                    .values(["reader", "writer"])
                    .case_sensitive(),
                __rt::Param::<Option<u8>>::new("age", "In years.").range(18..),
                __rt::Param::<Vec<String>>::new("tell", "Whom to tell.")
                    .default(|| __rt::IntoParam::into_param(["admin"]))
                    .strict(),
            );
            let declaration = __rt::Declaration::new("make_account", "Make an account.")
                .timeout(__rt::Duration::from_secs(120));
            __rt::DeclaredTool::function(
                    declaration,
                    params,
                    |(name, full_name, role, age, tell)| async move {
                        __rt::Output(
                                make_account(name, full_name, role, age, tell).await,
                            )
                            .with_sources()
                            .respond()
                    },
                )
                .with_output_schema()
        }
    }
};
