/// Merge maps.
#[tool(name = "merge-maps")]
pub(in crate::maps) async fn r#move(
    /// By name.
    maps: HashMap<String, BTreeMap<i64, Vec<Option<Entry<'static, u8>>>>>,
    /// A pair.
    mut pair: (u8, [f32; 3]),
    /// By a path.
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
