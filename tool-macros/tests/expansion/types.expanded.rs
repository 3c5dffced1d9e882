/// Merge maps.
#[allow(clippy::unused_async, reason = "a tool is `async`")]
pub(in crate::maps) async fn r#move(
    maps: HashMap<String, BTreeMap<i64, Vec<Option<Entry<'static, u8>>>>>,
    mut pair: (u8, [f32; 3]),
    policy: self::policy::Policy,
) -> Result<Merged> {
    fn first<'a, T: Clone, const N: usize>(of: &'a [T; N]) -> Option<&'a T>
    where
        T: 'static,
    {
        of.first()
    }
    merge(maps, first(&pair.1), policy).await
}
/// The tool made from the function of the same name.
#[allow(non_camel_case_types, missing_debug_implementations)]
pub(in crate::maps) struct r#move {}
const _: () = {
    use ::tool_runtime::__private as __rt;
    use __rt::{Respond as _, WithOutputSchema as _};
    #[automatically_derived]
    impl __rt::Tool for r#move {
        fn declare() -> __rt::DeclaredTool {
            let params = (
                __rt::Param::<
                    HashMap<String, BTreeMap<i64, Vec<Option<Entry<'static, u8>>>>>,
                >::new("maps", "By name."),
                __rt::Param::<(u8, [f32; 3])>::new("pair", "A pair."),
                __rt::Param::<self::policy::Policy>::new("policy", "By a path."),
            );
            let declaration = __rt::Declaration::new("merge-maps", "Merge maps.");
            __rt::DeclaredTool::function(
                    declaration,
                    params,
                    |(maps, pair, policy)| async move {
                        __rt::Output(r#move(maps, pair, policy).await)
                            .with_sources()
                            .respond()
                    },
                )
                .with_output_schema()
        }
    }
};
