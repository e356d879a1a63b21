//! The layers that are met most, with what they do unless told otherwise (semantics 4.5, N1–N10, W9).

use serde::{Deserialize, Serialize};

use super::{Attempts, LayerKind};

/// How well a fact about a layer is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SourceTag {
    /// Read in its own text or source.
    #[serde(rename = "V")]
    Read,
    /// Read in a copy or a quotation.
    #[serde(rename = "V2")]
    Copied,
}

/// A retry layer as it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct KnownLayer {
    /// Its name, in lower case.
    pub name: &'static str,
    /// What kind it is.
    pub kind: LayerKind,
    /// How many sends one call becomes by default; `None` where its source states no number.
    pub default: Option<Attempts>,
    /// What it does by default, in words.
    pub found: &'static str,
    /// How it is switched off, where it can be.
    pub off_switch: Option<&'static str>,
    /// How a retry inside it shows.
    pub signal: &'static str,
    /// How well this is known.
    pub source: SourceTag,
}

/// The known layer with this name, whatever its case.
pub fn known_layer(name: &str) -> Option<&'static KnownLayer> {
    KNOWN_LAYERS.iter().find(|known| known.name.eq_ignore_ascii_case(name))
}

/// The table of semantics 4.5.
pub const KNOWN_LAYERS: &[KnownLayer] = &[
    KnownLayer {
        name: "reqwest",
        kind: LayerKind::Transport,
        default: Some(Attempts::Fixed(3)),
        found: "Repeats streams that the other side refused and connections it closed without error, twice, within 20 % of the traffic. With its feature http3, an error printed as a timeout counts as such, too.",
        off_switch: Some("ClientBuilder::retry(reqwest::retry::never()), and no http3 for writes"),
        signal: "count sends in a connector or a middleware",
        source: SourceTag::Read,
    },
    KnownLayer {
        name: "hyper-util",
        kind: LayerKind::Transport,
        default: Some(Attempts::Fixed(1)),
        found: "Repeats only requests that never started, on reused connections: no second send.",
        off_switch: Some("retry_canceled_requests = false"),
        signal: "count sends in a connector or a middleware",
        source: SourceTag::Read,
    },
    KnownLayer {
        name: "go-transport",
        kind: LayerKind::Transport,
        default: None,
        found: "Repeats on network errors what it takes for idempotent: also a POST as soon as it carries Idempotency-Key or X-Idempotency-Key.",
        off_switch: Some("omit the header, or GetBody = nil"),
        signal: "proxy logs",
        source: SourceTag::Copied,
    },
    KnownLayer {
        name: "stripe-sdk",
        kind: LayerKind::Adapter,
        default: Some(Attempts::Fixed(3)),
        found: "Two retries, of 409 and 5xx unless told otherwise; without a key of the caller's, a new random one each call.",
        off_switch: Some("max_network_retries = 0"),
        signal: "one key, several request ids",
        source: SourceTag::Read,
    },
    KnownLayer {
        name: "aws-sdk",
        kind: LayerKind::Adapter,
        default: Some(Attempts::Fixed(3)),
        found: "Standard mode: three attempts.",
        off_switch: Some("max_attempts = 1"),
        signal: "the header amz-sdk-request with attempt and max",
        source: SourceTag::Read,
    },
    KnownLayer {
        name: "openai-agents-mcp",
        kind: LayerKind::Agent,
        default: Some(Attempts::Fixed(1)),
        found: "No retry; if set, call_tool is repeated on any exception, with −1 for ever.",
        off_switch: Some("max_retry_attempts = 0 on writes"),
        signal: "tool spans with one gen_ai.tool.call.id and several requests",
        source: SourceTag::Read,
    },
    KnownLayer {
        name: "envoy",
        kind: LayerKind::Transport,
        default: Some(Attempts::Fixed(1)),
        found: "Off, but route policies are common; a policy without a number retries once.",
        off_switch: Some("no retry policy on routes of writes, or x-envoy-max-retries: 0"),
        signal: "x-envoy-attempt-count above 1",
        source: SourceTag::Read,
    },
    KnownLayer {
        name: "grpc",
        kind: LayerKind::Transport,
        default: Some(Attempts::Fixed(1)),
        found: "Transparent retries always (never left the client, or did not reach the application); a policy from the service config on top, at most 5 attempts.",
        off_switch: Some("disable retries on the channel"),
        signal: "grpc-previous-rpc-attempts",
        source: SourceTag::Read,
    },
    KnownLayer {
        name: "temporal",
        kind: LayerKind::Workflow,
        default: Some(Attempts::Unlimited),
        found: "Activities are retried without limit: 1 s, doubling, at most 100 s apart.",
        off_switch: Some("maximum_attempts = 1 for steps that may run at most once"),
        signal: "attempt above 1",
        source: SourceTag::Read,
    },
    KnownLayer {
        name: "aws-durable-functions",
        kind: LayerKind::Workflow,
        default: Some(Attempts::Fixed(6)),
        found: "Six attempts when no strategy is given; at-least-once per attempt.",
        off_switch: Some("the noRetry preset with at-most-once"),
        signal: "the step's Attempt",
        source: SourceTag::Read,
    },
    KnownLayer {
        name: "restate",
        kind: LayerKind::Workflow,
        default: Some(Attempts::Fixed(70)),
        found: "70 attempts, then it pauses.",
        off_switch: Some("the handler's retry policy"),
        signal: "a paused invocation",
        source: SourceTag::Read,
    },
    KnownLayer {
        name: "dbos-step",
        kind: LayerKind::Adapter,
        default: Some(Attempts::Fixed(1)),
        found: "Steps are not retried unless asked for.",
        off_switch: None,
        signal: "recovery_attempts",
        source: SourceTag::Read,
    },
    KnownLayer {
        name: "dbos-workflow",
        kind: LayerKind::Workflow,
        default: Some(Attempts::Fixed(100)),
        found: "A workflow is recovered up to 100 times; a step without a stored output runs again each time.",
        off_switch: None,
        signal: "recovery_attempts",
        source: SourceTag::Read,
    },
];
