//! What pages are dressed with: style sheet, icons and the browser part, all inside the binary.
//! Every address holds its content's hash, so browsers keep what they fetched for good; a new build has new addresses.
//! The browser part was compressed when it was built; the rest is left to the router's compression layer.

use axum::Router;
use axum::body::Body;
use axum::http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

const FOR_GOOD: &str = "public, max-age=31536000, immutable";
const FOR_A_DAY: &str = "public, max-age=86400";

/// Where the browser part of this build lies; a page that hydrates loads `glue_url` and hands it `wasm_url`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrowserPart {
    /// The JavaScript module that `wasm-bindgen` made.
    pub glue_url: &'static str,
    /// The WebAssembly it loads.
    pub wasm_url: &'static str,
}

/// One embedded file.
struct File {
    address: &'static str,
    hash: &'static str,
    /// As it is first, then its compressed forms, smallest first.
    forms: &'static [Form],
}

/// The bytes of a file under one content encoding; the empty encoding is the file as it is.
#[derive(Clone, Copy)]
struct Form {
    encoding: &'static str,
    bytes: &'static [u8],
}

/// The address of the one style sheet.
pub fn stylesheet_url() -> &'static str {
    STYLESHEET
}

/// The browser part, when this binary was built with one.
pub fn browser_part() -> Option<BrowserPart> {
    BROWSER_PART
}

/// The address of another file of `style/`, by its name: `icons.svg`, `favicon.svg`, a font.
pub fn asset_url(name: &str) -> Option<&'static str> {
    FILES.iter().map(|file| file.address).find(|address| address.starts_with("/assets/") && name_of(address) == name)
}

/// The address of the icon sprite, when there is one.
pub fn icons_url() -> Option<&'static str> {
    asset_url("icons.svg")
}

/// Routes for all embedded files. They need no state and no session.
pub fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/assets/{hash}/{name}", get(serve))
        .route("/pkg/{hash}/{name}", get(serve))
        .route("/favicon.ico", get(serve_favicon))
}

async fn serve(uri: Uri, headers: HeaderMap) -> Response {
    match FILES.iter().find(|file| file.address == uri.path()) {
        Some(file) => answer(file, &headers, FOR_GOOD),
        None => not_found(),
    }
}

/// Browsers ask for this name by themselves, so its address cannot hold a hash.
async fn serve_favicon(headers: HeaderMap) -> Response {
    match FILES.iter().find(|file| name_of(file.address) == "favicon.svg") {
        Some(file) => answer(file, &headers, FOR_A_DAY),
        None => not_found(),
    }
}

fn not_found() -> Response {
    (StatusCode::NOT_FOUND, [(CACHE_CONTROL, "no-store")]).into_response()
}

fn answer(file: &File, request: &HeaderMap, kept: &'static str) -> Response {
    let form = choose_form(file.forms, request);
    let etag = etag_of(file.hash, form);
    let mut response = if is_known(request, &etag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let mut response = Response::new(Body::from(form.bytes));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type(file.address)));
        if !form.encoding.is_empty() {
            response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static(form.encoding));
        }
        response
    };
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(kept));
    if file.forms.len() > 1 {
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    }
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        headers.insert(ETAG, etag);
    }
    response
}

/// The forms of one file are different bytes, so each has its own tag.
fn etag_of(hash: &str, form: Form) -> String {
    if form.encoding.is_empty() { format!("\"{hash}\"") } else { format!("\"{hash}-{}\"", form.encoding) }
}

fn is_known(request: &HeaderMap, etag: &str) -> bool {
    let known = request.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    known.flat_map(|list| list.split(',')).map(str::trim).any(|tag| tag == "*" || tag.trim_start_matches("W/") == etag)
}

/// The smallest form the browser takes; the file as it is where it takes none.
fn choose_form(forms: &[Form], request: &HeaderMap) -> Form {
    let accepts = |encoding: &str| {
        let lists = request.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
        lists.flat_map(|list| list.split(',')).any(|offer| is_offer_of(offer, encoding))
    };
    let packed = forms.iter().filter(|form| !form.encoding.is_empty()).find(|form| accepts(form.encoding));
    packed.or_else(|| forms.first()).copied().unwrap_or(Form { encoding: "", bytes: &[] })
}

/// Whether one item of `Accept-Encoding` offers the encoding; a quality of zero is a refusal.
fn is_offer_of(offer: &str, encoding: &str) -> bool {
    let mut parts = offer.split(';').map(str::trim);
    let is_named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(encoding));
    let quality = parts.find_map(|part| part.strip_prefix("q=")?.parse::<f32>().ok());
    is_named && quality.is_none_or(|quality| quality > 0.0)
}

