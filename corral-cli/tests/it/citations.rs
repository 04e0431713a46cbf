//! What comments, specs and pages cite can be opened: a page of this repository with its heading, or a paper by name.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace").to_path_buf()
}

/// The text files of the workspace with their contents; what runs and builds leave behind is not looked at.
fn files() -> Vec<(PathBuf, String)> {
    let (mut folders, mut found) = (vec![root()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
            if path.is_symlink() || ["target", ".git", "corral-out", "__pycache__"].contains(&name) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if [".rs", ".toml", ".md"].iter().any(|end| name.ends_with(end)) {
                let text = fs::read_to_string(&path).expect("text");
                found.push((path, text));
            }
        }
    }
    assert!(found.len() > 200, "only {} files", found.len());
    found
}

/// The anchors of a page, as Markdown viewers make them of its headings.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut fenced = false;
    let slug = |heading: &str| -> String {
        let kept = heading.trim().to_lowercase();
        let kept = kept.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    page.lines()
        .filter_map(|line| {
            fenced ^= line.starts_with("```");
            line.strip_prefix('#').filter(|_| !fenced).map(|rest| slug(rest.trim_start_matches('#')))
        })
        .collect()
}

/// Whether `target` (a path, `path#anchor` or `#anchor`) can be opened from `folder`.
fn check(folder: &Path, this: &str, target: &str) -> Result<(), String> {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let page = match path {
        "" => this.to_owned(),
        _ if !folder.join(path).exists() => return Err(format!("{target}: there is no such file")),
        _ if anchor.is_empty() => return Ok(()),
        _ => fs::read_to_string(folder.join(path)).map_err(|e| format!("{target}: {e}"))?,
    };
    if anchors(&page).contains(anchor) { Ok(()) } else { Err(format!("{target}: there is no such heading")) }
}

#[test]
fn pages_and_headings_that_are_cited_exist() {
    let (mut wrong, mut cited) = (Vec::new(), 0);
    for (path, text) in files() {
        let mut look = |folder: &Path, target: &str| {
            cited += 1;
            wrong.extend(check(folder, &text, target).err().map(|why| format!("{}: {why}", path.display())));
        };
        for (at, _) in text.match_indices("docs/") {
            // Not a part of another path or address.
            if text[..at].ends_with(|c: char| c.is_alphanumeric() || "/.-_".contains(c)) {
                continue;
            }
            let end = text[at..].find(|c: char| !c.is_ascii_alphanumeric() && !"/.-_#".contains(c));
            let target = text[at..].split_at(end.unwrap_or(text.len() - at)).0.trim_end_matches(['.', '#']);
            if target.contains(".md") {
                look(&root(), target);
            }
        }
        if path.extension().is_some_and(|e| e == "md") {
            for (at, _) in text.match_indices("](") {
                let target = text[at + 2..].split(')').next().unwrap_or_default();
                if !target.contains("://") {
                    look(path.parent().expect("a folder"), target);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(cited > 50, "only {cited} citations were found");
}

/// The comments of a file, neighbouring lines together; of pages and specs everything, by paragraphs and lines.
fn passages(path: &Path, text: &str) -> Vec<(usize, String)> {
    let (rust, page) =
        (path.extension().is_some_and(|e| e == "rs"), path.extension().is_some_and(|e| e == "md"));
    let mut passages: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        // A comment that follows code stands for itself.
        let (said, alone) = match line.find("//").filter(|at| !line[..*at].ends_with(':')) {
            _ if page => (line, !line.is_empty()),
            _ if !rust => (line, false),
            Some(at) => (&line[at..], at == 0),
            None => ("", false),
        };
        match passages.last_mut() {
            Some((_, last)) if open && alone => {
                last.push(' ');
                last.push_str(said.trim_start_matches(['/', '!', ' ']));
            }
            _ if !said.is_empty() => passages.push((number + 1, said.to_owned())),
            _ => {}
        }
        open = alone;
    }
    passages
}

/// The texts that follow `word`.
fn after<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> {
    text.match_indices(word).map(move |(at, _)| &text[at + word.len()..])
}

fn numbered(text: &str, word: &str) -> bool {
    after(text, word).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// What a passage cites and no reader can open.
fn fault(passage: &str) -> Option<&'static str> {
    let text = passage.to_lowercase();
    let year = |part: &str| part.parse().is_ok_and(|year: u32| (1900..2100).contains(&year));
    let named = text.contains("the paper")
        || text.contains(".md")
        || text.split(|c: char| !c.is_alphanumeric()).any(year);
    if ["of the notes", "in the notes", "notes on bases", "notes on real data"]
        .iter()
        .any(|n| text.contains(n))
    {
        return Some("notes that are not here");
    }
    if numbered(&text, "pitfall ") {
        return Some("a pitfall by number");
    }
    if ["theorem ", "corollary ", "lemma ", "definition "].iter().any(|word| numbered(&text, word)) {
        return Some("a result by number, not by name and section");
    }
    if ["theorem main", "theorems main", "theorem doubling", "lemma lomd", "lemma master2base"]
        .iter()
        .any(|n| text.contains(n))
    {
        return Some("a label of the paper's source");
    }
    (numbered(&text, "section ") && !named).then_some("a section of nothing")
}

#[test]
fn every_citation_names_a_paper_or_a_page() {
    let mut wrong = Vec::new();
    for (path, text) in files() {
        // This file has the words it looks for; results are what programs printed.
        let within = |part: &str| path.starts_with(root().join(part));
        let others = ["RESULTS.md", "docs/results"];
        if path.ends_with("tests/it/citations.rs") || others.into_iter().any(within) {
            continue;
        }
        for (line, passage) in passages(&path, &text) {
            if let Some(why) = fault(&passage) {
                let start: String = passage.chars().take(100).collect();
                wrong.push(format!("{}:{line}: cites {why}: {start}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{} faults\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn faults_are_found() {
    for (passage, found) in [
        ("// eta = sqrt(2 ln K/(K T))      section 2.1", true),
        ("// eta = sqrt(2 ln K/(K T))      the paper, section 3.2", false),
        ("// Bubeck, Cesa-Bianchi 2012, section 3.3", false),
        ("// argument B of section 1.2 of the notes on bases", true),
        ("// Theorem 1: every master", true),
        ("// the hardness theorem, section 3.1 of the paper", false),
        ("// pitfall 17", true),
        ("// docs/stability.md#lazy-bases", false),
    ] {
        assert_eq!(fault(passage).is_some(), found, "{passage}");
    }
    let page = "# One\n```\n# not a heading\n```\n## Two, and `three`\n";
    assert_eq!(anchors(page), BTreeSet::from(["one".to_owned(), "two-and-three".to_owned()]));
    assert!(check(&root(), page, "#two-and-three").is_ok() && check(&root(), page, "#four").is_err());
}

#[test]
fn specs_of_the_pages_are_accepted() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut specs = 0;
    for (path, text) in files().into_iter().filter(|(path, _)| path.starts_with(root().join("docs"))) {
        for spec in text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()) {
            fs::write(folder.path().join("spec.toml"), spec).expect("written");
            let output = crate::launch::corral(folder.path(), &["run", "spec.toml", "--check"]);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{}: {said}\n{spec}", path.display());
            specs += 1;
        }
    }
    assert!(specs >= 5, "only {specs} specs were found");
}
