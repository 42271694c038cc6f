//! What events do to a path.
//!
//! A change may let packets leave a port at once, and they enter the next before that one has changed, as they would were
//! the changes commands one after the other. So an action is carried out port by port, and whoever drives the ports
//! polls each in between.

use super::elements::Basis;
use super::ports::{OPEN, queue};
use super::{ChangeError, Role, Topology};
use crate::PathPacket;
use sojourn_model::{Action, Queue};
use sojourn_qdisc::TcError;
use sojourn_qdisc::netem::Parameters;
use sojourn_units::{Random, Time};

impl<P: PathPacket> Topology<P> {
    /// The ports that an action is about, in the order in which they are to change. None if it is about a flow, or about
    /// an element that holds no packets or that no flow passes.
    pub fn ports_of(&self, action: &Action) -> Vec<usize> {
        match action {
            Action::Rate { element, .. }
            | Action::ChangeQdisc { element, .. }
            | Action::ReplaceQdisc { element, .. }
            | Action::Enable { element }
            | Action::Disable { element } => self.queue(element).into_iter().collect(),
            Action::Delay { element, flow, .. } => {
                let mut ports = self.netems(element, flow.as_deref());
                ports.retain(|&p| matches!(self.nodes[p].role, Role::Netem { link: 0, .. }));
                ports
            }
            Action::ChangeNetem { element, .. } => self.netems(element, None),
            Action::StartFlow { .. } | Action::StopFlow { .. } => Vec::new(),
        }
    }

    /// Carries out what an action does between ports: to middleboxes and to bypasses. It comes before the ports.
    ///
    /// # Errors
    /// The middlebox has no rate to set.
    pub fn change_between(&mut self, now: Time, action: &Action) -> Result<(), ChangeError> {
        match action {
            Action::Rate { element, rate } => {
                if let Some(middlebox) = self.middlebox(element)
                    && !middlebox.kind.set_rate(now, *rate)
                {
                    return Err(ChangeError::NoRate(element.clone()));
                }
            }
            Action::Enable { element } => self.switch(element, true),
            Action::Disable { element } => self.switch(element, false),
            _ => {}
        }
        Ok(())
    }

    /// Carries an action out at one of [`Topology::ports_of`] it. From then on the port may have packets to give and
    /// another time for its timer.
    ///
    /// # Errors
    /// What is wrong with the words, or that there is no rate to set; the port is as before then.
    pub fn change_port(
        &mut self,
        now: Time,
        port: usize,
        action: &Action,
        basis: &Basis<'_, P>,
    ) -> Result<(), ChangeError> {
        let node = &mut self.nodes[port];
        match action {
            Action::Rate { element, rate } => {
                if !node.port.set_rate(now, *rate) {
                    return Err(ChangeError::NoShaper(element.clone()));
                }
            }
            Action::ChangeQdisc { element, qdisc } => {
                node.port.change(now, qdisc, basis.registry).map_err(|e| words(element, e))?;
            }
            Action::ReplaceQdisc { element, qdisc, shaper: None } => {
                node.port.replace(now, qdisc, basis.registry).map_err(|e| words(element, e))?;
            }
            Action::ReplaceQdisc { element, qdisc, shaper: Some(shaper) } => {
                let name = format!("path/{element}/{}", now.as_nanos());
                let random = Random::named(basis.scenario.seed, &name);
                let q = Queue { shaper: *shaper, qdisc: qdisc.clone() };
                node.port.replace_all(now, queue(basis, element, &q, random)?);
                node.reorders |= node.port.looks_at_arrivals();
            }
            Action::Delay { element, delay, .. } => {
                if let Some(netem) = &node.netem {
                    let words = netem.clone().with_delay(*delay).to_string();
                    self.change_netem(now, port, element, &words, basis)?;
                }
            }
            Action::ChangeNetem { element, chain } => {
                if let Role::Netem { link, .. } = node.role {
                    let words = chain.get(link).map_or(OPEN, String::as_str);
                    self.change_netem(now, port, element, words, basis)?;
                }
            }
            Action::Enable { .. } => node.port.restart(now),
            Action::Disable { .. } => node.port.clear(now),
            Action::StartFlow { .. } | Action::StopFlow { .. } => {}
        }
        Ok(())
    }

    /// Lets an element act, or not. One that no flow passes has no switch.
    fn switch(&mut self, element: &str, on: bool) {
        if let Some(middlebox) = self.middlebox(element) {
            middlebox.enabled = on;
        }
        if let Some(switch) = self.switches.iter_mut().find(|s| s.element == element) {
            switch.on = on;
        }
    }

    fn change_netem(
        &mut self,
        now: Time,
        port: usize,
        element: &str,
        text: &str,
        basis: &Basis<'_, P>,
    ) -> Result<(), ChangeError> {
        let node = &mut self.nodes[port];
        let netem = Parameters::parse(text, &basis.profile_at(element));
        let netem = netem.map_err(|e| words(element, e))?;
        let text = format!("netem {text}");
        node.port.change(now, &text, basis.registry).map_err(|e| words(element, e))?;
        // From now on packets may overtake those that have a longer delay.
        node.reorders = true;
        node.netem = Some(netem);
        Ok(())
    }
}

fn words(element: &str, error: TcError) -> ChangeError {
    ChangeError::Words { element: element.to_owned(), error: Box::new(error) }
}
