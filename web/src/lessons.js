// The lessons: a text to project, what to look at, and two experiments, `a` and `b`. A lesson is a file of `lessons/` and its
// name here, in the order of the menu. A test runs the experiments with `sojourn run`, too.

import { parse } from "smol-toml";

const NAMES = ["bufferbloat", "why-aqm", "pacing", "bbr", "l4s", "fast-lane", "rtt"];

export const LESSONS = NAMES.map((id) => ({ id, ...parse(require(`../lessons/${id}.toml`)) }));
