//! A run under way, in steps.

use sojourn_engine::RunError;
use sojourn_model::Scenario;
use sojourn_results::{EngineId, Run};
use sojourn_sim::{NAME, Sim, Simulation};
use sojourn_units::Time;

/// Steps at one time of the run, after which it is held for one that does not go on.
const STEPS_AT_ONE_TIME: u32 = 200;

/// A run that has begun.
pub(crate) struct Running {
    scenario: Scenario,
    simulation: Simulation,
    over: bool,
    looked: Time,
    still: u32,
}

impl Running {
    pub(crate) fn begin(sim: &Sim, scenario: Scenario) -> Result<Self, RunError> {
        let simulation = sim.begin(&scenario, None)?;
        let looked = simulation.now();
        Ok(Self { scenario, simulation, over: false, looked, still: 0 })
    }

    /// Lets `events` events happen; returns the share of its time that has passed, 0 to 1, and whether all has.
    pub(crate) fn advance(&mut self, events: u64) -> Result<(f64, bool), RunError> {
        let end = self.simulation.end();
        self.over = self.over || self.simulation.advance(end, events)?;
        let now = self.simulation.now();
        self.still = if now == self.looked { self.still + 1 } else { 0 };
        self.looked = now;
        if self.still > STEPS_AT_ONE_TIME && !self.over {
            return Err(RunError::Failed(format!(
                "time stands still at {} s of the run",
                now.since(Time::ZERO).as_secs_f64()
            )));
        }
        let of = |t: Time| t.since(Time::ZERO).as_secs_f64();
        Ok((if self.over { 1.0 } else { of(now) / of(end) }, self.over))
    }

    /// The tables, with where they come from.
    pub(crate) fn finish(self) -> Result<Run, RunError> {
        let engine = EngineId {
            name: NAME.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            detail: String::new(),
        };
        let tables = self.simulation.finish()?;
        Ok(Run { scenario: self.scenario.into(), engine, tables, unrecorded: Vec::new() })
    }

    pub(crate) const fn is_over(&self) -> bool {
        self.over
    }
}
