//! Formats of texts in the OpenAPI document: `#[schema(format = "line")]` stands for the pattern that [`Faults`] checks.
//!
//! [`Faults`]: crate::validation::Faults

use postrider_config::Scheme;
use utoipa::openapi::SchemaFormat;
use utoipa::openapi::schema::Object;

/// The name of each format, its minimum length, and its pattern.
const FORMATS: [(&str, Option<usize>, &str); 3] = [
    (
        "line",
        Some(1),
        r"^[^\u0000-\u0020\u007f-\u009f]([^\u0000-\u001f\u007f-\u009f]*[^\u0000-\u0020\u007f-\u009f])?$",
    ),
    ("media-type", Some(3), "^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+( *;[ -~]*[!-:<-~])?$"),
    (
        "retry-strategy",
        None,
        r"^(immediate|fixed|exponential|\[ *(0|[1-9][0-9]{0,5})(\.[0-9]+)?( *, *(0|[1-9][0-9]{0,5})(\.[0-9]+)?){0,19} *\])$",
    ),
];

/// Replaces the format of a text by its pattern, which clients can check.
pub fn expand_text_format(text: &mut Object) {
    let Some(SchemaFormat::Custom(name)) = &text.format else { return };
    if name == "secret-reference" {
        let schemes = Scheme::ALL.map(Scheme::name).join("|");
        set_pattern(text, None, format!("^({schemes})://[!-~]+$"));
    } else if let Some((_, least, pattern)) = FORMATS.iter().find(|(known, ..)| known == name) {
        set_pattern(text, *least, (*pattern).to_owned());
    }
}

fn set_pattern(text: &mut Object, least: Option<usize>, pattern: String) {
    text.min_length = least;
    text.pattern = Some(pattern);
    text.format = None;
}
