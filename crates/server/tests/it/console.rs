//! Tests of the console's pages and sessions.

use axum::body::Body;
use axum::http::{Request, header};
use postrider_hub::access::Role;
use serde_json::json;

use crate::desk::{Answer, Desk};
use crate::routes::job;
use crate::site::{Site, on_every_database, root};

on_every_database!(
    a_session_does_what_its_key_may_and_a_change_needs_its_token,
    a_forged_cookie_or_a_revoked_key_opens_nothing,
);

/// A signed-in user: cookie and CSRF token.
struct Visitor {
    cookie: String,
    csrf: String,
}

async fn sign_in(desk: &Desk, key: &str) -> Visitor {
    let request = Request::post("/console/login").header("content-type", "application/json");
    let answer =
        desk.ask(request.body(Body::from(json!({ "key": key }).to_string())).expect("a request")).await;
    let made = answer.headers[header::SET_COOKIE].to_str().expect("text").to_owned();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(made.contains(part), "{made}");
    }
    let cookie = made.split(';').next().expect("a pair").to_owned();
    let csrf = answer.expect(200)["csrf"].as_str().expect("a token").to_owned();
    Visitor { cookie, csrf }
}

impl Visitor {
    async fn ask(&self, desk: &Desk, method: &str, path: &str, csrf: Option<&str>, body: &str) -> Answer {
        let mut request = Request::builder().method(method).uri(path).header("cookie", &self.cookie);
        if let Some(csrf) = csrf {
            request = request.header("x-csrf-token", csrf);
        }
        if !body.is_empty() {
            request = request.header("content-type", "application/json");
        }
        desk.ask(request.body(Body::from(body.to_owned())).expect("a request")).await
    }
}

async fn a_session_does_what_its_key_may_and_a_change_needs_its_token(site: &Site) {
    let desk = Desk::new(site);
    let (key, _) = site.key(Role::Operator, &["acme"]).await;
    let visitor = sign_in(&desk, &key).await;
    let me = visitor.ask(&desk, "GET", "/console/session", None, "").await.expect(200);
    assert_eq!((&me["role"], &me["clientIds"]), (&json!("operator"), &json!(["acme"])));
    assert_eq!(me["csrf"], json!(visitor.csrf));
    visitor.ask(&desk, "GET", "/api/v1/dispatch-jobs", None, "").await.expect(200);
    visitor.ask(&desk, "GET", "/api/v1/lanes", None, "").await.expect(403);
    let job = job(&json!({})).to_string();
    let other = sign_in(&desk, &key).await;
    for csrf in [None, Some(""), Some("0"), Some(other.csrf.as_str())] {
        let answer = visitor.ask(&desk, "POST", "/api/v1/dispatch-jobs", csrf, &job).await;
        answer.problem(403, "x-csrf-token");
    }
    assert_eq!(site.count("dispatch_jobs").await, 0);
    let csrf = Some(visitor.csrf.as_str());
    visitor.ask(&desk, "POST", "/api/v1/dispatch-jobs", csrf, &job).await.expect(201);
    visitor
        .ask(&desk, "POST", "/api/v1/api-keys", csrf, "{\"name\":\"n\",\"role\":\"viewer\"}")
        .await
        .expect(403);
    visitor.ask(&desk, "POST", "/console/logout", None, "").await.problem(403, "x-csrf-token");
    let left = visitor.ask(&desk, "POST", "/console/logout", csrf, "").await;
    assert!(left.headers[header::SET_COOKIE].to_str().expect("text").contains("Max-Age=0"));
    assert_eq!(visitor.ask(&desk, "GET", "/console/session", None, "").await.status, 401);
    assert_eq!(visitor.ask(&desk, "GET", "/api/v1/dispatch-jobs", None, "").await.status, 401);
    assert_eq!(other.ask(&desk, "GET", "/api/v1/dispatch-jobs", None, "").await.status, 200);
}

