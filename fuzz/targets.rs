//! What the fuzz targets do with their bytes: each function answers whatever it is given, or panics, which is what fuzzing
//! looks for. The targets of `cargo fuzz` call them, and so do the plain tests that play the corpora
//! (`corral-lab/tests/it/corpora.rs`).

use std::fs;
use std::path::Path;

use corral_core::masters::{self, MasterSetup};
use corral_core::memory::Budget;
use corral_core::{
    Arm, Base, BaseError, Context, ContextShape, Corral, CorralParams, Decision, Ensemble, EnsembleParams,
    Feedback, Horizon, Learner, Master, Memo, Proposal, Set, Setup, Space, Ticket, snapshot,
};
use corral_envs::AnyEnvironment;
use corral_lab::run::{Plugins, check};
use corral_lab::spec::Spec;
use corral_lab::store;
use corral_plugin_abi::host::preflight_bytes;
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;
use serde::Serialize;
use serde::ser::{SerializeTuple, Serializer};

/// What is done with bytes.
pub type Target = fn(&[u8]);

/// Every target by name.
pub const ALL: &[(&str, Target)] = &[
    ("snapshot", snapshot_target),
    ("ticket", ticket),
    ("spec", spec),
    ("data", data),
    ("preflight", preflight),
    ("results", results),
    ("log", log),
];

/// Memory that a spec or a data set may ask for here.
const MEMORY: u64 = 64 << 20;

/// The first line, and what follows it.
fn head(bytes: &[u8]) -> (&str, &[u8]) {
    let end = bytes.iter().position(|b| *b == b'\n').unwrap_or(bytes.len());
    let rest = bytes.get(end + 1..).unwrap_or_default();
    (std::str::from_utf8(&bytes[..end]).unwrap_or_default(), rest)
}

/// The worlds that bases are tried in, in this order.
fn setups() -> [Setup; 3] {
    let mut contextual = Setup::arms(3, Some(100));
    contextual.context = ContextShape { features: 2, ..ContextShape::default() };
    [Setup::arms(3, Some(100)), contextual, Setup::new(Space::Points(Set::Ball { dim: 2 }), Some(100))]
}

/// The base of this name, in the first world that it fits.
pub fn base(name: &str) -> Option<(Learner, Setup)> {
    let none = toml::Table::new();
    setups().into_iter().find_map(|setup| Some((corral_bases::build(name, &none, &setup).ok()?, setup)))
}

fn master(name: &str) -> Option<Box<dyn Master>> {
    masters::build(name, toml::Table::new(), &MasterSetup::new(3, Some(100))).ok()
}

/// `NAME` and the payload of a snapshot of that base or `master NAME`, which is framed with a right checksum; `whole NAME` and
/// a whole snapshot. Reading it back refuses it and changes nothing, or gives something that can be played.
pub fn snapshot_target(bytes: &[u8]) {
    let (name, payload) = head(bytes);
    let (whole, name) = name.strip_prefix("whole ").map_or((false, name), |name| (true, name));
    let framed = |good: &[u8]| if whole { payload.to_vec() } else { reframed(good, payload) };
    if let Some(name) = name.strip_prefix("master ") {
        let Some(mut master) = master(name) else { return };
        let before = master.save();
        if master.load(&framed(&before)).is_err() {
            assert_eq!(master.save(), before, "{name}: a refused snapshot changed something");
        }
        let weight = 1.0 / master.probabilities()[0];
        let _ = master.update(0.5, corral_core::Credit::Chosen { base: 0, weight });
        return;
    }
    let Some((learner, setup)) = base(name) else { return };
    match learner {
        Learner::Arms(base) => load(base, &Context::shared(vec![0.5; setup.context.features], 3), framed),
        Learner::Points(base) => load(base, &Context::plain(0), framed),
    }
}

fn load<D: Decision>(mut base: Box<dyn Base<Context, D>>, x: &Context, framed: impl Fn(&[u8]) -> Vec<u8>) {
    let before = base.save();
    if base.load(&framed(&before)).is_err() {
        assert_eq!(base.save(), before, "a refused snapshot changed something");
    }
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    let mut play = || -> Result<(), BaseError> {
        for _ in 0..3 {
            let made = base.propose(x, &mut rng)?;
            base.learn(x, &made, Feedback::plain(0.5))?;
        }
        Ok(())
    };
    let _ = play();
}

