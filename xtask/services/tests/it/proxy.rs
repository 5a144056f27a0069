//! Tests of the fault proxy, seen from a client and from a server.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use postrider_services::{LostAnswer, NewConnections, Proxy};

/// A server that answers every byte with the same byte plus `shift`, on any number of connections.
fn echo(shift: u8) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                while let Ok(length @ 1..) = stream.read(&mut buffer) {
                    for byte in &mut buffer[..length] {
                        *byte = byte.wrapping_add(shift);
                    }
                    if stream.write_all(&buffer[..length]).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

fn connect(proxy: &Proxy) -> TcpStream {
    let stream = TcpStream::connect(proxy.address()).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
}

fn ask(stream: &mut TcpStream, byte: u8) -> std::io::Result<u8> {
    stream.write_all(&[byte])?;
    let mut answer = [0];
    stream.read_exact(&mut answer)?;
    Ok(answer[0])
}

/// Whether no answer arrives within a short time, and the connection stays open.
fn is_silent(stream: &mut TcpStream, byte: u8) -> bool {
    stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let answer = ask(stream, byte);
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    answer.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < end, "{what}");
        std::thread::yield_now();
    }
}

#[test]
fn it_forwards_counts_and_forgets_closed_connections() {
    let proxy = Proxy::start(echo(1)).unwrap();
    let mut first = connect(&proxy);
    let mut second = connect(&proxy);
    assert_eq!((ask(&mut first, 1).unwrap(), ask(&mut second, 2).unwrap()), (2, 3));
    assert_eq!((proxy.accepted(), proxy.open()), (2, 2));
    drop(first);
    until("the closed connection is forgotten", || proxy.open() == 1);
    proxy.retarget(echo(10));
    assert_eq!(ask(&mut second, 5).unwrap(), 6, "an open connection stays at its server");
    assert_eq!(ask(&mut connect(&proxy), 5).unwrap(), 15);
    assert_eq!(proxy.accepted(), 3);
}

#[test]
fn a_delay_is_latency_and_not_a_limit_of_throughput() {
    let proxy = Proxy::start(echo(0)).unwrap();
    let delay = Duration::from_millis(100);
    proxy.delay(delay);
    let mut stream = connect(&proxy);
    let begun = Instant::now();
    ask(&mut stream, 1).unwrap();
    assert!(begun.elapsed() >= 2 * delay, "{:?}", begun.elapsed());
    // Fifty separate segments, which would take ten seconds one after the other.
    let begun = Instant::now();
    let mut reader = stream.try_clone().unwrap();
    let answers = std::thread::spawn(move || reader.read_exact(&mut [0; 50]).unwrap());
    for byte in 0..50 {
        stream.write_all(&[byte]).unwrap();
        std::thread::yield_now();
    }
    answers.join().unwrap();
    assert!(begun.elapsed() >= 2 * delay && begun.elapsed() < 10 * delay, "{:?}", begun.elapsed());
    proxy.delay(Duration::ZERO);
    let begun = Instant::now();
    ask(&mut stream, 1).unwrap();
    assert!(begun.elapsed() < delay, "{:?}", begun.elapsed());
}

#[test]
fn frozen_connections_are_silent_until_they_thaw_and_new_ones_work() {
    let proxy = Proxy::start(echo(1)).unwrap();
    let mut frozen = connect(&proxy);
    ask(&mut frozen, 1).unwrap();
    proxy.freeze();
    assert!(is_silent(&mut frozen, 7));
    assert_eq!(ask(&mut connect(&proxy), 1).unwrap(), 2);
    proxy.thaw();
    let mut late = [0];
    frozen.read_exact(&mut late).unwrap();
    assert_eq!(late, [8], "what was sent while frozen arrives");
}

#[test]
fn a_black_hole_swallows_old_and_new_connections() {
    let proxy = Proxy::start(echo(1)).unwrap();
    let mut old = connect(&proxy);
    ask(&mut old, 1).unwrap();
    proxy.black_hole();
    let mut new = connect(&proxy);
    assert!(is_silent(&mut old, 1) && is_silent(&mut new, 1));
    proxy.new_connections(NewConnections::Forward);
    assert_eq!(ask(&mut connect(&proxy), 1).unwrap(), 2);
    assert!(is_silent(&mut old, 1) && is_silent(&mut new, 1), "new connections alone work again");
}

#[test]
fn a_cut_resets_every_connection_even_a_frozen_one() {
    let proxy = Proxy::start(echo(1)).unwrap();
    let mut plain = connect(&proxy);
    let mut frozen = connect(&proxy);
    ask(&mut plain, 1).unwrap();
    ask(&mut frozen, 1).unwrap();
    proxy.freeze();
    assert!(is_silent(&mut frozen, 1));
    proxy.new_connections(NewConnections::BlackHole);
    let mut swallowed = connect(&proxy);
    until("the connection is accepted", || proxy.open() == 3);
    proxy.cut();
    for stream in [&mut plain, &mut frozen, &mut swallowed] {
        let ended = stream.read(&mut [0]).unwrap_err();
        assert_eq!(ended.kind(), ErrorKind::ConnectionReset);
    }
    assert_eq!(proxy.open(), 0);
}

#[test]
fn refused_connections_find_no_listener_and_open_ones_stay() {
    let proxy = Proxy::start(echo(1)).unwrap();
    let mut open = connect(&proxy);
    ask(&mut open, 1).unwrap();
    for _ in 0..3 {
        proxy.new_connections(NewConnections::Refuse);
        let refused = TcpStream::connect(proxy.address()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        assert_eq!(ask(&mut open, 1).unwrap(), 2);
        proxy.new_connections(NewConnections::Forward);
        assert_eq!(ask(&mut connect(&proxy), 1).unwrap(), 2);
    }
}

#[test]
fn a_proxy_that_is_dropped_leaves_nothing_open() {
    let proxy = Proxy::start(echo(1)).unwrap();
    let address = proxy.address();
    let mut stream = connect(&proxy);
    ask(&mut stream, 1).unwrap();
    drop(proxy);
    assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn an_answer_is_lost_and_its_connection_cut_as_often_as_asked() {
    let proxy = Proxy::start(echo(1)).unwrap();
    for lost in [LostAnswer::To(&[7]), LostAnswer::With(&[8])] {
        proxy.lose_answers(lost, 2);
        for left in [1, 0] {
            let mut stream = connect(&proxy);
            assert_eq!(ask(&mut stream, 1).unwrap(), 2, "others arrive");
            assert!(ask(&mut stream, 7).is_err(), "{lost:?}");
            assert_eq!(proxy.answers_to_lose(), left);
        }
        assert_eq!(ask(&mut connect(&proxy), 7).unwrap(), 8, "and then no more");
    }
}
