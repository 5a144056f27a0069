use super::*;

#[test]
fn g05_the_forms_of_all_databases_are_read() {
    let forms = [
        "2023-11-14 22:13:20",
        "2023-11-14T22:13:20Z",
        "2023-11-14 22:13:20.123456",
        "2023-11-14 22:13:20.123+00",
        "2023-11-14T23:13:20.5+01:00",
        "2023-11-14 16:43:20-0530",
    ];
    for form in forms {
        assert_eq!(parse(form), Some(1_700_000_000), "{form}");
    }
    assert_eq!(parse("1970-01-01 00:00:00"), Some(0));
    assert_eq!(parse("2024-02-29 12:00:00"), Some(1_709_208_000));
    assert_eq!(parse("2000-03-01 00:00:00"), Some(951_868_800));
}

#[test]
fn invalid_times_are_none() {
    for text in [
        "",
        "yesterday",
        "2023-13-01 00:00:00",
        "2023-11-14",
        "2023-11-14 22:13:20 CET",
        "2023-11-14 25:00:00",
    ] {
        assert_eq!(parse(text), None, "{text}");
    }
}

#[test]
fn numbers_count_seconds_milliseconds_or_microseconds() {
    for number in [1_700_000_000, 1_700_000_000_123, 1_700_000_000_123_456] {
        assert_eq!(from_epoch(number), 1_700_000_000);
    }
}

#[test]
fn a_written_time_reads_back() {
    for text in
        ["1970-01-01T00:00:00Z", "2024-02-29T23:59:59Z", "2026-12-31T01:02:03Z", "1999-03-01T00:00:00Z"]
    {
        assert_eq!(rfc3339(parse(text).unwrap()), text);
    }
}
