//! The tables of docs/congestion-controls.md are what the controls and stacks say of themselves.
//! `UPDATE_DOCS=1 cargo test -p sojourn-sim --profile checked --test runs controls_page` writes them anew.

use sojourn_stacks::{DEFAULT, STACKS, Stack};
use sojourn_transport::cc::{CongestionControl, Registry};
use sojourn_transport::ecn::Request;
use std::fmt::Write as _;
use std::path::PathBuf;

const BEGIN: &str = "<!-- from the tables of the code: -->\n";
const END: &str = "<!-- end of the tables -->";

fn controls() -> String {
    let mut text = String::from(
        "| control | what | source | asks for | data is | also ECN-capable | the receiver echoes |\n\
         |---|---|---|---|---|---|---|\n",
    );
    let stack = Stack::named(DEFAULT).expect("it is there");
    for info in Registry::built_in().infos() {
        let needs = Registry::built_in().build(info.name, &stack.tcp).expect("it is there").ecn();
        let asks = match needs.request {
            Request::Off => "as the stack",
            Request::Rfc3168 => "RFC 3168",
            Request::AccEcn => "AccECN",
        };
        let also = match (needs.on_all, needs.on_syn) {
            (false, false) => "with AccECN: ACKs, retransmissions",
            (true, false) => "ACKs, retransmissions",
            (_, true) => "SYN, ACKs, retransmissions",
        };
        let echoes = match (needs.exact_echo, needs.echo_sce) {
            (true, _) => "each mark (RFC 8257 §3.2)",
            (_, true) => "CE, and SCE by ESCE",
            _ => "as agreed",
        };
        let (name, what, source) = (info.name, info.summary, info.source);
        writeln!(
            text,
            "| `{name}` | {what} | {source} | {asks} | {} | {also} | {echoes} |",
            needs.codepoint
        )
        .expect("text");
    }
    text
}

fn numbers() -> String {
    let mut text = String::from("| control | number | unit | meaning |\n|---|---|---|---|\n");
    for info in Registry::built_in().infos() {
        for (name, unit, meaning) in info.gauges {
            writeln!(text, "| `{}` | `{name}` | {unit} | {meaning} |", info.name).expect("text");
        }
    }
    text
}

fn options() -> String {
    let mut text =
        String::from("| control | option | value | default | meaning |\n|---|---|---|---|---|\n");
    for info in Registry::built_in().infos() {
        for o in info.options {
            let (name, kind, default, doc) = (o.name, o.kind, o.default, o.doc);
            writeln!(text, "| `{}` | `{name}` | {kind} | `{default}` | {doc} |", info.name)
                .expect("text");
        }
    }
    text
}

fn stacks() -> String {
    let mut text = String::from(
        "| stack | ECN asked for | HyStart | PRR | bursts | `prague` is | SCE senders | echoes SCE |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for Stack { name, tcp, .. } in STACKS {
        writeln!(
            text,
            "| `{name}` | {:?} | {:?} | {:?} | {:?} | {:?} | {:?} | {} |",
            tcp.ecn,
            tcp.hystart,
            tcp.prr,
            tcp.tso_bursts,
            tcp.prague,
            tcp.sce,
            if tcp.echoes_sce { "yes" } else { "no" }
        )
        .expect("text");
    }
    text
}

#[test]
fn the_page_is_what_the_tables_say() {
    let page = ["..", "..", "docs", "congestion-controls.md"];
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR")].iter().chain(&page).collect();
    let there = std::fs::read_to_string(&path).expect("the page is there");
    let (head, rest) = there.split_once(BEGIN).expect("the tables' beginning");
    let (_, tail) = rest.split_once(END).expect("the tables' end");
    let tables = format!(
        "\n{}\nWhat may stand behind a name, as in `cc = \"bbr3 drain_gain 0.35\"`:\n\n{}\n{}\n{}\n",
        controls(),
        options(),
        stacks(),
        numbers()
    );
    let right = format!("{head}{BEGIN}{tables}{END}{tail}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, right).expect("docs/ can be written");
        return;
    }
    assert!(
        there == right,
        "docs/congestion-controls.md is not what the tables say; write it anew with UPDATE_DOCS=1 \
         cargo test -p sojourn-sim --profile checked --test runs controls_page"
    );
    // What is written by hand speaks of every control.
    for info in Registry::built_in().infos() {
        assert!(tail.contains(&format!("| `{}` |", info.name)), "{} is not compared", info.name);
    }
}
