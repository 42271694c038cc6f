//! A page's requests and their replies, natively: the same session that `wasm32` has.

use serde_json::{Value, json};
use sojourn_web::{Reply, Session};

const TWO_FLOWS: &str = r#"
[experiment]
name = "two"
duration = "3s"

[[hop]]
name = "bottleneck"
rate = "10mbit"
rtt = "20ms"
qdisc = "fq_codel"

[[flow]]
name = "a"

[[flow]]
name = "b"
cc = "reno"

[[check]]
that = "goodput(a) > 1mbit"
"#;

fn ask(session: &mut Session, request: &Value) -> Reply {
    session.ask(&request.to_string())
}

fn errors(reply: &Reply) -> Vec<String> {
    let said = reply.json["errors"].as_array().cloned().unwrap_or_default();
    said.iter().map(|e| e["message"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Runs the experiment that was read in steps of `step` events, and finishes it.
fn run(session: &mut Session, step: u64, tables: &[&str]) -> Reply {
    let begun = ask(session, &json!({ "ask": "begin", "run": 0 }));
    assert_eq!(errors(&begun), Vec::<String>::new());
    let mut passed = 0.0;
    loop {
        let said = ask(session, &json!({ "ask": "advance", "events": step })).json;
        let now = said["passed"].as_f64().expect("how far it is");
        assert!(now >= passed, "it goes on");
        passed = now;
        if said["over"] == true {
            break;
        }
    }
    ask(session, &json!({ "ask": "finish", "tables": tables }))
}

#[test]
fn a_run_in_steps_is_the_run() {
    let mut session = Session::default();
    ask(&mut session, &json!({ "ask": "check", "text": TWO_FLOWS }));
    let coarse = run(&mut session, u64::MAX, &[]);
    let fine = run(&mut session, 97, &[]);
    assert_eq!(coarse.json["digests"], fine.json["digests"]);
    assert_eq!(coarse.json["checks"][0]["passed"], true);
    let measured = ask(
        &mut session,
        &json!({ "ask": "measure", "expressions": ["goodput(a)", "nothing(a)"] }),
    );
    let of_summary = &fine.json["summary"]["flows"][0]["goodput_bps"];
    assert_eq!(&measured.json["values"][0]["value"], of_summary);
    assert!(measured.json["values"][1]["value"].is_null(), "a metric that there is not");
}

#[test]
fn columns_are_where_the_reply_says() {
    let mut session = Session::default();
    ask(&mut session, &json!({ "ask": "check", "text": TWO_FLOWS }));
    let reply = run(&mut session, u64::MAX, &["flows"]);
    let table = &reply.json["tables"][0];
    let rows = table["rows"].as_u64().expect("rows") as usize;
    let column = |name: &str| {
        let columns = table["columns"].as_array().expect("columns");
        columns.iter().find(|c| c["name"] == name).expect(name).clone()
    };
    let at = |column: &Value| column["at"].as_u64().expect("a place") as usize;
    let (time, flow) = (column("t_s"), column("flow"));
    assert_eq!(at(&time) % 8, 0);
    let last = at(&time) + 8 * (rows - 1);
    let last = f64::from_le_bytes(reply.columns[last..last + 8].try_into().expect("eight bytes"));
    assert!((last - 3.0).abs() < 1e-9, "the last row is of the end: {last}");
    let first =
        u32::from_le_bytes(reply.columns[at(&flow)..at(&flow) + 4].try_into().expect("four bytes"));
    assert_eq!(flow["names"][first as usize], "a");
    // Behind its length, and a multiple of eight: a page reads columns where they are.
    let bytes = reply.bytes();
    let json = u32::from_le_bytes(bytes[..4].try_into().expect("four bytes")) as usize;
    assert_eq!(json % 8, 0);
    assert_eq!(bytes.len(), 8 + json + reply.columns.len());
}

#[test]
fn a_mistake_has_its_place_and_what_would_be_right() {
    let mut session = Session::default();
    let text = TWO_FLOWS.replace("fq_codel", "fq_codle");
    let reply = ask(&mut session, &json!({ "ask": "check", "text": text }));
    let error = &reply.json["errors"][0];
    assert_eq!((&error["line"], &error["column"]), (&json!(10), &json!(10)));
    assert!(error["help"].as_str().is_some_and(|help| help.contains("fq_codel")), "{error}");
    // The experiment that was read before is gone with it.
    let begun = ask(&mut session, &json!({ "ask": "begin", "run": 0 }));
    assert_eq!(errors(&begun), ["there is no run 0 of 0"]);
}

#[test]
fn what_a_page_has_not_it_refuses_by_name() {
    let mut session = Session::default();
    let cases = [
        ("quic = {}", "QUIC is left out of the page"),
        ("tcp = { stack = \"smoltcp\" }", "other authors' TCP is left out of the page"),
        ("program = { client = [\"true\"] }", "programs run on a kernel"),
    ];
    for (line, why) in cases {
        let text = TWO_FLOWS.replace("cc = \"reno\"", line);
        let read = ask(&mut session, &json!({ "ask": "check", "text": text }));
        assert_eq!(errors(&read), Vec::<String>::new(), "it is a word of the language");
        let begun = ask(&mut session, &json!({ "ask": "begin", "run": 0 }));
        assert!(errors(&begun)[0].contains(why), "{:?}", errors(&begun));
    }
    let text = TWO_FLOWS.replace("name = \"two\"", "name = \"two\"\nplugins = [\"./libmine.so\"]");
    let read = ask(&mut session, &json!({ "ask": "check", "text": text }));
    assert_eq!(errors(&read), ["the plugin ./libmine.so: a page loads no plugins"]);
}

#[test]
fn what_is_too_much_for_a_tab_is_refused_before_it_begins() {
    let mut session = Session::default();
    let huge = TWO_FLOWS.replace("10mbit", "10tbit").replace("3s", "100000s");
    ask(&mut session, &json!({ "ask": "check", "text": huge }));
    let begun = ask(&mut session, &json!({ "ask": "begin", "run": 0 }));
    assert!(errors(&begun)[0].contains("would need"), "{:?}", errors(&begun));
    let long = format!("{TWO_FLOWS}#{}", "x".repeat(sojourn_web::limits::TEXT));
    let read = ask(&mut session, &json!({ "ask": "check", "text": long }));
    assert!(errors(&read)[0].contains("a page reads"), "{:?}", errors(&read));
    let many = TWO_FLOWS.replace("duration", "seeds = 5000\nduration");
    let read = ask(&mut session, &json!({ "ask": "check", "text": many }));
    assert_eq!(errors(&read).len(), 1);
}

#[test]
fn nonsense_is_answered() {
    let mut session = Session::default();
    for request in
        ["", "{}", "[1]", "{\"ask\":\"everything\"}", "{\"ask\":\"advance\",\"events\":1}"]
    {
        assert_eq!(errors(&session.ask(request)).len(), 1, "{request}");
    }
}

#[test]
fn choices_are_the_tables_of_the_build() {
    let choices = Session::default().ask("{\"ask\":\"choices\"}").json;
    let named = |list: &str, name: &str| {
        choices[list].as_array().is_some_and(|all| all.iter().any(|one| one["name"] == name))
    };
    assert!(
        named("disciplines", "dualpi2") && named("controls", "bbr") && named("stacks", "linux-7.3")
    );
}

/// A flow that waits for what never comes has no row, and a stated window is there all the same.
#[test]
fn a_run_without_started_flows_is_summed_up() {
    let mut session = Session::default();
    let waits = TWO_FLOWS
        .replace("cc = \"reno\"", "start = \"flow a ends + 1s\"")
        .replace("name = \"a\"", "name = \"a\"\nstart = \"flow b ends + 1s\"");
    let text = format!("{waits}\n[[window]]\nname = \"steady\"\nfrom = \"1s\"\nto = \"3s\"\n");
    let read = ask(&mut session, &json!({ "ask": "check", "text": text }));
    assert_eq!(errors(&read), Vec::<String>::new());
    let reply = run(&mut session, u64::MAX, &[]);
    assert!(reply.json["swing"].is_null());
    assert!(reply.json["digests"].is_object(), "{}", reply.json);
}
