//! Principals, tokens, sessions, settings and the audit trail as rows.

use tallystick_domain::name::PrincipalId;
use tallystick_domain::permission::{Actor, Role};
use tallystick_domain::time::Timestamp;

use super::catalog::Known;
use super::table::Table;
use super::value::{Cells, Value, known};
use super::{Tx, WORKSPACE};
use crate::LedgerError;
use crate::people::Principal;
use crate::sessions::StoredSession;

static PRINCIPAL: Table = Table {
    name: "principal",
    columns: &["workspace_id", "principal_id", "login", "name", "role", "password_hash", "created_at"],
    on_conflict: "",
};
static TOKEN: Table = Table {
    name: "token",
    columns: &["workspace_id", "token_hash", "principal_id", "kind", "label", "created_at", "expires_at"],
    on_conflict: "",
};
static NEW_SESSION: Table = Table {
    name: "session",
    columns: &["workspace_id", "id_hash", "principal_id", "data", "expires_at"],
    on_conflict: "ON CONFLICT (workspace_id, id_hash) DO NOTHING",
};
static AUDIT: Table = Table {
    name: "audit",
    columns: &[
        "workspace_id",
        "audit_id",
        "at",
        "actor_id",
        "actor_name",
        "actor_role",
        "verb",
        "subject",
        "status",
        "detail",
    ],
    on_conflict: "",
};

/// Index: primary key.
const BY_ID: &str = "SELECT principal_id, login, name, role, created_at, password_hash FROM principal
     WHERE workspace_id = $1 AND principal_id = $2";
/// Index: `principal_login_once`.
const BY_LOGIN: &str = "SELECT principal_id, login, name, role, created_at, password_hash FROM principal
     WHERE workspace_id = $1 AND login = $2";
const EVERYONE: &str = "SELECT principal_id, login, name, role, created_at, password_hash FROM principal
     WHERE workspace_id = $1 ORDER BY name, principal_id LIMIT 10000";
const SET_PASSWORD: &str = "UPDATE principal SET password_hash = $1 WHERE workspace_id = $2 AND principal_id = $3";
const ANY_PERSON: &str = "SELECT COUNT(*) FROM (SELECT 1 FROM principal
     WHERE workspace_id = $1 AND role <> 'automation' LIMIT 1) AS person";
/// Index: primary key of token.
const TOKEN_HOLDER: &str = "SELECT p.principal_id, p.login, p.name, p.role, p.created_at, p.password_hash
     FROM token AS t JOIN principal AS p ON p.workspace_id = t.workspace_id AND p.principal_id = t.principal_id
     WHERE t.workspace_id = $1 AND t.token_hash = $2 AND t.kind = $3 AND t.used_at IS NULL
       AND (t.expires_at IS NULL OR t.expires_at > $4)";
/// Index: primary key of token. Only the first use counts.
const USE_TOKEN: &str = "UPDATE token SET used_at = $1
     WHERE workspace_id = $2 AND token_hash = $3 AND used_at IS NULL";
const SAVE_SESSION: &str = "INSERT INTO session (workspace_id, id_hash, principal_id, data, expires_at)
     VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (workspace_id, id_hash) DO UPDATE
     SET principal_id = excluded.principal_id, data = excluded.data, expires_at = excluded.expires_at";
/// Index: primary key of session.
const SESSION: &str = "SELECT id_hash, principal_id, data, expires_at FROM session
     WHERE workspace_id = $1 AND id_hash = $2 AND expires_at > $3";
const END_SESSION: &str = "DELETE FROM session WHERE workspace_id = $1 AND id_hash = $2";
/// Index: `session_by_end`.
pub(super) const ENDED_SESSION: &str = "SELECT 1 FROM session WHERE workspace_id = $1 AND expires_at <= $2 LIMIT 1";
/// Index: `session_by_end`.
const FORGET_SESSIONS: &str = "DELETE FROM session WHERE workspace_id = $1 AND expires_at <= $2";
/// Index: primary key of setting.
const SETTING: &str = "SELECT value, version FROM setting WHERE workspace_id = $1 AND name = $2";
const SET_SETTING: &str = "INSERT INTO setting (workspace_id, name, value, version) VALUES ($1, $2, $3, $4)
     ON CONFLICT (workspace_id, name) DO UPDATE SET value = excluded.value, version = excluded.version";
/// Index: primary key of audit.
const AUDIT_PAGE: &str = "SELECT audit_id, at, actor_id, actor_name, actor_role, verb, subject, status, detail
     FROM audit WHERE workspace_id = $1 AND audit_id < $2 ORDER BY audit_id DESC LIMIT $3";

