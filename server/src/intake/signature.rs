//! Signatures of deliveries (semantics 1.9): over the bytes as they came, compared in constant time, before anything else
//! is read of them. A valid one proves who sent a delivery, and nothing about what it says.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use tallystick_domain::delivery::Scheme;
use tallystick_domain::time::Timestamp;

/// How far a delivery's own time may be from the record's clock, in seconds, before or after.
pub const TOLERANCE_S: u64 = 300;
/// A header that offers more signatures than a rotation needs is not looked through to its end.
const SIGNATURES: usize = 16;
/// What the secret of Standard Webhooks begins with.
const STANDARD_SECRET: &str = "whsec_";

/// Why a delivery is not believed. Nothing of it is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// No signature, or not in the scheme's form.
    #[error("it has no signature in the form of its scheme")]
    Missing,
    /// Not made with a secret of ours, or not over these bytes.
    #[error("its signature was not made with a secret of this webhook over this body")]
    Wrong,
    /// Signed long ago, or in the future: somebody may be sending it again.
    #[error("it was signed {seconds} s {} the record's clock; {TOLERANCE_S} s are allowed", if *.is_ahead { "ahead of" } else { "behind" })]
    OutOfTime {
        /// How far away.
        seconds: u64,
        /// Whether it is ahead.
        is_ahead: bool,
    },
}

/// What a scheme signs, and the signatures that are offered for it.
pub struct Signed {
    scheme: Scheme,
    /// What stands before the body in the signed text.
    prefix: Vec<u8>,
    offered: Vec<Vec<u8>>,
    /// When it was signed, in seconds since 1970, where the scheme tells it.
    time_s: Option<i64>,
}

impl Signed {
    /// Reads the scheme's headers; `header` knows them by their lower-case names.
    pub fn read<'h>(scheme: Scheme, header: impl Fn(&str) -> Option<&'h str>) -> Result<Self, SignatureError> {
        let parts = match scheme {
            Scheme::Stripe => stripe(header("stripe-signature")),
            Scheme::Github => github(header("x-hub-signature-256")),
            Scheme::Standard => {
                standard(header("webhook-id"), header("webhook-timestamp"), header("webhook-signature"))
            }
        };
        let (prefix, offered, time_s) = parts.ok_or(SignatureError::Missing)?;
        if offered.is_empty() {
            return Err(SignatureError::Missing);
        }
        Ok(Self { scheme, prefix, offered, time_s })
    }

    /// Whether one of the secrets made one of the signatures over this body.
    pub fn verify<'s>(&self, secrets: impl Iterator<Item = &'s str>, body: &[u8]) -> Result<(), SignatureError> {
        let mut is_valid = false;
        for secret in secrets {
            let Some(key) = key_of(self.scheme, secret) else { continue };
            let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&key) else { continue };
            mac.update(&self.prefix);
            mac.update(body);
            for offered in &self.offered {
                // Compared in constant time, all of them: how long it takes says nothing of where they differ.
                is_valid |= mac.clone().verify_slice(offered).is_ok();
            }
        }
        if is_valid { Ok(()) } else { Err(SignatureError::Wrong) }
    }

    /// Whether it was signed about now, by the record's clock. A scheme that tells no time is protected by its ids alone.
    pub fn check_time(&self, now: Timestamp) -> Result<(), SignatureError> {
        let Some(time_s) = self.time_s else { return Ok(()) };
        let ahead = time_s.saturating_sub(now.as_micros().div_euclid(1_000_000));
        let seconds = ahead.unsigned_abs();
        if seconds > TOLERANCE_S {
            return Err(SignatureError::OutOfTime { seconds, is_ahead: ahead > 0 });
        }
        Ok(())
    }
}

/// Whether a secret can be one of this scheme.
pub fn is_usable(scheme: Scheme, secret: &str) -> bool {
    key_of(scheme, secret).is_some()
}

fn key_of(scheme: Scheme, secret: &str) -> Option<Vec<u8>> {
    match scheme {
        Scheme::Stripe | Scheme::Github => Some(secret.as_bytes().to_vec()).filter(|key| !key.is_empty()),
        Scheme::Standard => {
            let key = STANDARD.decode(secret.strip_prefix(STANDARD_SECRET).unwrap_or(secret)).ok()?;
            Some(key).filter(|key| (24..=64).contains(&key.len()))
        }
    }
}

