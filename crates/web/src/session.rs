//! What a page speaks with: the experiment that was read last, the run under way, the run that was finished last.

use crate::diagnostics;
use crate::limits;
use crate::reply::Reply;
use crate::request::Request;
use crate::running::Running;
use serde_json::{Value, json};
use sojourn_engine::{Engine as _, RunError};
use sojourn_language::Experiment;
use sojourn_model::{Feature, Place, Scenario, TrafficKind, Unsupported};
use sojourn_results::Run;
use sojourn_results::metrics::{Expression, Frame, summary};
use sojourn_sim::{PacketBox, Sim};
use sojourn_vocabulary::{Words, listing};

/// How messages name the text.
const FILE: &str = "experiment.toml";

/// One page's state.
pub struct Session {
    sim: Sim,
    words: Words<PacketBox>,
    planned: Vec<Scenario>,
    running: Option<Running>,
    finished: Option<Run>,
}

impl Default for Session {
    fn default() -> Self {
        let sim = Sim::new();
        let words = Words::new(sim.qdiscs().clone())
            .with_elements(sim.elements().words())
            .with_links(sim.elements().link_words())
            .with_apps(sim.apps().words())
            .with_controls(sim.controls().clone());
        Self { sim, words, planned: Vec::new(), running: None, finished: None }
    }
}

impl Session {
    /// Answers a request in JSON. Whatever is wrong is in the reply's `errors`.
    pub fn ask(&mut self, request: &str) -> Reply {
        let answer = serde_json::from_str(request)
            .map_err(|e| diagnostics::plain(&format!("this is no request: {e}"), ""))
            .and_then(|request| self.answer(request));
        answer.unwrap_or_else(Reply::from)
    }

    fn answer(&mut self, request: Request) -> Result<Reply, Value> {
        match request {
            Request::Choices => Ok(self.choices().into()),
            Request::Check { text, seeds } => self.check(&text, seeds).map(Reply::from),
            Request::Scenario { run } => Ok(json!({ "scenario": self.planned(run)? }).into()),
            Request::Begin { run } => {
                let scenario = self.planned(run)?.clone();
                self.begin(scenario).map(Reply::from)
            }
            Request::Resolved { scenario } => self.begin(*scenario).map(Reply::from),
            Request::Advance { events } => self.advance(events).map(Reply::from),
            Request::Finish { tables } => self.finish(&tables),
            Request::Measure { expressions } => self.measure(&expressions).map(Reply::from),
        }
    }

