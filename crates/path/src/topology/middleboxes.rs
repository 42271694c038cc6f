//! Middleboxes from elements, each once however many flows pass it.

use super::elements::{Basis, Place};
use super::error::Unbuildable;
use crate::middlebox::Named;
use crate::setup::{Setup, Tunnels, selection};
use crate::{Middlebox, MiddleboxKind};
use sojourn_model::Kind;
use sojourn_units::Random;
use std::collections::BTreeMap;

/// The middleboxes that there are so far.
#[derive(Default)]
pub(super) struct Middleboxes {
    /// With their elements' paths.
    pub(super) all: Vec<(String, Middlebox)>,
    /// Their tunnels.
    pub(super) tunnels: Tunnels,
    /// Places in `all` by path.
    known: BTreeMap<String, u16>,
}

impl Middleboxes {
    /// The number of an element's middlebox; none if the element holds packets.
    pub(super) fn of_element<P>(
        &mut self,
        basis: &Basis<'_, P>,
        place: &Place<'_>,
    ) -> Result<Option<u16>, Unbuildable> {
        if let Some(&number) = self.known.get(&place.path) {
            return Ok(Some(number));
        }
        let (scenario, tunnels) = (basis.scenario, &mut self.tunnels);
        let made = if let Kind::Middlebox(named) = &place.e.kind {
            let element = basis.elements.build(&named.words).map_err(|error| Unbuildable {
                element: place.path.clone(),
                words: named.words.clone(),
                error: Box::new(error),
            })?;
            let select = selection(scenario, &named.select);
            let random = Random::named(scenario.seed, &format!("middlebox/{}", place.path));
            Some(MiddleboxKind::Named(Named::new(element, select, random)))
        } else {
            let (kind, name, side) = (&place.e.kind, place.e.name.as_str(), place.side);
            MiddleboxKind::of(&mut Setup { kind, name, side, scenario, tunnels })
        };
        let Some(kind) = made else { return Ok(None) };
        let number = self.all.len() as u16;
        self.all.push((place.path.clone(), Middlebox::new(kind, place.e.enabled)));
        self.known.insert(place.path.clone(), number);
        Ok(Some(number))
    }
}
