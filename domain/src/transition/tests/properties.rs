//! Properties of the fold over everything that ever happened to people.

use proptest::prelude::*;

use crate::cases;

use super::desk::Desk;

/// Operations whose lines may come in any order: their names and keys do not depend on it.
const CASES: [(&str, &str); 8] = [
    (cases::R01, "op_101"),
    (cases::R02, "op_201"),
    (cases::R05, "op_501"),
    (cases::R10, "op_1001"),
    (cases::R11, "op_1101"),
    (cases::R12, "op_1201"),
    (cases::R13, "op_1302"),
    (cases::R14, "op_1401"),
];

fn told(lines: &[&str], name: &str) -> (String, u32, u32, Vec<String>) {
    let mut desk = Desk::new();
    for line in lines {
        desk.tell(line);
    }
    desk.wait_until("2026-10-07T00:00:00Z");
    let row = desk.row(name);
    (desk.state(name), row.attempts, row.effects, row.findings.iter().map(|f| f.text.clone()).collect())
}

proptest! {
    /// I27: whatever is permuted or repeated after the first line reads the same in the end.
    #[test]
    fn i27_order_and_repetition_do_not_matter(
        case in 0..CASES.len(),
        seed in any::<u64>(),
        repeats in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let (text, name) = CASES[case];
        let lines: Vec<&str> = text.lines().collect();
        let expected = told(&lines, name);
        // The proposals come first: they name the operation that deliveries are linked to.
        let (first, rest): (Vec<&str>, Vec<&str>) =
            lines.iter().partition(|line| line.contains("operation.proposed") || line.contains("claim.taken"));
        let mut shuffled = rest.clone();
        let mut state = seed | 1;
        for index in (1..shuffled.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            shuffled.swap(index, usize::try_from(state >> 33).unwrap() % (index + 1));
        }
        let mut order = first;
        order.extend(&shuffled);
        order.extend(repeats.iter().filter(|_| !rest.is_empty()).map(|index| rest[index.index(rest.len())]));
        prop_assert_eq!(told(&order, name), expected);
    }
}
