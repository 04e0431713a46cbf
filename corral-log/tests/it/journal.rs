//! A band whose state follows from its log, whatever fails on the way.

use std::io::{self, BufRead};
use std::sync::{Arc, Mutex};

use corral_bases::band::{Assembler, Band, BandRecipe, Copies, MasterRecipe, Recipe};
use corral_core::registry::Kind;
use corral_core::{
    Arm, Base, Context, ContextShape, EnsembleError, EnsembleParams, Expiry, PendingError, Propensities,
    Scale, Setup, TicketId, TokenError,
};
use corral_log::journal::{Folder, Journal, JournalError, Recovered, Store};
use corral_log::{Change, Member, Reader, Record};

type Kept = Journal<Arm, Box<dyn corral_core::Master>, Disk>;

fn setup() -> Setup {
    let context = ContextShape { features: 2, ..ContextShape::default() };
    Setup { context, ..Setup::arms(3, None) }
}

fn base(name: &str) -> Box<dyn Base<Context, Arm>> {
    Assembler::new(&setup()).member(&MasterRecipe::default(), &Recipe::from(name)).unwrap().base
}

fn build(member: &Member) -> Result<Box<dyn Base<Context, Arm>>, String> {
    let params = member.params.as_ref().and_then(|p| p.as_str()).ok_or("it has no parameters")?;
    Ok(base(params))
}

/// As it was built at first: `copy` tells processes apart.
fn band(copy: u64) -> Band<Arm> {
    band_of(["linucb", "epsilon-greedy", "exp3"], copy)
}

fn band_of(bases: [&str; 3], copy: u64) -> Band<Arm> {
    let (master, setup) = (MasterRecipe::default(), setup());
    let bases = bases.map(Recipe::from).to_vec();
    let recipe = BandRecipe { master: master.clone(), bases, copies: Copies::Count(1) };
    let build = Assembler::new(&setup);
    let members = recipe.bases.iter().map(|base| build.member(&master, base).unwrap()).collect();
    let params = EnsembleParams {
        id: Some(1),
        secret: 7_u64.try_into().ok(),
        copy: Some(copy),
        scale: Some(Scale::rewards(0.0, 10.0)),
        propensities: Propensities::Decision,
        ..master.ensemble_params(Kind::Arms, &setup)
    };
    build.ensemble(&master, members, params).unwrap().with_names(["a", "b", "c"])
}

/// A disk in memory. The write number `fails` is done by half, and with `dies` every one after it fails.
#[derive(Clone, Default)]
struct Disk(Arc<Mutex<Content>>);

#[derive(Default)]
struct Content {
    log: Vec<u8>,
    snapshot: Option<Vec<u8>>,
    writes: usize,
    fails: Option<usize>,
    dies: bool,
}

impl Disk {
    fn faulty(fails: usize, dies: bool) -> Self {
        Self(Arc::new(Mutex::new(Content { fails: Some(fails), dies, ..Content::default() })))
    }

    /// The machine is started again.
    fn heal(&self) {
        self.0.lock().unwrap().fails = None;
    }

    fn log(&self) -> Vec<u8> {
        self.0.lock().unwrap().log.clone()
    }

    fn lines(&self) -> Vec<Vec<u8>> {
        self.log().split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect()
    }

    /// The same with another log.
    fn with(&self, log: Vec<u8>) -> Self {
        let snapshot = self.0.lock().unwrap().snapshot.clone();
        Self(Arc::new(Mutex::new(Content { log, snapshot, ..Content::default() })))
    }

    /// What happens to a write: whether it is done whole, by half, or not at all.
    fn write(&self, whole: impl FnOnce(&mut Content), half: impl FnOnce(&mut Content)) -> io::Result<()> {
        let mut content = self.0.lock().unwrap();
        let number = content.writes;
        content.writes += 1;
        match content.fails {
            Some(fails) if number == fails => half(&mut content),
            Some(fails) if content.dies && number > fails => {}
            _ => {
                whole(&mut content);
                return Ok(());
            }
        }
        Err(io::Error::new(io::ErrorKind::StorageFull, "no space left"))
    }
}

impl Store for Disk {
    fn read(&mut self, from: u64) -> io::Result<Box<dyn BufRead + '_>> {
        Ok(Box::new(io::Cursor::new(self.log().split_off(from as usize))))
    }
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let half = &bytes[..bytes.len() / 2];
        self.write(|c| c.log.extend_from_slice(bytes), |c| c.log.extend_from_slice(half))
    }
    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.write(|c| c.log.truncate(length as usize), |_| ())
    }
    fn sync(&mut self) -> io::Result<()> {
        self.write(|_| (), |_| ())
    }
    fn snapshot(&mut self) -> io::Result<Option<Vec<u8>>> {
        Ok(self.0.lock().unwrap().snapshot.clone())
    }
    fn save(&mut self, snapshot: &[u8]) -> io::Result<()> {
        // It may be there although the call failed.
        let even = self.0.lock().unwrap().writes.is_multiple_of(2);
        let set = |c: &mut Content| c.snapshot = Some(snapshot.to_vec());
        self.write(set, |c| {
            if even {
                set(c)
            }
        })
    }
}

