//! What the tests share: a band, a clock that stands still, a store in memory that fails when it is told to.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use corral_core::{Arm, Context};
use corral_serve::{
    Chosen, Clock, FoldLearner, Front, FrontOptions, LearnerOptions, Model, Segment, ServeError, ServedSpec,
    Step, Store,
};

pub const SPEC: &str = r#"
name = "shop"
actions = ["a", "b", "c"]
bases = ["ucb1", "exp3", "thompson", "epsilon-greedy"]
reward_range = [0, 10]
"#;

#[derive(Default)]
pub struct Hands(pub AtomicU64);

impl Clock for Hands {
    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A store in memory.
#[derive(Default, Clone)]
pub struct Memory(pub Arc<Mutex<Content>>);

#[derive(Default)]
pub struct Content {
    pub files: BTreeMap<String, Vec<u8>>,
    /// After how many writes the next ones fail; the first of them is done by half.
    pub space: Option<usize>,
    /// What was deleted, as it was.
    pub deleted: BTreeMap<String, Vec<u8>>,
    /// Up to which byte each file outlasts the machine, where its name does.
    synced: BTreeMap<String, usize>,
    /// Names that outlast the machine.
    named: BTreeSet<String>,
    /// What is written now is not synced.
    pub unsynced: bool,
    /// What is found and read is not synced either, as it should be.
    pub lazy: bool,
    /// Removals that are not synced: what was there may be there again.
    removed: BTreeMap<String, Vec<u8>>,
    /// Who writes to a segment.
    writers: BTreeMap<String, Weak<()>>,
}

fn folder(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

impl Content {
    /// The names in the folder of this one outlast the machine from now on.
    fn sync_folder(&mut self, name: &str) {
        self.removed.retain(|removed, _| folder(removed) != folder(name));
        self.named.extend(self.files.keys().filter(|other| folder(other) == folder(name)).cloned());
    }

    /// The machine stops. What was not synced is there or not, a file also in part.
    pub fn stop(&mut self, mut below: impl FnMut(usize) -> usize) {
        for (name, mut bytes) in std::mem::take(&mut self.files) {
            if self.named.contains(&name) || below(2) == 0 {
                let synced = self.synced.get(&name).copied().unwrap_or_default();
                bytes.truncate(synced + below(bytes.len() - synced + 1));
                self.files.insert(name, bytes);
            }
        }
        for (name, bytes) in std::mem::take(&mut self.removed) {
            if below(2) == 0 {
                self.files.entry(name).or_insert(bytes);
            }
        }
        self.synced = self.files.iter().map(|(name, bytes)| (name.clone(), bytes.len())).collect();
        self.named = self.files.keys().cloned().collect();
        self.writers.clear();
    }

    fn spend(&mut self) -> Result<bool, io::Error> {
        match &mut self.space {
            None => Ok(true),
            Some(0) => Err(io::Error::new(io::ErrorKind::StorageFull, "no space left")),
            Some(left) => {
                *left -= 1;
                Ok(*left > 0)
            }
        }
    }
}

impl Store for Memory {
    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<bool> {
        let mut content = self.0.lock().unwrap();
        if content.files.contains_key(name) {
            content.sync_folder(name);
            return Ok(false);
        }
        content.spend()?;
        content.files.insert(name.into(), bytes.to_vec());
        // What is in a file is synced before it has its name.
        content.synced.insert(name.into(), bytes.len());
        if !content.unsynced {
            content.sync_folder(name);
        }
        Ok(true)
    }
    fn get(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let mut content = self.0.lock().unwrap();
        let found = content.files.get(name).cloned();
        if found.is_some() && !content.lazy {
            content.sync_folder(name);
        }
        Ok(found)
    }
    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let content = self.0.lock().unwrap();
        let inside = content.files.keys().filter_map(|name| name.strip_prefix(folder)?.strip_prefix('/'));
        Ok(inside.map(str::to_owned).collect())
    }
    fn delete(&self, name: &str) -> io::Result<()> {
        let mut content = self.0.lock().unwrap();
        if let Some(bytes) = content.files.remove(name) {
            content.synced.remove(name);
            content.named.remove(name);
            content.removed.insert(name.into(), bytes.clone());
            content.deleted.entry(name.into()).or_insert(bytes);
        }
        Ok(())
    }
    fn segment(&self, name: &str) -> io::Result<Option<Box<dyn Segment>>> {
        if !self.create(name, b"")? {
            return Ok(None);
        }
        let writer = Arc::new(());
        self.0.lock().unwrap().writers.insert(name.into(), Arc::downgrade(&writer));
        Ok(Some(Box::new(Appended(self.clone(), name.into(), writer))))
    }
    fn is_closed(&self, name: &str) -> io::Result<bool> {
        let content = self.0.lock().unwrap();
        Ok(content.writers.get(name).is_none_or(|writer| writer.strong_count() == 0))
    }
    fn read(&self, name: &str, from: u64, most: usize) -> io::Result<Vec<u8>> {
        let mut content = self.0.lock().unwrap();
        let bytes = content.files.get(name).cloned().ok_or(io::ErrorKind::NotFound)?;
        // As a directory does: what was read outlasts the machine.
        if !content.lazy {
            content.synced.insert(name.into(), bytes.len());
        }
        let from = (from as usize).min(bytes.len());
        Ok(bytes[from..from.saturating_add(most).min(bytes.len())].to_vec())
    }
}

struct Appended(Memory, String, #[expect(dead_code, reason = "it is counted")] Arc<()>);

impl Segment for Appended {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut content = self.0.0.lock().unwrap();
        let whole = content.spend()?;
        let bytes = if whole { bytes } else { &bytes[..bytes.len() / 2] };
        let file = content.files.get_mut(&self.1).ok_or(io::ErrorKind::NotFound)?;
        file.extend_from_slice(bytes);
        let end = file.len();
        if whole && !content.unsynced {
            content.synced.insert(self.1.clone(), end);
        }
        if whole { Ok(()) } else { Err(io::Error::new(io::ErrorKind::StorageFull, "no space left")) }
    }
}

/// A service that is driven by hand.
pub struct Bench {
    pub spec: Arc<ServedSpec>,
    pub store: Arc<dyn Store>,
    pub clock: Arc<Hands>,
    pub learner: FoldLearner<Arm>,
    pub front: Front<Arm>,
}

impl Bench {
    pub fn open(text: &str, store: Arc<dyn Store>) -> Result<Self, ServeError> {
        Self::with(text, store, LearnerOptions::default(), FrontOptions::default())
    }