/// Bytes that are written as they are.
struct Raw<'a>(&'a [u8]);

impl Serialize for Raw<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tuple = serializer.serialize_tuple(self.0.len())?;
        self.0.iter().try_for_each(|byte| tuple.serialize_element(byte))?;
        tuple.end()
    }
}

/// `payload` in the frame of `good`: its algorithm and version, and a right checksum.
pub fn reframed(good: &[u8], payload: &[u8]) -> Vec<u8> {
    let name_end = 6 + usize::from(good[5]);
    let version = u16::from_le_bytes([good[name_end], good[name_end + 1]]);
    snapshot::seal(&String::from_utf8_lossy(&good[6..name_end]), version, &Raw(payload))
}

/// The payload of a snapshot.
pub fn payload(good: &[u8]) -> &[u8] {
    &good[16 + usize::from(good[5])..good.len() - 8]
}

/// A band with a round in flight.
pub fn band() -> (Ensemble<Context, Arm, Corral>, Ticket<Arm>) {
    let setup = Setup::arms(3, Some(100));
    let bases = ["exp3", "ucb1", "tsallis-inf"]
        .map(|name| corral_bases::build(name, &toml::Table::new(), &setup).ok().and_then(Learner::into_arms))
        .into_iter()
        .flatten()
        .collect();
    let master = Corral::new(CorralParams::new(3, Horizon::Known(100))).expect("a master");
    let secret = 0x5eed_u64.try_into().ok();
    let params = EnsembleParams { id: Some(1), secret, copy: Some(0), ..EnsembleParams::default() };
    let mut band = Ensemble::with_params(master, bases, params).expect("a band").with_setup(&setup);
    let ticket = band.choose(&Context::plain(3), &mut Pcg64Dxsm::seed_from_u64(1)).expect("a ticket");
    (band, ticket)
}

/// `memo` and numbers, which an ensemble that is a base is told as its memo; else a ticket as JSON. The band takes it, or
/// refuses it and is what it was, with no base benched for it.
pub fn ticket(bytes: &[u8]) {
    if let ("memo", numbers) = head(bytes) {
        return memo(numbers);
    }
    let Ok(forged) = serde_json::from_slice::<Ticket<Arm>>(bytes) else { return };
    let (mut band, own) = band();
    let (before, x) = (band.save(), Context::plain(3));
    if band.learn(&x, forged, 0.5).is_err() {
        assert_eq!(band.save(), before, "a refused ticket changed something");
        assert!(band.learn(&x, own, 0.5).is_ok(), "the band's own ticket is refused now");
        assert!(band.benched().is_empty(), "somebody was benched for a ticket that was refused");
    }
    assert!(band.choose(&x, &mut Pcg64Dxsm::seed_from_u64(2)).is_ok());
}

/// The numbers of a memo, 8 bytes each: what an ensemble that is a base refuses, it refuses whole.
fn memo(bytes: &[u8]) {
    let numbers: Vec<f64> = bytes.as_chunks().0.iter().map(|number| f64::from_le_bytes(*number)).collect();
    let (mut band, _) = band();
    let (before, x) = (band.save(), Context::plain(3));
    let made = Proposal::with_memo(Arm(0), Memo::from(&numbers[..]));
    if Base::learn(&mut band, &x, &made, Feedback::plain(0.5)).is_err() {
        assert_eq!(band.save(), before, "a refused memo changed something");
    }
}

/// A spec: reading and checking it answers.
pub fn spec(bytes: &[u8]) {
    let Ok(spec) = Spec::parse(&String::from_utf8_lossy(bytes)) else { return };
    let _ = check(&spec, &Plugins::default(), MEMORY);
}