fn open(disk: &Disk) -> Result<(Kept, Recovered), JournalError> {
    Journal::open(band(0), 40, disk.clone(), &build)
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Choose(u64),
    Learn(u64),
    /// What is refused leaves no trace.
    Bad(u64),
    Expire(u64, Expiry),
    Add,
    Retire,
    Reinstate,
    Replace,
    Save,
}

/// Losses come late, out of order, twice, wrong or never; bases come and go; snapshots are saved.
fn steps() -> Vec<Step> {
    let mut steps = Vec::new();
    for round in 0..36 {
        steps.push(Step::Choose(round));
        if round % 3 != 2 {
            steps.push(Step::Bad(round));
            steps.push(Step::Learn(if round % 2 == 0 { round } else { round.saturating_sub(3) }));
        }
        steps.extend(match round {
            6 => Some(Step::Add),
            11 => Some(Step::Save),
            13 => Some(Step::Retire),
            17 => Some(Step::Expire(9, Expiry::Loss(2.5))),
            19 => Some(Step::Reinstate),
            22 => Some(Step::Save),
            25 => Some(Step::Replace),
            29 => Some(Step::Expire(20, Expiry::Drop)),
            _ => None,
        });
    }
    steps.push(Step::Learn(35));
    steps
}

fn id(round: u64) -> TicketId {
    TicketId { band: 1, copy: 0, round }
}

fn context(round: u64) -> Context {
    Context::shared(vec![(round % 7) as f64 / 7.0, (round % 5) as f64 / 5.0], 3)
}

/// One process after another, until every step was answered. Whoever asks asks again where no answer came.
struct Run {
    disk: Disk,
    kept: Option<Kept>,
    tokens: Vec<String>,
    acknowledged: Vec<u64>,
    failed: bool,
}

impl Run {
    fn on(disk: Disk) -> Self {
        let mut run = Self { disk, kept: None, tokens: Vec::new(), acknowledged: Vec::new(), failed: false };
        for step in steps() {
            run.failed = false;
            while let Err(error) = run.attempt(step) {
                assert!(matches!(error, JournalError::Io(_)), "{step:?}: {error}");
                run.failed = true;
                if run.disk.0.lock().unwrap().dies {
                    run.kept = None;
                    run.disk.heal();
                }
            }
        }
        run
    }

    fn attempt(&mut self, step: Step) -> Result<(), JournalError> {
        if self.kept.is_none() {
            self.kept = Some(open(&self.disk)?.0);
        }
        let kept = self.kept.as_mut().unwrap();
        // Where no answer came it may have been done.
        let retired = kept.band().benched().iter().any(|b| b.base == 1);
        match step {
            Step::Choose(round) if kept.pending().find(id(round)).is_ok() => {
                let (x, ticket) = kept.pending().find(id(round)).unwrap();
                self.tokens.push(ticket.token_with(x).unwrap());
            }
            Step::Choose(round) => {
                let chosen = kept.choose(context(round), round)?;
                assert_eq!(chosen.id, id(round));
                self.tokens.push(chosen.token);
            }
            Step::Learn(round) => {
                let token = &self.tokens[round as usize];
                match kept.learn(token, (round % 11) as f64) {
                    Ok(_) => self.acknowledged.push(round),
                    Err(JournalError::Band(EnsembleError::AlreadyLearned { .. })) => {
                        let before = self.acknowledged.contains(&round);
                        assert!(before || self.failed || round < 9, "{round}");
                        if !before && self.failed {
                            self.acknowledged.push(round);
                        }
                    }
                    Err(JournalError::Pending(PendingError::Expired(_))) => {}
                    Err(error) => return Err(error),
                }
            }
            Step::Bad(round) => {
                let (log, token) = (self.disk.log(), self.tokens[round as usize].clone());
                for bad in [f64::NAN, -1.0, 10.5, f64::INFINITY] {
                    match kept.learn(&token, bad) {
                        Err(JournalError::Io(error)) => return Err(error.into()),
                        Err(JournalError::Band(_)) => {}
                        other => panic!("{other:?}"),
                    }
                }
                // A decision that is owed may be written meanwhile, where a write failed.
                let sound = self.disk.0.lock().unwrap().fails.is_none();
                assert!(!sound || self.disk.log() == log, "what was refused left a trace");
            }
            Step::Expire(before, expiry) => drop(kept.expire(before, expiry)?),
            Step::Add if kept.band().len() == 4 => {}
            Step::Add => drop(kept.add("d", base("squarecb"), 0.2, Some("squarecb".into()))?),
            Step::Retire if retired => {}
            Step::Retire => kept.retire(1)?,
            Step::Reinstate if !retired => {}
            Step::Reinstate => kept.reinstate(1, 0.25)?,
            Step::Replace if kept.members().last().is_some_and(|m| m.change == Change::Replace) => {}
            Step::Replace => kept.replace(0, base("ucb1"), Some("ucb1".into()))?,
            Step::Save => kept.save()?,
        }
        Ok(())
    }

