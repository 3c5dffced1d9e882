/// Look up the forecast for a city.
#[allow(clippy::unused_async, reason = "a tool is `async`")]
pub async fn get_weather(
    city: String,
    days: Option<u8>,
) -> Result<String, WeatherError> {
    forecast(&city, days.unwrap_or(1)).await
}
/// The tool made from the function of the same name.
#[allow(non_camel_case_types, missing_debug_implementations)]
pub struct get_weather {}
const _: () = {
    use ::tool_runtime::__private as __rt;
    use __rt::{Respond as _, WithOutputSchema as _};
    #[automatically_derived]
    impl __rt::Tool for get_weather {
        fn declare() -> __rt::DeclaredTool {
            let params = (
                __rt::Param::<String>::new("city", "City name, e.g. \"Oslo\"."),
                __rt::Param::<Option<u8>>::new("days", "Number of days ahead."),
            );
            let declaration = __rt::Declaration::new(
                "get_weather",
                "Look up the forecast for a city.",
            );
            __rt::DeclaredTool::function(
                    declaration,
                    params,
                    |(city, days)| async move {
                        __rt::Output(get_weather(city, days).await)
                            .with_sources()
                            .respond()
                    },
                )
                .with_output_schema()
        }
    }
};