fn name_of(address: &str) -> &str {
    address.rsplit('/').next().unwrap_or(address)
}

fn content_type(address: &str) -> &'static str {
    match address.rsplit('.').next() {
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        // Browsers compile WebAssembly while it arrives only under this type.
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;
    use http_body_util::BodyExt as _;
    use tower::ServiceExt as _;

    use super::*;

    const FORMS: &[Form] = &[
        Form { encoding: "", bytes: b"as it is" },
        Form { encoding: "br", bytes: b"smallest" },
        Form { encoding: "gzip", bytes: b"small" },
    ];
    const FILE: File = File { address: "/pkg/cafe/tallystick_bg.wasm", hash: "cafe", forms: FORMS };

    fn headers(name: axum::http::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    fn encoding_for(accepted: &str) -> &'static str {
        choose_form(FORMS, &headers(ACCEPT_ENCODING, accepted)).encoding
    }

    async fn get_path(path: &str) -> Response {
        let request = Request::get(path).body(Body::empty()).unwrap();
        router::<()>().oneshot(request).await.unwrap()
    }

    #[test]
    fn the_smallest_accepted_form_is_sent() {
        assert_eq!(encoding_for("gzip, deflate, br, zstd"), "br");
        assert_eq!(encoding_for("gzip"), "gzip");
        assert_eq!(encoding_for("GZIP;q=0.5"), "gzip");
        assert_eq!(encoding_for("br;q=0, gzip"), "gzip");
        assert_eq!(encoding_for("br; q=0.000, gzip;q=0"), "");
        assert_eq!(encoding_for("identity"), "");
        assert_eq!(choose_form(FORMS, &HeaderMap::new()).encoding, "");
    }

    #[test]
    fn a_compressed_answer_says_what_it_is_and_may_be_kept_for_good() {
        let response = answer(&FILE, &headers(ACCEPT_ENCODING, "br"), FOR_GOOD);
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()[CONTENT_TYPE], "application/wasm");
        assert_eq!(response.headers()[CONTENT_ENCODING], "br");
        assert_eq!(response.headers()[VARY], "accept-encoding");
        assert_eq!(response.headers()[CACHE_CONTROL], "public, max-age=31536000, immutable");
        assert_eq!(response.headers()[ETAG], "\"cafe-br\"");
    }

    #[test]
    fn a_known_form_is_not_sent_again_but_another_form_is() {
        let mut request = headers(ACCEPT_ENCODING, "br");
        request.insert(IF_NONE_MATCH, HeaderValue::from_static("\"other\", W/\"cafe-br\""));
        assert_eq!(answer(&FILE, &request, FOR_GOOD).status(), StatusCode::NOT_MODIFIED);
        request.insert(IF_NONE_MATCH, HeaderValue::from_static("\"cafe\""));
        assert_eq!(answer(&FILE, &request, FOR_GOOD).status(), StatusCode::OK);
    }

    #[tokio::test]
    async fn the_style_sheet_is_served_under_its_address() {
        let response = get_path(stylesheet_url()).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()[CONTENT_TYPE], "text/css; charset=utf-8");
        assert!(!response.headers().contains_key(CONTENT_ENCODING));
        let sheet = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(sheet, FILES.iter().find(|file| file.address == STYLESHEET).unwrap().forms[0].bytes);
    }

    #[tokio::test]
    async fn every_embedded_file_is_served_and_nothing_else() {
        for file in FILES {
            assert_eq!(get_path(file.address).await.status(), StatusCode::OK, "{}", file.address);
        }
        for path in ["/assets/0000000000000000/tallystick.css", "/pkg/x/tallystick.js", "/assets/../Cargo.toml"] {
            let response = get_path(path).await;
            assert_eq!(response.status(), StatusCode::NOT_FOUND, "{path}");
        }
    }

    #[tokio::test]
    async fn the_browser_part_is_named_only_when_it_is_embedded() {
        let Some(part) = browser_part() else {
            assert!(FILES.iter().all(|file| !file.address.starts_with("/pkg/")));
            return;
        };
        assert_eq!(get_path(part.glue_url).await.headers()[CONTENT_TYPE], "text/javascript; charset=utf-8");
        assert_eq!(get_path(part.wasm_url).await.headers()[CONTENT_TYPE], "application/wasm");
    }

    #[test]
    fn other_files_are_found_by_name() {
        assert_eq!(asset_url("no-such-file.svg"), None);
        assert_eq!(asset_url("tallystick.css"), Some(STYLESHEET));
        assert_eq!(icons_url(), asset_url("icons.svg"));
    }
}
