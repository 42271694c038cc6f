//! A whole experiment, as a file that somebody might have written: its keys from the language's own schema, its words from
//! the tables of disciplines, controls and stacks. A key, a discipline or a control more is drawn from the day it is there.

use super::draw::Draw;
use core::fmt::Write as _;
use serde_json::Value;
use sojourn_stacks::STACKS;
use sojourn_transport::cc::Registry as Controls;

/// The tables of a flow that say what it sends.
const TRAFFIC: [&str; 8] =
    ["udp", "ping", "irtt", "voip", "video", "short_flows", "streaming", "on_off"];
/// What an element may be.
const ELEMENTS: [&str; 6] =
    ["rewrite", "policer", "aggregating_link", "wifi", "netem", "middlebox"];
/// The keys of a flow that all kinds of traffic have.
const OF_EVERY_FLOW: [&str; 12] = [
    "count",
    "group",
    "enabled",
    "stack",
    "ip",
    "direction",
    "hops",
    "rtt",
    "dscp",
    "start",
    "stop",
    "delays",
];

/// The experiment of a seed.
pub(super) fn experiment(schema: &Value, seed: u64) -> String {
    let draw = Draw::new(seed);
    let mut file = File {
        draw,
        text: String::new(),
        hops: Vec::new(),
        flows: Vec::new(),
        elements: Vec::new(),
        length: 0,
    };
    file.write(schema, seed);
    file.text
}

struct File {
    draw: Draw,
    text: String,
    hops: Vec<String>,
    flows: Vec<String>,
    elements: Vec<String>,
    /// The run's, in microseconds.
    length: u64,
}

/// A section of the schema: a table, or what a list of tables has.
fn section<'a>(of: &'a Value, key: &str) -> &'a Value {
    let found = &of["properties"][key];
    assert!(found.is_object(), "the language has no {key} here");
    if found["type"] == "array" { &found["items"] } else { found }
}

impl File {
    fn write(&mut self, schema: &Value, seed: u64) {
        let hops = 1 + self.draw.below(3);
        let flows = 1 + self.draw.below(5);
        self.hops = (0..hops).map(|n| format!("h{n}")).collect();
        self.flows = (0..flows).map(|n| format!("f{n}")).collect();
        let _ = writeln!(self.text, "[experiment]\nname = \"random-{seed}\"");
        self.length = self.draw.log(20_000, 2_000_000);
        let _ = writeln!(self.text, "duration = \"{}us\"", self.length);
        let warmup =
            if self.draw.one_in(3) { self.draw.span(0, 300_000_000) } else { "0s".to_owned() };
        let _ = writeln!(self.text, "warmup = \"{warmup}\"");
        let but = ["name", "duration", "warmup", "plugins", "origin"];
        self.keys(section(schema, "experiment"), "experiment", 4, &but);
        if self.draw.one_in(3) {
            self.text += "\n[ping]\n";
            self.keys(section(schema, "ping"), "ping", 3, &[]);
        }
        for n in 0..self.hops.len() {
            self.hop(section(schema, "hop"), n);
        }
        if self.draw.one_in(4) {
            self.text += "\n[[tunnel]]\nname = \"t\"\n";
            self.keys(section(schema, "tunnel"), "tunnel", 3, &["name"]);
        }
        for n in 0..self.flows.len() {
            self.flow(section(schema, "flow"), n);
        }
        for n in 0..self.draw.below(4) {
            self.event(section(schema, "event"), n);
        }
        if self.draw.one_in(4) {
            let _ = writeln!(self.text, "\n[[phase]]\nname = \"p\"");
            self.keys(section(schema, "phase"), "phase", 3, &["name"]);
        }
        if self.draw.one_in(6) {
            let _ = writeln!(self.text, "\n[[window]]\nname = \"w\"");
            let but = if self.draw.one_in(2) {
                &["name", "last", "before_end"][..]
            } else {
                &["name", "from", "to"]
            };
            self.keys(section(schema, "window"), "window", 1, but);
        }
    }

