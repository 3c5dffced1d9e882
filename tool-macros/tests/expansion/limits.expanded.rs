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
    use __rt::Respond as _;
    #[automatically_derived]
    impl __rt::Tool for plot {
        fn declare() -> __rt::DeclaredTool {
            let params = (
                __rt::Param::<f64>::of("opacity", "From 0 to 1, both included.")
                    .at_least(0.0)
                    .at_most(1.0),
                __rt::Param::<usize>::of("colour", "From 0, without the end.")
                    .at_least(0)
                    .below(COLOURS.len()),
                __rt::Param::<u32>::of("width", "From 1 on.").at_least(1),
                __rt::Param::<i16>::of("angle", "At most 90.").at_most(90),
                __rt::Param::<i16>::of("latitude", "Less than 90.")
                    .at_least(-90)
                    .below(90),
                __rt::Param::<
                    Vec<(f64, f64)>,
                >::of("points", "At least one, at most a hundred.")
                    .min_length(1)
                    .max_length(100),
                __rt::Param::<
                    String,
                >::of("country", "Exactly two characters, both of them letters.")
                    .min_length(2)
                    .length_below(3)
                    .pattern(r"^[A-Z]+$"),
                __rt::Param::<Option<Vec<Tag>>>::of("tags", "Up to eight.")
                    .max_length(8)
                    .values(__rt::fit_all([Tag::Red, Tag::Blue]))
                    .strict(),
            );
            let declaration = __rt::Declaration::new("plot", "Plot a curve.", &params);
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
                        .respond()
                },
            )
        }
    }
};
