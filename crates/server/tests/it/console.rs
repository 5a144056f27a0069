//! Tests of the console's pages and sessions.

use axum::body::Body;
use axum::http::{Request, header};
use postrider_hub::access::Role;
use serde_json::json;

use crate::fixture::{Fixture, on_every_database, root};
use crate::routes::job;
use crate::test_api::{Answer, TestApi};

on_every_database!(
    a_session_has_the_permissions_of_its_key_and_changes_need_csrf,
    forged_cookies_and_revoked_keys_are_refused,
);

/// A signed-in user: cookie and CSRF token.
struct Visitor {
    cookie: String,
    csrf: String,
}

async fn sign_in(api: &TestApi, key: &str) -> Visitor {
    let request = Request::post("/console/login").header("content-type", "application/json");
    let answer =
        api.ask(request.body(Body::from(json!({ "key": key }).to_string())).expect("a request")).await;
    let made = answer.headers[header::SET_COOKIE].to_str().expect("text").to_owned();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(made.contains(part), "{made}");
    }
    let cookie = made.split(';').next().expect("a pair").to_owned();
    let csrf = answer.expect(200)["csrf"].as_str().expect("a token").to_owned();
    Visitor { cookie, csrf }
}

impl Visitor {
    async fn ask(&self, api: &TestApi, method: &str, path: &str, csrf: Option<&str>, body: &str) -> Answer {
        let mut request = Request::builder().method(method).uri(path).header("cookie", &self.cookie);
        if let Some(csrf) = csrf {
            request = request.header("x-csrf-token", csrf);
        }
        if !body.is_empty() {
            request = request.header("content-type", "application/json");
        }
        api.ask(request.body(Body::from(body.to_owned())).expect("a request")).await
    }
}

async fn a_session_has_the_permissions_of_its_key_and_changes_need_csrf(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (key, _) = fixture.key(Role::Operator, &["acme"]).await;
    let visitor = sign_in(&api, &key).await;
    let me = visitor.ask(&api, "GET", "/console/session", None, "").await.expect(200);
    assert_eq!((&me["role"], &me["clientIds"]), (&json!("operator"), &json!(["acme"])));
    assert_eq!(me["csrf"], json!(visitor.csrf));
    visitor.ask(&api, "GET", "/api/v1/dispatch-jobs", None, "").await.expect(200);
    visitor.ask(&api, "GET", "/api/v1/lanes", None, "").await.expect(403);
    let job = job(&json!({})).to_string();
    let other = sign_in(&api, &key).await;
    for csrf in [None, Some(""), Some("0"), Some(other.csrf.as_str())] {
        let answer = visitor.ask(&api, "POST", "/api/v1/dispatch-jobs", csrf, &job).await;
        answer.problem(403, "x-csrf-token");
    }
    assert_eq!(fixture.count("dispatch_jobs").await, 0);
    let csrf = Some(visitor.csrf.as_str());
    visitor.ask(&api, "POST", "/api/v1/dispatch-jobs", csrf, &job).await.expect(201);
    visitor
        .ask(&api, "POST", "/api/v1/api-keys", csrf, "{\"name\":\"n\",\"role\":\"viewer\"}")
        .await
        .expect(403);
    visitor.ask(&api, "POST", "/console/logout", None, "").await.problem(403, "x-csrf-token");
    let left = visitor.ask(&api, "POST", "/console/logout", csrf, "").await;
    assert!(left.headers[header::SET_COOKIE].to_str().expect("text").contains("Max-Age=0"));
    assert_eq!(visitor.ask(&api, "GET", "/console/session", None, "").await.status, 401);
    assert_eq!(visitor.ask(&api, "GET", "/api/v1/dispatch-jobs", None, "").await.status, 401);
    assert_eq!(other.ask(&api, "GET", "/api/v1/dispatch-jobs", None, "").await.status, 200);
}

