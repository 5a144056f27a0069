use super::*;

fn options(pairs: &[(&str, &str)]) -> Options {
    Options::new(pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect())
}

#[test]
fn values_are_read_and_mistakes_gathered() {
    let mut options = options(&[
        ("size", "7"),
        ("many", "x"),
        ("wait", "250ms"),
        ("long", "2m"),
        ("odd", "1 hour"),
        ("mode", "b"),
        ("kind", "z"),
        ("secret", "hunter2"),
    ]);
    let (mut size, mut many, mut wait, mut long, mut odd) =
        (0, 1, Duration::ZERO, Duration::ZERO, Duration::ZERO);
    options.read("size", "a whole number", &mut size);
    options.read("many", "a whole number", &mut many);
    options.duration("wait", &mut wait);
    options.duration("long", &mut long);
    options.duration("odd", &mut odd);
    let (mut mode, mut kind) = ('a', 'a');
    options.choice("mode", &[("a", 'a'), ("b", 'b')], &mut mode);
    options.choice("kind", &[("a", 'a'), ("b", 'b')], &mut kind);
    assert_eq!((size, many, wait, long), (7, 1, Duration::from_millis(250), Duration::from_mins(2)));
    assert_eq!((mode, kind, odd), ('b', 'a', Duration::ZERO));
    let mistakes = options.finish();
    assert_eq!(
        mistakes,
        [
            "many must be a whole number",
            "odd must be a duration, such as 500ms, 30s or 5m",
            "kind must be one of a, b",
            "unknown option secret: known are kind, long, many, mode, odd, size, wait",
        ]
    );
}

#[test]
fn the_last_of_two_wins() {
    assert_eq!(options(&[("a", "1"), ("a", "2")]).text("a").as_deref(), Some("2"));
}
