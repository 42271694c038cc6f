//! Queues that events switch, replace and change: the state of a queue when an event comes, and the agent's orders that
//! make it as the event says.
//!
//! A queue that is switched off is not there: its device has no discipline, and packets pass at once, as after `tc
//! qdisc del`, and as on the simulator. Shaper and discipline come by several commands. Of the hierarchical token
//! bucket the last of them is a filter that leads all packets into the class; without one it passes them on at once, as
//! a device does without a discipline. So no packet is in a queue that is half there.
//!
//! Invariants: the agent waits for each of these commands, in their order. They end without a timer, so the guest's clock
//! stands still but for the 256 ns of each look at it. A queue's counts are reported before it goes, for its successor
//! begins at 0.
//!
//! The trick: a queue comes back as it was when it went, with all changes since. So a rate that is set while the queue
//! is off waits for it, as on the simulator.

use crate::places::element_at;
use crate::schedule;
use sojourn_engine::tc::{at_hop, class_words, handle, leaf_at};
use sojourn_model::{Action, Kind, Scenario, Shaper};

/// A queue between two events.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct State {
    /// Whether it acts.
    pub(crate) on: bool,
    pub(crate) shaper: Shaper,
    /// The words that the discipline comes with, and those of each change since.
    words: Vec<String>,
}

/// An order for the agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// To report the event, and do nothing.
    Nothing,
    /// To start tc with these words, and to go on.
    Begin(String),
    /// To carry out tc's words before anything else happens.
    Wait(String),
    /// To report the queue's counts, for they start over.
    Tell,
    /// To report them, and to take the queue away.
    Remove,
    /// The queue stands, and its discipline has this handle.
    Placed(&'static str),
}

/// A queue by its path as it is when an action comes, the `number`-th of an event. `None` if it is no queue, or if the time
/// of the event is not known before the run.
pub(crate) fn before(
    scenario: &Scenario,
    path: &str,
    event: usize,
    number: usize,
) -> Option<State> {
    let element = element_at(scenario, path)?;
    let Kind::Queue(queue) = &element.kind else { return None };
    let words = vec![at_hop(&queue.qdisc).into_owned()];
    let mut state = State { on: element.enabled, shaper: queue.shaper, words };
    for action in schedule::earlier(scenario, path, event, number)? {
        state.take(action);
    }
    Some(state)
}

impl State {
    fn take(&mut self, action: &Action) {
        match action {
            Action::Enable { .. } => self.on = true,
            Action::Disable { .. } => self.on = false,
            Action::Rate { rate, .. } => {
                if let Shaper::Htb { burst, .. } = self.shaper {
                    self.shaper = Shaper::Htb { rate: *rate, ceil: None, burst };
                }
            }
            Action::ChangeQdisc { qdisc, .. } => self.words.push(qdisc.to_string()),
            Action::ReplaceQdisc { qdisc, shaper, .. } => {
                self.words = vec![at_hop(qdisc).into_owned()];
                self.shaper = shaper.unwrap_or(self.shaper);
            }
            _ => {}
        }
    }

    /// The orders that an action needs at a device with this queue. Nothing where it is off and stays so.
    pub(crate) fn orders(&self, device: &str, action: &Action) -> Vec<Order> {
        let mut then = self.clone();
        then.take(action);
        let leaf = leaf_at(&self.shaper);
        match (self.on, then.on, action) {
            (true, false, _) => vec![Order::Remove],
            (false, true, _) => then.place(device),
            (false, false, _) => vec![Order::Nothing],
            (_, _, Action::Rate { .. }) => {
                vec![Order::Begin(class_words(device, &then.shaper, "change"))]
            }
            (_, _, Action::ChangeQdisc { qdisc, .. }) => {
                vec![Order::Begin(format!("qdisc change dev {device} {leaf} {qdisc}"))]
            }
            (_, _, Action::ReplaceQdisc { qdisc, shaper: None, .. }) => {
                let words = format!("qdisc replace dev {device} {leaf} {}", at_hop(qdisc));
                vec![Order::Tell, Order::Wait(words)]
            }
            (_, _, Action::ReplaceQdisc { shaper: Some(_), .. }) => {
                let mut orders = vec![Order::Remove];
                orders.extend(then.place(device));
                orders
            }
            _ => vec![Order::Nothing],
        }
    }