    pub fn with(
        text: &str,
        store: Arc<dyn Store>,
        learner: LearnerOptions,
        front: FrontOptions,
    ) -> Result<Self, ServeError> {
        let spec = Arc::new(corral_serve::spec::read(text)?.remove(0));
        let clock = Arc::new(Hands::default());
        let model: Arc<dyn Model<Arm>> = spec.clone();
        let mut learner = FoldLearner::open(&spec.name, model.clone(), store.clone(), learner)?;
        while learner.step()? != Step::Idle {}
        let front = Front::open(&spec.name, model, store.clone(), clock.clone(), front, &learner)?;
        Ok(Self { spec, store, clock, learner, front })
    }

    pub fn choose(&self, features: &[f64]) -> Chosen<Arm> {
        self.front.choose(&self.context(features), None).unwrap()
    }

    pub fn context(&self, features: &[f64]) -> Context {
        Context::shared(features.to_vec(), self.spec.actions.len())
    }

    /// Gives a reward, and writes it.
    pub fn reward(&self, token: &str, value: f64) -> Result<(), ServeError> {
        reward(&self.front, token, value)
    }

    /// Learns all that is written, and serves it.
    pub fn learn(&mut self) {
        while self.learner.step().unwrap() != Step::Idle {}
        self.front.refresh(&self.learner.state().unwrap()).unwrap();
    }
}

pub fn reward(front: &Front<Arm>, token: &str, value: f64) -> Result<(), ServeError> {
    let answer = Arc::new(Mutex::new(None));
    let slot = answer.clone();
    front.reward(token, value, Box::new(move |result| *slot.lock().unwrap() = Some(result)));
    front.commit();
    let result = answer.lock().unwrap().take();
    result.expect("an answer after the commit")
}
