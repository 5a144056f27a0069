use super::*;

fn server(text: &str) -> Event {
    Event::ServerError(ServerError::Other(text.to_owned()))
}

#[test]
fn a_connection_is_lost_once_and_for_all() {
    let events = Events::default();
    assert!(!events.is_lost());
    events.record(&Event::Disconnected);
    events.record(&Event::Connected);
    assert!(events.is_lost());
}

#[test]
fn denials_are_counted_by_subject() {
    let events = Events::default();
    let changes = events.changes();
    events.record(&server("Slow something"));
    assert!(!changes.has_changed().unwrap());
    events.record(&server("Permissions Violation for Publish to \"secret.Deals\""));
    assert_eq!((events.denials("secret.Deals"), events.denials("other")), (1, 0));
    assert!(changes.has_changed().unwrap());
    assert!(!events.is_lost(), "one subject, not us");
}
