//! Elements are dropped once, whatever panics on the way, and blocks go back.

use crate::region::pool;
use eagre_mem::probe::Pair;
use eagre_mem::{BlockSize, Pool, RewiredVec};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// How many are alive, and when to panic.
#[derive(Default)]
struct Census {
    alive: Cell<i64>,
    clones_left: Cell<Option<u64>>,
    deadly: Cell<Option<u64>>,
}

struct Counted<'c>(&'c Census, u64);

impl<'c> Counted<'c> {
    fn new(census: &'c Census, number: u64) -> Counted<'c> {
        census.alive.set(census.alive.get() + 1);
        Counted(census, number)
    }
}

impl Clone for Counted<'_> {
    fn clone(&self) -> Self {
        match self.0.clones_left.get() {
            Some(0) => resume_unwind(Box::new("clone")),
            left => self.0.clones_left.set(left.map(|left| left - 1)),
        }
        Counted::new(self.0, self.1)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.alive.set(self.0.alive.get() - 1);
        if self.0.deadly.get() == Some(self.1) {
            self.0.deadly.set(None);
            resume_unwind(Box::new("drop"));
        }
    }
}

/// More than two blocks of them.
const MANY: u64 = 10_000;

fn filled<'c>(pool: &Pool, census: &'c Census) -> RewiredVec<Counted<'c>> {
    let mut all = RewiredVec::in_pool(pool).unwrap();
    all.extend((0..MANY).map(|number| Counted::new(census, number)));
    all
}

fn panics(action: impl FnOnce()) {
    assert!(catch_unwind(AssertUnwindSafe(action)).is_err(), "it was to panic");
}

fn with_pool(pair: Pair, test: impl Fn(&Pool, &Census)) {
    let (pool, census) = (pool(pair, BlockSize::MIN, 16), Census::default());
    test(&pool, &census);
    assert_eq!(census.alive.get(), 0);
    assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0));
}

each_pool_pair! {
    fn a_drop_panics_in_drop(pair) {
        with_pool(pair, |pool, census| {
            let all = filled(pool, census);
            census.deadly.set(Some(MANY / 2));
            panics(|| drop(all));
        });
    }

    fn a_drop_panics_in_truncate(pair) {
        with_pool(pair, |pool, census| {
            let mut all = filled(pool, census);
            census.deadly.set(Some(MANY / 2));
            panics(|| all.truncate(10));
            assert_eq!((all.len(), census.alive.get()), (10, 10));
            all.shrink_to_fit();
            assert_eq!(pool.stats().taken, 1);
        });
    }

    fn a_drop_panics_in_the_iterator(pair) {
        with_pool(pair, |pool, census| {
            let mut left = filled(pool, census).into_iter();
            assert!(left.by_ref().take(7).map(|counted| counted.1).eq(0..7));
            assert_eq!(left.next_back().unwrap().1, MANY - 1);
            census.deadly.set(Some(100));
            panics(|| drop(left));
        });
    }

    fn a_clone_panics(pair) {
        with_pool(pair, |pool, census| {
            let some: Vec<_> = (0..100).map(|number| Counted::new(census, number)).collect();
            let mut all = RewiredVec::in_pool(pool).unwrap();
            census.clones_left.set(Some(150));
            all.extend_from_slice(&some);
            panics(|| all.extend_from_slice(&some));
            assert_eq!((all.len(), census.alive.get()), (150, 250));
            census.clones_left.set(Some(5));
            panics(|| all.resize(1000, Counted::new(census, 1)));
            assert_eq!((all.len(), census.alive.get()), (155, 255));
            assert!(all.iter().map(|counted| counted.1).eq((0..100).chain(0..50).chain([1; 5])));
        });
    }

    fn code_between_appends_panics(pair) {
        with_pool(pair, |pool, census| {
            let mut all = filled(pool, census);
            panics(|| {
                let mut end = all.appender();
                for number in 0.. {
                    end.push(Counted::new(census, number));
                    if number == 6_000 {
                        resume_unwind(Box::new("between"));
                    }
                }
            });
            assert_eq!((all.len() as u64, census.alive.get()), (MANY + 6_001, MANY as i64 + 6_001));
            let mut one = RewiredVec::with_limit(pool, 10).unwrap();
            panics(|| {
                let mut end = one.appender();
                (0..MANY).for_each(|number| end.push(Counted::new(census, number)));
            });
            assert_eq!(one.len(), one.limit());
        });
    }

    fn an_iterator_panics(pair) {
        with_pool(pair, |pool, census| {
            let mut all = filled(pool, census);
            let more = (0..MANY).map(|number| match number {
                5_000 => resume_unwind(Box::new("next")),
                _ => Counted::new(census, number),
            });
            panics(|| all.extend(more));
            assert_eq!((all.len() as u64, census.alive.get()), (MANY + 5_000, MANY as i64 + 5_000));
        });
    }
}
