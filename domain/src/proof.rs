//! Proofs: tests that name the rule they prove, so that a table of what is proved can be built from
//! the tests themselves. Tests only.

use std::cell::RefCell;
use std::collections::BTreeSet;

thread_local! {
    static RECORDED: RefCell<BTreeSet<&'static str>> = const { RefCell::new(BTreeSet::new()) };
}

/// Notes that this thread has proved something about the rule `id`.
pub(crate) fn record(id: &'static str) {
    RECORDED.with_borrow_mut(|ids| ids.insert(id));
}

/// The rules about which this thread has proved something.
pub(crate) fn recorded() -> BTreeSet<&'static str> {
    RECORDED.with_borrow(Clone::clone)
}

/// Forgets what this thread has proved.
pub(crate) fn forget() {
    RECORDED.with_borrow_mut(BTreeSet::clear);
}

/// Test functions, and beside them `PROOFS`: the same functions by name, to be run again for a table.
macro_rules! proofs {
    ($($(#[$attribute:meta])* fn $name:ident() $body:block)*) => {
        $($(#[$attribute])* #[test] fn $name() $body)*
        pub(crate) const PROOFS: &[(&str, fn())] = &[$((stringify!($name), $name as fn()),)*];
        const _: &[(&str, fn())] = PROOFS;
    };
}

/// `assert_eq!` on behalf of the rule with this id.
macro_rules! prove {
    ($id:literal, $left:expr, $right:expr $(, $($context:tt)+)?) => {{
        $crate::proof::record($id);
        assert_eq!($left, $right $(, $($context)+)?);
    }};
}

/// `assert!` on behalf of the rule with this id.
macro_rules! prove_that {
    ($id:literal, $condition:expr $(, $($context:tt)+)?) => {{
        $crate::proof::record($id);
        assert!($condition $(, $($context)+)?);
    }};
}

pub(crate) use {proofs, prove, prove_that};

mod tests {
    use super::recorded;

    super::proofs! {
        fn a_proof_records_the_rule_it_proves() {
            super::prove!("E0", 1 + 1, 2, "an example");
            super::prove_that!("E00", recorded().contains("E0"));
        }
    }

    #[test]
    fn proofs_can_be_run_again_by_name() {
        let (name, run) = PROOFS[0];
        run();
        assert_eq!((name, recorded().into_iter().collect()), ("a_proof_records_the_rule_it_proves", vec!["E0", "E00"]));
    }
}
