use proptest::prelude::*;

use super::*;
use crate::operation::Doubt;
use crate::proof::{proofs, prove, prove_that};

const SECOND: i64 = 1_000_000;

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

fn bucket(tokens: u32) -> Budget {
    Budget::Bucket(Bucket::holding(tokens, BucketNumbers::default()))
}

fn tokens(budget: &Budget) -> u32 {
    match budget {
        Budget::Bucket(bucket) => bucket.tokens(),
        Budget::Ratio(_) => panic!("not a bucket"),
    }
}

/// A send that is settled at once; what the bucket holds afterwards.
fn send(before: u32, kind: SendKind, settled: Settled) -> u32 {
    let mut budget = bucket(before);
    let token = budget.spend(kind, at(0)).unwrap();
    budget.give_back(token, settled);
    tokens(&budget)
}

fn kinds() -> impl Strategy<Value = SendKind> {
    prop::sample::select(SendKind::ALL)
}

fn settlements() -> impl Strategy<Value = Settled> {
    prop::sample::select(Settled::ALL)
}

proofs! {
    fn n1_what_a_send_costs_and_brings_back() {
        use SendKind::{First, Retry, RetryAfterThrottling};
        use Settled::{Kept, NotSent, Succeeded};
        for (before, kind, settled, after) in [
            // A first try costs nothing; only its success brings something.
            (100, First, Succeeded, 101),
            (100, First, NotSent, 100),
            (100, First, Kept, 100),
            (0, First, Kept, 0),
            // Success after a retry returns the last cost taken; so does a send that never left.
            (100, Retry, Succeeded, 100),
            (100, Retry, NotSent, 100),
            (100, Retry, Kept, 86),
            (100, RetryAfterThrottling, Succeeded, 100),
            (100, RetryAfterThrottling, NotSent, 100),
            (100, RetryAfterThrottling, Kept, 95),
            // Never above capacity.
            (500, First, Succeeded, 500),
            (14, Retry, Kept, 0),
            (5, RetryAfterThrottling, Kept, 0),
        ] {
            prove!("N1", send(before, kind, settled), after, "{before} {kind:?} {settled:?}");
        }
    }

    fn n1_success_returns_only_the_last_cost_of_a_chain() {
        let mut budget = Budget::new(BudgetKind::Bucket, &RetryNumbers::default());
        for (kind, settled) in [
            (SendKind::First, Settled::Kept),
            (SendKind::Retry, Settled::Kept),
            (SendKind::RetryAfterThrottling, Settled::Kept),
            (SendKind::Retry, Settled::Succeeded),
        ] {
            let token = budget.spend(kind, at(0)).unwrap();
            budget.give_back(token, settled);
        }
        prove!("N1", tokens(&budget), 500 - 14 - 5);
    }

    fn n1_an_empty_bucket_stops_retries_and_no_first_try() {
        let mut budget = bucket(13);
        let refused = budget.spend(SendKind::Retry, at(0)).unwrap_err();
        prove!("N1", refused, Exhausted::Bucket { held: 13, capacity: 500, cost: 14 });
        prove!(
            "N1",
            refused.to_string(),
            "the destination's retry budget holds 13 of 500 tokens and this retry costs 14; successes fill it again"
        );
        prove!("I37", tokens(&budget), 13, "a refused retry spends nothing");
        prove!("N1", budget.spend(SendKind::First, at(0)).map(|token| token.cost()), Ok(0));
        prove!("N1", budget.spend(SendKind::RetryAfterThrottling, at(0)).map(|token| token.cost()), Ok(5));
    }

    fn n2_a_full_bucket_pays_for_35_retries_and_100_after_throttling() {
        for (kind, count) in [(SendKind::Retry, 35), (SendKind::RetryAfterThrottling, 100)] {
            let mut budget = Budget::new(BudgetKind::Bucket, &RetryNumbers::default());
            let mut sent = 0;
            while budget.spend(kind, at(0)).is_ok() {
                sent += 1;
            }
            prove!("N2", sent, count, "{kind:?}");
        }
    }

    fn i37_only_not_sent_and_success_give_a_token_back() {
        for (verdict, settled) in [
            (Verdict::NotSent, Settled::NotSent),
            (Verdict::Executed, Settled::Succeeded),
            (Verdict::RefusedRetryable, Settled::Kept),
            (Verdict::RefusedPermanent, Settled::Kept),
            (Verdict::ExecutedNoEffect, Settled::Kept),
            (Verdict::Unknown(Doubt::Timeout), Settled::Kept),
            (Verdict::Unknown(Doubt::Likely), Settled::Kept),
        ] {
            prove!("I37", Settled::from(verdict), settled, "{verdict:?}");
        }
    }

    /// Whatever is sent and however it ends, the tokens are what a plain account of it says, between 0 and capacity.
    fn i37_tokens_are_never_negative_and_never_above_capacity() {
        let acts = prop::collection::vec((kinds(), settlements(), any::<prop::sample::Index>(), any::<bool>()), 0..200);
        proptest!(|(start in 0_u32..=500, acts in acts)| {
            let mut budget = bucket(start);
            let mut out: Vec<(SendKind, Token)> = Vec::new();
            let mut account = i64::from(start);
            for (kind, settled, which, is_send) in acts {
                if is_send || out.is_empty() {
                    let cost = match kind { SendKind::First => 0, SendKind::Retry => 14, SendKind::RetryAfterThrottling => 5 };
                    if let Ok(token) = budget.spend(kind, at(0)) {
                        account -= cost;
                        out.push((kind, token));
                    } else {
                        prove_that!("I37", account < cost, "refused although {account} pay {cost}");
                    }
                } else {
                    let (kind, token) = out.remove(which.index(out.len()));
                    let back = match (settled, kind) {
                        (Settled::Kept, _) | (Settled::NotSent, SendKind::First) => 0,
                        (Settled::Succeeded, SendKind::First) => 1,
                        (_, SendKind::Retry) => 14,
                        (_, SendKind::RetryAfterThrottling) => 5,
                    };
                    account = (account + back).min(500);
                    budget.give_back(token, settled);
                }
                prove!("I37", i64::from(tokens(&budget)), account);
                prove_that!("I37", (0..=500).contains(&account));
            }
        });
    }

    fn i37_a_stored_bucket_cannot_hold_more_than_its_capacity() {
        let budget = Budget::new(BudgetKind::Bucket, &RetryNumbers::default());
        let text = serde_json::to_string(&budget).unwrap();
        prove!("I37", serde_json::from_str::<Budget>(&text).unwrap(), budget);
        let edited = text.replace("\"tokens\":500", "\"tokens\":501");
        prove_that!("I37", edited != text);
        prove!("I37", tokens(&serde_json::from_str(&edited).unwrap()), 500);
        let smaller = BucketNumbers { capacity: 50, ..BucketNumbers::default() };
        prove!("I37", Bucket::full(BucketNumbers::default()).renumbered(smaller).tokens(), 50);
    }

    fn n8_ten_retries_a_second_are_always_allowed_then_a_fifth_of_the_first_tries() {
        for (first_tries, allowed) in [(0, 100), (100, 100), (500, 100), (504, 100), (505, 101), (1_000, 200)] {
            let mut budget = Budget::new(BudgetKind::Ratio, &RetryNumbers::default());
            for _ in 0..first_tries {
                let _first = budget.spend(SendKind::First, at(20 * SECOND)).unwrap();
            }
            let mut sent = 0;
            let refused = loop {
                match budget.spend(SendKind::Retry, at(21 * SECOND)) {
                    Ok(_) => sent += 1,
                    Err(refused) => break refused,
                }
            };
            prove!("N8", sent, allowed, "{first_tries} first tries");
            let free_at = at(21 * SECOND + SECOND / 2 + 10 * SECOND);
            prove!("N8", refused, Exhausted::Ratio { retries: allowed, allowed, window_s: 10, free_at: Some(free_at) });
            prove_that!("N8", budget.spend(SendKind::Retry, free_at).is_ok(), "the window has passed");
        }
    }

    fn n8_a_retry_that_never_left_stops_counting_and_a_first_try_never_does() {
        let mut budget = Budget::new(BudgetKind::Ratio, &RetryNumbers::default());
        let first = budget.spend(SendKind::First, at(0)).unwrap();
        budget.give_back(first, Settled::NotSent);
        let retry = budget.spend(SendKind::Retry, at(1)).unwrap();
        let Budget::Ratio(ratio) = &budget else { panic!("not a ratio") };
        prove!("N8", ratio.retries(at(2)), 1);
        budget.give_back(retry, Settled::NotSent);
        let Budget::Ratio(ratio) = &budget else { panic!("not a ratio") };
        prove!("N8", ratio.retries(at(2)), 0);
        let (retry, first) = (budget.spend(SendKind::Retry, at(2)).unwrap(), budget.spend(SendKind::First, at(2)).unwrap());
        budget.give_back(first, Settled::NotSent);
        let Budget::Ratio(ratio) = &budget else { panic!("not a ratio") };
        prove!("N8", ratio.retries(at(2)), 1, "a first try takes no retry back");
        budget.give_back(retry, Settled::NotSent);
        let succeeded = budget.spend(SendKind::Retry, at(3)).unwrap();
        budget.give_back(succeeded, Settled::Succeeded);
        let Budget::Ratio(ratio) = &budget else { panic!("not a ratio") };
        prove!("N8", ratio.retries(at(4)), 1, "a retry that worked was still a retry");
    }

    fn n8_a_retry_counts_from_its_half_second_until_the_window_has_passed_that() {
        let ratio_of = |sends: &[i64]| {
            let mut budget = Budget::new(BudgetKind::Ratio, &RetryNumbers::default());
            let tokens: Vec<_> =
                sends.iter().map(|&when| budget.spend(SendKind::Retry, at(when)).unwrap()).collect();
            (budget, tokens)
        };
        let retries = |budget: &Budget, now: i64| {
            let Budget::Ratio(ratio) = budget else { panic!("not a ratio") };
            ratio.retries(at(now))
        };
        let (half, window) = (SECOND / 2, 10 * SECOND);
        let (first, _) = ratio_of(&[0]);
        prove!("N8", (retries(&first, window + half - 1), retries(&first, window + half)), (1, 0));
        // The end of one half second is the beginning of the next.
        let (both, mut tokens) = ratio_of(&[0, half]);
        prove!("N8", retries(&both, window + half), 1);
        let (mut both, second) = (both, tokens.remove(1));
        both.give_back(second, Settled::NotSent);
        prove!("N8", (retries(&both, window), retries(&both, window + half)), (1, 0), "the second is taken back");
    }

    fn n8_what_no_rule_reads_any_more_is_forgotten() {
        let mut budget = Budget::new(BudgetKind::Ratio, &RetryNumbers::default());
        let slices = |budget: &Budget| {
            let json = serde_json::to_value(budget).unwrap();
            json["slices"].as_array().unwrap().len()
        };
        for (now, kept) in [(0, 1), (10 * SECOND, 2), (10 * SECOND + SECOND / 2, 2), (60 * SECOND, 1)] {
            let _first = budget.spend(SendKind::First, at(now)).unwrap();
            prove!("N8", slices(&budget), kept, "at {now} µs");
        }
    }

    /// For the window that ends with each retry, counted send by send: never more than the rule allows.
    fn i18_retries_stay_within_the_share_in_every_window() {
        let acts = prop::collection::vec((0_i64..3 * SECOND, kinds(), 1_usize..40), 1..80);
        let numbers = RatioNumbers { window_s: 10, min_per_s: 2, percent: 20 };
        proptest!(|(acts in acts)| {
            let mut ratio = Budget::Ratio(Ratio::unused(numbers));
            let (mut now, mut sends) = (0, Vec::new());
            for (pause, kind, burst) in acts {
                now += pause;
                for _ in 0..burst {
                    if ratio.spend(kind, at(now)).is_ok() {
                        sends.push((now, kind.is_first()));
                    }
                }
                let inside = || sends.iter().filter(|(when, _)| *when > now - 10 * SECOND);
                let first_tries = inside().filter(|(_, is_first)| *is_first).count();
                let retries = inside().filter(|(_, is_first)| !is_first).count();
                if !kind.is_first() && sends.last().is_some_and(|(when, is_first)| *when == now && !is_first) {
                    prove_that!("I18", retries <= 20.max(first_tries / 5), "{retries} retries, {first_tries} first tries");
                }
            }
        });
    }

    fn a_token_of_the_other_kind_is_worth_nothing() {
        let (mut tokens_left, mut share) = (bucket(100), Budget::new(BudgetKind::Ratio, &RetryNumbers::default()));
        let of_share = share.spend(SendKind::Retry, at(0)).unwrap();
        tokens_left.give_back(of_share, Settled::NotSent);
        prove!("I37", tokens(&tokens_left), 100);
    }

    fn defaults_are_those_of_the_law() {
        let numbers = RetryNumbers::default();
        prove!("N1", numbers.bucket, BucketNumbers { capacity: 500, retry_cost: 14, throttled_cost: 5, first_success: 1 });
        prove!("N8", numbers.ratio, RatioNumbers { window_s: 10, min_per_s: 10, percent: 20 });
        prove!("4.9", numbers.backoff, BackoffNumbers { base_ms: 1_000, cap_ms: 30_000, retry_after_cap_s: 3_600 });
        prove!("4.9", numbers.check(), Ok(numbers));
        let partly: RetryNumbers = serde_json::from_str(r#"{"bucket":{"retry_cost":5}}"#).unwrap();
        prove!("4.9", partly.bucket, BucketNumbers { retry_cost: 5, ..BucketNumbers::default() });
    }
}

#[test]
fn a_number_that_empties_a_rule_of_meaning_is_refused_by_name() {
    let check = |text: &str| serde_json::from_str::<RetryNumbers>(text).unwrap().check().unwrap_err().to_string();
    for (text, message) in [
        (r#"{"bucket":{"retry_cost":0}}"#, "bucket.retry_cost is 0; it must be at least 1"),
        (r#"{"bucket":{"throttled_cost":0}}"#, "bucket.throttled_cost is 0; it must be at least 1"),
        (r#"{"backoff":{"base_ms":0}}"#, "backoff.base_ms is 0; it must be at least 1"),
        (r#"{"ratio":{"window_s":0}}"#, "ratio.window_s is 0; it must be 1 to 60"),
        (r#"{"bucket":{"capacity":10}}"#, "bucket.capacity is 10; it must be at least the dearest retry"),
        (r#"{"ratio":{"window_s":61}}"#, "ratio.window_s is 61; it must be 1 to 60"),
        (r#"{"ratio":{"percent":101}}"#, "ratio.percent is 101; it must be at most 100"),
        (r#"{"backoff":{"cap_ms":10}}"#, "backoff.cap_ms is 10; it must be no less than the base"),
    ] {
        assert_eq!(check(text), message);
    }
}
