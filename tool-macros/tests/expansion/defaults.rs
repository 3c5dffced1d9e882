/// Start a job.
#[tool]
async fn start(
    /// A number, of whatever integer type.
    #[arg(default = 3)]
    tries: NonZeroU8,
    /// A negative number.
    #[arg(default = -1.5)]
    offset: f32,
    /// A text.
    #[arg(default = "main")]
    branch: String,
    /// A list.
    #[arg(default = ["src", "tests"])]
    folders: Vec<String>,
    /// Inside of an option.
    #[arg(default = 60)]
    seconds: Option<u64>,
    /// A variant.
    #[arg(default = Level::Info, example = Level::Debug)]
    level: Level,
    /// Made anew for each call.
    #[arg(default = Uuid::new_v4())]
    id: Uuid,
    /// The default of its type.
    #[arg(default = Default::default())]
    labels: Vec<String>,
    /// Several steps.
    #[arg(default = {
        let mut map = BTreeMap::new();
        map.insert("a".to_owned(), 1);
        map
    })]
    weights: BTreeMap<String, i64>,
) {
}
