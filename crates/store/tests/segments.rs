//! Runs of the simulator, stored and read back.

use proptest::prelude::*;
use sojourn_engine::Engine as _;
use sojourn_language::{AnyWords, Experiment};
use sojourn_results::Run;
use sojourn_results::metrics::{Expression, Frame};
use sojourn_store::answers::{Shapes, View};
use sojourn_store::folder::MANY;
use sojourn_store::{About, Answers, Reader, Segments, Stored, Writer, tables};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

fn run(seed: u64) -> Run {
    let mut scenario = two_flows();
    scenario.seed = seed;
    sojourn_sim::Sim::default().run(&Arc::new(scenario), &()).unwrap()
}

/// Two CUBIC flows through fq_codel for two seconds: the run that the benchmark of campaigns repeats.
fn two_flows() -> sojourn_model::Scenario {
    let file = r#"
[experiment]
name = "two"
duration = "2s"
[[hop]]
name = "bottleneck"
rate = "50mbit"
rtt = "20ms"
qdisc = "fq_codel"
[[flow]]
name = "one"
cc = "cubic"
[[flow]]
name = "two"
cc = "cubic"
[[check]]
that = "jain(goodput) > 0.5"
"#;
    let experiment = Experiment::parse("two.toml", file).unwrap();
    experiment.plan(&AnyWords, 9).unwrap().into_scenarios().remove(0)
}

fn stored(run: &Run) -> Stored {
    sojourn_store::record::stored(run, "1", &About::default(), Some(&Answers::of(run)))
}

/// A path in a folder of its own, removed at the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("sojourn-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn file(&self) -> PathBuf {
        self.0.join("a.runs")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn digests(run: &[sojourn_results::Table]) -> Vec<(&'static str, String)> {
    run.iter().map(|table| (table.schema().name, table.digest())).collect()
}

#[test]
fn runs_come_back_to_the_bit() {
    let place = Place::new("back");
    let mut writer = Writer::create(&place.file()).unwrap();
    let runs: Vec<Run> = (1..=3).map(run).collect();
    for run in &runs {
        writer.put(&stored(run)).unwrap();
    }
    let open = Reader::open(&place.file()).unwrap();
    assert!(!open.is_closed());
    assert_eq!(open.entries(), writer.entries());
    writer.close().unwrap();
    let closed = Reader::open(&place.file()).unwrap();
    assert!(closed.is_closed());
    assert_eq!(closed.verify(), []);
    let shapes = Shapes::default();
    for reader in [&open, &closed] {
        for (entry, run) in reader.entries().iter().zip(&runs) {
            assert_eq!(reader.read().stored(entry).unwrap().head, stored(run).head);
            let found = tables::decode(&reader.read().tables(entry).unwrap(), &|_| true).unwrap();
            assert_eq!(digests(&found), digests(&run.tables));
            let packed = reader.read().answers(entry).unwrap().unwrap();
            let (view, own) = (shapes.view(packed).unwrap(), Answers::of(run));
            for answer in &own.metrics {
                let (value, windows) = view.get(&answer.metric).unwrap();
                assert_eq!((value.to_bits(), &windows), (answer.value.to_bits(), &answer.windows));
            }
            assert!(view.metrics().eq(own.metrics.iter().map(|answer| answer.metric.as_str())));
            assert_eq!(view.window(), own.window);
            let facts = own.queues.iter();
            assert!(
                view.queues().eq(facts.map(|q| (
                    q.path.as_str(),
                    [q.came, q.signalled, q.left, q.waited, q.total_s]
                )))
            );
            assert_eq!(view.checks().unwrap(), own.checks);
            assert_eq!(view.remarks().unwrap(), own.remarks);
        }
    }
}

#[test]
fn an_answer_is_the_value_from_the_stored_tables_bit_by_bit() {
    let fresh = run(5);
    let answers = Answers::of(&fresh);
    let view = View::of(&answers);
    assert!(view.get("goodput(one)").is_some() && view.get("no metric").is_none());
    assert!(answers.metrics.len() > 10, "{}", answers.metrics.len());
    let bytes = tables::encode(fresh.tables.iter());
    let again = Run { tables: tables::decode(&bytes, &|_| true).unwrap(), ..fresh };
    let frame = Frame::new(&again);
    for answer in &answers.metrics {
        let value = Expression::parse(&answer.metric).unwrap().evaluate(&frame);
        let value = value.map_or(f64::NAN, |verdict| verdict.value.number);
        assert_eq!(value.to_bits(), answer.value.to_bits(), "{}", answer.metric);
    }
}

