//! The store in a directory.

use std::sync::Arc;

use corral_serve::{Directory, Store};

use crate::common::{Bench, SPEC};

#[test]
fn a_name_is_created_once_whoever_tries() {
    let folder = tempfile::tempdir().unwrap();
    let stores: Vec<_> = (0..4).map(|_| Directory::open(folder.path()).unwrap()).collect();
    for round in 0..20 {
        let name = format!("a/b/{round:03}");
        let created = std::thread::scope(|scope| {
            let tries: Vec<_> = stores
                .iter()
                .enumerate()
                .map(|(i, store)| {
                    scope.spawn({
                        let name = &name;
                        move || store.create(name, &[i as u8; 100])
                    })
                })
                .collect();
            tries.into_iter().map(|t| t.join().unwrap().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(created.iter().filter(|c| **c).count(), 1);
        let winner = created.iter().position(|c| *c).unwrap() as u8;
        assert_eq!(stores[0].get(&name).unwrap().unwrap(), [winner; 100]);
    }
    assert_eq!(stores[1].list("a/b").unwrap().len(), 20, "no temporary file is left or listed");
    assert_eq!(std::fs::read_dir(folder.path().join("a/b")).unwrap().count(), 20);
    stores[2].delete("a/b/000").unwrap();
    stores[2].delete("a/b/000").unwrap();
    assert_eq!(stores[3].get("a/b/000").unwrap(), None);
    assert!(stores[3].list("nowhere").unwrap().is_empty());
}

#[test]
fn a_segment_is_one_writers_and_read_from_any_byte() {
    let folder = tempfile::tempdir().unwrap();
    let store = Directory::open(folder.path()).unwrap();
    let mut segment = store.segment("s/1").unwrap().unwrap();
    assert!(store.segment("s/1").unwrap().is_none());
    segment.append(b"one\n").unwrap();
    segment.append(b"two\n").unwrap();
    assert_eq!(store.read("s/1", 0, 100).unwrap(), b"one\ntwo\n");
    assert_eq!(store.read("s/1", 4, 2).unwrap(), b"tw");
    assert_eq!(store.read("s/1", 8, 100).unwrap(), b"");
}

#[test]
fn a_band_is_served_from_a_directory_and_goes_on_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Bench::open(SPEC, Arc::new(Directory::open(folder.path()).unwrap())).unwrap();
    let mut first = open();
    for _ in 0..10 {
        let chosen = first.choose(&[]);
        first.reward(&chosen.token, 5.0).unwrap();
    }
    first.learn();
    first.learner.save().unwrap();
    let digest = first.learner.digest().unwrap();
    drop(first);
    assert_eq!(open().learner.digest().unwrap(), digest);
}

/// A segment is closed when its writer is gone, and not before, whoever asks.
#[test]
fn a_segment_is_closed_when_its_writer_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let store = Directory::open(folder.path()).unwrap();
    let mut segment = store.segment("s/1").unwrap().unwrap();
    segment.append(b"a line\n").unwrap();
    let other = Directory::open(folder.path()).unwrap();
    assert!(!store.is_closed("s/1").unwrap() && !other.is_closed("s/1").unwrap());
    drop(segment);
    assert!(store.is_closed("s/1").unwrap() && other.is_closed("s/1").unwrap());
}
