#![feature(prelude_import)]
//! A program with one tool, for the compiler to expand.
extern crate std;
#[prelude_import]
use std::prelude::rust_2024::*;
use std::fmt;
use tool_runtime::{IntoTools, tool, tool_set};
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
pub struct WeatherError;
#[automatically_derived]
impl ::core::fmt::Debug for WeatherError {
    #[inline]
    fn fmt(&self, f: &mut ::core::fmt::Formatter) -> ::core::fmt::Result {
        ::core::fmt::Formatter::write_str(f, "WeatherError")
    }
}
impl fmt::Display for WeatherError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no forecast")
    }
}
async fn forecast(city: &str, days: u8) -> Result<String, WeatherError> {
    Ok(
        ::alloc::__export::must_use({
            ::alloc::fmt::format(format_args!("{0}: rain for {1} days", city, days))
        }),
    )
}
/// Tools of this module.
pub fn tools() -> impl IntoTools {
    ::tool_runtime::__private::Vec::<
        ::tool_runtime::__private::DeclaredTool,
    >::from([<get_weather as ::tool_runtime::__private::Tool>::declare()])
}
fn main() {}
