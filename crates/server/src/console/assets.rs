//! The pages' files, built into the binary. A new file is one line here.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

struct Asset {
    name: &'static str,
    bytes: &'static [u8],
}

macro_rules! assets {
    ($($name:literal),* $(,)?) => { &[$(Asset { name: $name, bytes: include_bytes!($name) }),*] };
}

const ASSETS: &[Asset] = assets![
    "index.html",
    "login.html",
    "icon.svg",
    "style.css",
    "js/accounts.js",
    "js/api.js",
    "js/api_keys.js",
    "js/attempts.js",
    "js/audit.js",
    "js/check.js",
    "js/dialog.js",
    "js/dom.js",
    "js/events.js",
    "js/lane_metrics.js",
    "js/form.js",
    "js/refresh.js",
    "js/icons.js",
    "js/job.js",
    "js/jobs.js",
    "js/shortcuts.js",
    "js/lane.js",
    "js/state_layout.js",
    "js/overview_stream.js",
    "js/login.js",
    "js/state_machine.js",
    "js/main.js",
    "js/message.js",
    "js/row_actions.js",
    "js/overview.js",
    "js/components.js",
    "js/pause_button.js",
    "js/rate_plot.js",
    "js/pools.js",
    "js/state_ranks.js",
    "js/row.js",
    "js/rows.js",
    "js/row_search.js",
    "js/navigation.js",
    "js/subscriptions.js",
    "js/table.js",
    "js/theme.js",
    "js/timeline.js",
    "js/toast.js",
    "js/waiting.js",
    "js/format.js",
];

impl Asset {
    fn kind(&self) -> &'static str {
        match self.name.rsplit('.').next() {
            Some("html") => "text/html; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("svg") => "image/svg+xml",
            _ => "application/octet-stream",
        }
    }

    /// Returns the entity tag, which is equal for equal bytes.
    fn tag(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.bytes.hash(&mut hasher);
        format!("\"{:016x}\"", hasher.finish())
    }
}

fn find(name: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.name == name)
}

/// Returns a page's text.
pub fn text(name: &str) -> &'static str {
    let asset = find(name).expect("only pages that are in the table are asked for");
    std::str::from_utf8(asset.bytes).expect("our pages are UTF-8")
}

/// Serves a file, or 304 if the browser has it. Browsers ask each time, so that a new version is used immediately.
pub fn answer(name: &str, headers: &HeaderMap) -> Response {
    let Some(asset) = find(name) else { return StatusCode::NOT_FOUND.into_response() };
    let tag = asset.tag();
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let head = [(header::CACHE_CONTROL, "no-cache".to_owned()), (header::ETAG, tag.clone())];
    if known.is_some_and(|known| known.split(',').any(|known| known.trim().trim_start_matches("W/") == tag)) {
        return (StatusCode::NOT_MODIFIED, head).into_response();
    }
    (head, [(header::CONTENT_TYPE, asset.kind())], asset.bytes).into_response()
}

/// Serves `/console/{file}`: the files that pages load. The pages themselves have their own URLs.
pub async fn file(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let is_page = matches!(name.as_str(), "index.html" | "login.html");
    if is_page { StatusCode::NOT_FOUND.into_response() } else { answer(&name, &headers) }
}

#[cfg(test)]
mod tests {
    use super::ASSETS;

    /// Every file in the folder is served, and every page follows the policy: no inline script or style.
    #[test]
    fn every_file_is_in_the_table_and_no_page_has_inline_code() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/console");
        let names = |below: &str| -> Vec<String> {
            let entries = std::fs::read_dir(folder.join(below)).expect("the folder is there");
            let names =
                entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"));
            names.filter(|name| name.contains('.') && name.rsplit('.').next() != Some("rs")).collect()
        };
        let below = names("js").into_iter().map(|name| format!("js/{name}"));
        for name in names("").into_iter().chain(below) {
            assert!(ASSETS.iter().any(|asset| asset.name == name), "{name} is not in the table of assets");
        }
        for page in ["index.html", "login.html"] {
            let text = super::text(page);
            for inline in ["<style", "style=", "<script>", "onclick=", "onload=", "javascript:", "://"] {
                assert!(!text.contains(inline), "{page} has {inline}");
            }
        }
    }
}