    fn choices(&self) -> Value {
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "disciplines": listing::disciplines(self.sim.qdiscs().disciplines().iter().copied()),
            "controls": listing::controls(self.sim.controls().infos()),
            "stacks": listing::stacks(),
            "limits": { "text": limits::TEXT, "runs": limits::RUNS },
        })
    }

    fn check(&mut self, text: &str, seeds: Option<u64>) -> Result<Value, Value> {
        self.planned.clear();
        if text.len() > limits::TEXT {
            let message =
                format!("the text has {} bytes; a page reads {}", text.len(), limits::TEXT);
            return Err(diagnostics::plain(&message, "run it with the program: sojourn run FILE"));
        }
        let wrong = |wrong| diagnostics::all(&wrong);
        let mut experiment = Experiment::parse(FILE, text).map_err(wrong)?;
        if let Some(seeds) = seeds {
            let seeds: Vec<u64> = (1..=seeds.min(limits::RUNS)).collect();
            experiment.set_seeds(&seeds).map_err(wrong)?;
        }
        experiment
            .plugins(|_| {
                let help = "run it with the program: sojourn run FILE";
                Err(("a page loads no plugins".to_owned(), help.to_owned()))
            })
            .map_err(wrong)?;
        let plan = experiment.plan(&self.words, limits::RUNS).map_err(wrong)?;
        let warnings: Vec<Value> =
            plan.warnings().iter().map(|w| diagnostics::diagnostic(&w.diagnostic)).collect();
        self.planned = plan.scenarios().collect();
        let runs: Vec<Value> = self.planned.iter().map(|run| self.planned_run(run)).collect();
        let says = |key| experiment.says(key).unwrap_or_default();
        Ok(json!({
            "name": says("name"), "about": says("about"), "source": says("source"),
            "warnings": warnings, "runs": runs,
        }))
    }

    /// A run, before it begins: who it is, how long it is, and what of it cannot be run here.
    fn planned_run(&self, scenario: &Scenario) -> Value {
        let refusals: Vec<Value> = self.refusals(scenario).iter().map(refusal).collect();
        json!({
            "id": scenario.id(),
            "cell": scenario.cell,
            "seed": scenario.seed,
            "seconds": scenario.length().as_secs_f64(),
            "refusals": refusals,
        })
    }

    fn planned(&self, run: usize) -> Result<&Scenario, Value> {
        self.planned.get(run).ok_or_else(|| {
            diagnostics::plain(&format!("there is no run {run} of {}", self.planned.len()), "")
        })
    }

    fn refusals(&self, scenario: &Scenario) -> Vec<Unsupported> {
        let left_out = |kind| match kind {
            TrafficKind::Quic => Some("QUIC is left out of the page"),
            TrafficKind::TcpStack => Some("other authors' TCP is left out of the page"),
            _ => None,
        };
        let mut refusals = self.sim.refuse(scenario);
        refusals
            .retain(|own| !matches!(own.what, Feature::Traffic(kind) if left_out(kind).is_some()));
        // By the page itself, whether the simulator that it is linked with has them or not.
        refusals.extend(scenario.flows.iter().filter_map(|flow| {
            Some(Unsupported {
                what: Feature::Traffic(flow.traffic.kind()),
                place: Place::Flow(flow.name.clone()),
                why: left_out(flow.traffic.kind())?.to_owned(),
                help: "run it with the program: sojourn run FILE".to_owned(),
            })
        }));
        refusals
    }

    fn begin(&mut self, scenario: Scenario) -> Result<Value, Value> {
        (self.running, self.finished) = (None, None);
        if let Err(error) = scenario.check() {
            return Err(diagnostics::plain(&error.to_string(), ""));
        }
        let refusals = self.refusals(&scenario);
        if !refusals.is_empty() {
            return Err(json!({ "errors": refusals.iter().map(refusal).collect::<Vec<_>>() }));
        }
        if let Some(foreseen) = self.sim.foresee(&scenario) {
            let too_much = [
                (foreseen.memory.total(), limits::MEMORY, "bytes of memory"),
                (foreseen.packets, limits::PACKETS, "packets"),
                (foreseen.rows, limits::ROWS, "rows"),
            ];
            for (needs, most, what) in too_much {
                if needs > most {
                    let message = format!(
                        "this run would need about {needs:.1e} {what}; a page has room for {most:.0e}"
                    );
                    let help = "a lower rate, fewer flows, a shorter duration or a longer sample_interval; or the program: sojourn run FILE";
                    return Err(diagnostics::plain(&message, help));
                }
            }
        }
        let running = Running::begin(&self.sim, scenario).map_err(|e| failed(&e))?;
        self.running = Some(running);
        Ok(json!({}))
    }

    fn advance(&mut self, events: u64) -> Result<Value, Value> {
        let running = self.running.as_mut().ok_or_else(no_run)?;
        match running.advance(events) {
            Ok((passed, over)) => Ok(json!({ "passed": passed, "over": over })),
            Err(error) => {
                self.running = None;
                Err(failed(&error))
            }
        }
    }

    fn finish(&mut self, tables: &[String]) -> Result<Reply, Value> {
        let running = self.running.take().ok_or_else(no_run)?;
        if !running.is_over() {
            self.running = Some(running);
            return Err(diagnostics::plain("the run is not over", "advance it to its end"));
        }
        let run = running.finish().map_err(|e| failed(&e))?;
        let mut reply = Reply::from(Value::Null);
        let given: Vec<Value> = run
            .tables
            .iter()
            .filter(|table| !table.is_empty() && tables.iter().any(|n| n == table.schema().name))
            .map(|table| reply.add(table))
            .collect();
        let digests: serde_json::Map<_, _> =
            run.tables.iter().map(|t| (t.schema().name.to_owned(), t.digest().into())).collect();
        let frame = Frame::new(&run);
        let checks = run.scenario.checks.iter().map(|check| {
            let verdict = Expression::parse(&check.that)
                .map_err(|e| e.message)
                .and_then(|e| e.evaluate(&frame).map_err(|e| e.to_string()));
            let name = check.name.as_ref().unwrap_or(&check.that);
            match verdict {
                Ok(verdict) => {
                    json!({ "name": name, "says": verdict.to_string(), "passed": verdict.passed })
                }
                Err(why) => json!({ "name": name, "says": why, "passed": null }),
            }
        });
        let checks: Vec<Value> = checks.collect();
        let swing = sojourn_results::metrics::swing(&frame).map(|swing| {
            json!({ "flows": swing.flows, "period": swing.period, "from": swing.window.from, "to": swing.window.to })
        });
        reply.json = json!({
            "id": run.scenario.id(),
            "summary": summary(&frame),
            "checks": checks,
            "swing": swing,
            "digests": digests,
            "tables": given,
        });
        self.finished = Some(run);
        Ok(reply)
    }

    fn measure(&self, expressions: &[String]) -> Result<Value, Value> {
        let run = self.finished.as_ref().ok_or_else(no_run)?;
        let frame = Frame::new(run);
        let value = |text: &String| match Expression::parse(text) {
            Err(error) => json!({ "says": error.message, "help": error.help }),
            Ok(expression) => match expression.evaluate(&frame) {
                Ok(verdict) => {
                    json!({ "value": verdict.value.number, "says": verdict.to_string() })
                }
                Err(error) => json!({ "says": error.to_string() }),
            },
        };
        Ok(json!({ "values": expressions.iter().map(value).collect::<Vec<_>>() }))
    }
}

/// A feature of a run that the page does not have: where, why, and what would be right.
fn refusal(own: &Unsupported) -> Value {
    json!({ "message": own.to_string(), "help": own.help })
}

fn no_run() -> Value {
    diagnostics::plain("there is no run", "begin one")
}

fn failed(error: &RunError) -> Value {
    diagnostics::plain(&error.to_string(), "")
}
