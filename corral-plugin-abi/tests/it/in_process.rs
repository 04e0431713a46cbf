//! The table without a library: what Miri, the sanitizers and valgrind can see whole.

use std::ffi::c_void;
use std::sync::Arc;

use corral_plugin_abi::abi::{
    CORRAL_ERROR, CORRAL_MAGIC, CORRAL_OK, CorralBaseV1, CorralContext, CorralProposal, CorralRng, CorralText,
};
use corral_plugin_abi::host::{ForeignBase, Table, VtableError};
use corral_plugin_abi::prelude::*;
use corral_plugin_abi::{Crosses, exported};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

fn table<B: Plugin>(name: &'static str) -> Arc<Table> {
    let table = exported::<B>(name, "1.2.3");
    // SAFETY: the functions and texts of the table are those of this program.
    Arc::new(unsafe { Table::read(&table) }.unwrap())
}

fn setup(actions: usize, features: usize) -> Setup {
    let mut setup = Setup::arms(actions, Some(100));
    setup.context.features = features;
    setup
}

fn foreign<B: Plugin>(params: &str, setup: &Setup) -> Result<ForeignBase<B::Decision>, BaseError> {
    ForeignBase::build(table::<B>("it"), params, setup)
}

fn faulty(fault: &str) -> ForeignBase<Arm> {
    foreign::<crate::faults::Faulty>(&format!("fault = {fault:?}"), &setup(3, 0)).unwrap()
}

/// Runs two bases side by side and wants the same of them, bit for bit.
fn same_run<D: Crosses>(
    native: &mut dyn Base<Context, D>,
    other: &mut dyn Base<Context, D>,
    context: impl Fn(&mut Pcg64Dxsm) -> Context,
    rounds: u64,
) {
    // Miri is slow, and a round is like the other.
    let rounds = if cfg!(miri) { rounds.min(6) } else { rounds };
    let mut world = Pcg64Dxsm::seed_from_u64(1);
    let (mut a, mut b) = (Pcg64Dxsm::seed_from_u64(2), Pcg64Dxsm::seed_from_u64(2));
    assert_eq!(native.abilities().learns_from_others, other.abilities().learns_from_others);
    for round in 0..rounds {
        let x = context(&mut world);
        let (mine, theirs) = (native.propose(&x, &mut a).unwrap(), other.propose(&x, &mut b).unwrap());
        assert_eq!(mine, theirs, "round {round}");
        assert_eq!(a, b, "the generators stand at the same place");
        assert_eq!(native.likelihood(&x, &mine.decision), other.likelihood(&x, &mine.decision));
        let weight = if round % 5 == 0 { 0.0 } else { 1.0 };
        let feedback = Feedback::new(uniform(&mut world), weight);
        native.learn(&x, &mine, feedback).unwrap();
        other.learn(&x, &theirs, feedback).unwrap();
        native.pass(&x).unwrap();
        other.pass(&x).unwrap();
    }
}

fn features(n: usize, actions: usize) -> impl Fn(&mut Pcg64Dxsm) -> Context {
    move |rng| Context::shared((0..n).map(|_| uniform(rng)).collect(), actions)
}

#[test]
fn a_base_behind_the_table_gives_the_same_run() {
    let setup = setup(4, 7);
    let mut native =
        crate::draws::Draws::build(crate::draws::DrawsParams { epsilon: 0.5, step: 0.1 }, &setup).unwrap();
    let mut behind = foreign::<crate::draws::Draws>("epsilon = 0.5", &setup).unwrap();
    same_run(&mut native, &mut behind, features(7, 4), 100);
    Base::<Context, Arm>::apply_order(&mut native, Order::Widen { range: 4.0, remaining: None }).unwrap();
    behind.apply_order(Order::Widen { range: 4.0, remaining: None }).unwrap();
    same_run(&mut native, &mut behind, features(7, 4), 20);
}

#[test]
fn points_cross_with_their_memo() {
    let setup = Setup::new(Space::Points(Set::Box { dim: 9 }), None);
    let mut native = crate::walk::Walk::build(crate::walk::WalkParams {}, &setup).unwrap();
    let mut behind = foreign::<crate::walk::Walk>("", &setup).unwrap();
    same_run(&mut native, &mut behind, |_| Context::plain(0), 50);
}

/// Sees what a base is shown.
struct Witness(Context);

#[derive(Deserialize)]
#[serde(crate = "corral_plugin_abi::serde")]
struct WitnessParams {}

