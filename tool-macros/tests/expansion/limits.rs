/// Plot a curve.
#[tool]
async fn plot(
    /// From 0 to 1, both included.
    #[arg(range = 0.0..=1.0)]
    opacity: f64,
    /// From 0, without the end.
    #[arg(range = 0..COLOURS.len())]
    colour: usize,
    /// From 1 on.
    #[arg(range = 1..)]
    width: u32,
    /// At most 90.
    #[arg(range = ..=90)]
    angle: i16,
    /// Less than 90.
    #[arg(range = -90..90)]
    latitude: i16,
    /// At least one, at most a hundred.
    #[arg(length = 1..=100)]
    points: Vec<(f64, f64)>,
    /// Exactly two characters, both of them letters.
    #[arg(length = 2..3, pattern = r"^[A-Z]+$", case_sensitive = false)]
    country: String,
    /// Up to eight.
    #[arg(length = ..=8, values = [Tag::Red, Tag::Blue], strict = true)]
    tags: Option<Vec<Tag>>,
) {
}
