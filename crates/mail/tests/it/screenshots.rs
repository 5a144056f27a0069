//! Screenshots of the shipped mails in a real browser, in phone size and in the size of a mail program's pane. They are
//! written to cargo's `target/tmp` for review.

use std::path::Path;

use postrider_mail::Templates;
use postrider_services::Browser;
use serde_json::{Value, json};

const SCRIPT: &str = include_str!("../looks/looks.js");
const LOCALES: [&str; 2] = ["en-US", "zh-CN"];
const WIDTHS: [u64; 2] = [360, 600];

/// Very long names without a line break opportunity, with characters that HTML must escape.
fn hostile() -> Value {
    let url = format!("https://seats.example.edu/s?token={}", "x".repeat(300));
    json!({
        "courseTitle": format!("<b>R&D</b> {} {}", "Donaudampfschifffahrtsgesellschaft".repeat(3), "计算机科学导论".repeat(12)),
        "courseString": "01:198:344:".repeat(12), "sectionIndex": "0721498765432", "sectionNumber": "03-".repeat(30),
        "meetingSummary": "Mon,Thu10:20–11:40;".repeat(12), "campus": "New_Brunswick".repeat(8),
        "eventDetectedLocal": "2026-11-16 09:05 EST", "notes": "\"Bring\" <script>alert(1)</script> ".repeat(20),
        "manageUrl": url, "unsubscribeUrl": url,
    })
}

/// Only the required variables.
fn least() -> Value {
    json!({
        "courseTitle": "Art", "courseString": "07:081:101", "sectionIndex": "1", "sectionNumber": "1",
        "meetingSummary": "By arrangement", "manageUrl": "https://seats.example.edu/s",
    })
}

#[test]
fn n10_the_shipped_mails_fit_phones_load_nothing_and_axe_finds_nothing() {
    let templates = Templates::with_shipped(None, "en-US").unwrap();
    let sample: Value = serde_json::from_str(postrider_mail::templates::SAMPLE).unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("looks");
    std::fs::create_dir_all(&folder).unwrap();
    let mut screens = Vec::new();
    for (kind, variables) in [("sample", &sample), ("hostile", &hostile()), ("least", &least())] {
        for locale in LOCALES {
            let mail = templates.render("open-seat@v1", Some(locale), variables).unwrap();
            let html = mail.html.expect("it has HTML");
            for (width, dark) in WIDTHS.map(|width| [(width, false), (width, true)]).concat() {
                let name = format!("{kind}-{locale}-{width}{}", if dark { "-dark" } else { "" });
                let file = folder.join(format!("{name}.png"));
                screens.push((name, json!({ "html": html, "width": width, "dark": dark, "file": file })));
            }
        }
    }
    let input: Vec<&Value> = screens.iter().map(|(_, screen)| screen).collect();
    let browser = Browser::find().unwrap();
    let looks = browser.run(SCRIPT, &json!(input).to_string()).unwrap();
    let looks: Vec<Value> = serde_json::from_str(&looks).unwrap();
    assert_eq!(looks.len(), screens.len());
    for ((name, screen), look) in screens.iter().zip(&looks) {
        assert_eq!(look["wrong"], json!([]), "{name}: axe");
        assert_eq!(look["loaded"], json!([]), "{name}: remote assets");
        assert_eq!(look["wide"], screen["width"], "{name}: must not scroll sideways");
        let file = screen["file"].as_str().unwrap();
        assert!(std::fs::metadata(file).unwrap().len() > 5_000, "{name}: a screenshot of something");
    }
}
