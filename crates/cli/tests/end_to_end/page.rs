//! The page of a run, as a browser shows it.

use crate::plan;
use crate::requires::{client, requires};
use crate::results::file;
use crate::running::{run, seawall, succeed};
use crate::scratch::Scratch;
use crate::server::read_text;
use serde_json::Value;

/// A browser without a screen opens a page: its script builds what it is to build and complains of
/// nothing, the picture of it is not blank, and the page asks for nothing but itself.
#[test]
fn a_browser_shows_the_page_without_asking_for_anything_else() {
    requires!("chromium");
    let scratch = Scratch::new();
    let simulated = run(seawall(scratch.path()).arg("simulate").arg(plan::write(&scratch, plan::PLAN)));
    assert_eq!(simulated.code, Some(0), "{simulated:?}");
    let page = file(scratch.path(), ".html");
    let (picture, log) = (scratch.join("page.png"), scratch.join("net.json"));
    let mut command = client("chromium");
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]);
    command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
    command.args(["--disable-dev-shm-usage", "--enable-logging=stderr", "--window-size=1200,1600"]);
    command.arg(format!("--user-data-dir={}", scratch.join("browser").display()));
    command.arg(format!("--screenshot={}", picture.display())).arg(format!("--log-net-log={}", log.display()));
    command.arg(format!("file://{}", page.display()));
    let ended = run(&mut command);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let complaints: Vec<&str> = ended.err.lines().filter(|line| line.contains(":CONSOLE")).collect();
    assert_eq!(complaints, [""; 0]);
    // A page of one colour packs into a few thousand bytes.
    let shown = std::fs::metadata(&picture).expect("a picture").len();
    assert!(shown > 20_000, "{shown}");
    assert_eq!(asked_by_pages(&read_text(&log)), [""; 0]);
}

/// The addresses that a page asked for, by the browser's own log. What the browser asks for itself
/// has no initiator.
fn asked_by_pages(log: &str) -> Vec<String> {
    // A browser that ends in a hurry leaves the last bracket out.
    let whole = [log.to_owned(), format!("{}]}}", log.trim_end().trim_end_matches(','))];
    let log: Value = whole.iter().find_map(|text| serde_json::from_str(text).ok()).expect("the browser's log is JSON");
    let events = log["events"].as_array().expect("events").iter();
    let started =
        events.filter_map(|event| Some((event["params"]["url"].as_str()?, event["params"]["initiator"].as_str()?)));
    let by_page = started.filter(|(url, initiator)| *initiator != "not an origin" && !url.starts_with("file:"));
    by_page.map(|(url, initiator)| format!("{url} for {initiator}")).collect()
}

/// The log is read as it should be: with a page that does load a picture from elsewhere, the
/// address shows.
#[test]
fn a_page_that_asks_for_something_is_found_out() {
    requires!("chromium");
    let scratch = Scratch::new();
    let (page, log) = (scratch.join("page.html"), scratch.join("net.json"));
    // Nobody listens there, and nothing leaves the machine.
    std::fs::write(&page, "<!DOCTYPE html><title>x</title><img src=\"http://127.0.0.1:9/picture\">").unwrap();
    let mut command = client("chromium");
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--dump-dom"]);
    command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
    command.arg(format!("--user-data-dir={}", scratch.join("browser").display()));
    command.arg(format!("--log-net-log={}", log.display())).arg(format!("file://{}", page.display()));
    succeed(&mut command);
    let asked = asked_by_pages(&read_text(&log));
    assert!(asked.iter().any(|line| line.contains("127.0.0.1:9/picture")), "{asked:?}");
}
