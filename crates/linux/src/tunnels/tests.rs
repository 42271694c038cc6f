use super::*;
use sojourn_language::{AnyWords, Experiment};
use sojourn_units::{Dscp, Ecn};

fn scenario(tunnels: &str) -> Scenario {
    let text = format!(
        "[experiment]\nname = \"t\"\nduration = \"9s\"\n[[hop]]\nname = \"h\"\nrate = \"1mbit\"\nrtt = \"1ms\"\n\
         qdisc = \"pfifo limit 9\"\nby = \"sojourn\"\n[[hop]]\nname = \"g\"\nrate = \"1mbit\"\nrtt = \"1ms\"\n\
         qdisc = \"pfifo limit 9\"\nby = \"sojourn\"\n{tunnels}\
         [[flow]]\nname = \"a\"\ncc = \"cubic\"\n[[flow]]\nname = \"b\"\ncc = \"reno\"\ndirection = \"up\"\n"
    );
    let experiment = Experiment::parse("t.toml", &text).unwrap();
    experiment.plan(&AnyWords, 10).unwrap().into_scenarios().remove(0)
}

fn tunnel(kind: &str, more: &str) -> String {
    format!(
        "[[tunnel]]\nname = \"vpn\"\nkind = \"{kind}\"\nby = \"kernel\"\nflows = [\"a\", \"b\"]\n{more}"
    )
}

/// The tunnel of this kind, alone.
fn one(kind: &str, more: &str) -> Vec<Tunnel> {
    of(&scenario(&tunnel(kind, more)))
}

#[test]
fn a_tunnel_by_a_kernel_is_none_of_the_simulators() {
    let s = scenario(&format!(
        "{}[[tunnel]]\nname = \"own\"\nkind = \"fou\"\n",
        tunnel("esp", "replay_window = 64\n")
    ));
    let tunnels = of(&s);
    let [vpn] = &tunnels[..] else { panic!("{tunnels:?}") };
    assert_eq!((vpn.name.as_str(), vpn.number, vpn.replay_window), ("vpn", 0, 64));
    assert_eq!(vpn.exits, ["g.down.vpn-exit", "h.up.vpn-exit"]);
    assert_eq!((vpn.entrance.as_str(), vpn.spans_all), ("h.down.vpn", true));
    let inside: Vec<&str> = vpn.flows.iter().map(|&flow| s.flows[flow].name.as_str()).collect();
    assert_eq!(inside, ["a", "b"]);
    let names: Vec<String> = without(&s).elements().map(|(_, e)| e.name.clone()).collect();
    assert!(!names.iter().any(|name| name.starts_with("vpn")), "{names:?}");
    assert_eq!(names.iter().filter(|name| name.starts_with("own")).count(), 4);
    // Over the first hop alone.
    assert!(!one("esp", "hops = [\"h\"]\n")[0].spans_all);
}

#[test]
fn flows_inside_have_addresses_of_their_own() {
    let tunnels = one("esp", "");
    let [down, up] = [tunnels[0].flows[0], tunnels[0].flows[1]];
    let of = |flow, direction| addresses(&tunnels, flow, direction);
    let ends = ("10.7.0.1".to_owned(), "10.7.0.2".to_owned());
    assert_eq!(of(down, Direction::Down), Some(ends.clone()));
    assert_eq!(of(up, Direction::Up), Some((ends.1, ends.0)));
    assert_eq!(of(99, Direction::Down), None);
}