async fn a_forged_cookie_or_a_revoked_key_opens_nothing(site: &Site) {
    let desk = Desk::new(site);
    let (key, actor) = site.key(Role::Admin, &[]).await;
    let real = sign_in(&desk, &key).await;
    let (_, token) = real.cookie.split_once('=').expect("a pair");
    let last = if token.ends_with('0') { '1' } else { '0' };
    let forged = format!("{}{last}", &token[..token.len() - 1]);
    for token in [forged.as_str(), &key, "", &token.to_uppercase()] {
        let visitor = Visitor { cookie: format!("postrider_session={token}"), csrf: real.csrf.clone() };
        let answer = visitor.ask(&desk, "GET", "/api/v1/lanes", None, "").await;
        assert_eq!(answer.status, 401, "{token}");
        let answer =
            visitor.ask(&desk, "POST", "/api/v1/lanes/dispatch_jobs/pause", Some(&real.csrf), "").await;
        assert_eq!(answer.status, 401, "{token}");
    }
    // A valid cookie does not make up for a wrong key.
    let request =
        Request::get("/api/v1/lanes").header("cookie", &real.cookie).header("authorization", "Bearer pr_x");
    assert_eq!(desk.ask(request.body(Body::empty()).expect("a request")).await.status, 401);
    site.hub.revoke_key(&root(), &actor.key).await.expect("revoked");
    assert_eq!(real.ask(&desk, "GET", "/api/v1/lanes", None, "").await.status, 401);
    assert_eq!(real.ask(&desk, "GET", "/console/session", None, "").await.status, 401);
}

async fn form(desk: &Desk, body: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request =
        Request::post("/console/login").header("content-type", "application/x-www-form-urlencoded");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    desk.ask(request.body(Body::from(body.to_owned())).expect("a request")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_form_signs_in_and_refuses_without_echo() {
    crate::site::sqlite(|site| async move {
        let desk = Desk::new(&site);
        let (key, _) = site.key(Role::Viewer, &[]).await;
        let answer = form(&desk, &format!("key={key}"), &[("x-forwarded-proto", "https")]).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.headers["location"]),
            (303, &"/".parse().expect("a header"))
        );
        assert!(answer.headers[header::SET_COOKIE].to_str().expect("text").contains("; Secure"));
        let elsewhere = form(&desk, &format!("key={key}"), &[("sec-fetch-site", "cross-site")]).await;
        assert_eq!(elsewhere.status, 403);
        assert!(!elsewhere.headers.contains_key(header::SET_COOKIE));
        for _ in 0..10 {
            let answer = form(&desk, "key=<script>alert(1)</script>", &[]).await;
            let page = String::from_utf8(answer.bytes).expect("a page");
            assert_eq!(answer.status, 401);
            assert!(page.contains("role=\"alert\"") && !page.contains("alert(1)"), "{page}");
        }
        assert_eq!(form(&desk, "key=wrong", &[]).await.status, 429, "too many wrong keys");
        assert_eq!(form(&desk, &format!("key={key}"), &[]).await.status, 303, "a right key always opens");
        assert_eq!(site.count("postrider_sessions").await, 2);
    })
    .await;
}

#[tokio::test]
async fn the_pages_come_with_a_strict_policy_and_without_a_database() {
    let desk = Desk::closed();
    let get = async |path: &str, headers: &[(&str, &str)]| {
        let mut request = Request::get(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        desk.ask(request.body(Body::empty()).expect("a request")).await
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
    for absent in ["/console/index.html", "/console/js/../sign.rs", "/console/sign.rs", "/console/nothing.js"]
    {
        assert_eq!(get(absent, &[]).await.status, 404, "{absent}");
    }
    assert_eq!(get("/console/session", &[("cookie", "postrider_session=x")]).await.status, 503);
    assert_eq!(get("/api/v1/lanes", &[("cookie", "postrider_session=x")]).await.status, 503);
}