    fn hop(&mut self, hop: &Value, n: usize) {
        let _ = writeln!(self.text, "\n[[hop]]\nname = \"{}\"", self.hops[n]);
        // Most hops are as people write them: a rate, a discipline, a delay.
        let mut but = vec!["name"];
        if !self.draw.one_in(40) {
            but.extend(["rate", "qdisc", "rtt", "shaper", "host_nic", "trace"]);
            let (rate, rtt) = (self.draw.rate(), self.draw.span(100_000, 150_000_000));
            let qdisc = self.draw.qdisc();
            let traced = self.draw.one_in(16);
            let (limit, value) =
                if traced { ("trace", self.draw.trace()) } else { ("rate", rate.clone()) };
            let _ = writeln!(self.text, "{limit} = \"{value}\"\nqdisc = \"{qdisc}\"");
            let shapes = ["bandwidth", "rate "].iter().any(|word| qdisc.contains(word));
            but.push("link");
            if traced {
                but.extend(["ceil", "burst"]);
            } else if self.draw.one_in(16) {
                let _ = writeln!(self.text, "link = \"{}\"", self.draw.link());
                but.extend(["ceil", "burst"]);
            } else if self.draw.one_in(if shapes { 2 } else { 12 }) {
                let shaper = self.draw.one_of(&["own", "line"]);
                let _ = writeln!(self.text, "shaper = \"{shaper}\"");
                but.extend(["ceil", "burst"]);
            }
            if self.draw.one_in(30) {
                self.text += "host_nic = true\n";
            } else {
                let _ = writeln!(self.text, "rtt = \"{rtt}\"");
            }
        }
        // What stands for both sides does not stand for one.
        but.extend(self.keys(hop, "hop", 8, &but));
        but.extend(["delay", "queue"]);
        for side in ["down", "up"] {
            if self.draw.one_in(4) {
                let _ = writeln!(self.text, "\n[hop.{side}]");
                let but = if self.draw.one_in(12) { &["link"][..] } else { &but };
                self.keys(section(hop, side), "side", 6, but);
            }
        }
        for element in 0..self.draw.below(3) {
            let name = format!("e{n}{element}");
            let _ = writeln!(self.text, "\n[[hop.element]]\nname = \"{name}\"");
            let kind = self.draw.one_of(&ELEMENTS);
            let mut but = vec!["name"];
            but.extend(ELEMENTS.iter().filter(|&&other| other != kind));
            if kind != "netem" {
                but.push("netem");
            }
            but.push(if self.draw.one_in(2) { "before" } else { "after" });
            let of = section(hop, "element");
            if kind == "netem" {
                let _ = writeln!(self.text, "netem = \"{}\"", self.draw.netem());
                but.push("netem");
            }
            self.keys(of, "element", 4, &but);
            match kind {
                "netem" => continue,
                "rewrite" => self.rewrite(section(of, kind)),
                "middlebox" => {
                    let words = self.draw.element();
                    let _ = writeln!(self.text, "\n[hop.element.middlebox]\nwords = \"{words}\"");
                    let select = self.draw.one_of(&["dscp", "flows"]);
                    self.keys(section(of, kind), kind, 3, &["words", select]);
                }
                _ => {
                    let _ = writeln!(self.text, "\n[hop.element.{kind}]");
                    let bound = self.draw.one_of(&["opportunity_min", "opportunity_max"]);
                    self.keys(section(of, kind), kind, 3, &[bound]);
                }
            }
            self.elements.push(name);
        }
    }

