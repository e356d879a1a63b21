//! Which mutants are run: drawn by a seed, so that two runs draw the same and a later one can go on.

use std::collections::BTreeMap;

/// One of several equal parts, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    part: usize,
    parts: usize,
}

/// Reads `k/n`.
pub fn read_shard(text: &str) -> Result<Shard, String> {
    let numbers = text.split_once('/').and_then(|(part, parts)| Some((part.parse().ok()?, parts.parse().ok()?)));
    match numbers {
        Some((part, parts)) if (1..=parts).contains(&part) => Ok(Shard { part, parts }),
        _ => Err("not k/n with k from 1 to n".to_owned()),
    }
}

/// `count` names drawn by `seed`, and of those one part.
pub fn draw(all: &[String], count: usize, seed: u64, shard: Option<Shard>) -> Vec<String> {
    // Each name gets a number from seed and name alone: a new mutant elsewhere does not change the draw of the others.
    let by_lot: BTreeMap<u64, &String> = all.iter().map(|name| (lot(name, seed), name)).collect();
    let drawn = by_lot.into_values().take(count).cloned().enumerate();
    let is_mine = |index: usize| shard.is_none_or(|shard| index % shard.parts + 1 == shard.part);
    drawn.filter(|(index, _)| is_mine(*index)).map(|(_, name)| name).collect()
}

/// FNV-1a over the name, begun by the seed, and mixed once more.
fn lot(name: &str, seed: u64) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = name.bytes().fold(step(0xcbf2_9ce4_8422_2325 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), 0), step);
    (hash ^ (hash >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb)
}

/// A name as a regular expression that matches only itself.
pub fn escaped(name: &str) -> String {
    let mut out = String::new();
    for one in name.chars() {
        if r"\.+*?()|[]{}^$#&-~/".contains(one) {
            out.push('\\');
        }
        out.push(one);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        (0..50).map(|number| format!("domain/src/verdict.rs:{number}:5: replace judge with ()")).collect()
    }

    #[test]
    fn a_seed_draws_the_same_and_another_draws_others() {
        assert_eq!(draw(&names(), 10, 1, None), draw(&names(), 10, 1, None));
        assert_ne!(draw(&names(), 10, 1, None), draw(&names(), 10, 2, None));
        assert_eq!(draw(&names(), 100, 1, None).len(), 50);
    }

    #[test]
    fn shards_divide_the_sample() {
        let whole = draw(&names(), 11, 3, None);
        let mut parts: Vec<String> =
            (1..=3).flat_map(|part| draw(&names(), 11, 3, Some(Shard { part, parts: 3 }))).collect();
        parts.sort();
        let mut sorted = whole;
        sorted.sort();
        assert_eq!(parts, sorted);
        assert_eq!(read_shard("2/3"), Ok(Shard { part: 2, parts: 3 }));
        assert!(read_shard("0/3").is_err() && read_shard("4/3").is_err() && read_shard("x").is_err());
    }

    #[test]
    fn names_match_themselves_alone() {
        assert_eq!(escaped("a.rs:1: replace && with || in f<'_>"), r"a\.rs:1: replace \&\& with \|\| in f<'_>");
    }
}
