//! How figures are printed: ours beside the raw statements of the same run, and what is aimed at.

use std::error::Error;

/// A bench stops at whatever goes wrong.
pub type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// What follows a word of the command line.
pub fn given(name: &str) -> Option<String> {
    std::env::args().skip_while(|word| word != name).nth(1)
}

/// The line above the figures.
pub fn head() {
    println!("{:<52} {:>11} {:>11} {:>8}   target", "figure", "ours", "raw", "ratio");
}

/// One figure.
pub fn row(name: &str, ours: &str, raw: &str, ratio: f64, target: &str) {
    let ratio = if ratio.is_nan() { String::new() } else { format!("{ratio:.2}") };
    println!("{name:<52} {ours:>11} {raw:>11} {ratio:>8}   {target}");
}
