/// Start a job.
#[allow(clippy::unused_async, reason = "a tool is `async`")]
async fn start(
    tries: NonZeroU8,
    offset: f32,
    branch: String,
    folders: Vec<String>,
    seconds: Option<u64>,
    level: Level,
    id: Uuid,
    labels: Vec<String>,
    weights: BTreeMap<String, i64>,
) {}
/// The tool made from the function of the same name.
#[allow(non_camel_case_types, missing_debug_implementations)]
struct start {}
const _: () = {
    use ::tool_runtime::__private as __rt;
    use __rt::{Respond as _, WithOutputSchema as _};
    #[automatically_derived]
    impl __rt::Tool for start {
        fn declare() -> __rt::DeclaredTool {
            let params = (
                __rt::Param::<
                    NonZeroU8,
                >::new("tries", "A number, of whatever integer type.")
                    .default(|| __rt::IntoParam::into_param(3)),
                __rt::Param::<f32>::new("offset", "A negative number.")
                    .default(|| __rt::IntoParam::into_param(-1.5)),
                __rt::Param::<String>::new("branch", "A text.")
                    .default(|| __rt::IntoParam::into_param("main")),
                __rt::Param::<Vec<String>>::new("folders", "A list.")
                    .default(|| __rt::IntoParam::into_param(["src", "tests"])),
                __rt::Param::<Option<u64>>::new("seconds", "Inside of an option.")
                    .default(|| __rt::IntoParam::into_param(60)),
                __rt::Param::<Level>::new("level", "A variant.")
                    .default(|| __rt::IntoParam::into_param(Level::Info))
                    .example(__rt::IntoParam::into_param(Level::Debug)),
                __rt::Param::<Uuid>::new("id", "Made anew for each call.")
                    .default(|| __rt::IntoParam::into_param(Uuid::new_v4())),
                __rt::Param::<Vec<String>>::new("labels", "The default of its type.")
                    .default(Default::default),
                __rt::Param::<BTreeMap<String, i64>>::new("weights", "Several steps.")
                    .default(|| __rt::IntoParam::into_param({
                        let mut map = BTreeMap::new();
                        map.insert("a".to_owned(), 1);
                        map
                    })),
            );
            let declaration = __rt::Declaration::new("start", "Start a job.");
            __rt::DeclaredTool::function(
                    declaration,
                    params,
                    |
                        (
                            tries,
                            offset,
                            branch,
                            folders,
                            seconds,
                            level,
                            id,
                            labels,
                            weights,
                        )|
                    async move {
                        __rt::Output(
                                start(
                                        tries,
                                        offset,
                                        branch,
                                        folders,
                                        seconds,
                                        level,
                                        id,
                                        labels,
                                        weights,
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
