//! Reports in a real browser, on a desk and on a phone, light and dark. Skipped, and said so, where no
//! Chromium is installed.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::launch::{corral, succeeded};
use tempfile::TempDir;

const VIEWS: [(&str, u32); 4] = [("light", 1400), ("dark", 1400), ("light", 390), ("dark", 390)];

pub fn chromium() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    names.iter().flat_map(|name| folders.iter().map(move |f| f.join(name))).find(|path| path.is_file())
}

/// What the browser printed: the page after its scripts ran, and its log.
pub fn browse(chromium: &PathBuf, dir: &TempDir, page: &str, more: &[&str]) -> (String, String) {
    let profile = dir.path().join("profile");
    let flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--hide-scrollbars",
        "--enable-logging=stderr",
        "--allow-file-access-from-files",
        "--window-size=1500,1000",
        "--virtual-time-budget=20000",
        "--dump-dom",
    ];
    let (dom, log) = (dir.path().join("dom"), dir.path().join("log"));
    let mut child = Command::new(chromium)
        .args(flags)
        .args(more)
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", dir.path().join(page).display()))
        .stdin(Stdio::null())
        .stdout(fs::File::create(&dom).unwrap())
        .stderr(fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > Duration::from_secs(120) {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    (fs::read_to_string(dom).unwrap(), String::from_utf8_lossy(&fs::read(log).unwrap()).into_owned())
}

/// Many learners, so that charts have a panel for each; two swept keys, which make a map; names that are long.
const CROWDED: &str = r#"
name   = "small multiples"
rounds = 400
seeds  = 3

[[environment]]
label = "still"
name  = "gap"
arms  = 3
gap   = 0.3

[[learner]]
label  = "a band with a name that is longer than its panel is wide"
master = { name = "corral", rate = "fast" }
bases  = [ "ucb1", "exp3", "kl-ucb", "moss", "thompson", "tsallis-inf", "random", "ucb-v" ]

[[learner]]
base = { name = "ucb1" }

[[learner]]
base = { name = "exp3" }

[sweep]
environment.still.gap = [0.05, 0.3]
learner.ucb1.base.scale = [0.1, 0.3, 1.0, 3.0, 10.0]
"#;

/// The quickstart, and a spec with all other kinds of charts.
#[test]
fn reports_are_fine_in_a_browser() {
    let Some(chromium) = chromium() else {
        // Not by a macro: the harness would keep it to itself.
        let _ = writeln!(std::io::stderr(), "SKIPPED: no Chromium is installed, reports were not opened");
        return;
    };
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("crowded.toml"), CROWDED).unwrap();
    for (spec, fast) in [("quickstart", true), ("crowded.toml", false)] {
        let args = ["run", spec, "--quiet", "--out", "o", "--fast"];
        succeeded(&corral(dir.path(), if fast { &args } else { &args[..5] }));
        look_at(&chromium, &dir, "o/report.html");
        fs::remove_dir_all(dir.path().join("o")).unwrap();
    }
}

/// Opens a report in a folder as it is seen in every view, and fails on what is wrong with it.
pub fn look_at(chromium: &PathBuf, dir: &TempDir, report: &str) {
    let file = report;
    let report = fs::read_to_string(dir.path().join(file)).unwrap();
    let first = "<script>const errors = []; addEventListener('error', e => errors.push(e.message));</script>";
    let probe = format!("<script>{}</script></body>", include_str!("browser/probe.js"));
    let probed = report.replacen("<head>", &format!("<head>{first}"), 1).replacen("</body>", &probe, 1);
    fs::write(dir.path().join("probed.html"), probed).unwrap();
    // A frame has the width and the scheme of its element, whatever the window is.
    let frames: String = VIEWS
        .iter()
        .map(|(scheme, width)| {
            format!(
                "<iframe src=\"probed.html#{scheme}-{width}\" style=\"width:{width}px;height:900px;border:0;color-scheme:{scheme}\"></iframe>"
            )
        })
        .collect();
    let page = format!(
        "<!DOCTYPE html><html><body><script>addEventListener('message', e => {{ const p = document.createElement('pre'); \
         p.textContent = 'seen ' + e.data.join('\\n  ') + '\\n'; document.body.append(p); }});</script>{frames}</body></html>"
    );
    fs::write(dir.path().join("page.html"), page).unwrap();
    let (dom, log) = browse(chromium, dir, "page.html", &[]);
    for (scheme, width) in VIEWS {
        let expected = format!("<pre>seen #{scheme}-{width}\n</pre>");
        assert!(dom.contains(&expected), "{file}, {scheme}, {width} pixels: {dom}\n{log}");
    }
    assert!(!log.contains("CONSOLE"), "the console is not empty: {log}");
}