    /// The orders that bring the queue to a device that has none.
    fn place(&self, device: &str) -> Vec<Order> {
        let leaf = leaf_at(&self.shaper);
        let is_htb = matches!(self.shaper, Shaper::Htb { .. });
        let mut words = Vec::new();
        if is_htb {
            words.push(format!("qdisc add dev {device} root handle 1: htb"));
            words.push(class_words(device, &self.shaper, "add"));
        }
        for (verb, own) in
            std::iter::once("add").chain(std::iter::repeat("change")).zip(&self.words)
        {
            words.push(format!("qdisc {verb} dev {device} {leaf} {own}"));
        }
        if is_htb {
            words.push(format!(
                "filter add dev {device} parent 1: protocol all prio 1 matchall classid 1:1"
            ));
        }
        let mut orders: Vec<Order> = words.into_iter().map(Order::Wait).collect();
        orders.push(Order::Placed(handle(&self.shaper)));
        orders
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_language::{AnyWords, Experiment};
    use std::fmt::Write as _;

    /// What each event asks for, of a queue that is halved, switched off, set and changed while it is off, switched on,
    /// given another discipline, and at last another shaper.
    #[test]
    fn what_comes_back_knows_what_was_said_meanwhile() {
        let mut text = "[experiment]\nname = \"t\"\nduration = \"9s\"\n[[hop]]\nname = \"h\"\n\
                        rate = \"8mbit\"\nrtt = \"1ms\"\nqdisc = \"codel limit 9\"\n\
                        [[flow]]\nname = \"f\"\ncc = \"cubic\"\n"
            .to_owned();
        for (at, what) in [
            (1, "rate = \"4mbit\""),
            (2, "disable = [\"qdisc\"]"),
            (3, "rate = \"2mbit\""),
            (4, "change = \"codel target 9ms\""),
            (5, "enable = [\"qdisc\"]"),
            (6, "replace = \"pfifo limit 7\""),
            (7, "replace = \"cake bandwidth 1mbit\"\nshaper = \"own\""),
        ] {
            let _ = write!(
                text,
                "[[event]]\nname = \"e{at}\"\nat = \"{at}s\"\nhop = \"h\"\nside = \"down\"\n{what}\n"
            );
        }
        let experiment = Experiment::parse("t.toml", &text).unwrap();
        let scenario = experiment.plan(&AnyWords, 10).unwrap().into_scenarios().remove(0);
        let orders = |event: usize| {
            let action = &scenario.events[event].actions[0];
            let state = before(&scenario, "h.down.qdisc", event, 0).unwrap();
            state.orders("c", action)
        };
        let begin = |words: &str| Order::Begin(words.to_owned());
        let wait = |words: &str| Order::Wait(words.to_owned());
        let class = "parent 1: classid 1:1 htb rate";
        assert_eq!(
            orders(0),
            [begin(&format!("class change dev c {class} 4000000bit ceil 4000000bit"))]
        );
        assert_eq!(orders(1), [Order::Remove]);
        assert_eq!([orders(2), orders(3)], [[Order::Nothing], [Order::Nothing]]);
        assert_eq!(
            orders(4),
            [
                wait("qdisc add dev c root handle 1: htb"),
                wait(&format!("class add dev c {class} 2000000bit ceil 2000000bit")),
                wait("qdisc add dev c parent 1:1 handle 10: codel limit 9"),
                wait("qdisc change dev c parent 1:1 handle 10: codel target 9ms"),
                wait("filter add dev c parent 1: protocol all prio 1 matchall classid 1:1"),
                Order::Placed("10"),
            ]
        );
        let replaced = wait("qdisc replace dev c parent 1:1 handle 10: pfifo limit 7");
        assert_eq!(orders(5), [Order::Tell, replaced]);
        let other = wait("qdisc add dev c root handle 1: cake bandwidth 1mbit");
        assert_eq!(orders(6), [Order::Remove, other, Order::Placed("1")]);
    }
}
