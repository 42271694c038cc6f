use super::*;
use pcap_file::pcap::PcapReader;
use sojourn_model::example::scenario as example;

/// A folder that goes when it is dropped.
pub(crate) struct Scratch(pub PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("sojourn-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn capture(&self, snap_len: u32) -> Capture {
        Capture { folder: self.0.clone(), snap_len }
    }

    /// The names in it, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// By the format's own text: the magic of nanoseconds, version 2.4, two zeros, snap length, Ethernet; then for each
/// packet seconds, nanoseconds, kept, whole. All little-endian.
#[test]
fn the_bytes_are_those_of_the_format() {
    let scratch = Scratch::new("pcap-bytes");
    let mut file = PcapFile::create(&scratch.capture(4), &Point::Server).unwrap();
    file.write(Duration::new(EPOCH + 1, 7), 1514, &[1, 2, 3, 4, 5, 6]).unwrap();
    file.write(Duration::new(EPOCH + 2, 999_999_999), 3, &[9; 6]).unwrap();
    file.finish().unwrap();
    let words = |ws: &[u32]| -> Vec<u8> { ws.iter().flat_map(|w| w.to_le_bytes()).collect() };
    let expected = [
        words(&[0xa1b2_3c4d, 0x0004_0002, 0, 0, 4, 1]),
        words(&[946_684_801, 7, 4, 1514]),
        vec![1, 2, 3, 4],
        words(&[946_684_802, 999_999_999, 3, 3]),
        vec![9; 3],
    ];
    assert_eq!(fs::read(scratch.0.join("server.pcap")).unwrap(), expected.concat());
    let read = PcapReader::new(File::open(scratch.0.join("server.pcap")).unwrap()).unwrap();
    assert_eq!(read.header().ts_resolution, TsResolution::NanoSecond);
}

#[test]
fn a_file_has_its_name_once_it_is_whole_and_leaves_nothing_otherwise() {
    let scratch = Scratch::new("pcap-whole");
    let point = Point::Left("a hop/1".to_owned());
    let file = PcapFile::create(&scratch.capture(128), &point).unwrap();
    assert_eq!(scratch.files(), [".unfinished-a_hop_1.left.pcap"]);
    file.finish().unwrap();
    assert_eq!(scratch.files(), ["a_hop_1.left.pcap"]);
    drop(PcapFile::create(&scratch.capture(128), &Point::Client).unwrap());
    assert_eq!(scratch.files(), ["a_hop_1.left.pcap"]);
}

#[test]
fn what_cannot_be_written_is_named() {
    let capture = Capture { folder: "/nowhere/at/all".into(), snap_len: 128 };
    let error = PcapFile::create(&capture, &Point::Client).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("the capture /nowhere/at/all/client.pcap cannot be written: "),
        "{text}"
    );
}

#[test]
fn the_points_of_a_scenario_go_from_server_to_client() {
    let scenario = example();
    let names: Vec<_> = Point::all(&scenario).iter().map(Point::file_name).collect();
    assert_eq!(names.first().unwrap(), "server.pcap");
    assert_eq!(names.last().unwrap(), "client.pcap");
    for hop in &scenario.hops {
        let left = names.iter().position(|n| *n == format!("{}.left.pcap", hop.name));
        assert!(left.is_none_or(|i| names[i + 1] == format!("{}.right.pcap", hop.name)));
    }
    assert!(names.len() > 2, "the example has a queue");
}

#[test]
fn the_origin_is_the_epoch() {
    let mut scenario = example();
    scenario.warmup = sojourn_units::Span::from_secs(5);
    assert_eq!(stamp(&scenario, Time::from_secs(5)), Duration::from_secs(EPOCH));
    assert_eq!(stamp(&scenario, Time::ZERO), Duration::from_secs(EPOCH - 5));
}
