use super::*;

fn options(pairs: &[(&str, &str)]) -> UrlOptions {
    UrlOptions::new(pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect())
}

fn texts(options: UrlOptions) -> Vec<String> {
    options.finish().iter().map(ToString::to_string).collect()
}

#[test]
fn values_are_read_and_mistakes_collected() {
    let mut options = options(&[
        ("size", "7"),
        ("many", "x"),
        ("wait", "250ms"),
        ("long", "2m"),
        ("odd", "1 hour"),
        ("mode", "b"),
        ("kind", "other"),
        ("secret", "hunter2"),
        ("wiat", "1s"),
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
    assert_eq!(
        texts(options),
        [
            "many must be a whole number",
            "odd must be a duration, such as 500ms, 30s or 5m",
            "kind must be one of a, b",
            "secret is not an option of this target; known: kind, long, many, mode, odd, size, wait",
            "wiat is not an option of this target; did you mean `wait`?",
        ]
    );
}

#[test]
fn the_last_of_two_wins() {
    assert_eq!(options(&[("a", "1"), ("a", "2")]).text("a").as_deref(), Some("2"));
}

#[test]
fn zero_is_refused_where_it_makes_no_sense() {
    let mut options = options(&[("idle", "0s"), ("wait", "5")]);
    let (mut idle, mut wait) = (Duration::from_secs(1), Duration::ZERO);
    options.positive_duration("idle", &mut idle);
    options.positive_duration("wait", &mut wait);
    assert_eq!((idle, wait), (Duration::from_secs(1), Duration::from_secs(5)), "a plain number is seconds");
    assert_eq!(texts(options), ["idle must be a duration above zero, such as 500ms, 30s or 5m"]);
}

#[test]
fn a_mistake_names_its_option_and_the_value_that_was_probably_meant() {
    let mut options = options(&[("auth", "logni"), ("odd", "1 hour"), ("wiat", "1s")]);
    let (mut auth, mut odd) = ('a', Duration::ZERO);
    options.choice("auth", &[("plain", 'p'), ("login", 'l')], &mut auth);
    options.duration("odd", &mut odd);
    options.mistake("no host");
    let mistakes = options.finish();
    let named: Vec<Option<&str>> = mistakes.iter().map(|mistake| mistake.option.as_deref()).collect();
    assert_eq!(named, [Some("auth"), Some("odd"), None, Some("wiat")]);
    assert_eq!(mistakes[0].to_string(), "auth must be one of plain, login; did you mean `login`?");
    assert_eq!(mistakes[2].to_string(), "no host");
}