/// `WORLD FORMAT` and the bytes of a file: the world answers, and so do its first rounds.
pub fn data(bytes: &[u8]) {
    let (world, content) = head(bytes);
    let (world, format) = world.split_once(' ').unwrap_or((world, "csv"));
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(format!("data.{}", if format == "gz" { "csv.gz" } else { format }));
    if format.contains(['/', '\0']) || fs::write(&file, content).is_err() {
        return;
    }
    let mut params = toml::Table::new();
    params.insert("file".into(), file.display().to_string().into());
    if world == "logged" {
        for key in ["action", "reward", "propensity"] {
            params.insert(key.into(), key.into());
        }
    }
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    let built = corral_envs::build_within(world, &params, 20, &mut rng, &Budget::of(MEMORY));
    let Ok(AnyEnvironment::Arms(mut world)) = built else { return };
    for round in 0..20 {
        if world.next(&mut rng).is_err() {
            return;
        }
        let actions = world.context().actions();
        let _ = world.play(&Arm::at(round % actions.max(1)));
    }
}

/// A library: the pre-flight answers.
pub fn preflight(bytes: &[u8]) {
    if let Ok(seen) = preflight_bytes(bytes) {
        assert_eq!((seen.bytes, seen.sha256.len()), (bytes.len() as u64, 64));
    }
}

/// The spec that records are of.
pub const RECORDED: &str = "name = 'recorded'\nrounds = 20\nseeds = 2\nenvironment = { name = 'bernoulli', means = [0.2, 0.7] }\n\
    learner = [{ label = 'a', base = { name = 'exp3' } }]\n";

/// A file of records, or `manifest` and one: reading the folder answers.
pub fn results(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path();
    let write = |name: &str, bytes: &[u8]| fs::write(dir.join(name), bytes).expect("space");
    match head(bytes) {
        ("manifest", manifest) => write("manifest.json", manifest),
        _ => {
            let spec = Spec::parse(RECORDED).expect("a spec");
            let manifest = store::Manifest::new(&spec, store::Shard::WHOLE, Vec::new());
            write("manifest.json", &serde_json::to_vec(&manifest).expect("a manifest"));
            write("cells.jsonl", bytes);
        }
    }
    read(dir);
}

fn read(dir: &Path) {
    if let Ok(store::Results { spec, cells, .. }) = store::read(dir) {
        assert!(cells.iter().all(|cell| cell.cell < spec.cells()), "a record of no cell");
        let _ = store::results_csv(&spec, &cells);
    }
    let _ = store::merge(&[dir.to_owned()], &dir.join("merged"));
}

/// A decision log in each of its formats: read, checked, valued and joined with itself.
pub fn log(bytes: &[u8]) {
    use corral_log::{
        Csv, Dsjson, Evaluation, JoinOptions, Named, Options, Ours, Reader, Row, RowSource, Target, Wants,
        Writer,
    };
    let wants = || Wants {
        pbar: true,
        q: true,
        full: true,
        context: true,
        labels: true,
        unit: Some("unit".into()),
        columns: vec!["column".into()],
    };
    let value = |source: &mut dyn RowSource| {
        let names = ["uniform", "logger", "base:a", "mix:a=0.5,b=0.5", "column:column"];
        let policies =
            names.iter().map(|n| Box::new(Named::read(n).expect("a policy")) as Box<dyn Target>).collect();
        let mut evaluation = Evaluation::new(policies, None, Options { looks: true, ..Options::default() });
        let mut row = Row::default();
        while let Ok(true) = source.next(&mut row) {
            let _ = evaluation.meet(source.header());
            evaluation.add(&row);
        }
        let report = evaluation.report(source.notes());
        let sound = |v: Option<f64>| v.is_none_or(f64::is_finite);
        assert!(report.values.iter().all(|v| sound(v.value) && sound(v.low) && sound(v.high)));
    };
    value(&mut Ours::new(Reader::new(bytes).checked(0), wants()));
    value(&mut Dsjson::new(Reader::new(bytes), wants(), None));
    if let Ok(actions) = corral_log::actions_of(bytes)
        && let Ok(mut table) = Csv::new(bytes, &Wants::default(), actions, None, false)
    {
        value(&mut table);
    }
    let mut reader = Reader::new(bytes).checked(0);
    while let Ok(Some(_)) = reader.read() {}
    let _ = corral_log::join(
        Reader::new(bytes),
        Reader::new(bytes),
        Writer::new(std::io::sink()),
        &JoinOptions { window: 3, ..JoinOptions::default() },
    );
}
