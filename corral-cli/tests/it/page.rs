//! The page of a service in a real browser, on a desk and on a phone, light and dark. Skipped, and said so, where no Chromium
//! is installed.

use std::fs;
use std::io::Write;

use tempfile::TempDir;

use crate::browser::{browse, chromium};
use crate::serve::{Client, Running};

const SPEC: &str = r#"
name = "shop"
actions = ["small", "mid", "large"]
bases = ["ucb1", "exp3", "thompson"]
watch = true
default_action = "mid"
holdout = 0.1
"#;

/// Says, some seconds after the page was opened, what is wrong with it.
const PROBE: &str = r##"
setTimeout(() => {
  const root = document.documentElement, wrong = [], text = id => document.getElementById(id).textContent;
  if (root.scrollWidth > root.clientWidth) wrong.push("overflow by " + (root.scrollWidth - root.clientWidth));
  for (const part of document.querySelectorAll(".scroll"))
    if (part.scrollWidth > part.clientWidth) wrong.push("a table is wider by " + (part.scrollWidth - part.clientWidth));
  if (!/retired/.test(text("bases"))) wrong.push("no base is out: " + text("bases"));
  if (text("name") !== "shop") wrong.push("the band is " + text("name"));
  if (document.querySelectorAll("#bases tr").length !== 3) wrong.push("bases: " + text("bases"));
  if (!/rewards learned[1-9]/.test(text("facts"))) wrong.push("facts: " + text("facts"));
  if (!/best/.test(text("watch"))) wrong.push("watch: " + text("watch"));
  if (!/default/.test(text("lift"))) wrong.push("lift: " + text("lift"));
  if (text("alarms")) wrong.push("alarms: " + text("alarms"));
  if (!(past[0].at < performance.timeOrigin)) wrong.push("nothing from before the page was opened");
  for (const id of ["chart", "values"])
    if (document.querySelectorAll("#" + id + " polyline").length !== 3) wrong.push(id + " is not drawn");
  parent.postMessage(innerWidth + " " + wrong.join("; "), "*");
}, 5000);
"##;

#[test]
fn the_page_of_a_service_is_fine_in_a_browser() {
    let Some(chromium) = chromium() else {
        let _ = writeln!(std::io::stderr(), "SKIPPED: no Chromium is installed, the page was not opened");
        return;
    };
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("band.toml"), SPEC).unwrap();
    let mut running = Running::start(dir.path(), &[]);
    let mut client = Client::new(&running.address).unwrap();
    for _ in 0..60 {
        let (_, answer) = client.ask("POST", "/v1/bands/shop/choose", "{}").unwrap();
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        let reward = if answer["action"] == "large" { 0.9 } else { 0.2 };
        assert_eq!(client.reward(answer["token"].as_str().unwrap(), reward).unwrap().0, 200);
    }
    let retire = r#"{"change": "retire", "name": "exp3"}"#;
    assert_eq!(client.ask("POST", "/v1/bands/shop/bases", retire).unwrap().0, 200);
    let (_, page) = client.ask("GET", "/", "").unwrap();
    let asks = format!("await fetch(\"http://{}\" + path", running.address);
    let probed = page.replace("await fetch(path", &asks) + &format!("<script>{PROBE}</script>");
    assert!(probed.contains(&asks));
    fs::write(dir.path().join("probed.html"), probed).unwrap();
    let frame = |(width, scheme): (u32, &str)| {
        let style = format!("border:0;color-scheme:{scheme}");
        format!("<iframe width={width} height=900 style=\"{style}\" src=\"probed.html\"></iframe>")
    };
    let frames: String = [(1400, "light"), (390, "light"), (1400, "dark"), (390, "dark")].map(frame).concat();
    let listen = "addEventListener('message', e => document.querySelector('pre').textContent += 'seen ' + e.data + '\\n')";
    let page =
        format!("<!doctype html><html><body><pre></pre><script>{listen}</script>{frames}</body></html>");
    fs::write(dir.path().join("page.html"), page).unwrap();
    // So that the page, a file here, may ask the service.
    let (dom, log) = browse(&chromium, &dir, "page.html", &["--disable-web-security"]);
    for width in [1400, 390] {
        let seen = dom.matches(&format!("seen {width} \n")).count();
        assert_eq!(seen, 2, "{width} pixels: {dom}\n{log}");
    }
    assert!(!log.contains("CONSOLE"), "the console is not empty: {log}");
    running.kill();
}