/// The words of `ip` for ESP at the server: packets to the client have the first index and no window, those from it the second.
#[test]
fn esp_is_two_associations_and_two_policies() {
    let orders = orders(&one("esp", "replay_window = 64\n"), true, "c");
    let words: Vec<&str> = orders
        .iter()
        .filter_map(|order| if let Order::Ip(words) = order { Some(words.as_str()) } else { None })
        .collect();
    for expected in [
        "addr add 10.8.0.1/24 dev c",
        "neigh add 10.8.0.2 lladdr 02:00:00:00:00:02 nud permanent dev c",
        "xfrm state add src 10.8.0.1 dst 10.8.0.2 proto esp spi 0x1000 reqid 4096 mode tunnel replay-window 0 \
         aead rfc4543(gcm(aes)) 0x736f6a6f75726e3a206b6579206f66206553502e 128",
        "xfrm state add src 10.8.0.2 dst 10.8.0.1 proto esp spi 0x1001 reqid 4097 mode tunnel replay-window 64 \
         aead rfc4543(gcm(aes)) 0x736f6a6f75726e3a206b6579206f66206553502e 128",
        "xfrm policy add src 10.7.0.0/24 dst 10.7.0.0/24 dir out tmpl src 10.8.0.1 dst 10.8.0.2 proto esp \
         reqid 4096 mode tunnel",
        "xfrm policy add src 10.7.0.0/24 dst 10.7.0.0/24 dir in tmpl src 10.8.0.2 dst 10.8.0.1 proto esp \
         reqid 4097 mode tunnel",
        "route add 10.7.0.2/32 dev c src 10.7.0.1 mtu 1500",
    ] {
        assert!(words.contains(&expected), "{expected}: {words:#?}");
    }
    let exit = "h.up.vpn-exit".to_owned();
    assert!(orders.contains(&Order::Counters { to: "10.8.0.1".to_owned(), index: 0x1001, exit }));
}

#[test]
fn fou_and_wireguard_are_devices() {
    let ip = |words: &str| Order::Ip(words.to_owned());
    let fou = |more: &str| orders(&one("fou", more), false, "s");
    let device =
        "link add tunnel0 type ipip local 10.8.0.2 remote 10.8.0.1 ttl 64 encap fou encap-sport";
    assert_eq!(fou("")[0], ip("fou add port 5555 ipproto 4"));
    assert!(fou("").contains(&ip(&format!("{device} 5555 encap-dport 5555"))));
    let auto = fou("auto_source_port = true\n");
    assert!(auto.contains(&ip(&format!("{device} auto encap-dport 5555"))));
    assert!(auto.contains(&ip("addr add 10.7.0.2/24 dev tunnel0")));
    let wireguard = orders(&one("wireguard", ""), true, "c");
    let set = "set tunnel0 listen-port 51820 private-key /run/tunnel0 peer \
               wI0tj9k5HSwfPgwte07loSKGXrsUWTo0RVu6Yr5yZyY= allowed-ips 10.7.0.0/24 endpoint 10.8.0.2:51820";
    assert!(wireguard.contains(&Order::Wg(set.to_owned())), "{wireguard:#?}");
}

/// An IPv4 packet of this protocol between these addresses.
fn packet(protocol: u8, tos: u8, ends: [[u8; 4]; 2], payload: &[u8]) -> Vec<u8> {
    let length = (20 + payload.len()) as u16;
    let mut bytes =
        vec![0x45, tos, (length >> 8) as u8, length as u8, 0, 7, 0, 0, 64, protocol, 0, 0];
    bytes.extend(ends.concat());
    bytes.extend(payload);
    bytes
}

fn frame(packet: &[u8]) -> Frame {
    Frame::new([&[0; 12][..], &[8, 0], packet].concat())
}

/// UDP of these ports; checksums are not read.
fn udp(from: u16, to: u16, payload: &[u8]) -> Vec<u8> {
    let length = (8 + payload.len()) as u16;
    let words = [from, to, length, 0].map(u16::to_be_bytes);
    [&words.concat(), payload].concat()
}

const DOWN: [[u8; 4]; 2] = [[10, 8, 0, 1], [10, 8, 0, 2]];
const UP: [[u8; 4]; 2] = [[10, 8, 0, 2], [10, 8, 0, 1]];

/// A datagram of 5 bytes inside, Not-ECT, in outer headers with CE.
fn inner() -> Vec<u8> {
    packet(17, 0x02, [[10, 7, 0, 1], [10, 7, 0, 2]], &udp(40_001, 5_001, &[1, 2, 3, 4, 5]))
}