impl Plugin for Witness {
    type Params = WitnessParams;
    type Decision = Arm;
    const KIND: Kind = Kind::Contextual;
    const DESCRIPTION: &'static str = "shows where the numbers are";
    fn build(_: WitnessParams, setup: &Setup) -> Result<Self, BaseError> {
        assert_eq!((setup.horizon, setup.context.cells, setup.context.row_features), (Some(100), Some(6), 3));
        Ok(Self(Context::default()))
    }
}

impl Base<Context, Arm> for Witness {
    fn propose(&mut self, x: &Context, _: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
        self.0 = x.clone();
        let addresses = [x.features().as_ptr().addr() as f64, x.rows().as_ptr().addr() as f64];
        Ok(Proposal::with_memo(Arm(0), Memo::from(&addresses[..])))
    }
    fn learn(&mut self, x: &Context, _: &Proposal<Arm>, _: Feedback) -> Result<(), BaseError> {
        if *x == self.0 { Ok(()) } else { Err(BaseError::Failed("another context".into())) }
    }
    fn apply_order(&mut self, _: Order) -> Result<(), BaseError> {
        Ok(())
    }
    fn save(&self) -> Vec<u8> {
        snapshot::seal("witness", 1, &self.0)
    }
    fn load(&mut self, _: &[u8]) -> Result<(), BaseError> {
        Ok(())
    }
}

#[test]
fn contexts_are_read_in_place_and_whole() {
    let mut setup = setup(2, 2);
    (setup.context.cells, setup.context.row_features) = (Some(6), 3);
    let mut base = foreign::<Witness>("", &setup).unwrap();
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    let mut x = Context::with_rows(vec![1.0, 2.0], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3);
    x.set_cell(Some(5));
    let made = base.propose(&x, &mut rng).unwrap();
    let addresses = [x.features().as_ptr().addr() as f64, x.rows().as_ptr().addr() as f64];
    assert_eq!(made.memo.numbers(), addresses, "the plugin reads the host's memory");
    base.learn(&x, &made, Feedback::plain(0.5)).unwrap();
    assert!(base.learn(&Context::plain(2), &made, Feedback::plain(0.5)).is_err());
    // What the base kept of it is a copy of its own, which outlives the host's.
    let same = x.clone();
    drop(x);
    base.learn(&same, &made, Feedback::plain(0.5)).unwrap();
    let seen: Vec<u8> = snapshot::open("plugin base it version 1.2.3", 1, &base.save()).unwrap();
    assert_eq!(snapshot::open::<Context>("witness", 1, &seen).unwrap(), same);
}

/// Overwrites what it should only fill, as a careless author of C might, and fails in the context 1.
unsafe extern "C" fn scribble(
    _: *mut c_void,
    context: *const CorralContext,
    _: *const CorralRng,
    out: *mut CorralProposal,
    error: *mut CorralText,
) -> i32 {
    static TEXT: &[u8] = b"its own text";
    // SAFETY: the host's memory, valid during the call.
    unsafe {
        assert!(!(*out).memo.is_null() && (*out).memo_capacity > 1000 && (*error).capacity == 1024);
        *out = CorralProposal {
            arm: 1,
            reserved: 9,
            point: std::ptr::dangling_mut(),
            dim: 9,
            memo: std::ptr::null_mut(),
            memo_capacity: usize::MAX,
            memo_len: 0,
        };
        *error = CorralText { ptr: TEXT.as_ptr().cast_mut(), capacity: usize::MAX, len: usize::MAX };
        if (*context).cell == 1 { CORRAL_ERROR } else { CORRAL_OK }
    }
}

#[test]
fn what_was_lent_to_a_plugin_is_lent_anew_in_every_call() {
    let mut careless = exported::<crate::faults::Faulty>("it", "1.0.0");
    careless.propose = scribble;
    // SAFETY: as in `table`.
    let careless = Arc::new(unsafe { Table::read(&careless) }.unwrap());
    let mut base = ForeignBase::<Arm>::build(careless, "fault = ''", &setup(3, 0)).unwrap();
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    for _ in 0..2 {
        let made = base.propose(&Context::tabular(0, 3), &mut rng).unwrap();
        assert_eq!(made, Proposal::new(Arm(1)));
        // The text is read where the host lent it, and nothing is there.
        let told = base.propose(&Context::tabular(1, 3), &mut rng).unwrap_err();
        assert_eq!(told.to_string(), "it: propose: no reason was given");
    }
}

