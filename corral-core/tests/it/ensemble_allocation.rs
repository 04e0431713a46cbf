//! What is allocated: nothing in a round, and no more than the input's size in reading a bad snapshot.
#![allow(missing_docs, unsafe_code)]

use crate::common::*;
use crate::counting::allocated;
use corral_core::masters::PracticalParams;
use corral_core::registry::Kind;
use corral_core::{
    Abilities, Arm, Base, BaseError, BaseExtra, Context, Corral, CorralParams, Ensemble, EnsembleParams,
    Feedback, Horizon, Master, Memo, Order, Pending, Point, Proposal, Rate, Rng, Set, Setup, Space, Ticket,
    uniform,
};

/// Proposes a point near where it stands, with a memo that spills: a buffer is used again, or allocated.
struct Walker(usize, Vec<f64>);

impl Base<Context, Point> for Walker {
    fn propose(&mut self, x: &Context, rng: &mut dyn Rng) -> Result<Proposal<Point>, BaseError> {
        let mut made = Proposal::new(Point::default());
        self.propose_into(x, rng, &mut made)?;
        Ok(made)
    }
    fn learn(&mut self, _: &Context, made: &Proposal<Point>, _: Feedback) -> Result<(), BaseError> {
        if made.memo.numbers() == made.decision.coordinates() { Ok(()) } else { Err(BaseError::Loss(0.0)) }
    }
    fn apply_order(&mut self, _: Order) -> Result<(), BaseError> {
        Ok(())
    }
    fn save(&self) -> Vec<u8> {
        Vec::new()
    }
    fn load(&mut self, _: &[u8]) -> Result<(), BaseError> {
        Ok(())
    }
    fn extra(&mut self) -> Option<&mut dyn BaseExtra<Context, Point>> {
        Some(self)
    }
}

impl BaseExtra<Context, Point> for Walker {
    fn propose_into(
        &mut self,
        _: &Context,
        rng: &mut dyn Rng,
        made: &mut Proposal<Point>,
    ) -> Result<(), BaseError> {
        self.1.iter_mut().for_each(|v| *v = uniform(rng) / self.0 as f64);
        made.decision.set(&self.1);
        made.memo.set(&self.1);
        Ok(())
    }
}

fn corral(bases: usize) -> Corral {
    Corral::new(CorralParams::new(bases, Horizon::Known(10_000))).unwrap()
}

/// Rounds in which later arms cost more.
fn play<M: Master>(band: &mut Ensemble<Context, Arm, M>, x: &Context, rng: &mut dyn Rng, rounds: usize) {
    for _ in 0..rounds {
        let ticket = band.choose(x, rng).unwrap();
        let loss = 0.25 + 0.25 * f64::from(ticket.decision.0);
        band.learn(x, ticket, loss).unwrap();
    }
}

#[test]
fn a_round_allocates_nothing() {
    let x = Context::plain(3);
    let mut rng = generator(1);
    let mut band = Ensemble::new(corral(5), (0..5).map(|_| Soft::boxed(3, 0.01)).collect())
        .unwrap()
        .with_setup(&Setup::arms(3, None));
    play(&mut band, &x, &mut rng, 10);
    // Ranges do not change here: restarting a base may allocate, and is no ordinary round.
    assert_eq!(allocated(|| play(&mut band, &x, &mut rng, 500)), (0, 0));
}

#[test]
fn a_round_with_likelihood_credit_allocates_nothing() {
    let x = Context::plain(3);
    let mut rng = generator(2);
    let params = EnsembleParams { guard: false, ..EnsembleParams::practical(Kind::Arms) };
    let bases = (0..5).map(|_| Soft::boxed(3, 0.01)).collect();
    let mut band = Ensemble::practical_with(bases, PracticalParams::default(), params).unwrap();
    play(&mut band, &x, &mut rng, 10);
    assert_eq!(allocated(|| play(&mut band, &x, &mut rng, 500)), (0, 0));
}

/// Always the same arm; a round without it is nothing to it.
struct Always(u32);

impl Base<Context, Arm> for Always {
    fn propose(&mut self, _: &Context, _: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
        Ok(Proposal::new(Arm(self.0)))
    }
    fn learn(&mut self, _: &Context, _: &Proposal<Arm>, _: Feedback) -> Result<(), BaseError> {
        Ok(())
    }
    fn abilities(&self) -> Abilities {
        Abilities::OWN
    }
    fn apply_order(&mut self, _: Order) -> Result<(), BaseError> {
        Ok(())
    }
    fn save(&self) -> Vec<u8> {
        Vec::new()
    }
    fn load(&mut self, _: &[u8]) -> Result<(), BaseError> {
        Ok(())
    }
}

#[test]
fn a_large_band_allocates_little_and_only_where_clusters_are_regrouped() {
    let (m, rounds) = (20_000, 100_000);
    let x = Context::plain(4);
    let mut rng = generator(7);
    let bases = (0..m).map(|i| Box::new(Always(i % 4)) as Box<dyn Base<_, _>>).collect();
    let horizon = Horizon::Known(1_000_000);
    let params = CorralParams { rate: Rate::Fixed(0.05), ..CorralParams::new(m as usize, horizon) };
    let before = crate::counting::held();
    let mut band = Ensemble::new(Corral::new(params).unwrap(), bases).unwrap();
    assert!(band.master().is_flat());
    let (calls, _) = allocated(|| play(&mut band, &x, &mut rng, rounds));
    let each = (crate::counting::held() - before) as f64 / f64::from(m);
    println!("{calls} allocations in {rounds} rounds, {each:.0} bytes per base");
    assert!(calls <= rounds as u64 / 1_000, "{calls} allocations");
    assert!(each <= 256.0, "{each} bytes per base");
}