type Parts = (Vec<u8>, Vec<Vec<u8>>, Option<i64>);

/// `t=1791190800,v1=<hex>,v1=<hex>`; other schemes in it are passed over.
fn stripe(header: Option<&str>) -> Option<Parts> {
    let (mut times, mut offered) = (Vec::new(), Vec::new());
    for part in header?.split(',') {
        match part.trim().split_once('=') {
            Some(("t", time)) => times.push(time),
            Some(("v1", signature)) if offered.len() < SIGNATURES => offered.extend(unhex(signature)),
            _ => {}
        }
    }
    let [time] = times[..] else { return None };
    Some((format!("{time}.").into_bytes(), offered, Some(time.parse().ok()?)))
}

/// `sha256=<hex>`.
fn github(header: Option<&str>) -> Option<Parts> {
    let signature = unhex(header?.strip_prefix("sha256=")?)?;
    Some((Vec::new(), vec![signature], None))
}

/// `v1,<base64> v1,<base64>`; what is not `v1` is passed over.
fn standard(id: Option<&str>, time: Option<&str>, signatures: Option<&str>) -> Option<Parts> {
    let (id, time) = (id?, time?);
    let offered = signatures?.split(' ').filter_map(|one| STANDARD.decode(one.strip_prefix("v1,")?).ok());
    Some((format!("{id}.{time}.").into_bytes(), offered.take(SIGNATURES).collect(), Some(time.parse().ok()?)))
}

