use super::*;

fn configured(text: &str) -> Result<Destinations, ConfigError> {
    let destination: Destination = toml::from_str(text).unwrap();
    Destinations::from_config(&[destination])
}

#[test]
fn a_destination_has_a_face_and_a_scope_without_its_secret() {
    let text = "name = \"psp\"\nbase_url = \"https://psp.example:8443/v1/\"\ncredential = \"env:PSP_KEY\"\naccount = \"acct_1\"";
    let all = configured(text).unwrap();
    let target = all.get(&DestinationName::parse("psp").unwrap()).unwrap();
    assert_eq!(target.face.host, "psp.example:8443");
    assert_eq!(target.face.base_path, "/v1");
    assert_eq!(target.face.credential, Some(("authorization".into(), "Bearer {env:PSP_KEY}".into())));
    let scope = Scope {
        account: Some("acct_1".into()),
        region: None,
        endpoint: Some("https://psp.example:8443/v1".into()),
        credential: Some("env:PSP_KEY".into()),
    };
    assert_eq!(target.scope, scope);
    assert_eq!((target.host.as_str(), target.port), ("psp.example", 8443));
}

#[test]
fn an_address_that_cannot_be_used_is_refused_at_the_start() {
    for (address, problem) in [
        ("psp.example", "neither http nor https"),
        ("ftp://psp.example", "neither http nor https"),
        ("https://user:pw@psp.example", "holds a user"),
        ("https://psp.example/?a=1", "a query"),
        ("https://", "not a web address"),
    ] {
        let error = configured(&format!("name = \"psp\"\nbase_url = \"{address}\"")).err().unwrap();
        assert!(error.to_string().contains(problem), "{address}: {error}");
        assert!(!error.to_string().contains("pw"), "{error}");
    }
    let error = configured(
        "name = \"psp\"\nbase_url = \"https://psp.example\"\ncredential = \"env:X\"\ncredential_format = \"Bearer\"",
    );
    assert!(error.err().unwrap().to_string().contains("must hold {credential} once"));
}