    /// A rule, and what it needs.
    fn rewrite(&mut self, rewrite: &Value) {
        self.text += "\n[hop.element.rewrite]\n";
        let rule =
            self.draw.one_of(rewrite["properties"]["rule"]["enum"].as_array().expect("words"));
        let _ = writeln!(self.text, "rule = {rule}");
        let needs: &[&str] = match rule.as_str() {
            Some("ce_to_ect") => &["ecn"],
            Some("set_dscp") => &["to"],
            Some("classify_by_length") => &["longer_than", "ecn"],
            _ => &[],
        };
        for key in needs {
            let value = self.value(&rewrite["properties"][key], "rewrite", key);
            let _ = writeln!(self.text, "{key} = {value}");
        }
        let select = self.draw.one_of(&["dscp", "flows"]);
        let mut but = vec!["rule", "ecn", "to", "longer_than", select];
        if rule != "bleach_ecn" {
            but.push("keep_dscp");
        }
        self.keys(rewrite, "rewrite", 3, &but);
    }

    fn flow(&mut self, flow: &Value, n: usize) {
        let _ = writeln!(self.text, "\n[[flow]]\nname = \"{}\"", self.flows[n]);
        let of_tcp: Vec<&str> = flow["properties"]
            .as_object()
            .expect("a table")
            .keys()
            .map(String::as_str)
            .filter(|key| {
                !OF_EVERY_FLOW.contains(key)
                    && !TRAFFIC.contains(key)
                    && !["name", "bleach"].contains(key)
            })
            .collect();
        let traffic = if self.draw.one_in(2) { Some(self.draw.one_of(&TRAFFIC)) } else { None };
        let is_tcp = traffic.is_none_or(|t| matches!(t, "short_flows" | "streaming" | "on_off"));
        let mut but = vec!["name", "app"];
        let is_app = traffic.is_none() && self.draw.one_in(8);
        if is_app {
            let _ = writeln!(self.text, "app = \"{}\"", self.draw.app());
        }
        if is_tcp {
            let controls = Controls::built_in();
            let names: Vec<&str> = controls.names().collect();
            let _ = writeln!(self.text, "cc = \"{}\"", self.draw.one_of(&names));
            but.push("cc");
            if traffic.is_some() || is_app {
                but.extend(["bytes", "app_rate"]);
            }
        } else {
            but.extend(of_tcp);
        }
        // What most refuse.
        if !self.draw.one_in(12) {
            but.extend(["rtt_target", "rtt_scaling", "offload", "slow_start"]);
        }
        // These two go together. Their choice takes no draw, which would change all later ones.
        but.extend(["saved_cwnd", "saved_rtt"]);
        let length = self.text.len();
        if is_tcp && length.is_multiple_of(12) {
            let _ = writeln!(self.text, "saved_cwnd = \"{length}kb\"\nsaved_rtt = \"{length}us\"");
        }
        self.keys(flow, "flow", 7, &but);
        if let Some(traffic) = traffic {
            let _ = writeln!(self.text, "\n[flow.{traffic}]");
            let but = self.draw.one_of(&[["length_p5", "min_rate"], ["length_p95", "max_rate"]]);
            self.keys(section(flow, traffic), traffic, 3, &but);
        }
    }