/// What a token is for.
#[derive(Clone, Copy)]
pub(crate) enum TokenKind {
    /// Calls of the API.
    Api,
    /// Signing in, once.
    SignIn,
}

impl TokenKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::SignIn => "sign_in",
        }
    }
}

/// A token to be kept.
pub(crate) struct NewToken<'a> {
    pub(crate) hash: &'a [u8],
    pub(crate) owner: &'a PrincipalId,
    pub(crate) kind: TokenKind,
    pub(crate) label: &'a str,
    pub(crate) expires_at: Option<Timestamp>,
}

/// One row of the audit trail.
pub(crate) struct AuditRow {
    pub(crate) audit_id: String,
    pub(crate) at: Timestamp,
    pub(crate) actor: Actor,
    pub(crate) verb: String,
    pub(crate) subject: String,
    pub(crate) status: String,
    pub(crate) detail: String,
}

impl Tx {
    /// Keeps a principal.
    pub(crate) async fn principal_insert(
        &mut self,
        principal: &Principal,
        password_hash: Option<String>,
    ) -> Result<(), LedgerError> {
        let row = vec![
            WORKSPACE.into(),
            principal.id.as_str().into(),
            principal.login.as_str().into(),
            principal.name.as_str().into(),
            principal.role.name().into(),
            password_hash.into(),
            principal.created_at.into(),
        ];
        self.insert(&PRINCIPAL, vec![row]).await.map(|_| ())
    }

    /// A principal by id, with the hash of its password.
    pub(crate) async fn principal_by_id(
        &mut self,
        id: &str,
    ) -> Result<Option<(Principal, Option<String>)>, LedgerError> {
        let row = self.fetch_one(BY_ID, vec![WORKSPACE.into(), id.into()]).await?;
        row.map(|mut cells| read_principal(&mut cells)).transpose()
    }

    /// A principal by login, with the hash of its password.
    pub(crate) async fn principal_by_login(
        &mut self,
        login: &str,
    ) -> Result<Option<(Principal, Option<String>)>, LedgerError> {
        let row = self.fetch_one(BY_LOGIN, vec![WORKSPACE.into(), login.into()]).await?;
        row.map(|mut cells| read_principal(&mut cells)).transpose()
    }

    /// Everyone, by name.
    pub(crate) async fn principals(&mut self) -> Result<Vec<Principal>, LedgerError> {
        let rows = self.fetch(EVERYONE, vec![WORKSPACE.into()]).await?;
        rows.into_iter().map(|mut cells| read_principal(&mut cells).map(|(principal, _)| principal)).collect()
    }

    /// Sets the hash of a password; whether the principal is there.
    pub(crate) async fn principal_set_password(&mut self, id: &str, hash: &str) -> Result<bool, LedgerError> {
        Ok(self.execute(SET_PASSWORD, vec![hash.into(), WORKSPACE.into(), id.into()]).await? == 1)
    }

    /// Whether there is any person.
    pub(crate) async fn principal_exists(&mut self) -> Result<bool, LedgerError> {
        let row = self.fetch_one(ANY_PERSON, vec![WORKSPACE.into()]).await?;
        Ok(row.map_or(Ok(0), |mut cells| cells.int())? > 0)
    }

    /// Keeps a token's hash.
    pub(crate) async fn token_insert(&mut self, token: &NewToken<'_>, now: Timestamp) -> Result<(), LedgerError> {
        let row = vec![
            WORKSPACE.into(),
            token.hash.into(),
            token.owner.as_str().into(),
            token.kind.name().into(),
            token.label.into(),
            now.into(),
            token.expires_at.into(),
        ];
        self.insert(&TOKEN, vec![row]).await.map(|_| ())
    }

    /// Whose token this is, if it lives.
    pub(crate) async fn token_holder(
        &mut self,
        hash: &[u8],
        kind: TokenKind,
        now: Timestamp,
    ) -> Result<Option<Principal>, LedgerError> {
        let args = vec![WORKSPACE.into(), hash.into(), kind.name().into(), now.into()];
        let row = self.fetch_one(TOKEN_HOLDER, args).await?;
        row.map(|mut cells| read_principal(&mut cells).map(|(principal, _)| principal)).transpose()
    }

    /// Uses a token up; whether it was this time.
    pub(crate) async fn token_use(&mut self, hash: &[u8], now: Timestamp) -> Result<bool, LedgerError> {
        Ok(self.execute(USE_TOKEN, vec![now.into(), WORKSPACE.into(), hash.into()]).await? == 1)
    }

    /// Makes a session; whether its id was free.
    pub(crate) async fn session_create(&mut self, session: &StoredSession) -> Result<bool, LedgerError> {
        Ok(self.insert(&NEW_SESSION, vec![session_values(session)]).await? == 1)
    }

