//! Asks a kernel for its own features: a list kept here would be wrong for the next release, and for every tree with
//! something of its user's in it.
//!
//! A guest boots in a tenth of a second. Its init (`probe/probe.c`) reads the congestion controls from /proc and tries
//! `tcp_ecn`. For queue disciplines there is no such file, so each name is tried on the loopback device. The names come from
//! the kernel's own program: `struct Qdisc_ops` (`include/net/sch_generic.h`) has the name in an array of 16 bytes behind two
//! pointers, so its offset in the file is a multiple of eight, and zeros follow it. A thousand other words look like that, too; the
//! kernel says which are disciplines.

use crate::cores::Core;
use crate::guest::{Boot, Guest, LOOK_EVERY, OWN_CLOCK, folder, last_words};
use crate::tools;
use serde::Serialize;
use sojourn_engine::programs::PLACES;
use std::fs;
use std::path::Path;
use std::process::Stdio;

/// After how many looks a guest that does not answer is given up: a minute.
const LOOKS: u32 = 3000;
/// The size of a discipline's name in the kernel (`IFNAMSIZ`), its zeros included.
const NAME: usize = 16;

/// What a kernel says that it has.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Answer {
    /// Its release, as `uname -r` says it.
    pub release: String,
    /// Its congestion controls, by name.
    pub ccs: Vec<String>,
    /// Its queue disciplines, by tc's names.
    pub qdiscs: Vec<String>,
    /// Whether it negotiates AccECN.
    pub accecn: bool,
}

/// Boots a kernel and asks it; `cache` is the engine's folder, for the program that asks.
///
/// # Errors
///
/// If it does not boot, or does not answer within a minute: with the last that it wrote on its console.
pub fn ask(cache: &Path, kernel: &Path) -> Result<Answer, String> {
    let probe = tools::probe(cache)?;
    let at = folder(&std::env::temp_dir()).map_err(|e| format!("no folder for the guest: {e}"))?;
    let cannot = |e: std::io::Error| format!("{} cannot be asked: {e}", kernel.display());
    let words = words(&fs::read(kernel).map_err(cannot)?);
    fs::write(at.path().join("words"), words.join("\n")).map_err(cannot)?;
    let ours = [kernel.parent(), probe.init.parent()].into_iter().flatten();
    let reads = PLACES.map(str::to_owned).into_iter();
    let reads: Vec<String> = reads.chain(ours.map(|p| p.display().to_string())).collect();
    let (clock, core, reads) = ([OWN_CLOCK.to_owned()], Core::take(), reads.join(":"));
    let boot = Boot { at: at.path(), reads: &reads, seed: 0, clock: &clock, core: core.as_ref() };
    let mut guest = Guest::start(kernel, &probe, &boot, Stdio::null()).map_err(cannot)?;
    let mut looks = 0;
    while guest.child.try_wait().map_err(cannot)?.is_none() {
        looks += 1;
        if looks == LOOKS {
            let said = last_words(at.path());
            return Err(format!("the kernel does not answer; the last on its console: {said}"));
        }
        std::thread::sleep(LOOK_EVERY);
    }
    drop(guest);
    let text = fs::read_to_string(at.path().join("answer")).unwrap_or_default();
    read(&text).ok_or_else(|| {
        let error = text.lines().find_map(|line| line.strip_prefix("error "));
        let said = error.map_or_else(|| last_words(at.path()), str::to_owned);
        format!("the kernel does not boot: {said}")
    })
}

/// What an answer says, if it is whole.
fn read(text: &str) -> Option<Answer> {
    let mut answer = Answer::default();
    let mut whole = false;
    for line in text.lines() {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("release", release) => release.clone_into(&mut answer.release),
            ("cc", name) => answer.ccs.push(name.to_owned()),
            ("qdisc", name) => answer.qdiscs.push(name.to_owned()),
            ("accecn", _) => answer.accecn = true,
            ("done", _) => whole = true,
            _ => {}
        }
    }
    answer.ccs.sort();
    answer.qdiscs.sort();
    whole.then_some(answer)
}

/// The words of a program that may be names of disciplines, each once.
fn words(program: &[u8]) -> Vec<String> {
    let mut words: Vec<String> = program
        .chunks_exact(8)
        .zip(program.chunks_exact(8).skip(1))
        .filter_map(|(first, second)| {
            let mut field = [0_u8; NAME];
            field[..8].copy_from_slice(first);
            field[8..].copy_from_slice(second);
            let length = field.iter().position(|&b| b == 0)?;
            let (name, rest) = field.split_at(length);
            let may = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-".contains(b);
            let is_name = name.first().is_some_and(u8::is_ascii_lowercase)
                && name.iter().all(may)
                && rest.iter().all(|&b| b == 0);
            is_name.then(|| String::from_utf8_lossy(name).into_owned())
        })
        .collect();
    words.sort();
    words.dedup();
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_when_it_is_whole() {
        let text = "release 7.3.4\ncc reno\ncc mine\nqdisc pie\naccecn\n";
        assert_eq!(read(text), None);
        let answer = read(&format!("{text}done\n")).unwrap();
        assert_eq!((answer.release.as_str(), answer.accecn), ("7.3.4", true));
        assert_eq!(
            (answer.ccs, answer.qdiscs),
            (vec!["mine".into(), "reno".into()], vec!["pie".into()])
        );
    }

    /// As the compiler lays out two of `struct Qdisc_ops`: two pointers, the name, a size.
    #[test]
    fn names_are_found_where_the_kernel_has_them() {
        let mut program = vec![0x7f; 16];
        for name in ["sch_mine", "fq_codel", "exactly_15_long"] {
            program.extend([0x11; 16]);
            let mut field = name.as_bytes().to_vec();
            field.resize(NAME, 0);
            program.extend(field);
            program.extend(96_u64.to_le_bytes());
        }
        // Neither a sentence, nor what is not at a multiple of eight.
        program.extend(b"no such device\0\0");
        program.extend(b"\0\0pie\0\0\0\0\0\0\0\0\0\0\0");
        assert_eq!(words(&program), ["exactly_15_long", "fq_codel", "sch_mine"]);
    }
}
