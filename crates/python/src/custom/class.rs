//! One class of a Python file, as it was read, for a registry's entry.

use super::fault::Wrong;
use pyo3::prelude::*;
use pyo3::types::PyString;
use sojourn_engine::Fault;
use sojourn_qdisc::table::{Gauge as QdiscGauge, Unit};
use sojourn_qdisc::{Discipline, Reason};
use sojourn_transport::ecn::{EcnRequirements, Request};
use sojourn_units::Ecn;
use std::collections::HashSet;

/// A Python file that words name.
#[derive(Clone)]
pub struct File {
    /// Where it is, from the root.
    pub path: String,
    /// SHA-256 of it, in hexadecimal digits.
    pub digest: String,
}

/// An attribute that is recorded at each step.
pub struct Gauge {
    /// Its name.
    pub name: &'static str,
    key: Py<PyString>,
    /// What it is.
    pub doc: &'static str,
}

impl Gauge {
    /// Its value now.
    pub fn read(&self, object: &Bound<'_, PyAny>) -> Result<f64, Wrong> {
        let value = object.getattr(self.key.bind(object.py()));
        value.and_then(|value| value.extract::<f64>()).map_err(|error| Wrong {
            message: format!("its gauge \"{}\": {error}", self.name),
            help: "set that attribute to a number in __init__, or leave it out of gauges"
                .to_owned(),
        })
    }
}

/// A class that is a congestion control.
pub struct ControlClass {
    /// The word that names it.
    pub name: &'static str,
    pub file: File,
    pub class: Py<PyAny>,
    /// What it is, in a line.
    pub about: &'static str,
    /// Hooks of its own, besides those that every class has.
    pub hooks: HashSet<&'static str>,
    pub gauges: Vec<Gauge>,
    pub ecn: EcnRequirements,
    pub full_control: bool,
}

/// A class that is a queue discipline.
pub struct AqmClass {
    pub file: File,
    pub class: Py<PyAny>,
    pub gauges: Vec<Gauge>,
    pub info: &'static Discipline,
    /// Its own reasons for drops and marks.
    pub reasons: Vec<Reason>,
    /// Whether it takes other options while it runs.
    pub changes: bool,
}

impl ControlClass {
    /// What is wrong with it, as the end of a run.
    pub fn fault(&self, wrong: Wrong) -> Fault {
        wrong.within(&self.file.path).fault()
    }
}

impl AqmClass {
    /// What is wrong with it, as the end of a run.
    pub fn fault(&self, wrong: Wrong) -> Fault {
        wrong.within(&self.file.path).fault()
    }
}

fn gauges(py: Python<'_>, table: Vec<(String, String)>) -> Vec<Gauge> {
    let gauge = |(name, doc): (String, String)| Gauge {
        key: PyString::new(py, &name).unbind(),
        name: name.leak(),
        doc: doc.leak(),
    };
    table.into_iter().map(gauge).collect()
}

/// What Python says of a class: itself, what it is, its gauges, and its hooks or its reasons.
type Loaded<'py> = (Bound<'py, PyAny>, String, Vec<(String, String)>, Vec<String>);

impl ControlClass {
    /// Reads the class that `word` names.
    pub fn read(py: Python<'_>, word: &str, file: File, class: &str) -> PyResult<Self> {
        let loading = py.import("sojourn.custom.loading")?;
        let loaded = loading.call_method1("load_control", (&file.path, class))?;
        let (class, about, table, hooks): Loaded<'_> = loaded.extract()?;
        let said = |name: &str, preset: bool| -> PyResult<bool> {
            class.getattr_opt(name)?.map_or(Ok(preset), |value| value.extract())
        };
        let request: Option<String> =
            class.getattr_opt("ecn")?.map(|value| value.extract()).transpose()?;
        let ecn = EcnRequirements {
            request: match request.as_deref() {
                Some("rfc3168") => Request::Rfc3168,
                Some("accecn") => Request::AccEcn,
                _ => Request::Off,
            },
            codepoint: if said("ect_1", false)? { Ecn::Ect1 } else { Ecn::Ect0 },
            ..EcnRequirements::NONE
        };
        let optional = ["on_start", "on_rtt_round", "on_timeout"];
        Ok(Self {
            name: word.to_owned().leak(),
            about: about.leak(),
            full_control: said("full_control", false)?,
            hooks: optional
                .into_iter()
                .filter(|name| hooks.iter().any(|own| own == name))
                .collect(),
            gauges: gauges(py, table),
            class: class.unbind(),
            file,
            ecn,
        })
    }
}

impl AqmClass {
    /// Reads the class that `word` names.
    pub fn read(py: Python<'_>, word: &str, file: File, class: &str) -> PyResult<Self> {
        let loading = py.import("sojourn.custom.loading")?;
        let loaded = loading.call_method1("load_aqm", (&file.path, class))?;
        let (class, about, table, reasons): Loaded<'_> = loaded.extract()?;
        let gauges = gauges(py, table);
        let rows: Vec<_> = gauges
            .iter()
            .map(|gauge| QdiscGauge { name: gauge.name, unit: Unit::Count, doc: gauge.doc })
            .collect();
        let info = Box::leak(Box::new(Discipline {
            name: word.to_owned().leak(),
            summary: about.leak(),
            source: file.path.clone().leak(),
            gauges: rows.leak(),
            ..Discipline::BASE
        }));
        let reasons = reasons.into_iter().map(|name| Reason::Custom(name.leak())).collect();
        let changes = loading.call_method1("changes", (&class,))?.extract()?;
        Ok(Self { class: class.unbind(), file, gauges, info, reasons, changes })
    }
}
