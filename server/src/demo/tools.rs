//! The ten tools of the demo, and what their destinations are said to promise.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tallystick_domain::contract::Contract;
use tallystick_domain::layers::RetryClass;
use tallystick_domain::name::{DestinationName, LayerName, NameError, ToolName};
use tallystick_domain::tool::{Class, Stake, Tool};

/// Every tool, declared.
pub(super) fn all() -> Result<Vec<Tool>, NameError> {
    let payment = json!({
        "key_location": "Idempotency-Key", "key_retention_s": 86_400, "on_mismatch": "error", "on_in_flight": "codes",
        "stores": "any_once_started", "mismatch_signals": [{"http": 400, "error": "idempotency_error"}],
        "in_flight_signals": [{"http": 409, "error": "idempotency_key_in_use"}],
        "lookup": {"by": "metadata", "consistency": "eventual"}, "layer_retries": "off",
        "secret_fields": ["customer"], "verification": "tested_stand_in", "checked_at": "2026-11-12",
    });
    let with = |extra: Value| merged(&payment, extra);
    Ok(vec![
        tool("payments.refund", Class::Irreversible, "psp-eu", &with(json!({"max_arrival_delay_s": 120})))?,
        tool(
            "payments.charge",
            Class::Irreversible,
            "psp-us",
            &with(json!({"compensation": {"tool": "payments.refund", "window_s": 15_552_000}})),
        )?,
        tool("create_payment", Class::Irreversible, "psp-us", &payment)?,
        tool(
            "invoice.create",
            Class::Reversible,
            "ledger",
            &with(json!({"compensation": {"tool": "invoice.void"}, "secret_fields": []})),
        )?,
        tool(
            "helpdesk.create",
            Class::Reversible,
            "desk",
            &json!({"lookup": {"by": "natural_key", "consistency": "eventual"}, "verification": "claimed"}),
        )?,
        tool(
            "payout.send",
            Class::Irreversible,
            "bank",
            &with(
                json!({"key_retention_s": 604_800, "in_flight_signals": [{"http": 409, "error": "704"}], "lookup": {"by": "key", "consistency": "strong", "complete": true}, "max_arrival_delay_s": 120}),
            ),
        )?,
        tool(
            "inventory.change",
            Class::Reversible,
            "shop",
            &json!({"key_retention_s": 900, "on_mismatch": "executes", "verification": "claimed"}),
        )?,
        tool(
            "mail.send",
            Class::Irreversible,
            "smtp-api",
            &json!({"negative_signals": [{"http": 503}], "layer_retries": "off", "verification": "claimed"}),
        )?,
        tool(
            "seats.sync",
            Class::Idempotent,
            "meter",
            &json!({"lookup": {"by": "receipt", "consistency": "strong", "complete": true}, "verification": "claimed"}),
        )?,
        tool(
            "namespace.create",
            Class::Reversible,
            "cluster",
            &json!({"lookup": {"by": "natural_key", "consistency": "strong", "complete": true}, "verification": "tested_stand_in"}),
        )?,
    ])
}

fn tool(name: &str, class: Class, destination: &str, contract: &Value) -> Result<Tool, NameError> {
    // The promises above are written in this file; one that does not fit is left unknown, the unsafe value.
    let contract: Contract = serde_json::from_value(contract.clone()).unwrap_or_default();
    Ok(Tool {
        name: ToolName::parse(name)?,
        class,
        destination: Some(DestinationName::parse(destination)?),
        contract,
        stake: Stake {
            amount_minor: Some("amount_minor".into()),
            currency: Some("currency".into()),
            people: Some("people".into()),
        },
        dual_threshold_minor: (class == Class::Reversible).then_some(500_000),
        executable: true,
        request: None,
        look_up: None,
        deliveries: None,
        retry_owners: owners(name)?,
        auto_approve: false,
        declared: true,
        version: 0,
    })
}

/// Who is meant to retry: the adapter what fails for the moment, the engine what a restart cut off.
fn owners(tool: &str) -> Result<BTreeMap<RetryClass, LayerName>, NameError> {
    let owners: &[(RetryClass, &str)] = match tool {
        "payments.refund" => &[(RetryClass::Temporary, "tool adapter"), (RetryClass::Replanning, "agent")],
        "helpdesk.create" => &[(RetryClass::Temporary, "adapter"), (RetryClass::Restart, "workflow")],
        "seats.sync" => &[(RetryClass::Restart, "workflow engine")],
        _ => &[],
    };
    owners.iter().map(|(class, layer)| Ok((*class, LayerName::parse(*layer)?))).collect()
}

fn merged(base: &Value, extra: Value) -> Value {
    let mut all = base.clone();
    if let (Some(all), Value::Object(extra)) = (all.as_object_mut(), extra) {
        all.extend(extra);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contract_of_the_demo_is_understood() {
        let tools = all().unwrap();
        assert_eq!(tools.len(), 10);
        for tool in tools {
            assert_ne!(tool.contract, Contract::default(), "{}", tool.name);
        }
    }
}
