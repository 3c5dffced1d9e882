/// Make an account.
#[tool(timeout = "2m")]
async fn make_account(
    #[arg(name = "user", description = "The name to log in with.", pattern = "^[a-z]+$", length = 2..=20)] name: String,
    /// Name of the person.
    #[arg(not_blank, length = ..64, example = "Ada Lovelace")]
    full_name: String,
    /// Permissions of it.
    #[arg(default = "reader", values = ["reader", "writer"], case_sensitive)]
    role: String,
    /// In years.
    #[arg(range = 18..)]
    age: Option<u8>,
    /// Whom to tell.
    #[arg(strict, default = ["admin"])]
    tell: Vec<String>,
) {
}
