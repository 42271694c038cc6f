//! A FIFO that is read from a place inside it: `lfq_cobalt`'s bulk queue.
//!
//! Packets come in at the tail and leave from wherever the scan stands, or from the head. The scan may be past the
//! end, where a packet that comes in does not bring it back, unless the list was empty (docs/sources/sce.md#lightweight-fair-queueing).
//!
//! Invariants: the scan is a packet's place or past the end; places are reused, packets do not move.

/// Past either end.
const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Node<V> {
    value: Option<V>,
    before: u32,
    after: u32,
}

/// A list with a scan.
#[derive(Clone, Debug)]
pub(crate) struct ScanList<V> {
    nodes: Vec<Node<V>>,
    free: Vec<u32>,
    head: u32,
    tail: u32,
    scan: u32,
}

impl<V> ScanList<V> {
    pub(crate) const fn new() -> Self {
        Self { nodes: Vec::new(), free: Vec::new(), head: NONE, tail: NONE, scan: NONE }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.head == NONE
    }

    #[inline]
    pub(crate) fn push(&mut self, value: V) {
        let node = Node { value: Some(value), before: self.tail, after: NONE };
        let place = if let Some(place) = self.free.pop() {
            self.nodes[place as usize] = node;
            place
        } else {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        };
        if self.is_empty() {
            (self.head, self.scan) = (place, place);
        } else {
            self.nodes[self.tail as usize].after = place;
        }
        self.tail = place;
    }

    #[inline]
    fn remove(&mut self, place: u32) -> Option<V> {
        let node = self.nodes.get_mut(place as usize)?;
        let (before, after, value) = (node.before, node.after, node.value.take());
        match self.nodes.get_mut(before as usize) {
            Some(node) => node.after = after,
            None => self.head = after,
        }
        match self.nodes.get_mut(after as usize) {
            Some(node) => node.before = before,
            None => self.tail = before,
        }
        if self.scan == place {
            self.scan = after;
        }
        self.free.push(place);
        value
    }

    /// Takes the first.
    pub(crate) fn pop_head(&mut self) -> Option<V> {
        self.remove(self.head)
    }

    /// Takes the packet at the scan's place, and the scan goes on.
    #[inline]
    pub(crate) fn pull(&mut self) -> Option<V> {
        self.remove(self.scan)
    }

    /// The packet at the scan's place; nothing past the end.
    #[inline]
    pub(crate) fn scanned(&self) -> Option<&V> {
        self.nodes.get(self.scan as usize)?.value.as_ref()
    }

    /// The scan goes on by one.
    #[inline]
    pub(crate) fn advance(&mut self) {
        self.scan = self.nodes.get(self.scan as usize).map_or(NONE, |node| node.after);
    }

    /// The scan goes back to the head.
    #[inline]
    pub(crate) const fn rewind(&mut self) {
        self.scan = self.head;
    }

    /// From head to tail.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &V> {
        let node = |place: u32| self.nodes.get(place as usize);
        core::iter::successors(node(self.head), move |n| node(n.after))
            .filter_map(|n| n.value.as_ref())
    }
}