async fn forged_cookies_and_revoked_keys_are_refused(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (key, actor) = fixture.key(Role::Admin, &[]).await;
    let real = sign_in(&api, &key).await;
    let (_, token) = real.cookie.split_once('=').expect("a pair");
    let last = if token.ends_with('0') { '1' } else { '0' };
    let forged = format!("{}{last}", &token[..token.len() - 1]);
    for token in [forged.as_str(), &key, "", &token.to_uppercase()] {
        let visitor = Visitor { cookie: format!("postrider_session={token}"), csrf: real.csrf.clone() };
        let answer = visitor.ask(&api, "GET", "/api/v1/lanes", None, "").await;
        assert_eq!(answer.status, 401, "{token}");
        let answer =
            visitor.ask(&api, "POST", "/api/v1/lanes/dispatch_jobs/pause", Some(&real.csrf), "").await;
        assert_eq!(answer.status, 401, "{token}");
    }
    // A valid cookie does not make up for a wrong key.
    let request =
        Request::get("/api/v1/lanes").header("cookie", &real.cookie).header("authorization", "Bearer pr_x");
    assert_eq!(api.ask(request.body(Body::empty()).expect("a request")).await.status, 401);
    fixture.hub.revoke_key(&root(), &actor.key).await.expect("revoked");
    assert_eq!(real.ask(&api, "GET", "/api/v1/lanes", None, "").await.status, 401);
    assert_eq!(real.ask(&api, "GET", "/console/session", None, "").await.status, 401);
}

async fn form(api: &TestApi, body: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request =
        Request::post("/console/login").header("content-type", "application/x-www-form-urlencoded");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    api.ask(request.body(Body::from(body.to_owned())).expect("a request")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_login_form_signs_in_and_never_echoes_input() {
    crate::fixture::sqlite(|fixture| async move {
        let api = TestApi::new(&fixture);
        let (key, _) = fixture.key(Role::Viewer, &[]).await;
        let answer = form(&api, &format!("key={key}"), &[("x-forwarded-proto", "https")]).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.headers["location"]),
            (303, &"/".parse().expect("a header"))
        );
        assert!(answer.headers[header::SET_COOKIE].to_str().expect("text").contains("; Secure"));
        let elsewhere = form(&api, &format!("key={key}"), &[("sec-fetch-site", "cross-site")]).await;
        assert_eq!(elsewhere.status, 403);
        assert!(!elsewhere.headers.contains_key(header::SET_COOKIE));
        for _ in 0..10 {
            let answer = form(&api, "key=<script>alert(1)</script>", &[]).await;
            let page = String::from_utf8(answer.bytes).expect("a page");
            assert_eq!(answer.status, 401);
            assert!(page.contains("role=\"alert\"") && !page.contains("alert(1)"), "{page}");
        }
        assert_eq!(form(&api, "key=wrong", &[]).await.status, 429, "too many wrong keys");
        assert_eq!(form(&api, &format!("key={key}"), &[]).await.status, 303, "a right key always opens");
        assert_eq!(fixture.count("postrider_sessions").await, 2);
    })
    .await;
}

#[tokio::test]
async fn pages_have_a_strict_policy_and_need_no_database() {
    let api = TestApi::closed();
    let get = async |path: &str, headers: &[(&str, &str)]| {
        let mut request = Request::get(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        api.ask(request.body(Body::empty()).expect("a request")).await
    };
    let door = get("/", &[]).await;
    assert_eq!(
        (door.status.as_u16(), &door.headers["location"]),
        (303, &"/console/login".parse().expect("a header"))
    );
    for (path, kind) in [
        ("/", "text/html; charset=utf-8"),
        ("/console/login", "text/html; charset=utf-8"),
        ("/console/style.css", "text/css; charset=utf-8"),
        ("/console/js/main.js", "text/javascript; charset=utf-8"),
        ("/console/icon.svg", "image/svg+xml"),
    ] {
        let answer = get(path, &[("cookie", "postrider_session=x")]).await;
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.headers[header::CONTENT_TYPE], kind, "{path}");
        let policy = answer.headers[header::CONTENT_SECURITY_POLICY].to_str().expect("text");
        for part in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(answer.headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff", "{path}");
        assert_eq!(answer.headers[header::REFERRER_POLICY], "no-referrer", "{path}");
    }
    let first = get("/console/style.css", &[]).await;
    let tag = first.headers[header::ETAG].to_str().expect("text").to_owned();
    let again = get("/console/style.css", &[("if-none-match", &tag)]).await;
    assert_eq!((again.status.as_u16(), again.bytes.len()), (304, 0));
    for absent in
        ["/console/index.html", "/console/js/../login.rs", "/console/login.rs", "/console/nothing.js"]
    {
        assert_eq!(get(absent, &[]).await.status, 404, "{absent}");
    }
    assert_eq!(get("/console/session", &[("cookie", "postrider_session=x")]).await.status, 503);
    assert_eq!(get("/api/v1/lanes", &[("cookie", "postrider_session=x")]).await.status, 503);
}
