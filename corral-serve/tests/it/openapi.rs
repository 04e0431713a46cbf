//! The document of the paths, held against the routes.

use std::collections::BTreeSet;

const ROUTES: &str = include_str!("../../src/http/mod.rs");
const DOCUMENT: &str = include_str!("../../src/http/openapi.json");
const PAGE: &str = include_str!("../../src/http/page.html");

#[test]
fn every_route_is_documented_and_every_documented_path_is_a_route() {
    let document: serde_json::Value = serde_json::from_str(DOCUMENT).unwrap();
    let documented: BTreeSet<(String, String)> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, methods)| {
            methods.as_object().unwrap().keys().map(move |m| (path.clone(), m.clone()))
        })
        .collect();
    let mut routes = BTreeSet::new();
    for route in ROUTES.split(".route(\"").skip(1) {
        let (path, handlers) = route.split_once('"').unwrap();
        let handlers = handlers.lines().next().unwrap();
        for method in ["get", "post"] {
            if handlers.contains(&format!("{method}(")) {
                routes.insert((path.to_owned(), method.to_owned()));
            }
        }
    }
    assert!(routes.len() > 10, "{routes:?}");
    assert_eq!(routes, documented);
}

#[test]
fn what_the_document_refers_to_is_there() {
    let document: serde_json::Value = serde_json::from_str(DOCUMENT).unwrap();
    let mut count = 0;
    for reference in DOCUMENT.split("\"$ref\": \"#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(document["components"]["schemas"][name].is_object(), "{name}");
        count += 1;
    }
    assert!(count > 20, "{count}");
}

/// The page has nothing from elsewhere, and asks for paths that are there.
#[test]
fn the_page_stands_alone() {
    assert!(!PAGE.contains("src=") && !PAGE.contains("<link") && !PAGE.contains("@import"));
    assert!(PAGE.contains("width=device-width"));
    for path in ["\"/v1/bands\"", "/report\""] {
        assert!(PAGE.contains(path), "{path}");
    }
}
