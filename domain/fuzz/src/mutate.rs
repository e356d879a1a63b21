//! Turns inputs into other inputs: by bits and bytes, by cutting and joining, and by the tokens that parsers trip over.

/// The longest input.
pub const LENGTH_LIMIT: usize = 16 * 1024;

/// Chance that can be repeated: splitmix64.
#[derive(Debug, Clone)]
pub struct Chance(u64);

impl Chance {
    /// The sequence of this seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { usize::try_from(self.next() % end as u64).unwrap_or_default() }
    }

    /// One of several.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// What parsers of JSON, times and names trip over, whatever the target.
const TOKENS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "\\",
    "{}",
    "[]",
    "null",
    "true",
    "false",
    "\"\"",
    " ",
    "\n",
    "\t",
    "\r\n",
    // Numbers that readers disagree on.
    "0",
    "-0",
    "0.0",
    "-",
    "01",
    "1.",
    ".5",
    "1e5",
    "1E+5",
    "1e",
    "1e400",
    "-1e-400",
    "1e99999999999",
    "NaN",
    "Infinity",
    "9007199254740991",
    "9007199254740992",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "-9223372036854775809",
    "1970670598291982290",
    "0.1",
    "1e-7",
    "1e21",
    "4.9e-324",
    "2147483648",
    "4294967296",
    "65536",
    "-1",
    "333333333.33333329",
    "1234567890123456789012345678901234567890",
    // Strings that readers disagree on.
    "\\ud800",
    "\\udc00",
    "\\ud83d\\ude02",
    "\\ud83d",
    "\\u0000",
    "\\u001b",
    "\\u007f",
    "\\u2028",
    "\\ufeff",
    "\\uFFFF",
    "\\/",
    "\\x41",
    "\\u00e9",
    "e\\u0301",
    "\u{feff}",
    "\u{301}",
    "\u{fb33}",
    "😂",
    "\u{7f}",
    "\u{85}",
    "\u{a0}",
    "\u{0}",
    "\u{1}",
    "\"a\":1,\"a\":2",
    "\"\\u0061\":1,\"a\":2",
    "__proto__",
    // Times.
    "2026-10-05T09:00:00Z",
    "2026-10-05T09:00:60Z",
    "2026-10-05T23:59:60Z",
    "2026-10-05T24:00:00Z",
    "0000-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59-23:59",
    "9999-12-31T23:59:59.999999999Z",
    "1969-12-31T23:59:59.9Z",
    "2026-02-30T00:00:00Z",
    "2026-10-05t09:00:00z",
    "2026-10-05 09:00:00Z",
    "+02:00",
    "-00:00",
    ".000000001",
    ".5",
    "1582-10-10T00:00:00Z",
    // URLs.
    "%",
    "%00",
    "%zz",
    "&",
    "=",
    "+",
    "limit=",
    "state=",
    "limit=0",
    "limit=200",
    "limit=201",
    "limit=4294967296",
];

/// Makes another input of `input`, with parts of `other` where it joins two, and with the target's own `tokens`.
pub fn mutate(input: &mut Vec<u8>, other: &[u8], tokens: &[&str], chance: &mut Chance) {
    // Mostly one change: many at once leave little that can be read.
    for _ in 0..*chance.pick(&[1, 1, 1, 1, 2, 2, 3, 5]) {
        mutate_once(input, other, tokens, chance);
    }
    input.truncate(LENGTH_LIMIT);
}

fn mutate_once(input: &mut Vec<u8>, other: &[u8], tokens: &[&str], chance: &mut Chance) {
    match chance.below(16) {
        0 | 1 if !input.is_empty() => {
            let at = chance.below(input.len());
            input[at] ^= 1 << chance.below(8);
        }
        2 if !input.is_empty() => {
            let at = chance.below(input.len());
            input[at] = u8::try_from(chance.below(256)).unwrap_or_default();
        }
        3 => input.truncate(chance.below(input.len() + 1)),
        4 | 5 => {
            let range = range_in(input, chance);
            input.drain(range);
        }
        6 => {
            let range = range_in(input, chance);
            let copied = input[range].to_vec();
            insert(input, &copied, chance);
        }
        7 => {
            let range = range_in(other, chance);
            insert(input, &other[range], chance);
        }
        8 => {
            // The beginning of one and the end of the other.
            input.truncate(chance.below(input.len() + 1));
            input.extend_from_slice(&other[chance.below(other.len() + 1)..]);
        }
        9 | 10 if !tokens.is_empty() => {
            let token = chance.pick(tokens).as_bytes();
            place(input, token, chance);
        }
        11 => nest(input, chance),
        12 => repeat_member(input, chance),
        13 => step_number(input, chance),
        _ => {
            let token = chance.pick(TOKENS).as_bytes();
            place(input, token, chance);
        }
    }
}

