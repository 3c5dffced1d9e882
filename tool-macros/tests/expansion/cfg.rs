/// Only here.
#[tool]
#[cfg(feature = "shell")]
#[doc(alias = "exec")]
async fn shell() {}
