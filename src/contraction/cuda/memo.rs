//! Plans that a thread has made. To choose, to plan and to write the defines out takes the host 1.5 us, about as long as a
//! launch; to find a plan again 0.3 us.

use super::auto;
use super::plan::Plan;
use super::variant::Variant;
use super::work::{Limits, Work};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Plans that a thread remembers.
const REMEMBERED: usize = 4096;

/// The plan of a variant, or of what the automatic ones choose; else the variant that was refused and why.
pub fn plan(work: &Work, variant: Variant, limits: &Limits) -> Result<Rc<Plan>, (Variant, &'static str)> {
    thread_local! {
        static PLANS: RefCell<HashMap<(Work, Limits, Variant), Rc<Plan>>> = RefCell::default();
    }
    let key = (*work, *limits, variant);
    if let Some(plan) = PLANS.with_borrow(|plans| plans.get(&key).cloned()) {
        return Ok(plan);
    }
    let chosen = match variant {
        automatic if automatic.is_auto() => auto::choose(work, limits, automatic == Variant::AutoInOrder),
        named => named,
    };
    let plan = Rc::new(Plan::new(work, chosen, limits).map_err(|why| (chosen, why))?);
    PLANS.with_borrow_mut(|plans| {
        if plans.len() >= REMEMBERED {
            plans.clear();
        }
        plans.insert(key, Rc::clone(&plan));
    });
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::super::work::Family;
    use super::*;

    #[test]
    fn plans_are_found_again_and_not_mistaken() {
        let limits = Limits { multiprocessors: 132, shared: 227 << 10, ampere: true };
        let key = auto::Key {
            family: Family::FieldField,
            side: auto::Side::Right,
            item: 4,
            sizes: [200, 10, 10],
            rank: 0,
            contracted: [256, 1, 1],
        };
        let (work, longer) = (key.work(), auto::Key { contracted: [257, 1, 1], ..key }.work());
        let all = || Variant::ALL.iter().map(|(variant, _)| *variant);
        for (work, variant) in [&work, &longer].into_iter().flat_map(|work| all().map(move |variant| (work, variant))) {
            let is_ordered = variant == Variant::AutoInOrder;
            let chosen = if variant.is_auto() { auto::choose(work, &limits, is_ordered) } else { variant };
            let fresh = Plan::new(work, chosen, &limits).map(|plan| format!("{plan:?}")).map_err(|why| (chosen, why));
            for _ in 0..2 {
                let found = plan(work, variant, &limits).map(|plan| format!("{plan:?}"));
                assert_eq!(found, fresh, "{variant}");
            }
        }
        let again = || plan(&work, Variant::Auto, &limits).unwrap();
        assert!(Rc::ptr_eq(&again(), &again()));
        let small = Limits { shared: 1, ..limits };
        assert!(plan(&work, Variant::Slicing, &limits).is_ok() && plan(&work, Variant::Slicing, &small).is_err());
    }
}