#[test]
fn a_killed_writer_loses_no_finished_run() {
    let place = Place::new("killed");
    let mut writer = Writer::create(&place.file()).unwrap();
    let mut ends = Vec::new();
    for seed in 1..=3 {
        writer.put(&stored(&run(seed))).unwrap();
        ends.push(writer.bytes());
    }
    drop(writer);
    let whole = fs::read(place.file()).unwrap();
    // A kill leaves any prefix of what was written.
    for cut in (0..40).chain((40..=whole.len()).step_by(97)).chain([whole.len()]) {
        fs::write(place.file(), &whole[..cut]).unwrap();
        let finished = ends.iter().filter(|&&end| end <= cut as u64).count();
        assert_eq!(Reader::open(&place.file()).unwrap().entries().len(), finished, "cut at {cut}");
        // The next command goes on without repair.
        let next = Segments::open_to_add(&place.0).unwrap();
        assert_eq!((next.names().len(), next.faults().len()), (finished, 0), "cut at {cut}");
        assert_eq!(next.verify(), [], "cut at {cut}");
    }
    fs::write(place.file(), &whole[..whole.len() - 10]).unwrap();
    let mut writer = Writer::recover(&place.file()).unwrap();
    assert_eq!(writer.entries().len(), 2);
    writer.put(&stored(&run(4))).unwrap();
    writer.close().unwrap();
    let reader = Reader::open(&place.file()).unwrap();
    assert_eq!(reader.verify(), []);
    let names: Vec<&str> = reader.entries().iter().map(|entry| entry.name.as_str()).collect();
    let seeds: Vec<&str> = names.iter().filter_map(|name| name.split('-').next()).collect();
    assert_eq!(seeds, ["two_1", "two_2", "two_4"]);
}

#[test]
fn other_files_are_no_segments() {
    let place = Place::new("other");
    fs::write(place.file(), b"something else").unwrap();
    let error = Reader::open(&place.file()).unwrap_err().to_string();
    assert!(error.ends_with("is not a segment that this version reads"), "{error}");
    let mut newer = sojourn_store::segment::HEADER;
    newer[15] = 2;
    fs::write(place.file(), newer).unwrap();
    assert!(Reader::open(&place.file()).is_err());
    fs::remove_file(place.file()).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", place.file()).unwrap();
    assert!(Reader::open(&place.file()).is_err());
}

#[test]
fn many_small_segments_become_one() {
    let place = Place::new("many");
    let add = |seed| {
        let segments = Segments::open_to_add(&place.0).unwrap();
        segments.append(&stored(&run(seed))).unwrap();
        segments.close().unwrap();
        segments.files().unwrap().len()
    };
    let files: Vec<usize> = (1..=MANY as u64 + 2).map(add).collect();
    assert_eq!(files[MANY - 1], MANY);
    assert_eq!(files[MANY..], [2, 3]);
    let segments = Segments::open(&place.0).unwrap();
    assert_eq!(segments.names().len(), MANY + 2);
    assert_eq!(segments.verify(), []);
}

#[test]
fn a_segment_without_runs_leaves_no_file() {
    let place = Place::new("empty");
    Writer::create(&place.file()).unwrap().close().unwrap();
    assert!(!place.file().exists());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_flipped_bit_never_goes_unnoticed(at in any::<prop::sample::Index>(), bit in 0_u8..8, close: bool) {
        let place = Place::new("flip");
        let mut writer = Writer::create(&place.file()).unwrap();
        let original = [stored(&run(1)), stored(&run(2))];
        for own in &original {
            writer.put(own).unwrap();
        }
        if close {
            writer.close().unwrap();
        }
        let mut bytes = fs::read(place.file()).unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        fs::write(place.file(), &bytes).unwrap();
        let read = Reader::open(&place.file()).and_then(|reader| {
            reader.entries().iter().map(|entry| reader.read().stored(entry)).collect::<Result<Vec<_>, _>>()
        });
        if close && let Ok(reader) = Reader::open(&place.file()) {
            prop_assert!(!reader.verify().is_empty() || reader.entries().len() < 2 || !reader.is_closed());
        }
        // A flip in the footer, or in a length of an open segment, looks like a torn tail: then runs may be missing, and
        // whoever counts notices; none may be different.
        for own in read.into_iter().flatten() {
            let same = original.iter().find(|o| o.name == own.name).unwrap();
            prop_assert_eq!(&own.head, &same.head);
            prop_assert_eq!(&own.tables, &same.tables);
            prop_assert_eq!(format!("{:?}", own.answers), format!("{:?}", same.answers));
        }
    }
}

/// Prints sizes and times; run with `--ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
#[allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "it measures time and prints it"
)]
fn what_a_run_costs() {
    let place = Place::new("cost");
    let mut writer = Writer::create(&place.file()).unwrap();
    let runs: Vec<Run> = (1..=50).map(run).collect();
    let clock = std::time::Instant::now();
    let own: Vec<Answers> = runs.iter().map(Answers::of).collect();
    println!("answers: {} metrics, {:?} a run", own[0].metrics.len(), clock.elapsed() / 50);
    let clock = std::time::Instant::now();
    let bytes: Vec<_> = runs.iter().map(|r| tables::encode(r.tables.iter())).collect();
    println!("encode: {:?} a run, {} bytes", clock.elapsed() / 50, bytes[0].len());
    let clock2 = std::time::Instant::now();
    let decoded =
        bytes.iter().map(|own| tables::decode(own, &|_| true).unwrap().len()).sum::<usize>();
    println!("decode: {:?} a run, {} tables", clock2.elapsed() / 50, decoded / 50);
    let own: Vec<Stored> = runs.iter().map(stored).collect();
    let clock = std::time::Instant::now();
    for own in &own {
        writer.put(own).unwrap();
    }
    println!("append: {:?} a run, {} bytes a run", clock.elapsed() / 50, writer.bytes() / 50);
    let entry = &writer.entries()[20];
    println!("of these: {entry:?}");
}