    fn state(&self) -> (Vec<u8>, Vec<u8>) {
        let kept = self.kept.as_ref().unwrap();
        (kept.band().save(), kept.pending().save().unwrap())
    }
}

/// The n-th write fails, for every n, half done, and the process goes on or is started again: no answered outcome is lost, none
/// is learned twice, and the state is bit for bit what it is where nothing fails.
#[test]
fn whatever_write_fails_the_state_is_the_same() {
    let whole = Run::on(Disk::default());
    let writes = whole.disk.0.lock().unwrap().writes;
    assert!(writes > 60, "{writes}");
    for fails in 0..writes {
        for dies in [false, true] {
            let run = Run::on(Disk::faulty(fails, dies));
            assert!(run.state() == whole.state(), "write {fails}, dies: {dies}");
            run.disk.heal();
            let (again, recovered) = open(&run.disk).unwrap();
            assert_eq!(recovered.cut, 0, "write {fails}, dies: {dies}: {recovered:?}");
            let state = (again.band().save(), again.pending().save().unwrap());
            assert!(state == whole.state(), "write {fails}, dies: {dies}: played again it is another");
        }
    }
}

/// A log is the log format: everything of it is read, and its chain holds.
#[test]
fn a_journal_is_a_log() {
    let run = Run::on(Disk::default());
    let log = run.disk.log();
    let mut reader = Reader::new(&log[..]).strict(true).checked(7);
    let (mut outcomes, mut decisions) = (0, 0);
    while let Some(record) = reader.read().unwrap() {
        outcomes += usize::from(matches!(record, Record::Outcome(_)));
        decisions += usize::from(matches!(record, Record::Decision(_)));
    }
    assert_eq!((outcomes, decisions, reader.faults().count()), (run.acknowledged.len(), 36, 0));
}

/// A line that was lost, doubled, moved or changed is named at the start, wherever it is; nothing is cut off for it.
#[test]
fn a_log_that_was_changed_is_refused() {
    let disk = Disk::default();
    let (mut kept, _) = open(&disk).unwrap();
    for round in 0..12 {
        let token = kept.choose(context(round), round).unwrap().token;
        kept.learn(&token, (round % 11) as f64).unwrap();
    }
    drop(kept);
    let lines = disk.lines();
    let refused = |lines: &[Vec<u8>]| {
        let changed = disk.with(lines.concat());
        let error = open(&changed).err().unwrap_or_else(|| panic!("it was taken"));
        assert!(matches!(error, JournalError::Line { .. }), "{error}");
        assert_eq!(changed.log(), lines.concat());
    };
    for at in 0..lines.len() {
        let mut doubled = lines.clone();
        doubled.insert(at, lines[at].clone());
        refused(&doubled);
        if at + 1 < lines.len() {
            let mut lost = lines.clone();
            lost.remove(at);
            refused(&lost);
            let mut moved = lines.clone();
            moved.swap(at, at + 1);
            refused(&moved);
        }
        let mut changed = lines.clone();
        let place = changed[at].iter().rposition(u8::is_ascii_digit).unwrap();
        changed[at][place] = if changed[at][place] == b'0' { b'1' } else { b'0' };
        refused(&changed);
    }
}

/// A last line that was torn anywhere is cut off, and said.
#[test]
fn a_torn_last_line_is_cut_off_and_said() {
    let disk = Disk::default();
    let (mut kept, _) = open(&disk).unwrap();
    let token = kept.choose(context(1), 1).unwrap().token;
    let whole = disk.log().len();
    let before = kept.band().save();
    kept.learn(&token, 3.0).unwrap();
    let after = kept.band().save();
    let log = disk.log();
    for end in (whole..log.len()).step_by(7) {
        let torn = disk.with(log[..end].to_vec());
        let (mut again, recovered) = open(&torn).unwrap();
        assert_eq!((recovered.cut, torn.log().len()), ((end - whole) as u64, whole));
        assert_eq!(recovered.why.is_some(), end > whole);
        assert_eq!(again.band().save(), before);
        again.learn(&token, 3.0).unwrap();
        assert_eq!((again.band().save(), torn.log()), (after.clone(), log.clone()));
    }
}

