use super::*;

fn refused(guard: &Guard, address: &str) -> bool {
    guard.refuses(address.parse().unwrap(), true).is_some()
}

#[test]
fn j15_special_addresses_are_refused_in_every_form() {
    let guard = Guard::default();
    for address in [
        "0.0.0.0",
        "127.0.0.1",
        "127.8.9.1",
        "10.1.2.3",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "224.0.0.1",
        "255.255.255.255",
        "240.0.0.1",
        "198.18.0.1",
        "203.0.113.5",
        "::",
        "::1",
        "fe80::1",
        "fc00::1",
        "fd00:ec2::254",
        "ff02::1",
        "fec0::1",
        "2001:db8::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::127.0.0.1",
        "::2",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b::10.0.0.1",
        "64:ff9b:1::1",
        "2002:7f00:1::",
        "2002:a00:1::1",
        "2002:808:808::1",
        "2001::1",
        "2001:20::1",
        "100::1",
        "3fff::1",
        "5f00::1",
        "4000::1",
        "e000::1",
        "1::1",
    ] {
        assert!(refused(&guard, address), "{address}");
    }
}

#[test]
fn j15_public_addresses_pass() {
    let guard = Guard::default();
    for address in [
        "8.8.8.8",
        "1.1.1.1",
        "172.32.0.1",
        "100.128.0.1",
        "192.0.1.1",
        "2606:4700::1111",
        "2a00:1450::1",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
    ] {
        assert!(!refused(&guard, address), "{address}");
    }
}

#[test]
fn j15_the_allow_list_allows_only_its_ranges() {
    let guard =
        Guard { allow: vec!["10.1.0.0/16".parse().unwrap(), "::1".parse().unwrap()], ..Guard::default() };
    for open in ["10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::10.1.2.3", "::1"] {
        assert!(!refused(&guard, open), "{open}");
    }
    for shut in ["10.2.0.1", "127.0.0.1", "::ffff:10.2.0.1"] {
        assert!(refused(&guard, shut), "{shut}");
    }
}

#[test]
fn j15_plain_http_goes_only_where_it_is_allowed() {
    let public = "8.8.8.8".parse().unwrap();
    let local = "127.0.0.1".parse().unwrap();
    let mut guard = Guard { allow: vec!["127.0.0.0/8".parse().unwrap()], ..Guard::default() };
    assert!(guard.refuses(public, false).is_some() && guard.refuses(public, true).is_none());
    assert!(guard.refuses(local, false).is_none());
    guard.plain_http = PlainHttp::Never;
    assert!(guard.refuses(local, false).is_some());
    guard.plain_http = PlainHttp::Always;
    assert!(guard.refuses(public, false).is_none());
    assert!(Guard::default().refuses(local, false).is_some());
    assert!(Guard::allow_all().refuses(local, false).is_none());
}

#[test]
fn every_range_of_the_table_reads_back() {
    for (range, _) in SPECIAL {
        assert_eq!(range.to_string().parse::<Cidr>().unwrap(), range);
    }
}