#[test]
fn a_snapshot_continues_bit_for_bit_and_another_version_is_named() {
    let setup = setup(3, 4);
    let mut first = foreign::<crate::draws::Draws>("", &setup).unwrap();
    let mut rng = Pcg64Dxsm::seed_from_u64(3);
    let x = features(4, 3)(&mut rng);
    for _ in 0..10 {
        let made = first.propose(&x, &mut rng).unwrap();
        first.learn(&x, &made, Feedback::plain(0.7)).unwrap();
    }
    let state = first.save();
    let mut second = foreign::<crate::draws::Draws>("", &setup).unwrap();
    second.load(&state).unwrap();
    assert_eq!(second.save(), state);
    same_run(&mut first, &mut second, features(4, 3), 20);

    let newer = exported::<crate::draws::Draws>("it", "1.2.4");
    // SAFETY: as in `table`.
    let newer = Arc::new(unsafe { Table::read(&newer) }.unwrap());
    let mut newer = ForeignBase::<Arm>::build(newer, "", &setup).unwrap();
    let refused = newer.load(&state).unwrap_err();
    assert_eq!(
        refused.to_string(),
        r#"a snapshot of "plugin base it version 1.2.3", not of "plugin base it version 1.2.4""#
    );
    assert!(second.load(&state[..state.len() - 1]).is_err());
    assert!(second.load(b"").is_err());
}

#[test]
fn parameters_are_judged_by_the_plugin() {
    let say = |params: &str| foreign::<crate::draws::Draws>(params, &setup(3, 1)).err().unwrap().to_string();
    assert_eq!(say("epsilon = 2.0"), "it: create: epsilon must be in [0, 1], but is 2");
    assert!(say("epsilom = 0.2").contains("unknown field `epsilom`"), "{}", say("epsilom = 0.2"));
    assert!(say("epsilon = ").starts_with("it: create: parameters: "), "{}", say("epsilon = "));
    let world = Setup::new(Space::Points(Set::Box { dim: 2 }), None);
    let wrong = foreign::<crate::draws::Draws>("", &world).err().unwrap();
    assert_eq!(wrong.to_string(), "it: a base for contextual in a world of points");
    assert!(
        foreign::<crate::walk::Walk>("", &Setup::new(Space::Points(Set::Ball { dim: 2 }), None)).is_err()
    );
}

#[test]
fn a_panic_is_an_error_with_its_text_and_place() {
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    let x = Context::plain(3);
    let made = Proposal::with_memo(Arm(0), Memo::one(1.0));
    let told = |e: BaseError, entry: &str| {
        let text = e.to_string();
        assert!(text.starts_with(&format!("it: {entry}: panicked: fault in {entry} at ")), "{text}");
        assert!(text.contains("faults.rs:"), "{text}");
    };
    let refused = foreign::<crate::faults::Faulty>("fault = 'create'", &setup(3, 0)).err().unwrap();
    told(refused, "create");
    told(faulty("propose").propose(&x, &mut rng).unwrap_err(), "propose");
    told(faulty("learn").learn(&x, &made, Feedback::plain(0.5)).unwrap_err(), "learn");
    told(faulty("pass").pass(&x).unwrap_err(), "pass");
    told(faulty("rerange").apply_order(Order::Widen { range: 2.0, remaining: None }).unwrap_err(), "rerange");
    let state = faulty("").save();
    told(faulty("load").load(&state).unwrap_err(), "load");
    drop(faulty("drop"));

    // `save` and `likelihood` cannot fail: the next call that can tells.
    let mut base = faulty("save");
    assert!(base.save().is_empty());
    told(base.propose(&x, &mut rng).unwrap_err(), "save");
    let mut base = faulty("likelihood");
    assert_eq!(base.likelihood(&x, &Arm(0)), None);
    told(base.pass(&x).unwrap_err(), "likelihood");

    let bomb = faulty("bomb").propose(&x, &mut rng).unwrap_err();
    assert!(bomb.to_string().contains("a panic whose payload is not text at "), "{bomb}");
}

#[test]
fn a_base_that_panicked_is_unusable_until_its_range_changes() {
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    let x = Context::plain(3);
    let mut base = faulty("third");
    for _ in 0..2 {
        base.propose(&x, &mut rng).unwrap();
    }
    base.propose(&x, &mut rng).unwrap_err();
    let again = base.propose(&x, &mut rng).unwrap_err().to_string();
    assert!(again.contains("unusable since it panicked (fault in round 2 at "), "{again}");
    assert!(base.pass(&x).is_err());
    base.apply_order(Order::Widen { range: 2.0, remaining: None }).unwrap();
    for _ in 0..2 {
        base.propose(&x, &mut rng).unwrap();
    }
    base.propose(&x, &mut rng).unwrap_err();
}

