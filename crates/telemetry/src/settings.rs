//! Settings of the export: Postrider's own keys, and the standard environment variables of OpenTelemetry.

use std::time::Duration;

use percent_encoding::percent_decode_str;

const PATH: &str = "/v1/traces";

/// The collector, and which rows are traced.
#[derive(Clone, PartialEq)]
pub struct Settings {
    /// Complete URL that spans are posted to.
    pub url: String,
    /// Headers of every request; values may be tokens.
    pub headers: Vec<(String, String)>,
    /// Attributes that identify this process: `service.name` and others.
    pub resource: Vec<(String, String)>,
    /// The share of rows that are traced, from 0 to 1. Rows with a producer's trace context follow its sampling flag.
    pub ratio: f64,
    /// Time limit of a request. Default: 10 seconds.
    pub timeout: Duration,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").field("url", &self.url).finish_non_exhaustive()
    }
}

/// A function that returns the value of an environment variable.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Settings {
    /// Reads the settings. `otlp` is the base URL or `off`; values that are not set come from environment variables.
    ///
    /// Returns `None` if no collector is configured. The error names the invalid value.
    pub fn read(
        otlp: Option<&str>,
        service: Option<&str>,
        ratio: Option<f64>,
        variable: Variables<'_>,
    ) -> Result<Option<Self>, String> {
        let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let is_off = variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"))
            || variable("OTEL_TRACES_EXPORTER").is_some_and(|value| value == "none");
        let url = match otlp {
            Some("off") => None,
            Some(base) => Some(with_path(base)),
            None if is_off => None,
            None => variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
                .or_else(|| variable("OTEL_EXPORTER_OTLP_ENDPOINT").map(|base| with_path(&base))),
        };
        let Some(url) = url else { return Ok(None) };
        postrider_http::Target::parse(&url).map_err(|error| error.to_string())?;
        let headers = ["OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"];
        let headers = headers.into_iter().filter_map(variable).flat_map(|text| parse_pairs(&text)).collect();
        let timeout =
            variable("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT").or_else(|| variable("OTEL_EXPORTER_OTLP_TIMEOUT"));
        let timeout = timeout.map(|text| text.trim().parse::<u64>().map(Duration::from_millis));
        let timeout = timeout
            .transpose()
            .map_err(|_| "OTEL_EXPORTER_OTLP_TIMEOUT: whole milliseconds, such as 10000")?;
        let ratio = match ratio {
            Some(ratio) => ratio,
            None => sampling_ratio(
                variable("OTEL_TRACES_SAMPLER").as_deref(),
                variable("OTEL_TRACES_SAMPLER_ARG").as_deref(),
            )?,
        };
        let mut resource: Vec<(String, String)> =
            variable("OTEL_RESOURCE_ATTRIBUTES").map(|text| parse_pairs(&text)).unwrap_or_default();
        let service = service.map(str::to_owned).or_else(|| variable("OTEL_SERVICE_NAME"));
        if service.is_some() || !resource.iter().any(|(name, _)| name == "service.name") {
            resource.retain(|(name, _)| name != "service.name");
            resource
                .insert(0, ("service.name".to_owned(), service.unwrap_or_else(|| "postrider".to_owned())));
        }
        Ok(Some(Self { url, headers, resource, ratio, timeout: timeout.unwrap_or(Duration::from_secs(10)) }))
    }
}

/// Appends the path for traces to a base URL, unless it is there already.
fn with_path(base: &str) -> String {
    let base = base.trim().trim_end_matches('/');
    if base.ends_with(PATH) { base.to_owned() } else { format!("{base}{PATH}") }
}

/// Parses `name=value,name=value` with percent-encoded values.
fn parse_pairs(text: &str) -> Vec<(String, String)> {
    let decoded = |text: &str| percent_decode_str(text.trim()).decode_utf8_lossy().into_owned();
    text.split(',')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (decoded(name), decoded(value)))
        .collect()
}

fn sampling_ratio(sampler: Option<&str>, argument: Option<&str>) -> Result<f64, String> {
    match sampler {
        None | Some("always_on" | "parentbased_always_on") => Ok(1.0),
        Some("always_off" | "parentbased_always_off") => Ok(0.0),
        Some("traceidratio" | "parentbased_traceidratio") => {
            let ratio = argument.map_or(Ok(1.0), str::parse::<f64>);
            ratio
                .ok()
                .filter(|ratio| (0.0..=1.0).contains(ratio))
                .ok_or_else(|| "OTEL_TRACES_SAMPLER_ARG: a number from 0 to 1".to_owned())
        }
        Some(other) => {
            Err(format!("OTEL_TRACES_SAMPLER: unknown sampler `{other}`; use parentbased_traceidratio"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(otlp: Option<&str>, variables: &[(&str, &str)]) -> Result<Option<Settings>, String> {
        let found = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Settings::read(otlp, None, None, &found)
    }

    #[test]
    fn it_is_off_unless_somebody_names_a_collector() {
        assert_eq!(read(None, &[]).unwrap(), None);
        assert_eq!(read(Some("off"), &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://x:4318")]).unwrap(), None);
        let disabled = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://x:4318"), ("OTEL_SDK_DISABLED", "true")];
        assert_eq!(read(None, &disabled).unwrap(), None);
    }

    #[test]
    fn the_usual_variables_are_read_where_the_settings_are_silent() {
        let variables = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20s3cret,x-team=mail"),
            ("OTEL_SERVICE_NAME", "outbox"),
            ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=prod,service.name=other"),
            ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"),
            ("OTEL_TRACES_SAMPLER_ARG", "0.25"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "1500"),
        ];
        let settings = read(None, &variables).unwrap().unwrap();
        assert_eq!(settings.url, "http://collector:4318/v1/traces");
        assert_eq!(settings.headers[0], ("authorization".to_owned(), "Bearer s3cret".to_owned()));
        assert_eq!(settings.resource[0], ("service.name".to_owned(), "outbox".to_owned()));
        assert_eq!(settings.resource.len(), 2);
        assert!((settings.ratio - 0.25).abs() < 1e-9);
        assert_eq!(settings.timeout, Duration::from_millis(1500));
        assert!(!format!("{settings:?}").contains("s3cret"), "a token is never shown");
        assert_eq!(
            read(Some("http://own:4318"), &variables).unwrap().unwrap().url,
            "http://own:4318/v1/traces"
        );
        let exact = [("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://x/custom")];
        assert_eq!(read(None, &exact).unwrap().unwrap().url, "http://x/custom");
    }

    #[test]
    fn mistakes_name_the_variable() {
        let wrong = [("OTEL_TRACES_SAMPLER", "jaeger_remote")];
        assert!(read(Some("http://x"), &wrong).unwrap_err().contains("OTEL_TRACES_SAMPLER"));
        assert!(read(Some("grpc//x"), &[]).is_err());
    }
}
