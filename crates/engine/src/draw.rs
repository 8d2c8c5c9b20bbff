//! Random draws from collections: `SPOP`, `SRANDMEMBER`, `HRANDFIELD` and their counted forms.

use std::collections::HashSet;

use rand_core::RngCore;

use crate::table::{Hashed, Table};

/// A draw from a table walks all of it when it wants more than one entry in this many; else it
/// draws again on a repeat, which then are few.
const WALK_RATIO: usize = 3;

/// A number below `bound` (0 if that is 0), each equally likely to within 2⁻³².
pub(crate) fn below(random: &mut impl RngCore, bound: usize) -> usize {
    ((u128::from(random.next_u64()) * bound as u128) >> 64) as usize
}

/// Chooses some of a row of things while walking it once, each choice equally likely.
pub(crate) struct Selection {
    left: usize,
    wanted: usize,
}

impl Selection {
    /// Will choose `wanted` of `total`, or all if they are fewer.
    pub(crate) fn new(total: usize, wanted: usize) -> Self {
        Self { left: total, wanted }
    }

    /// Whether the next thing is chosen.
    pub(crate) fn takes(&mut self, random: &mut impl RngCore) -> bool {
        let is_taken = self.wanted > 0 && below(random, self.left) < self.wanted;
        self.left -= 1;
        self.wanted -= usize::from(is_taken);
        is_taken
    }
}

/// Visits `count` different entries of a table, or all if they are fewer.
pub(crate) fn distinct<T: Hashed>(
    table: &Table<T>,
    random: &mut impl RngCore,
    count: usize,
    mut visit: impl FnMut(&T),
) {
    if count.saturating_mul(WALK_RATIO) >= table.len() {
        let mut selection = Selection::new(table.len(), count);
        return table.iter().filter(|_| selection.takes(random)).for_each(visit);
    }
    let mut seen = HashSet::with_capacity(count);
    while seen.len() < count {
        let Some(entry) = table.random(random) else { return };
        if seen.insert(std::ptr::from_ref(entry)) {
            visit(entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::{Selection, below};

    #[test]
    fn draws_are_even() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let (mut drawn, mut selected) = ([0; 5], [0; 5]);
        for _ in 0..10_000 {
            drawn[below(&mut random, 5)] += 1;
            let mut selection = Selection::new(5, 2);
            for count in &mut selected {
                *count += usize::from(selection.takes(&mut random));
            }
        }
        assert!(drawn.iter().all(|count| (1800..2200).contains(count)), "{drawn:?}");
        assert!(selected.iter().all(|count| (3800..4200).contains(count)), "{selected:?}");
        assert_eq!(selected.iter().sum::<usize>(), 20_000);
    }
}