/// The 32 bytes of a signature; none where it is not one.
fn unhex(text: &str) -> Option<Vec<u8>> {
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    let pairs = text.as_bytes().chunks_exact(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(scheme: Scheme, secret: &str, headers: &[(&str, &'static str)], body: &str) -> Result<(), SignatureError> {
        let header = |name: &str| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        Signed::read(scheme, header)?.verify([secret].into_iter(), body.as_bytes())
    }

    const STRIPE: &str = "t=1791190800,v1=1882e55e76ee55a6d9358b87ea78208e09b21d9f29f43affab2ea57cc94605c1";
    const STRIPE_BODY: &str = r#"{"id":"evt_demo_1","object":"event"}"#;
    const STRIPE_SECRET: &str = "whsec_tallystick_demo";

    #[test]
    fn the_vector_of_stripe_is_valid_and_nothing_near_it() {
        let with = |secret: &str, header: &'static str, body: &str| {
            check(Scheme::Stripe, secret, &[("stripe-signature", header)], body)
        };
        assert_eq!(with(STRIPE_SECRET, STRIPE, STRIPE_BODY), Ok(()));
        let beside = "v0=00,t=1791190800,v1=0000000000000000000000000000000000000000000000000000000000000000,\
                      v1=1882e55e76ee55a6d9358b87ea78208e09b21d9f29f43affab2ea57cc94605c1";
        assert_eq!(with(STRIPE_SECRET, beside, STRIPE_BODY), Ok(()));
        let wrong = Err(SignatureError::Wrong);
        assert_eq!(with("tallystick_demo", STRIPE, STRIPE_BODY), wrong);
        assert_eq!(with(STRIPE_SECRET, STRIPE, r#"{"id": "evt_demo_1","object":"event"}"#), wrong);
        let later = "t=1791190801,v1=1882e55e76ee55a6d9358b87ea78208e09b21d9f29f43affab2ea57cc94605c1";
        assert_eq!(with(STRIPE_SECRET, later, STRIPE_BODY), wrong);
        for header in [
            "",
            "t=1791190800",
            "v1=1882e55e76ee55a6d9358b87ea78208e09b21d9f29f43affab2ea57cc94605c1",
            "t=soon,v1=1882e55e76ee55a6d9358b87ea78208e09b21d9f29f43affab2ea57cc94605c1",
            "t=1,t=1791190800,v1=1882e55e76ee55a6d9358b87ea78208e09b21d9f29f43affab2ea57cc94605c1",
            "t=1791190800,v1=1882",
            "t=1791190800,v0=1882e55e76ee55a6d9358b87ea78208e09b21d9f29f43affab2ea57cc94605c1",
        ] {
            assert_eq!(with(STRIPE_SECRET, header, STRIPE_BODY), Err(SignatureError::Missing), "{header}");
        }
        assert_eq!(check(Scheme::Stripe, STRIPE_SECRET, &[], STRIPE_BODY), Err(SignatureError::Missing));
    }

    #[test]
    fn the_vector_of_github_is_valid_and_nothing_near_it() {
        let with = |header: &'static str, body: &str| {
            check(Scheme::Github, "It's a Secret to Everybody", &[("x-hub-signature-256", header)], body)
        };
        let valid = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        assert_eq!(with(valid, "Hello, World!"), Ok(()));
        assert_eq!(with(valid, "Hello, World"), Err(SignatureError::Wrong));
        for header in ["", "sha1=757107ea", "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"] {
            assert_eq!(with(header, "Hello, World!"), Err(SignatureError::Missing), "{header}");
        }
    }

    #[test]
    fn the_vectors_of_standard_webhooks_are_valid_and_the_near_miss_is_not() {
        let vectors = [
            (
                "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                "msg_p5jXN8AQM9LWM0D4loKWxJek",
                "1614265330",
                r#"{"test": 2432232314}"#,
                "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
            ),
            (
                "whsec_dGFsbHlzdGljay1kZW1vLXNpZ25pbmctc2VjcmV0ISE=",
                "msg_2Zq7TallyDemo0001",
                "1791190800",
                r#"{"type":"invoice.created","timestamp":"2026-10-05T09:00:00Z","data":{"id":"inv_9001","external_ref":"order-1042"}}"#,
                "v1,5mjR44cgJOvmCUuN6OCKgC5ECJMp+TG7rKHozPXruSo=",
            ),
            (
                "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
                "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk",
                "1649367553",
                r#"{"email":"test@example.com","username":"test_user"}"#,
                "v1a,AAAA v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=",
            ),
        ];
        for (secret, id, time, body, signature) in vectors {
            let headers = [("webhook-id", id), ("webhook-timestamp", time), ("webhook-signature", signature)];
            assert_eq!(check(Scheme::Standard, secret, &headers, body), Ok(()), "{id}");
            assert_eq!(check(Scheme::Standard, secret, &headers, &body.replace(' ', "")).is_ok(), !body.contains(' '));
        }
        let (secret, id, time, body, _) = vectors[0];
        let near = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OA=";
        let headers = [("webhook-id", id), ("webhook-timestamp", time), ("webhook-signature", near)];
        assert_eq!(check(Scheme::Standard, secret, &headers, body), Err(SignatureError::Wrong));
        for missing in 0..3 {
            let mut headers = headers.to_vec();
            headers.remove(missing);
            assert_eq!(check(Scheme::Standard, secret, &headers, body), Err(SignatureError::Missing));
        }
    }

    #[test]
    fn a_time_counts_up_to_its_tolerance_before_and_after() {
        let at = |seconds: i64| Timestamp::from_micros((1_791_190_800 + seconds) * 1_000_000 + 999_999);
        let signed = Signed::read(Scheme::Stripe, |_| Some(STRIPE)).unwrap();
        for seconds in [-300, 0, 300] {
            assert_eq!(signed.check_time(at(seconds)), Ok(()), "{seconds}");
        }
        let error = signed.check_time(at(301)).unwrap_err();
        assert_eq!(error.to_string(), "it was signed 301 s behind the record's clock; 300 s are allowed");
        assert_eq!(signed.check_time(at(-301)), Err(SignatureError::OutOfTime { seconds: 301, is_ahead: true }));
    }

    #[test]
    fn a_secret_that_cannot_be_one_is_told_apart() {
        assert!(is_usable(Scheme::Standard, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"));
        for secret in ["whsec_", "whsec_AAAA", "whsec_not base64", "sk_live_secret"] {
            assert!(!is_usable(Scheme::Standard, secret), "{secret}");
        }
        assert!(is_usable(Scheme::Github, "x") && !is_usable(Scheme::Github, ""));
    }
}
