/// For readers of the code.
#[tool(title = TITLE, description = include_str!("translate.md"))]
async fn translate(
    #[arg(description = concat!("One of ", languages!(), "."))] language: Language,
    #[arg(description = texts::WHAT)] text: String,
) -> String {
    language.say(&text)
}