#[test]
fn a_round_of_points_allocates_nothing_with_tickets_outstanding() {
    let x = Context::plain(0);
    let mut rng = generator(2);
    let walkers = (0..4).map(|_| Box::new(Walker(20, vec![0.0; 20])) as Box<dyn Base<_, _>>).collect();
    let mut band = Ensemble::new(corral(4), walkers)
        .unwrap()
        .with_setup(&Setup::new(Space::Points(Set::ball(20).unwrap()), None));
    let mut waiting: Vec<Ticket<Point>> = Vec::with_capacity(16);
    let mut play = |rounds: usize| {
        for _ in 0..rounds {
            while waiting.len() < 8 {
                waiting.push(band.choose(&x, &mut rng).unwrap());
            }
            let ticket = waiting.swap_remove(3);
            band.learn(&x, ticket, 0.5).unwrap();
        }
    };
    play(50);
    assert_eq!(allocated(|| play(500)), (0, 0));
    assert!(band.benched().is_empty(), "{:?}", band.benched());
}

#[test]
fn a_round_as_a_base_allocates_nothing() {
    let x = Context::plain(3);
    let mut rng = generator(3);
    let inner = || Ensemble::new(corral(2), (0..2).map(|_| Soft::boxed(3, 0.01)).collect()).unwrap();
    let bases = (0..2).map(|_| Box::new(inner()) as Box<dyn Base<_, _>>).collect();
    let mut band = Ensemble::new(corral(2), bases).unwrap();
    let mut buffer = Proposal::with_memo(Arm(0), Memo::empty());
    let mut play = |rounds: usize| {
        for _ in 0..rounds {
            band.propose_into(&x, &mut rng, &mut buffer).unwrap();
            Base::learn(&mut band, &x, &buffer, Feedback::plain(0.5)).unwrap();
        }
    };
    play(50);
    assert_eq!(allocated(|| play(200)), (0, 0));
    assert!(band.benched().is_empty(), "{:?}", band.benched());
}

/// A snapshot whose every length says that the rest of the world follows, behind a right checksum.
fn absurd(good: &[u8], at: usize) -> Vec<u8> {
    // magic 4, format 1, name length 1, name, version 2, length 8, payload, checksum 8
    let body = 6 + usize::from(good[5]) + 10;
    let mut bytes = good[..good.len() - 8].to_vec();
    let end = (body + at + 9).min(bytes.len());
    bytes[body + at..end].fill(0xff);
    if end == body + at + 9 {
        bytes[end - 1] = 0x7f;
    }
    let sum = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3));
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

#[test]
fn bad_snapshots_allocate_no_more_than_their_size() {
    let x = Context::plain(3);
    let open = opened(EnsembleParams::default());
    let bases = || (0..3).map(|_| Soft::boxed(3, 0.1)).collect();
    let build = || Ensemble::with_params(Toy::new(3, 0.1), bases(), open).unwrap();
    let mut band: Ensemble<Context, Arm, Toy> = build();
    let mut store = Pending::new(100);
    let mut rng = generator(4);
    for t in 0..40 {
        let ticket = band.choose(&x, &mut rng).unwrap();
        store.insert(x.clone(), ticket, t).unwrap();
    }
    // Rounds that are remembered as learned, of two copies.
    for copy in 0..2 {
        band.set_copy(copy);
        play(&mut band, &x, &mut rng, 20);
    }
    let (band_saved, store_saved) = (band.save(), store.save().unwrap());
    let mut target = build();
    // What a good one of that size takes, and a vector of numbers as long as the input at most: a length is never
    // believed beyond the bytes that follow it.
    // Things of 40 bytes that take 3 in the input, in vectors that double as they grow, make 32 for one.
    let slack = |input: &[u8]| 32 * input.len() as u64 + 1_024;
    let (_, good) = allocated(|| target.load(&band_saved).unwrap());
    for at in 0..band_saved.len() - 40 {
        let bad = absurd(&band_saved, at);
        let (_, bytes) = allocated(|| drop(target.load(&bad)));
        assert!(bytes <= good + slack(&bad), "{bytes} bytes, {good} for a good one, absurd length at {at}");
    }
    let (_, good) = allocated(|| drop(Pending::<Context, Arm>::load(&store_saved).unwrap()));
    for at in 0..store_saved.len() - 40 {
        let bad = absurd(&store_saved, at);
        let (_, bytes) = allocated(|| drop(Pending::<Context, Arm>::load(&bad)));
        assert!(bytes <= good + slack(&bad), "{bytes} bytes, {good} for a good one, absurd length at {at}");
    }
    for cut in 0..band_saved.len() {
        let (_, bytes) = allocated(|| drop(target.load(&band_saved[..cut])));
        assert!(bytes <= 512, "{bytes} bytes for a snapshot cut to {cut}");
    }
}
