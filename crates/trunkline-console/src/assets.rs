//! The style, the script and the icon of all pages.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};

const FILES: [(&str, &str, &str); 3] = [
    ("console.css", "text/css; charset=utf-8", include_str!("../assets/console.css")),
    ("console.js", "text/javascript; charset=utf-8", include_str!("../assets/console.js")),
    ("icon.svg", "image/svg+xml", include_str!("../assets/icon.svg")),
];

/// The version of the files in their URLs, so that browsers can store them.
pub(crate) static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut hasher = DefaultHasher::new();
    FILES.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
});

/// A file at `/console/assets/VERSION/NAME`.
pub(crate) async fn serve(Path((_, name)): Path<(String, String)>) -> Response {
    match FILES.into_iter().find(|(known, ..)| *known == name) {
        Some((_, media_type, text)) => {
            let cache = "public, max-age=31536000, immutable";
            ([(CONTENT_TYPE, media_type), (CACHE_CONTROL, cache)], text).into_response()
        }
        None => (StatusCode::NOT_FOUND, "unknown file").into_response(),
    }
}
