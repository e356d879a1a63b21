//! Whether an answer is a receipt for our operation, by what the contract declares (E15, E16).

use crate::attempt::ReceiptFault;
use crate::contract::SuccessReceipt;
use crate::json::Json;
use crate::name::Receipt;
use crate::tool::Stake;

impl SuccessReceipt {
    /// The receipt in an answer to a request with these arguments, or why it does not count: it names no object of the
    /// declared look, or repeats another amount, currency or reference than ours.
    pub fn read(&self, answer: &Json, arguments: &Json, stake: &Stake) -> Result<Receipt, ReceiptFault> {
        let id = match answer.pointer(&self.pointer) {
            // An id that is a number keeps its exact digits.
            Some(Json::String(text) | Json::Number(text)) => text.as_str(),
            _ => return Err(ReceiptFault::MissingId),
        };
        if self.pattern.as_deref().is_some_and(|pattern| !looks_like(id, pattern)) {
            return Err(ReceiptFault::MissingId);
        }
        for echo in &self.must_echo {
            let (told, ours) = (answer.pointer(&echo.answer), arguments.pointer(&echo.argument));
            // By canonical form, so that 10 and 10.0 are one amount, and a big id is not rounded.
            if told.map(Json::canonical) != ours.map(Json::canonical) {
                return Err(fault_of(&echo.argument, stake));
            }
        }
        Receipt::parse(id).map_err(|_| ReceiptFault::MissingId)
    }
}

fn fault_of(argument: &str, stake: &Stake) -> ReceiptFault {
    let names = |named: Option<&String>, usual: &str| argument.strip_prefix('/') == Some(named.map_or(usual, |n| n));
    if names(stake.amount_minor.as_ref(), "amount_minor") {
        ReceiptFault::OtherAmount
    } else if names(stake.currency.as_ref(), "currency") {
        ReceiptFault::OtherCurrency
    } else {
        ReceiptFault::OtherReference
    }
}

/// `*` stands for any characters, also none.
fn looks_like(text: &str, pattern: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return text == pattern };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some((_, after)) = text.split_once(part) else { return false };
        text = after;
    }
    text.ends_with(last)
}

#[cfg(test)]
pub(super) use tests::PROOFS;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Echo;
    use crate::proof::{proofs, prove, prove_that};

    fn json(text: &str) -> Json {
        Json::parse(text.as_bytes()).unwrap()
    }

    fn declared() -> SuccessReceipt {
        let echo = |answer: &str, argument: &str| Echo { answer: answer.into(), argument: argument.into() };
        SuccessReceipt {
            pointer: "/data/id".into(),
            pattern: Some("pi_*".into()),
            must_echo: vec![
                echo("/data/amount", "/amount_minor"),
                echo("/data/currency", "/currency"),
                echo("/data/metadata/order", "/order"),
            ],
        }
    }

    fn read(answer: &str) -> Result<String, ReceiptFault> {
        let arguments = json(r#"{"amount_minor":10,"currency":"EUR","order":9007199254740993}"#);
        declared().read(&json(answer), &arguments, &Stake::default()).map(|receipt| receipt.to_string())
    }

    proofs! {
        fn e16_an_answer_that_repeats_our_values_is_a_receipt() {
            let answer = r#"{"data":{"id":"pi_A","amount":10.00,"currency":"EUR","metadata":{"order":9007199254740993}}}"#;
            prove!("E16", read(answer), Ok("pi_A".to_owned()));
            let numeric = SuccessReceipt { pointer: "/id".into(), pattern: None, must_echo: Vec::new() };
            let read = numeric.read(&json(r#"{"id":9000000000000000101}"#), &json("{}"), &Stake::default());
            prove!("E16", read.map(|receipt| receipt.to_string()), Ok("9000000000000000101".to_owned()));
        }

        fn e15_an_answer_that_names_nothing_or_something_else_is_none() {
            for (answer, fault) in [
                ("{}", ReceiptFault::MissingId),
                (r#"{"data":{"id":null}}"#, ReceiptFault::MissingId),
                (r#"{"data":{"id":"ch_A"}}"#, ReceiptFault::MissingId),
                (r#"{"data":{"id":"pi_A"}}"#, ReceiptFault::OtherAmount),
                (r#"{"data":{"id":"pi_A","amount":11}}"#, ReceiptFault::OtherAmount),
                (r#"{"data":{"id":"pi_A","amount":10,"currency":"USD"}}"#, ReceiptFault::OtherCurrency),
                (
                    r#"{"data":{"id":"pi_A","amount":10,"currency":"EUR","metadata":{"order":9007199254740992}}}"#,
                    ReceiptFault::OtherReference,
                ),
            ] {
                prove!("E15", read(answer), Err(fault), "{answer}");
            }
        }

        fn e15_the_look_of_an_id() {
            for (text, pattern, fits) in [
                ("pi_A", "pi_*", true),
                ("pi_", "pi_*", true),
                ("api_A", "pi_*", false),
                ("in-7-final", "in-*-final", true),
                ("in-final", "in-*-final", false),
                ("abcabc", "a*bc", true),
                ("abca", "a*bc", false),
                ("x", "x", true),
                ("xy", "x", false),
            ] {
                prove!("E15", looks_like(text, pattern), fits, "{text} {pattern}");
            }
            prove_that!("E15", looks_like("anything", "*"));
        }
    }
}