#[test]
fn the_packet_in_esp_is_read_behind_16_bytes() {
    let esp = [&[0, 0, 0x10, 0, 0, 0, 0, 9][..], &[0xaa; 8], &inner(), &[1, 1, 4], &[0xcc; 16]];
    let whole = frame(&packet(50, 0x03, DOWN, &esp.concat()));
    let tunnels = one("esp", "");
    let outer = read(&whole, &tunnels).unwrap();
    assert!(outer.from_server && outer.tunnel.name == "vpn");
    let Inside::Packet(found) = outer.inside else { panic!("{:?}", outer.inside) };
    assert_eq!((found.ports(), found.l4_len()), (Some([40_001, 5_001]), 13));
    // Queues see the outer headers: ECN, and an index in place of ports.
    assert_eq!((whole.ecn(), whole.dscp(), found.ecn()), (Ecn::Ce, Dscp::BEST_EFFORT, Ecn::Ect0));
    assert_eq!(whole.security_parameters_index(), Some(0x1000));
    let other = [&[0, 0, 0x10, 1][..], &esp.concat()[4..]].concat();
    assert_ne!(whole.flow_key(), frame(&packet(50, 3, DOWN, &other)).flow_key());
    let later = [&[0, 0, 0x10, 0, 0, 0, 0, 10][..], &esp.concat()[8..]].concat();
    assert_eq!(whole.flow_key(), frame(&packet(50, 2, DOWN, &later)).flow_key());
}

#[test]
fn the_packet_in_fou_is_read_behind_udp() {
    let whole = |source| frame(&packet(17, 0x02, UP, &udp(source, 5555, &inner())));
    let tunnels = one("fou", "");
    let (fixed, auto) = (whole(5555), whole(40_000));
    let outer = read(&fixed, &tunnels).unwrap();
    assert!(!outer.from_server);
    let Inside::Packet(found) = outer.inside else { panic!("{:?}", outer.inside) };
    assert_eq!((found.ports(), found.l4_len()), (Some([40_001, 5_001]), 13));
    // `encap-sport auto` gives queues the flows back.
    assert_ne!(fixed.flow_key(), auto.flow_key());
}

/// The whitepaper's §5.4.6: type 4, the receiver's index, a counter of 8 bytes, the packet padded to 16, and 16 bytes.
#[test]
fn of_wireguard_the_counter_and_the_length_are_read() {
    let data = |payload: usize| {
        let head = [4, 0, 0, 0, 9, 9, 9, 9, 0x02, 0x01, 0, 0, 0, 0, 0, 0];
        [&head[..], &vec![0; payload + 16]].concat()
    };
    let tunnels = one("wireguard", "");
    let of = |message: &[u8]| {
        let whole = frame(&packet(17, 0x02, DOWN, &udp(51_820, 51_820, message)));
        read(&whole, &tunnels).unwrap().inside
    };
    assert_eq!(of(&data(64)), Inside::Encrypted { counter: 0x102, length: 64 });
    // A keepalive, and a handshake's first message of 148 bytes.
    assert_eq!(of(&data(0)), Inside::Own);
    assert_eq!(of(&[&[1, 0, 0, 0][..], &[0; 144]].concat()), Inside::Own);
}

#[test]
fn other_frames_are_of_no_tunnel() {
    let tunnels = one("fou", "");
    let fou = udp(5555, 5555, &inner());
    for (protocol, ends, payload) in [
        (17, [[10, 9, 9, 1], [10, 9, 9, 2]], &fou[..]),
        (17, [[10, 8, 1, 1], [10, 8, 1, 2]], &fou),
        (17, [[10, 8, 0, 1], [10, 8, 0, 1]], &fou),
        (17, DOWN, &fou[..20]),
        (50, DOWN, &fou),
    ] {
        let whole = frame(&packet(protocol, 0, ends, payload));
        assert_eq!(read(&whole, &tunnels), None, "{protocol} {ends:?}");
    }
    assert_eq!(read(&Frame::new(vec![0; 60]), &tunnels), None);
}

/// A guest may send anything.
#[test]
fn any_bytes_are_a_frame_of_a_tunnel_or_none() {
    let mut random = sojourn_units::Random::named(1, "tunnels");
    let esp = [&[0; 16][..], &inner(), &[0; 20]].concat();
    let message = udp(51_820, 51_820, &[&[4; 16][..], &[0; 40]].concat());
    for (kind, protocol, payload) in
        [("esp", 50, esp), ("fou", 17, udp(5555, 5555, &inner())), ("wireguard", 17, message)]
    {
        let tunnels = one(kind, "");
        let whole = frame(&packet(protocol, 0, DOWN, &payload)).into_bytes();
        for _ in 0..20_000 {
            let mut bytes = whole.clone();
            for _ in 0..random.below(4) {
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] = random.below(256) as u8;
            }
            bytes.truncate(random.below(bytes.len() as u64 + 1) as usize);
            let _ = read(&Frame::new(bytes), &tunnels);
        }
    }
}
