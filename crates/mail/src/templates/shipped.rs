//! Templates that are compiled into the product: a folder is needed only for custom templates.

use minijinja::Environment;

use super::{Locales, TemplateParts, TemplateVersion, Versions, locale_key};

/// Id, version and locale, then subject, HTML and text.
type Shipped = ([&'static str; 3], [&'static str; 3]);

macro_rules! shipped {
    ($id:literal, $version:literal, $locale:literal) => {
        (
            [$id, $version, $locale],
            [
                include_str!(concat!(
                    "../../../../templates/",
                    $id,
                    "/",
                    $version,
                    "/",
                    $locale,
                    "/subject.txt"
                )),
                include_str!(concat!(
                    "../../../../templates/",
                    $id,
                    "/",
                    $version,
                    "/",
                    $locale,
                    "/body.html"
                )),
                include_str!(concat!(
                    "../../../../templates/",
                    $id,
                    "/",
                    $version,
                    "/",
                    $locale,
                    "/body.txt"
                )),
            ],
        )
    };
}

const SHIPPED: [Shipped; 2] = [shipped!("open-seat", "v1", "en-US"), shipped!("open-seat", "v1", "zh-CN")];

/// Sample variables for the shipped templates: a JSON object with every variable that they use.
pub const SAMPLE: &str = include_str!("../../../../templates/open-seat/v1/sample.json");

/// Adds the shipped templates to an environment and to the known versions.
pub fn add(environment: &mut Environment<'static>, by_id: &mut std::collections::BTreeMap<String, Versions>) {
    for ([id, version, locale], sources) in SHIPPED {
        let name = format!("{id}/{version}/{locale}");
        for (file, source) in ["subject.txt", "body.html", "body.txt"].into_iter().zip(sources) {
            environment
                .add_template_owned(format!("{name}/{file}"), source)
                .expect("a test compiles every shipped template");
        }
        let parts = TemplateParts { name, subject: true, html: true, text: true };
        let locales: &mut Locales =
            by_id.entry(id.to_owned()).or_default().entry(TemplateVersion::new(version)).or_default();
        locales.insert(locale_key(locale), parts);
    }
}
