//! Finds the profile of a server.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Limited};
use serde::Deserialize;

use super::profile::ProfileName;
use super::settings::ChatSettings;
use crate::upstream::service::Upstream;

/// Maximum time for the list of models.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum size of the list of models in bytes.
const MAX_MODELS: usize = 4 << 20;

#[derive(Deserialize)]
struct ModelList {
    data: Vec<ListedModel>,
}

#[derive(Deserialize)]
struct ListedModel {
    owned_by: Option<String>,
}

/// Search for the profile of a server.
pub(super) struct ProfileDetection<'s, U> {
    pub(super) server: &'s U,
    pub(super) settings: &'s ChatSettings,
    /// Headers of the requests, with a credential.
    pub(super) headers: HeaderMap,
}

impl<U: Upstream> ProfileDetection<'_, U> {
    /// Returns the profile by the host of the server, or by the owner of its models; `None` if the server did not answer.
    pub(super) async fn find(self) -> Option<ProfileName> {
        let upstream = self.server.name();
        let host = upstream.parse::<Uri>().ok();
        let by_host = host.and_then(|url| ProfileName::from_host(url.host()?));
        let name = match by_host {
            Some(name) => name,
            None => self.by_models().await?,
        };
        tracing::info!(
            upstream,
            profile = name.as_str(),
            "found the profile of the upstream"
        );
        Some(name)
    }

    /// Returns the profile by the list of models, `generic` without a known owner; `None` if the server did not answer.
    async fn by_models(&self) -> Option<ProfileName> {
        let mut request = Request::new(Bytes::new());
        *request.method_mut() = Method::GET;
        *request.uri_mut() = self.settings.path_beside("models")?;
        *request.headers_mut() = self.headers.clone();
        let response = tokio::time::timeout(TIMEOUT, self.owners(request)).await.ok()?;
        let owners = response?;
        let found = owners.iter().find_map(|owner| ProfileName::from_owner(owner));
        Some(found.unwrap_or(ProfileName::Generic))
    }

    /// Returns the owners of the server's models.
    async fn owners(&self, request: Request<Bytes>) -> Option<Vec<String>> {
        let response: Response<Body> = self.server.send(request).await.ok()?;
        match response.status() {
            status if status.is_success() => {}
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => return Some(Vec::new()),
            _ => return None,
        }
        let body = Limited::new(response.into_body(), MAX_MODELS)
            .collect()
            .await
            .ok()?;
        let list: Result<ModelList, _> = serde_json::from_slice(&body.to_bytes());
        let models = list.map_or(Vec::new(), |list| list.data);
        Some(models.into_iter().filter_map(|model| model.owned_by).collect())
    }
}
