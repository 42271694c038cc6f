//! The reference pages in `docs/` are what the tables say that the parser, the metrics and the recorder use.
//! `UPDATE_DOCS=1 cargo test -p sojourn-language --test reference` writes them anew.

use sojourn_results::metrics;
use sojourn_results::schema;
use std::path::PathBuf;

fn check(page: &str, text: &str) {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "docs", page].iter().collect();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, text).expect("docs/ can be written");
        return;
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == text,
        "docs/{page} is not what the tables say; write it anew with \
         UPDATE_DOCS=1 cargo test -p sojourn-language --test reference"
    );
}

/// What values can say besides themselves. What it shows is run by tests of the language and of its words.
const VALUES: &str = r#"## Values

Times, rates and sizes are written as tc writes them, and always with a unit: `20ms`, `50mbit`, `64k`. In tc, `bps` means
bytes a second. Outside tc's own words `50mbps` is therefore refused, and the message asks which of `50mbit` and `400mbit`
is meant. Capitals do not matter in the names of disciplines, congestion controls and stacks: `BBR` is `bbr`.

### Multiples of the bandwidth-delay product

`limit 0.2bdp` in the words of a hop's `qdisc` or `netem`, and `burst = "2bdp"`, stand for a multiple of the BDP: the rate of
that side of the hop times the hop's base RTT. Where an option takes packets, it is a number of full frames of 1514 bytes,
rounded, and at least one. Where it takes bytes, it is bytes. Of a policer it is the policer's own rate.

In an event (`change`, `replace`, `netem`) it is of the hop as its table says, with the `rate` and `rtt` that the same event
sets; what other events did does not count. A flow's `bytes = "2bdp"` and `receive_window = "4bdp"` are of its path: the
lowest rate that its data meets, times its own `rtt`, or the sum of its hops'.

### Expressions

`${...}` in any text is a value of `[let]`, or arithmetic: `+ - * /`, parentheses, `min`, `max` and `round`. Units are
checked: a rate times a time is a size, a size over a time is a rate, and only what is alike adds up. A name in it is one
of `[let]`, or a setting in the same table or in one around it, or a path from the top of the file.

```toml
[let]
frame = "1514b"

[[hop]]
name  = "bottleneck"
rate  = "50mbit"
rtt   = "20ms"
qdisc = "pfifo limit ${round(rate * rtt * 0.2 / frame)}"
```

Names in arithmetic have letters, digits and `_`; a name of `[let]` with `-` in it can only stand alone.

### Sweeps

An axis may be one setting between two ends. `log 10` makes ten values, each a factor apart, rounded to three digits;
`step 10ms` makes as many as there are steps. The labels are the values.

```toml
[axis.rate]
hop.bottleneck.rate = "1mbit..1gbit log 10"

[axis.rtt]
hop.bottleneck.rtt = "10ms..100ms step 10ms"
```

### Searches

`[search]` says what `sojourn search` may vary, for what, and what tells findings apart ([search.md](search.md)). Nothing else reads
it: `sojourn run` runs the file as it is.

### Server and client

Every path has a server at one end and a client at the other, as anybody's line has. `down` is the way of a download, from the
server to the client; `up` is the way of an upload. A flow is a download unless it says `direction = "up"`: the server sends its
data `down`, and the client's acknowledgements go `up`. A probe's requests go the way of its `direction`, and the answers come
back. The suites call the way of the data `down`, whichever program sent it: in their testbeds it was mostly netperf's client.

### Warnings

Some things are legal and may not be what was meant. They run, and are said once, with their place: a bare number in tc's
words (`target 5` is 5 us), `bps` there, a hop's `rate` beside `cake bandwidth`, Prague with `ecn = "off"`, a base RTT of 0, a
receive window below the BDP. They are stored with the runs, and shown in reports and by `--json`.
"#;

#[test]
fn the_language() {
    // The example is the suite's own file, so that it is known to run.
    let example = include_str!("../../../python/sojourn/suites/l4s-tests/s2.toml");
    let text = format!(
        "# The experiment language\n\nAn experiment is one TOML file: what is common, what varies, what is measured. \
         Every error names the line and what would be right; `sojourn schema` prints a JSON Schema for editors. \
         For example:\n\n```toml\n{example}```\n\n{VALUES}\n## Every key\n\nFrom the table that the parser uses.\n\n{}",
        sojourn_language::reference()
    );
    check("language.md", &text);
    let few = metrics::FEW;
    assert!(text.contains(&format!("in runs of up to {few} flows")), "the key `delays`");
}