/// A short range more often than a long one.
fn range_in(bytes: &[u8], chance: &mut Chance) -> std::ops::Range<usize> {
    let start = chance.below(bytes.len() + 1);
    let most = if chance.below(4) == 0 { bytes.len() } else { 24 };
    let length = chance.below(most.min(bytes.len() - start) + 1);
    start..start + length
}

fn insert(input: &mut Vec<u8>, bytes: &[u8], chance: &mut Chance) {
    let at = chance.below(input.len() + 1);
    input.splice(at..at, bytes.iter().copied());
}

/// Inserts a token, or puts it in the place of a number, a word or a string.
fn place(input: &mut Vec<u8>, token: &[u8], chance: &mut Chance) {
    let at = chance.below(input.len() + 1);
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"-+._".contains(byte);
    let start = at - input[..at].iter().rev().take_while(|byte| is_word(byte)).count();
    let end = at + input[at..].iter().take_while(|byte| is_word(byte)).count();
    if chance.below(2) == 0 || start == end {
        input.splice(at..at, token.iter().copied());
    } else {
        input.splice(start..end, token.iter().copied());
    }
}

/// Many arrays or objects inside each other, closed or not.
fn nest(input: &mut Vec<u8>, chance: &mut Chance) {
    let depth = *chance.pick(&[1, 2, 100, 127, 128, 129, 130, 1_000, 4_000]);
    let (open, close) = *chance.pick(&[("[", "]"), ("{\"a\":", "}"), ("[{\"b\":", "}]")]);
    let mut deep = open.repeat(depth);
    if chance.below(4) > 0 {
        deep.push('1');
        deep.push_str(&close.repeat(depth));
    }
    place(input, deep.as_bytes(), chance);
}

/// The text between two commas once more: the same member twice.
fn repeat_member(input: &mut Vec<u8>, chance: &mut Chance) {
    let commas: Vec<usize> = (0..input.len()).filter(|at| input[*at] == b',').collect();
    let [_, _, ..] = commas[..] else { return };
    let first = chance.below(commas.len() - 1);
    let copied = input[commas[first]..commas[first + 1]].to_vec();
    input.splice(commas[first]..commas[first], copied);
}

/// One digit up or down.
fn step_number(input: &mut [u8], chance: &mut Chance) {
    let digits: Vec<usize> = (0..input.len()).filter(|at| input[*at].is_ascii_digit()).collect();
    if let Some(at) = digits.get(chance.below(digits.len())) {
        input[*at] = b"0123456789"[chance.below(10)];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_inputs() {
        let made = |seed| {
            let mut chance = Chance::new(seed);
            let mut input = b"{\"a\":1,\"b\":[2,3],\"c\":\"x\"}".to_vec();
            for _ in 0..200 {
                mutate(&mut input, b"{\"other\":true}", &["token"], &mut chance);
            }
            input
        };
        assert_eq!(made(7), made(7));
        assert_ne!(made(7), made(8));
    }

    #[test]
    fn no_input_grows_beyond_the_limit() {
        let mut chance = Chance::new(1);
        let mut input = vec![b'['; LENGTH_LIMIT];
        for _ in 0..1_000 {
            mutate(&mut input, &[b'x'; 100], &[], &mut chance);
            assert!(input.len() <= LENGTH_LIMIT);
        }
    }

    #[test]
    fn a_member_is_repeated_between_its_commas() {
        let mut input = b"{\"a\":1,\"b\":2,\"c\":3}".to_vec();
        repeat_member(&mut input, &mut Chance::new(3));
        assert_eq!(input, b"{\"a\":1,\"b\":2,\"b\":2,\"c\":3}");
    }
}
