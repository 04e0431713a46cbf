//! What every store owes: a directory, a bucket in memory, and the buckets that `CORRAL_BUCKETS` names (`.ci/bucket` starts some).

use std::sync::Arc;

use corral_log::{Reader, Record};
use corral_serve::{
    Directory, Export, FoldLearner, Front, FrontOptions, LearnerOptions, ServeError, Step, Store,
};

use crate::common::{Bench, Hands, SPEC, reward};

/// Opens a store once more, as another process would.
type Open = Box<dyn Fn() -> Arc<dyn Store> + Sync>;

/// All stores, each empty: its name, and how it is opened.
fn stores(test: &str) -> Vec<(String, Open)> {
    let folder = tempfile::tempdir().unwrap();
    let directory: Open = Box::new(move || Arc::new(Directory::open(folder.path()).unwrap()));
    #[cfg_attr(not(feature = "bucket"), expect(unused_mut, reason = "buckets are added"))]
    let mut stores = vec![("a directory".to_owned(), directory)];
    #[cfg(feature = "bucket")]
    {
        use corral_serve::Bucket;
        let objects = Arc::new(object_store::memory::InMemory::new());
        let memory: Open = Box::new(move || Arc::new(Bucket::over(objects.clone(), "a/b").unwrap()));
        stores.push(("a bucket in memory".to_owned(), memory));
        let real = std::env::var("CORRAL_BUCKETS").unwrap_or_default();
        if real.is_empty() {
            eprintln!("SKIPPED: no real bucket is tested: see .ci/bucket");
        }
        for bucket in real.split_whitespace() {
            let place = format!("{bucket}/{test}-{:016x}", getrandom::u64().unwrap());
            let name = place.clone();
            stores.push((name, Box::new(move || Arc::new(Bucket::open(&place).unwrap()))));
        }
    }
    let _ = test;
    stores
}

#[test]
fn a_name_is_created_once_whoever_tries() {
    for (kind, open) in stores("create") {
        let stores: Vec<_> = (0..4).map(|_| open()).collect();
        for round in 0..20 {
            let name = format!("a/b/{round:03}");
            let created = std::thread::scope(|scope| {
                let tries: Vec<_> = stores
                    .iter()
                    .enumerate()
                    .map(|(i, store)| {
                        let name = &name;
                        scope.spawn(move || store.create(name, &[i as u8; 100]))
                    })
                    .collect();
                tries.into_iter().map(|t| t.join().unwrap().unwrap()).collect::<Vec<_>>()
            });
            assert_eq!(created.iter().filter(|c| **c).count(), 1, "{kind}");
            let winner = created.iter().position(|c| *c).unwrap() as u8;
            assert_eq!(stores[0].get(&name).unwrap().unwrap(), [winner; 100], "{kind}");
            assert!(!stores[1].create(&name, b"later").unwrap(), "{kind}");
        }
        assert_eq!(stores[1].list("a/b").unwrap().len(), 20, "{kind}: no temporary file is left or listed");
        stores[2].delete("a/b/000").unwrap();
        stores[2].delete("a/b/000").unwrap();
        assert_eq!(stores[3].get("a/b/000").unwrap(), None, "{kind}");
        assert_eq!(stores[3].list("a/b").unwrap()[0], "001", "{kind}");
        assert!(stores[3].list("nowhere").unwrap().is_empty(), "{kind}");
    }
}

#[test]
fn a_segment_is_one_writers_and_read_from_any_byte() {
    for (kind, open) in stores("segment") {
        let store = open();
        let mut segment = store.segment("s/1").unwrap().unwrap();
        assert!(open().segment("s/1").unwrap().is_none(), "{kind}");
        assert_eq!(store.read("s/1", 0, 100).unwrap(), b"", "{kind}");
        segment.append(b"one\n").unwrap();
        segment.append(b"two\n").unwrap();
        for store in [store, open()] {
            assert_eq!(store.read("s/1", 0, 100).unwrap(), b"one\ntwo\n", "{kind}");
            assert_eq!(store.read("s/1", 4, 2).unwrap(), b"tw", "{kind}");
            assert_eq!(store.read("s/1", 2, 4).unwrap(), b"e\ntw", "{kind}");
            assert_eq!(store.read("s/1", 8, 100).unwrap(), b"", "{kind}");
        }
        let (ahead, behind) = (open(), open());
        assert_eq!(ahead.read("s/1", 0, 100).unwrap().len(), 8, "{kind}");
        assert_eq!(behind.read("s/1", 0, 3).unwrap(), b"one", "{kind}");
        segment.append(b"three\n").unwrap();
        assert_eq!(ahead.read("s/1", 8, 100).unwrap(), b"three\n", "{kind}");
        assert_eq!(behind.read("s/1", 3, 100).unwrap(), b"\ntwo\nthree\n", "{kind}");
        assert_eq!(behind.list("s").unwrap(), ["1"], "{kind}");
        behind.delete_segment("s/1").unwrap();
        behind.delete_segment("s/1").unwrap();
        assert!(open().list("s").unwrap().is_empty(), "{kind}");
    }
}

