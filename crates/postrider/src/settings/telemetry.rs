//! Reads `[telemetry]`: the collector of traces. Disabled unless the settings or OpenTelemetry's variables name one.

use postrider_telemetry::Settings;

use super::reader::Reader;

/// Reads the table; a mistake in a variable is reported with the key of the same meaning. `None` disables traces.
pub fn read(reader: &Reader<'_>) -> Option<Settings> {
    let otlp = reader.text("otlp");
    let service = reader.text("service").map(|found| found.value);
    let ratio = reader.fraction("sample", 0.0..=1.0);
    let (place, url) = match &otlp {
        Some(found) => (found.place.clone(), Some(found.value.as_str())),
        None => (reader.place().clone(), None),
    };
    let read = Settings::read(url, service.as_deref(), ratio, &|name| reader.variable(name));
    let settings = read.unwrap_or_else(|text| {
        reader.wrong_at(&place, "otlp", text);
        None
    });
    reader.finish();
    settings
}
