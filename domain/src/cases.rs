//! What really happened to people, as event streams (cases R01–R21). Tests only.

macro_rules! cases {
    ($($name:ident = $file:literal;)*) => {
        $(#[doc = $file] pub const $name: &str = include_str!(concat!("../tests/cases/", $file, ".ndjson"));)*
        /// All of them.
        pub const ALL: &[&str] = &[$($name,)*];
    };
}

cases! {
    R01 = "R01"; R02 = "R02"; R03 = "R03"; R04 = "R04"; R05 = "R05"; R06 = "R06"; R07 = "R07";
    R08 = "R08"; R09 = "R09"; R10 = "R10"; R11 = "R11"; R12 = "R12"; R13 = "R13"; R14 = "R14";
    R15 = "R15"; R16 = "R16"; R17 = "R17"; R18 = "R18"; R19 = "R19"; R20 = "R20"; R21 = "R21";
}