    fn event(&mut self, event: &Value, n: u64) {
        let _ = writeln!(self.text, "\n[[event]]\nname = \"ev{n}\"");
        let hop = self.draw.one_of(&self.hops.clone());
        let (mut but, mut at_hop) = (vec!["name", "hop"], true);
        but.extend([
            "rate", "change", "replace", "shaper", "rtt", "flow", "netem", "enable", "disable",
            "start", "stop",
        ]);
        let wanted: &[&str] = match self.draw.below(8) {
            0 => &["rate"],
            1 => &["change"],
            2 => &["replace"],
            3 => &["replace", "shaper"],
            4 => &["rtt"],
            5 => &["netem"],
            6 if !self.elements.is_empty() => &["enable", "disable"],
            _ => {
                at_hop = false;
                &["start", "stop"]
            }
        };
        let wanted = if wanted.len() == 2 && wanted[0] != "replace" {
            &wanted[self.draw.below(2) as usize..][..1]
        } else {
            wanted
        };
        if at_hop {
            let hop = match wanted {
                ["enable" | "disable"] => {
                    let name = self.draw.one_of(&self.elements.clone());
                    let _ = writeln!(self.text, "{} = [\"{name}\"]", wanted[0]);
                    format!("h{}", &name[1..2])
                }
                _ => hop,
            };
            let _ = writeln!(self.text, "hop = \"{hop}\"");
        }
        but.retain(|key| matches!(*key, "enable" | "disable") || !wanted.contains(key));
        for &key in wanted {
            if matches!(key, "enable" | "disable") {
                continue;
            }
            let value = self.value(&event["properties"][key], "event", key);
            let _ = writeln!(self.text, "{key} = {value}");
            but.push(key);
        }
        if !at_hop {
            but.push("side");
        }
        // One is nothing without the other, and the last time has to be in the run.
        but.extend(["every", "times"]);
        if self.draw.one_in(6) {
            let every = 1 + self.draw.below(self.length / 40 + 1);
            let _ = writeln!(self.text, "every = \"{every}us\"");
            let _ = writeln!(self.text, "times = {}", 1 + self.draw.below(4));
        }
        self.keys(event, "event", 4, &but);
    }

