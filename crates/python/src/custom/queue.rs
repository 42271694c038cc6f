//! A queue and its packets as a queue discipline in Python sees them.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_qdisc::Packet as Queued;
use sojourn_units::Random;

/// An action of a discipline on a packet.
pub enum Action {
    /// Set its ECN field to CE.
    Mark,
    /// Dropped it.
    Drop,
}

/// The queue as its discipline reads it. It is filled again for each call.
#[pyclass(module = "sojourn._core")]
pub struct QueueView {
    /// Time since the run began, nanoseconds.
    #[pyo3(get)]
    pub now_ns: u64,
    /// Packets held, the one that arrives included.
    #[pyo3(get)]
    pub packets: u32,
    /// Bytes held, as tc counts them: IP packets with their Ethernet headers.
    #[pyo3(get)]
    pub bytes: u64,
    /// The stream of this call.
    pub random: Random,
    /// What has been done in this call, in order: to which packet, what, and why.
    pub actions: Vec<(u64, Action, Option<String>)>,
}

#[pymethods]
impl QueueView {
    /// A random number of this queue's own stream, uniform in [0, 1). It depends on the run's seed alone.
    fn random(&mut self) -> f64 {
        self.random.unit()
    }
}

/// A packet that a discipline holds.
#[pyclass(module = "sojourn._core")]
pub struct Packet {
    /// Its number, by order of arrival.
    pub id: u64,
    /// Length in bytes as tc counts it: the IP packet and its Ethernet header (1514 for a full one).
    #[pyo3(get)]
    size: u32,
    /// When it was enqueued, nanoseconds since the run began.
    #[pyo3(get)]
    arrived_ns: u64,
    /// The ECN field: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
    #[pyo3(get)]
    ecn: u8,
    /// The DSCP, 0 to 63.
    #[pyo3(get)]
    dscp: u8,
    /// A number that is the same for packets of one flow and direction, and differs between flows.
    #[pyo3(get)]
    flow: u64,
    is_gone: bool,
    queue: Py<QueueView>,
}

#[pymethods]
impl Packet {
    /// Sets the ECN field to CE if the packet is ECN-capable, and says whether it is CE now.
    ///
    /// The reason is the name of one of Sojourn's or of the class's own `reasons` (default: "python").
    #[pyo3(signature = (reason=None))]
    fn mark(&mut self, py: Python<'_>, reason: Option<String>) -> PyResult<bool> {
        self.check()?;
        if self.ecn == 0 {
            return Ok(false);
        }
        self.ecn = 3;
        self.queue.borrow_mut(py).actions.push((self.id, Action::Mark, reason));
        Ok(true)
    }

    /// Drops the packet. The reason is as of `mark`.
    #[pyo3(signature = (reason=None))]
    fn drop(&mut self, py: Python<'_>, reason: Option<String>) -> PyResult<()> {
        self.check()?;
        self.is_gone = true;
        self.queue.borrow_mut(py).actions.push((self.id, Action::Drop, reason));
        Ok(())
    }

    fn __deepcopy__(&self, py: Python<'_>, memo: &Bound<'_, PyDict>) -> PyResult<Self> {
        let copied = memo.get_item(self.queue.as_ptr() as usize)?;
        let queue = match copied {
            Some(queue) => queue.cast::<QueueView>()?.clone().unbind(),
            None => self.queue.clone_ref(py),
        };
        let Self { id, size, arrived_ns, ecn, dscp, flow, is_gone, .. } = *self;
        Ok(Self { id, size, arrived_ns, ecn, dscp, flow, is_gone, queue })
    }

    fn __repr__(&self) -> String {
        format!("<Packet {} of {} bytes>", self.id, self.size)
    }
}

impl Packet {
    /// One that arrives now.
    pub fn new(id: u64, packet: &impl Queued, queue: Py<QueueView>) -> Self {
        Self {
            id,
            size: packet.wire_len(),
            arrived_ns: packet.stamp().as_nanos(),
            ecn: packet.ecn().bits(),
            dscp: packet.dscp().value(),
            flow: packet.flow_key(),
            is_gone: false,
            queue,
        }
    }

    fn check(&self) -> PyResult<()> {
        if self.is_gone {
            return Err(PyValueError::new_err(format!(
                "packet {} was dropped, or has left the queue",
                self.id
            )));
        }
        Ok(())
    }

    /// It has left.
    pub const fn leave(&mut self) {
        self.is_gone = true;
    }
}