#[test]
fn a_start_plays_only_the_lines_after_the_snapshot() {
    let disk = Disk::default();
    let (mut kept, _) = open(&disk).unwrap();
    (0..10).for_each(|round| drop(kept.choose(context(round), round).unwrap()));
    kept.save().unwrap();
    (10..13).for_each(|round| drop(kept.choose(context(round), round).unwrap()));
    let (again, recovered) = open(&disk).unwrap();
    assert_eq!((recovered, again.pending().len()), (Recovered { lines: 3, ..Recovered::default() }, 13));
    assert_eq!(again.band().save(), kept.band().save());
    // Without its snapshot a log is refused: it has the secret.
    disk.0.lock().unwrap().snapshot = None;
    assert!(matches!(open(&disk), Err(JournalError::NoSnapshot(_))));
}

/// The bases of a band are part of its log. A replay that lost one would teach the others what it did not see, and one that is
/// built otherwise decides otherwise: both are errors.
#[test]
fn a_band_that_is_built_otherwise_is_refused() {
    let disk = Disk::default();
    let (mut kept, _) = open(&disk).unwrap();
    for round in 0..20 {
        let token = kept.choose(context(round), round).unwrap().token;
        kept.learn(&token, (round % 11) as f64).unwrap();
        if round == 5 {
            kept.add("d", base("ucb1"), 0.5, Some("ucb1".into())).unwrap();
        }
    }
    let saved = kept.band().save();
    assert_eq!(open(&disk).unwrap().0.band().save(), saved);
    let refused = |error: Result<(Kept, Recovered), JournalError>| error.err().unwrap().to_string();
    let unbuilt = Journal::open(band(0), 40, disk.clone(), &|member| Err(format!("no {}", member.name)));
    assert!(refused(unbuilt).contains("no d"), "the builder's own words");
    let other = Journal::open(band(0), 40, disk.clone(), &|_| Ok(base("exp3")));
    assert!(refused(other).contains("another decision is made now"));
    let other = Journal::open(band_of(["linucb", "exp3", "exp3"], 0), 40, disk.clone(), &build);
    assert!(refused(other).contains("base 1"));
}

/// Every process is a copy of its own, and learns what the others handed out, through their tokens alone.
#[test]
fn copies_learn_each_others_tokens_and_a_forged_one_is_refused() {
    let (front, back) = (Disk::default(), Disk::default());
    let (mut one, _) = Journal::open(band(1), 40, front, &build).unwrap();
    let (mut two, _) = Journal::open(band(2), 40, back.clone(), &build).unwrap();
    let tokens: Vec<String> = (0..10).map(|round| one.choose(context(round), round).unwrap().token).collect();
    for token in &tokens {
        two.learn(token, 4.0).unwrap();
        assert!(matches!(
            two.learn(token, 4.0),
            Err(JournalError::Band(EnsembleError::AlreadyLearned { .. }))
        ));
    }
    let saved = two.band().save();
    // A token of the right round, sealed with another secret.
    let mut forger = corral_bases::band(["ucb1", "exp3"], &setup()).unwrap();
    let forged = forger.choose(&context(0), &mut rand_pcg::Pcg64Dxsm::new(1, 1)).unwrap();
    for bad in [forged.token_with(&context(0)).unwrap(), String::new(), tokens[0][..30].to_owned()] {
        assert!(two.learn(&bad, 4.0).is_err());
    }
    assert!(matches!(two.learn("hello", 4.0), Err(JournalError::Token(TokenError::NotAToken))));
    assert_eq!(two.band().save(), saved);
    let (again, recovered) = Journal::open(band(3), 40, back, &build).unwrap();
    assert_eq!((again.band().save(), recovered.lines), (saved, 11));
    assert_eq!(again.band().next_id().copy, 3);
}

#[test]
fn a_folder_is_written_by_one_process_and_goes_on() {
    let folder = std::env::temp_dir().join(format!("corral-journal-{}", std::process::id()));
    let start = || Journal::open(band(0), 40, Folder::open(&folder)?, &build);
    let (mut kept, _) = start().unwrap();
    let token = kept.choose(context(1), 1).unwrap().token;
    let locked = start().err().unwrap();
    assert!(locked.to_string().contains("another process"), "{locked}");
    kept.save().unwrap();
    kept.learn(&token, 3.0).unwrap();
    let saved = kept.band().save();
    drop(kept);
    io::Write::write_all(
        &mut std::fs::OpenOptions::new().append(true).open(folder.join("log.jsonl")).unwrap(),
        b"{\"kind\":\"outc",
    )
    .unwrap();
    let (again, recovered) = start().unwrap();
    assert_eq!((again.band().save(), recovered.lines, recovered.cut), (saved, 1, 13));
    drop(again);
    std::fs::remove_dir_all(&folder).unwrap();
}
