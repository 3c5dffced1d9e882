/// Plot a curve.
#[allow(clippy::unused_async, reason = "a tool is `async`")]
async fn plot(
    opacity: f64,
    colour: usize,
    width: u32,
    angle: i16,
    latitude: i16,
    points: Vec<(f64, f64)>,
    country: String,
    tags: Option<Vec<Tag>>,
) {}
/// The tool made from the function of the same name.
#[allow(non_camel_case_types, missing_debug_implementations)]
struct plot {}
const _: () = {
    use ::tool_runtime::__private as __rt;
    use __rt::{Respond as _, WithOutputSchema as _};
    #[automatically_derived]
    impl __rt::Tool for plot {
        fn declare() -> __rt::DeclaredTool {
            let params = (
                __rt::Param::<f64>::new("opacity", "From 0 to 1, both included.")
                    .range(0.0..=1.0),
                __rt::Param::<usize>::new("colour", "From 0, without the end.")
                    .range(0..COLOURS.len()),
                __rt::Param::<u32>::new("width", "From 1 on.").range(1..),
                __rt::Param::<i16>::new("angle", "At most 90.").range(..=90),
                __rt::Param::<i16>::new("latitude", "Less than 90.").range(-90..90),
                __rt::Param::<
                    Vec<(f64, f64)>,
                >::new("points", "At least one, at most a hundred.")
                    .length(1..=100),
                __rt::Param::<
                    String,
                >::new("country", "Exactly two characters, both of them letters.")
                    .length(2..3)
                    .pattern(r"^[A-Z]+$"),
                __rt::Param::<Option<Vec<Tag>>>::new("tags", "Up to eight.")
                    .length(..=8)
                    .values([Tag::Red, Tag::Blue])
                    .strict(),
            );
            let declaration = __rt::Declaration::new("plot", "Plot a curve.");
            __rt::DeclaredTool::function(
                    declaration,
                    params,
                    |(opacity, colour, width, angle, latitude, points, country, tags)| async move {
                        __rt::Output(
                                plot(
                                        opacity,
                                        colour,
                                        width,
                                        angle,
                                        latitude,
                                        points,
                                        country,
                                        tags,
                                    )
                                    .await,
                            )
                            .with_sources()
                            .respond()
                    },
                )
                .with_output_schema()
        }
    }
};