    /// Every key that must be there, and each other one of `often` times; which they were.
    fn keys<'a>(&mut self, of: &'a Value, name: &str, often: u64, but: &[&str]) -> Vec<&'a str> {
        let mut written = Vec::new();
        let required: Vec<&str> =
            of["required"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
        let properties = of["properties"].as_object().expect("a table");
        for (key, schema) in properties {
            let is_table = schema["type"] == "object" || schema["items"]["type"] == "object";
            if is_table || but.contains(&key.as_str()) {
                continue;
            }
            if required.contains(&key.as_str()) || self.draw.one_in(often) {
                let value = self.value(schema, name, key);
                let _ = writeln!(self.text, "{key} = {value}");
                written.push(key.as_str());
            }
        }
        written
    }

    /// A value of a key, as written in TOML.
    fn value(&mut self, schema: &Value, section: &str, key: &str) -> String {
        if let Some(words) = schema["enum"].as_array() {
            return self.draw.one_of(words).to_string();
        }
        let choices = schema["anyOf"].as_array().map_or(&[][..], Vec::as_slice);
        if let Some(list) = choices.iter().find(|c| c["type"] == "array") {
            if key == "seeds" {
                return "1".to_owned();
            }
            let several = if matches!(key, "hops" | "netem") { 1 } else { 1 + self.draw.below(3) };
            let mut items: Vec<String> =
                (0..several).map(|_| self.value(&list["items"], section, key)).collect();
            if matches!(key, "rates" | "ladder") {
                let bits = |s: &String| {
                    s.trim_matches('"').trim_end_matches("bit").parse::<u64>().expect("a rate")
                };
                items.sort_by_key(bits);
            }
            items.dedup();
            return format!("[{}]", items.join(", "));
        }
        if let Some(number) = choices.iter().chain([schema]).find(|c| c["type"] == "integer") {
            let bound = |name: &str, or: u64| number[name].as_u64().unwrap_or(or);
            let usual = if key == "count" { (1, 20) } else { (1, 3000) };
            let (least, most) = (bound("minimum", 0), bound("maximum", u64::from(u32::MAX)));
            let most = if key == "count" { most.min(200) } else { most };
            if key == "ip" {
                return self.draw.one_of(&["4", "6"]).to_owned();
            }
            return self.draw.with_edges(least, usual, most).to_string();
        }
        if schema["type"] == "number" {
            let (min, max) = (schema["minimum"].as_f64(), schema["maximum"].as_f64());
            let (min, max) = (min.expect("a least"), max.expect("a most"));
            return format!("{:.3}", min + (max - min) * self.draw.below(1001) as f64 / 1000.0);
        }
        if schema["type"] == "boolean" {
            return (if self.draw.one_in(2) { "true" } else { "false" }).to_owned();
        }
        if let Some(pattern) = choices.iter().find_map(|c| c["pattern"].as_str()) {
            return format!("\"{}\"", self.quantity(pattern, section, key));
        }
        let flows = self.flows.clone();
        let text = match key {
            "host_qdisc" if self.draw.one_in(2) => "fq".to_owned(),
            "qdisc" | "replace" | "host_qdisc" => self.draw.qdisc(),
            "trace" => self.draw.trace(),
            "link" => self.draw.link(),
            "change" => self.draw.change(),
            "netem" => self.draw.netem(),
            "stack" | "receiver_stack" => {
                STACKS[self.draw.below(STACKS.len() as u64) as usize].name.to_owned()
            }
            "hops" | "hop" | "bleach" => self.draw.one_of(&self.hops.clone()),
            "before" | "after" => self.draw.one_of(&["netem", "qdisc"]).to_owned(),
            "group" => self.draw.one_of(&["g", "k"]).to_owned(),
            "source" | "about" => self.draw.one_of(&["", "x", "µ ✓", "a|b"]).to_owned(),
            "start" | "stop" if section == "event" => self.draw.one_of(&flows),
            "flows" | "flow" => self.draw.one_of(&flows),
            "at" | "start" | "stop" | "from" | "to" => self.moment(section, key),
            other => panic!("the generator does not know {other} of {section}: teach it"),
        };
        format!("\"{text}\"")
    }

    fn quantity(&mut self, pattern: &str, section: &str, key: &str) -> String {
        if pattern.contains("secs") {
            return match key {
                "rtt" | "delay" | "rtt_target" => self.draw.span(0, 200_000_000),
                "mean_interval" | "interval" if self.draw.one_in(30) => "10us".to_owned(),
                "sample_interval" => self.draw.span(1_000_000, 500_000_000),
                "on" | "off" | "segment" | "buffer" | "start_at" | "resume_at" | "live_delay"
                | "last" | "dwell" => self.draw.span(1_000_000, 3_000_000_000),
                _ => self.draw.span(20_000, 400_000_000),
            };
        }
        if pattern.contains("[dD][pP]") && self.draw.one_in(4) {
            return format!("{}.{}bdp", self.draw.below(4), 1 + self.draw.below(9));
        }
        if pattern.starts_with("^\\s*[0-9.]+([eE][-+]?[0-9]+)?\\s*([bB]|") {
            return format!("{}b", self.draw.with_edges(1, (100, 10_000_000), 1 << 30));
        }
        match section {
            // A packet a microsecond is work without news.
            "udp" => format!("{}bit", self.draw.with_edges(8, (8_000, 50_000_000), 1_000_000_000)),
            _ => self.draw.rate(),
        }
    }

    fn moment(&mut self, section: &str, key: &str) -> String {
        if matches!(section, "window" | "phase") || !self.draw.one_in(4) {
            // In the run, and a beginning before an end: in its first half, in its second.
            let half = self.length / 2;
            let at = match key {
                "from" | "start" => self.draw.below(half),
                _ => half + self.draw.below(half),
            };
            return format!("{}us", if self.draw.one_in(20) { at * 3 } else { at });
        }
        let (hop, flow) =
            (self.draw.one_of(&self.hops.clone()), self.draw.one_of(&self.flows.clone()));
        let mut text = match self.draw.below(4) {
            0 => format!("flow {flow} starts"),
            1 => format!("flow {flow} ends"),
            2 => "workload ends".to_owned(),
            _ => format!("queue {hop}.down.qdisc backlog_packets > {}", self.draw.below(50)),
        };
        if self.draw.one_in(2) {
            text += " + ";
            text += &self.draw.span(1_000, 300_000_000);
        }
        text
    }
}