#[test]
fn what_comes_back_is_checked() {
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    let x = Context::plain(3);
    let mut say = |fault: &str| faulty(fault).propose(&x, &mut rng).unwrap_err().to_string();
    assert_eq!(say("arm"), "not a proposal of this base: arm 3 of 3");
    assert_eq!(say("memo-nan"), "not a proposal of this base: number 0 of the memo is NaN");
    assert!(say("memo-long").contains("a memo of 100000 numbers where 1027 fit"));
    assert_eq!(say("error"), "it: propose: out of luck");

    let mut base = faulty("probability");
    assert_eq!(base.likelihood(&x, &Arm(0)), None);
    let told = base.propose(&x, &mut Pcg64Dxsm::seed_from_u64(1)).unwrap_err();
    assert_eq!(told.to_string(), "not a proposal of this base: a probability of NaN");

    // A round may offer fewer actions than the space.
    assert!(faulty("").propose(&Context::plain(0), &mut Pcg64Dxsm::seed_from_u64(1)).is_err());

    let world = Setup::new(Space::Points(Set::Box { dim: 2 }), None);
    let mut outside = foreign::<crate::faults::Outside>("", &world).unwrap();
    let told = outside.propose(&Context::plain(0), &mut Pcg64Dxsm::seed_from_u64(1)).unwrap_err();
    assert_eq!(told.to_string(), "not a proposal of this base: the point [3.0, 3.0] lies outside the set");
}

#[test]
fn a_table_is_read_before_it_is_believed() {
    let good = exported::<crate::faults::Faulty>("it", "1.0.0");
    // SAFETY: a copy of a table with one thing changed; the functions are those of this program.
    let read = |change: &dyn Fn(&mut CorralBaseV1)| unsafe {
        let mut table = good;
        change(&mut table);
        Table::read(&table).map(|t| t.base.name).map_err(|e| e.to_string())
    };
    assert_eq!(read(&|_| {}).unwrap(), "it");
    assert!(read(&|t| t.magic ^= 1).unwrap_err().contains("instead of the magic number"));
    assert!(read(&|t| t.struct_size = 8).unwrap_err().contains("it has 8 bytes"));
    assert!(read(&|t| t.struct_size += 1).is_err());
    assert!(read(&|t| t.struct_size = usize::MAX).is_err());
    assert_eq!(read(&|t| t.kind = 9).unwrap_err(), "the base is of the unknown kind 9");
    assert_eq!(read(&|t| t.alpha = 7.0).unwrap_err(), "the base's alpha must be in [0, 1], but is 7");
    assert_eq!(read(&|t| t.name.len = 0).unwrap_err(), "the base's name is not usable text");
    assert_eq!(read(&|t| t.version.len = 1 << 40).unwrap_err(), "the base's version is not usable text");
    assert_eq!(good.magic, CORRAL_MAGIC);

    // Null functions: written as numbers, since a Rust function pointer cannot be null.
    for (field, name) in [
        (std::mem::offset_of!(CorralBaseV1, create), "create"),
        (std::mem::offset_of!(CorralBaseV1, propose), "propose"),
        (std::mem::offset_of!(CorralBaseV1, load), "load"),
    ] {
        let mut words = std::mem::MaybeUninit::new(good);
        // SAFETY: within the table, which is then only looked at through `Table::read`.
        let refused = unsafe {
            words.as_mut_ptr().cast::<u8>().add(field).cast::<usize>().write(0);
            Table::read(words.as_ptr())
        };
        assert_eq!(refused.unwrap_err(), VtableError::Null(name.into()));
    }
}

#[test]
fn an_older_table_has_defaults_for_what_it_lacks() {
    let mut old = exported::<crate::draws::Draws>("it", "1.0.0");
    old.struct_size = std::mem::offset_of!(CorralBaseV1, pass);
    // SAFETY: as in `table`.
    let old = Arc::new(unsafe { Table::read(&old) }.unwrap());
    assert!(old.extension(1).is_null());
    let mut base = ForeignBase::<Arm>::build(old, "", &setup(3, 1)).unwrap();
    let x = Context::shared(vec![1.0], 3);
    base.pass(&x).unwrap();
    assert_eq!(base.likelihood(&x, &Arm(0)), None);
    assert!(!base.abilities().learns_from_others);
    base.propose(&x, &mut Pcg64Dxsm::seed_from_u64(1)).unwrap();
}

#[test]
fn registries_are_shared_between_threads_and_bases_move() {
    fn shared<T: Send + Sync>() {}
    fn moves<T: Send>() {}
    shared::<corral_plugin_abi::host::Plugins>();
    shared::<corral_plugin_abi::host::Library>();
    moves::<ForeignBase<Arm>>();
    moves::<ForeignBase<Point>>();
}