    /// Saves a session.
    pub(crate) async fn session_save(&mut self, session: &StoredSession) -> Result<(), LedgerError> {
        self.execute(SAVE_SESSION, session_values(session)).await.map(|_| ())
    }

    /// A session that has not ended.
    pub(crate) async fn session_load(
        &mut self,
        id_hash: &[u8],
        now: Timestamp,
    ) -> Result<Option<StoredSession>, LedgerError> {
        let row = self.fetch_one(SESSION, vec![WORKSPACE.into(), id_hash.into(), now.into()]).await?;
        row.map(|mut cells| {
            Ok(StoredSession {
                id_hash: *cells.hash()?.as_bytes(),
                principal: cells.parsed_opt(PrincipalId::parse)?,
                data: cells.bytes()?,
                expires_at: cells.at()?,
            })
        })
        .transpose()
    }

    /// Ends a session.
    pub(crate) async fn session_delete(&mut self, id_hash: &[u8]) -> Result<(), LedgerError> {
        self.execute(END_SESSION, vec![WORKSPACE.into(), id_hash.into()]).await.map(|_| ())
    }

    /// Whether any session has ended.
    pub(crate) async fn has_ended_sessions(&mut self, now: Timestamp) -> Result<bool, LedgerError> {
        Ok(self.fetch_one(ENDED_SESSION, vec![WORKSPACE.into(), now.into()]).await?.is_some())
    }

    /// Forgets sessions that have ended.
    pub(crate) async fn sessions_forget(&mut self, now: Timestamp) -> Result<(), LedgerError> {
        self.execute(FORGET_SESSIONS, vec![WORKSPACE.into(), now.into()]).await.map(|_| ())
    }

    /// A setting with its version.
    pub(crate) async fn setting(&mut self, name: &str) -> Result<Option<(String, u64)>, LedgerError> {
        if let Some(standing) = &self.seen.standing
            && let Known::Read(setting) = standing.setting(name)
        {
            return Ok(setting);
        }
        let row = self.fetch_one(SETTING, vec![WORKSPACE.into(), name.into()]).await?;
        let setting = row.map(|mut cells| Ok::<_, LedgerError>((cells.text()?, cells.version()?))).transpose()?;
        if let Some(standing) = &self.seen.standing {
            standing.keep_setting(name, setting.as_ref());
        }
        Ok(setting)
    }

    /// Sets a setting.
    pub(crate) async fn setting_save(&mut self, name: &str, value: &str, version: u64) -> Result<(), LedgerError> {
        self.declares();
        self.execute(SET_SETTING, vec![WORKSPACE.into(), name.into(), value.into(), version.into()]).await.map(|_| ())
    }

    /// Adds a row to the audit trail.
    pub(crate) async fn audit_insert(&mut self, row: &AuditRow) -> Result<(), LedgerError> {
        let values = vec![
            WORKSPACE.into(),
            row.audit_id.as_str().into(),
            row.at.into(),
            row.actor.id.as_str().into(),
            row.actor.name.as_str().into(),
            row.actor.role.name().into(),
            row.verb.as_str().into(),
            row.subject.as_str().into(),
            row.status.as_str().into(),
            row.detail.as_str().into(),
        ];
        self.insert(&AUDIT, vec![values]).await.map(|_| ())
    }

    /// The audit trail, newest first.
    pub(crate) async fn audit_page(&mut self, after: Option<&str>, limit: u32) -> Result<Vec<AuditRow>, LedgerError> {
        let args = vec![WORKSPACE.into(), after.unwrap_or("~").into(), limit.into()];
        let rows = self.fetch(AUDIT_PAGE, args).await?;
        rows.into_iter()
            .map(|mut cells| {
                Ok(AuditRow {
                    audit_id: cells.text()?,
                    at: cells.at()?,
                    actor: super::entry::read_actor(&mut cells)?,
                    verb: cells.text()?,
                    subject: cells.text()?,
                    status: cells.text()?,
                    detail: cells.text()?,
                })
            })
            .collect()
    }
}

fn read_principal(cells: &mut Cells) -> Result<(Principal, Option<String>), LedgerError> {
    let principal = Principal {
        id: cells.parsed(PrincipalId::parse)?,
        login: cells.text()?,
        name: cells.text()?,
        role: cells.parsed(known(Role::parse))?,
        created_at: cells.at()?,
    };
    Ok((principal, cells.text_opt()?))
}

fn session_values(session: &StoredSession) -> Vec<Value> {
    vec![
        WORKSPACE.into(),
        session.id_hash.as_slice().into(),
        session.principal.as_ref().map(PrincipalId::as_str).into(),
        session.data.as_slice().into(),
        session.expires_at.into(),
    ]
}
