//! People, tokens, sign-in links, sessions, settings.

use std::time::Duration;

use tallystick_domain::name::PrincipalId;
use tallystick_domain::permission::Role;
use tallystick_ledger::people::{NewPrincipal, Principal, system_actor};
use tallystick_ledger::sessions::StoredSession;

use crate::rig::{Rig, admin, at, operator};

on_both! {
    a_person_signs_in_by_login,
    a_login_can_be_taken_once,
    a_token_is_its_holders,
    a_sign_in_link_works_once_and_until_it_ends,
    a_session_ends_at_its_time,
    only_an_administrator_makes_people,
    the_zone_is_set_by_whoever_saw_the_newest_settings,
}

async fn person(rig: &Rig, login: &str) -> Principal {
    let new = NewPrincipal {
        login: login.into(),
        name: "Olga".into(),
        role: Role::Operator,
        password_hash: Some("$argon2id$…".into()),
    };
    rig.ledger.add_principal(&system_actor(), new).await.unwrap()
}

async fn a_person_signs_in_by_login(rig: Rig) {
    assert!(!rig.ledger.has_people().await.unwrap());
    let made = person(&rig, "olga").await;
    assert!(rig.ledger.has_people().await.unwrap());
    let (found, hash) = rig.ledger.credentials("olga").await.unwrap().unwrap();
    assert_eq!((found, hash.as_deref()), (made.clone(), Some("$argon2id$…")));
    assert_eq!(rig.ledger.principal(&made.id).await.unwrap(), Some(made.clone()));
    rig.ledger.set_password(&made.actor(), &made.id, "other".into()).await.unwrap();
    assert_eq!(rig.ledger.credentials("olga").await.unwrap().unwrap().1.as_deref(), Some("other"));
    assert!(rig.ledger.credentials("nobody").await.unwrap().is_none());
}

async fn a_login_can_be_taken_once(rig: Rig) {
    person(&rig, "olga").await;
    let new = NewPrincipal { login: "olga".into(), name: "x".into(), role: Role::Viewer, password_hash: None };
    let error = rig.ledger.add_principal(&admin(), new).await.unwrap_err();
    assert!(error.to_string().contains("is taken"), "{error}");
    assert_eq!(rig.ledger.principals(&admin()).await.unwrap().len(), 1);
}

async fn a_token_is_its_holders(rig: Rig) {
    let olga = person(&rig, "olga").await;
    rig.ledger.add_token(&admin(), &olga.id, [7; 32], "laptop", None).await.unwrap();
    assert_eq!(rig.ledger.token_holder([7; 32]).await.unwrap(), Some(olga));
    assert!(rig.ledger.token_holder([8; 32]).await.unwrap().is_none());
    assert!(rig.ledger.redeem_sign_in_link([7; 32]).await.unwrap().is_none(), "a token is no sign-in link");
    let nobody = PrincipalId::parse("nobody").unwrap();
    assert!(rig.ledger.add_token(&admin(), &nobody, [9; 32], "x", None).await.is_err());
}

async fn a_sign_in_link_works_once_and_until_it_ends(rig: Rig) {
    rig.ledger.set_clock(at("2026-10-05T09:00:00Z")).await.unwrap();
    let olga = person(&rig, "olga").await;
    let ends = Some(at("2026-10-05T09:10:00Z"));
    for hash in [[1; 32], [2; 32]] {
        rig.ledger.add_token(&admin(), &olga.id, hash, "link", ends).await.unwrap();
    }
    assert!(rig.ledger.token_holder([1; 32]).await.unwrap().is_none(), "a sign-in link is no token");
    let (one, two) = tokio::join!(rig.ledger.redeem_sign_in_link([1; 32]), rig.ledger.redeem_sign_in_link([1; 32]));
    assert_eq!([one.unwrap(), two.unwrap()].iter().flatten().count(), 1);
    rig.ledger.set_clock(at("2026-10-05T09:10:00Z")).await.unwrap();
    assert!(rig.ledger.redeem_sign_in_link([2; 32]).await.unwrap().is_none());
}

async fn a_session_ends_at_its_time(rig: Rig) {
    rig.ledger.set_clock(at("2026-10-05T09:00:00Z")).await.unwrap();
    let now = at("2026-10-05T09:00:00Z");
    let session = StoredSession {
        id_hash: [3; 32],
        principal: None,
        data: vec![1, 2],
        expires_at: now.plus(Duration::from_mins(1)),
    };
    assert!(rig.ledger.session_create(&session).await.unwrap());
    assert!(!rig.ledger.session_create(&session).await.unwrap());
    let signed_in = StoredSession { principal: Some(PrincipalId::parse("p").unwrap()), data: vec![9], ..session };
    rig.ledger.session_save(&signed_in).await.unwrap();
    assert_eq!(rig.ledger.session_load([3; 32]).await.unwrap(), Some(signed_in.clone()));
    rig.ledger.set_clock(now.plus(Duration::from_mins(1))).await.unwrap();
    assert_eq!(rig.ledger.session_load([3; 32]).await.unwrap(), None);
    rig.ledger.sweep(1).await.unwrap();
    assert_eq!(rig.count("session").await, 0);
    rig.ledger.session_save(&signed_in).await.unwrap();
    rig.ledger.session_delete([3; 32]).await.unwrap();
    assert_eq!(rig.count("session").await, 0);
}

async fn only_an_administrator_makes_people(rig: Rig) {
    let new = NewPrincipal { login: "x".into(), name: "x".into(), role: Role::Administrator, password_hash: None };
    assert!(rig.ledger.add_principal(&operator(), new).await.is_err());
    assert!(rig.ledger.set_zone(&operator(), "UTC", 0).await.is_err());
    let id = PrincipalId::parse("x").unwrap();
    assert!(rig.ledger.add_token(&operator(), &id, [1; 32], "x", None).await.is_err());
    assert!(rig.ledger.set_password(&operator(), &id, "x".into()).await.is_err());
    assert_eq!(rig.count("audit WHERE status = 'refused'").await, 4);
    assert!(!rig.ledger.has_people().await.unwrap());
}

async fn the_zone_is_set_by_whoever_saw_the_newest_settings(rig: Rig) {
    assert_eq!(rig.ledger.settings().await.unwrap().zone, "UTC");
    let set = rig.ledger.set_zone(&admin(), "Europe/Lisbon", 0).await.unwrap();
    assert_eq!(set.version, 1);
    let error = rig.ledger.set_zone(&admin(), "Asia/Tokyo", 0).await.unwrap_err();
    assert!(error.to_string().contains("you saw version 0, it is now 1"), "{error}");
    assert_eq!(rig.another().await.settings().await.unwrap().zone, "Europe/Lisbon");
}