/// What is said after a run, for the page of metrics.
const REMARKS: &str = "## What numbers hide

After a run Sojourn says what its numbers hide. `run`, `table`, `try`, reports and `--json` show it (`remarks`); it is stored
with the run.

- **A flow is limited by something else than queue and congestion control** for a tenth of the window or more: by its receive
  window, by its send buffer, by the `app_rate` or the `max_pacing_rate` that it was given. Flows that such a limit holds
  can share exactly alike, and that says nothing about fairness. The remark names the setting and a value that would do: of a
  receive window the BDP of the path and what the buffer holds. What limits some flow for 5 % of the window has a column in tables.
- **Rates swing more slowly than the window can see.** Of each TCP flow that always has something to send the goodput is
  averaged over fiftieths of the window, from when all flows have started until the first ends. It swings if the standard
  deviation of these means is 0.2 of their mean or more. Its period is twice the mean time between crossings of the mean; a crossing
  counts when it leads half a standard deviation beyond. If the window holds fewer than two periods, that is said, with a length
  that would do. Two flows that alternate can have a Jain's index of 1.000 over one turn.

## Metrics and quantities
";

#[test]
fn the_metrics() {
    let text = format!(
        "# Metrics\n\nA metric is asked for in an experiment's checks, by `sojourn table`, and by `Run.metric` in Python. There is one \
         implementation of each.\n\n## Where a metric looks\n\nBehind an expression stands where to measure: `over last 60s before 1s`, `over all`, `over NAME` for a \
         window, `during NAME` for a phase. Without that every metric looks in the same default window. It is the window that the \
         experiment calls `steady`. Without one it is the last third of the run, up to one second before the last sample; in \
         runs shorter than ten seconds, up to a tenth of the run before it. Of a flow that ends \
         before the run does, it is as long, up to one second before its own last sample; of one that ends before so much has passed it is all of the flow. Tables, checks, CSV, JSON and reports say beside each number \
         where it was measured; figures over time shade it.\n\nThe column \"looks at\" says which metrics are of the whole run by their nature, \
         as is `packet_rtt`; they take no window.\n\nA row of a table stands for the sample interval that ends at its time. It belongs to a window \
         that it ends in. So a window that begins between two samples begins at the last one before. `utilisation` takes bytes and capacity of the same \
         whole sample intervals: a link that never rests is used by 1 in every window. It counts bytes with their Ethernet header. A link that \
         adds framing of its own, such as cake's `overhead`, is full below 1, by the share of that framing. `goodput` counts of a sample \
         interval the part that lies in the window. \
         A window that reaches beyond the run is refused. Of a phase, what was before the run's end counts.\n\n\
         Quantities of every packet are `sojourn`, `packet_owd` and `pdv`; `packet_rtt` is one of the whole run alone. Their \
         distributions are kept for the windows that are known before the run: `[[window]]`, `[[phase]]`, those of the file's checks, and the default. In another window they have no \
         value. Those of queues are always kept. Those of single flows are kept in runs of up to {few} flows; in larger runs, of flows \
         that say `delays = true` or whose delays a check asks for. With `sojourn` a flow may stand alone or `at` \
         a queue: `p99(sojourn.l, prague at bottleneck.down.qdisc) over steady`.\n\n\
         In `sojourn table`, `compare`, `plot` and Python, `{{flow}}` stands for each flow that carries data and `{{queue}}` for the \
         bottleneck: the slowest queue on the way of the data. That is the way of the flows of TCP without end or, where there are \
         none, of all flows but probes; if these go both ways, it is `down`. Where data passes several queues, results say which \
         one it is. The usual summary has every queue that matters, in both directions: those in which at least one packet in a \
         thousand waited longer than 1 ms, was dropped or was marked. The one that packets wait longest in stands first.\n\n{REMARKS}\n{}",
        metrics::reference(),
        few = metrics::FEW,
    );
    check("metrics.md", &text);
}

#[test]
fn the_results() {
    let tables: Vec<String> = schema::ALL.iter().map(|s| s.markdown()).collect();
    let text = format!(
        "# Result tables\n\nWhat a run gives, table by table. In a results folder each is a Parquet file of its \
         name; in Python a Polars frame.\n\n{}",
        tables.join("\n")
    );
    check("results.md", &text);
    assert!(
        text.contains(&format!("in runs of more than {} those that say", metrics::FEW)),
        "delays"
    );
}