/// A segment is closed when its writer is gone, and not before, whoever asks.
#[test]
fn a_segment_is_closed_when_its_writer_is_gone() {
    for (kind, open) in stores("closed") {
        let (store, other) = (open(), open());
        let mut segment = store.segment("s/1").unwrap().unwrap();
        segment.append(b"a line\n").unwrap();
        assert!(!store.is_closed("s/1").unwrap() && !other.is_closed("s/1").unwrap(), "{kind}");
        assert_eq!(other.read("s/1", 0, 100).unwrap(), b"a line\n", "{kind}");
        drop(segment);
        assert!(store.is_closed("s/1").unwrap() && other.is_closed("s/1").unwrap(), "{kind}");
        assert_eq!(other.read("s/1", 7, 100).unwrap(), b"", "{kind}");
        assert_eq!(other.read("s/1", 0, 100).unwrap(), b"a line\n", "{kind}");
    }
}

#[test]
fn a_band_goes_on_after_a_restart() {
    for (kind, open) in stores("restart") {
        let begin = || Bench::open(SPEC, open()).unwrap();
        let mut first = begin();
        for _ in 0..10 {
            let chosen = first.choose(&[]);
            first.reward(&chosen.token, 5.0).unwrap();
        }
        first.learn();
        first.learner.save().unwrap();
        let digest = first.learner.digest().unwrap();
        drop(first);
        assert_eq!(begin().learner.digest().unwrap(), digest, "{kind}");
    }
}

/// Two front ends, a learner that stops in the middle, a front end that crashes, and a second learner.
#[test]
fn a_history_of_crashes_loses_and_doubles_nothing() {
    for (kind, open) in stores("history") {
        let options = || LearnerOptions { lines: 7, snapshot: 10, ..LearnerOptions::default() };
        let mut bench = Bench::with(SPEC, open(), options(), FrontOptions::default()).unwrap();
        let spec = bench.spec.clone();
        let learner = || FoldLearner::open("shop", spec.clone(), open(), options()).unwrap();
        let begun = learner();
        let clock = Arc::new(Hands::default());
        let other =
            Front::open("shop", spec.clone(), open(), clock, FrontOptions::default(), &begun).unwrap();
        let made: Vec<_> = (0..30).map(|_| bench.choose(&[])).collect();
        for chosen in &made[..20] {
            reward(&bench.front, &chosen.token, 5.0).unwrap();
        }
        bench.learner.step().unwrap();
        // Its machine stops: nothing ends its segment.
        std::mem::forget(std::mem::replace(&mut bench.front, other));
        let mut second = learner();
        assert_ne!(second.step().unwrap(), Step::Idle, "{kind}");
        for chosen in &made[15..] {
            let given = reward(&bench.front, &chosen.token, 5.0);
            // What this one has not seen it takes again; it is learned once.
            assert!(matches!(given, Ok(()) | Err(ServeError::AlreadyRewarded(_))), "{kind}: {given:?}");
        }
        while second.step().unwrap() != Step::Idle {}
        while bench.learner.step().unwrap() != Step::Idle {}
        assert_eq!(second.counts().learned, 30, "{kind}");
        for chosen in &made {
            assert!(second.is_rewarded(chosen.id), "{kind}: {}", chosen.id);
        }
        second.publish(&second.state().unwrap()).unwrap();
        assert!(bench.front.look().unwrap(), "{kind}");
        let digest = second.digest().unwrap();
        assert!(bench.learner.digest().unwrap() == digest, "{kind}: the first learner differs");
        assert!(learner().digest().unwrap() == digest, "{kind}: a new learner differs");
        let log: Vec<u8> = Export::of(open(), "shop").flat_map(Result::unwrap).collect();
        let (mut reader, mut lines) = (Reader::new(&log[..]).checked(0), 0);
        while let Some(record) = reader.read().unwrap() {
            lines += usize::from(matches!(record, Record::Both(_)));
        }
        assert_eq!((reader.faults().count(), lines as u64), (0, 30 + second.counts().repeated), "{kind}");
    }
}

/// Whoever ends a segment of a bucket, its writer goes on with the next, and nothing is lost.
#[cfg(feature = "bucket")]
#[test]
fn a_writer_whose_segment_was_ended_goes_on_with_the_next() {
    for (kind, open) in stores("ended").into_iter().skip(1) {
        let mut bench = Bench::open(SPEC, open()).unwrap();
        let made: Vec<_> = (0..6).map(|_| bench.choose(&[])).collect();
        for (i, chosen) in made.iter().enumerate() {
            if i == 3 {
                let (segment, end) = bench.front.place();
                let mark = format!("bands/shop/segments/{segment:08}.jsonl/{end:016}");
                assert!(open().create(&mark, b"").unwrap(), "{kind}");
            }
            bench.reward(&chosen.token, 5.0).unwrap();
        }
        bench.learn();
        assert_eq!(bench.learner.counts().learned, 6, "{kind}");
        assert_eq!(open().list("bands/shop/segments").unwrap().len(), 2, "{kind}");
    }
}

#[cfg(feature = "bucket")]
#[test]
fn what_is_no_bucket_is_said() {
    for (place, expected) in
        [("ftp://x/y", "ftp://"), ("s3://", "name of the bucket"), ("s3:///y", "name of the bucket")]
    {
        let error = corral_serve::Bucket::open(place).err().unwrap().to_string();
        assert!(error.contains(expected), "{place}: {error}");
    }
}
