//! The four kinds of value that both engines store: text, 64-bit integer, boolean, bytes.

use tallystick_domain::fingerprint::Hash;
use tallystick_domain::time::Timestamp;

use crate::LedgerError;

/// One value, bound or read. Nulls keep their kind, because PostgreSQL wants to know it.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// Text, ids and JSON.
    Text(Option<String>),
    /// Counts and times.
    Int(Option<i64>),
    /// Yes or no.
    Bool(Option<bool>),
    /// Hashes and payloads.
    Bytes(Option<Vec<u8>>),
}

impl Value {
    /// Whether both say the same; a null equals a null of any kind, and SQLite's 0 and 1 are its booleans.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (a, b) if a.is_null() || b.is_null() => a.is_null() && b.is_null(),
            (a, b) => a.as_int().is_some() && a.as_int() == b.as_int(),
        }
    }

    fn is_null(&self) -> bool {
        matches!(self, Self::Text(None) | Self::Int(None) | Self::Bool(None) | Self::Bytes(None))
    }

    fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(int) => *int,
            Self::Bool(yes) => yes.map(i64::from),
            Self::Text(_) | Self::Bytes(_) => None,
        }
    }
}

impl std::fmt::Display for Value {
    /// As a discrepancy shows it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(Some(text)) => write!(f, "{text:?}"),
            Self::Int(Some(int)) => write!(f, "{int}"),
            Self::Bool(Some(yes)) => write!(f, "{yes}"),
            Self::Bytes(Some(bytes)) => bytes.iter().take(32).try_for_each(|byte| write!(f, "{byte:02x}")),
            Self::Text(None) | Self::Int(None) | Self::Bool(None) | Self::Bytes(None) => f.write_str("nothing"),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(Some(text.into()))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(Some(text))
    }
}

impl From<Option<&str>> for Value {
    fn from(text: Option<&str>) -> Self {
        Self::Text(text.map(Into::into))
    }
}

impl From<Option<String>> for Value {
    fn from(text: Option<String>) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Value {
    fn from(int: i64) -> Self {
        Self::Int(Some(int))
    }
}

impl From<u32> for Value {
    fn from(int: u32) -> Self {
        Self::Int(Some(int.into()))
    }
}

impl From<Option<u32>> for Value {
    fn from(int: Option<u32>) -> Self {
        Self::Int(int.map(Into::into))
    }
}

impl From<Option<i64>> for Value {
    fn from(int: Option<i64>) -> Self {
        Self::Int(int)
    }
}

/// Versions and sizes; they never come near the end of the range.
impl From<u64> for Value {
    fn from(int: u64) -> Self {
        Self::Int(Some(int.try_into().unwrap_or(i64::MAX)))
    }
}

impl From<Timestamp> for Value {
    fn from(at: Timestamp) -> Self {
        Self::Int(Some(at.as_micros()))
    }
}

impl From<Option<Timestamp>> for Value {
    fn from(at: Option<Timestamp>) -> Self {
        Self::Int(at.map(Timestamp::as_micros))
    }
}

impl From<bool> for Value {
    fn from(yes: bool) -> Self {
        Self::Bool(Some(yes))
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(Some(bytes.into()))
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(Some(bytes))
    }
}

impl From<Hash> for Value {
    fn from(hash: Hash) -> Self {
        Self::Bytes(Some(hash.as_bytes().to_vec()))
    }
}

impl From<Option<Hash>> for Value {
    fn from(hash: Option<Hash>) -> Self {
        Self::Bytes(hash.map(|hash| hash.as_bytes().to_vec()))
    }
}

/// A row that is read from left to right.
#[derive(Debug)]
pub(crate) struct Cells {
    values: std::vec::IntoIter<Value>,
    read: usize,
}

impl Cells {
    pub(crate) fn new(values: Vec<Value>) -> Self {
        Self { values: values.into_iter(), read: 0 }
    }

    /// What was not read yet, as it is.
    pub(crate) fn rest(self) -> Vec<Value> {
        self.values.collect()
    }

    pub(crate) fn text(&mut self) -> Result<String, LedgerError> {
        self.text_opt()?.ok_or_else(|| self.wrong("text"))
    }

    pub(crate) fn text_opt(&mut self) -> Result<Option<String>, LedgerError> {
        match self.next() {
            Some(Value::Text(text)) => Ok(text),
            Some(null) if null.is_null() => Ok(None),
            _ => Err(self.wrong("text")),
        }
    }

    pub(crate) fn int(&mut self) -> Result<i64, LedgerError> {
        self.int_opt()?.ok_or_else(|| self.wrong("an integer"))
    }

    pub(crate) fn int_opt(&mut self) -> Result<Option<i64>, LedgerError> {
        match self.next() {
            Some(Value::Int(int)) => Ok(int),
            Some(null) if null.is_null() => Ok(None),
            _ => Err(self.wrong("an integer")),
        }
    }

    pub(crate) fn version(&mut self) -> Result<u64, LedgerError> {
        let int = self.int()?;
        int.try_into().map_err(|_| self.wrong("a version"))
    }

    pub(crate) fn count(&mut self) -> Result<u32, LedgerError> {
        let int = self.int()?;
        int.try_into().map_err(|_| self.wrong("a count"))
    }

    pub(crate) fn count_opt(&mut self) -> Result<Option<u32>, LedgerError> {
        let int = self.int_opt()?;
        int.map(u32::try_from).transpose().map_err(|_| self.wrong("a count"))
    }

    pub(crate) fn at(&mut self) -> Result<Timestamp, LedgerError> {
        self.int().map(Timestamp::from_micros)
    }

    pub(crate) fn at_opt(&mut self) -> Result<Option<Timestamp>, LedgerError> {
        Ok(self.int_opt()?.map(Timestamp::from_micros))
    }

    pub(crate) fn bool(&mut self) -> Result<bool, LedgerError> {
        let value = self.next().and_then(|value| value.as_int());
        value.map(|int| int != 0).ok_or_else(|| self.wrong("a boolean"))
    }

    pub(crate) fn bytes(&mut self) -> Result<Vec<u8>, LedgerError> {
        self.bytes_opt()?.ok_or_else(|| self.wrong("bytes"))
    }

    pub(crate) fn bytes_opt(&mut self) -> Result<Option<Vec<u8>>, LedgerError> {
        match self.next() {
            Some(Value::Bytes(bytes)) => Ok(bytes),
            Some(null) if null.is_null() => Ok(None),
            _ => Err(self.wrong("bytes")),
        }
    }

    pub(crate) fn hash(&mut self) -> Result<Hash, LedgerError> {
        self.hash_opt()?.ok_or_else(|| self.wrong("a hash"))
    }

    pub(crate) fn hash_opt(&mut self) -> Result<Option<Hash>, LedgerError> {
        let Some(bytes) = self.bytes_opt()? else { return Ok(None) };
        let bytes: [u8; 32] = bytes.try_into().map_err(|_| self.wrong("a hash"))?;
        Ok(Some(Hash::from(bytes)))
    }

    /// A text that a type of the rules must be able to read back.
    pub(crate) fn parsed<T, E: std::fmt::Display>(
        &mut self,
        parse: impl FnOnce(String) -> Result<T, E>,
    ) -> Result<T, LedgerError> {
        let text = self.text()?;
        parse(text).map_err(|error| self.unreadable(&error))
    }

    /// The same where nothing may stand.
    pub(crate) fn parsed_opt<T, E: std::fmt::Display>(
        &mut self,
        parse: impl FnOnce(String) -> Result<T, E>,
    ) -> Result<Option<T>, LedgerError> {
        let text = self.text_opt()?;
        text.map(parse).transpose().map_err(|error| self.unreadable(&error))
    }

    /// JSON that a type of the rules must be able to read back.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(&mut self) -> Result<T, LedgerError> {
        let text = self.text()?;
        serde_json::from_str(&text).map_err(|error| self.unreadable(&error))
    }

    /// JSON, where there is some.
    pub(crate) fn json_opt<T: serde::de::DeserializeOwned>(&mut self) -> Result<Option<T>, LedgerError> {
        let text = self.text_opt()?;
        text.map(|text| serde_json::from_str(&text)).transpose().map_err(|error| self.unreadable(&error))
    }

    fn next(&mut self) -> Option<Value> {
        self.read += 1;
        self.values.next()
    }

    fn wrong(&self, expected: &str) -> LedgerError {
        LedgerError::Corrupt { what: format!("column {} of a row does not hold {expected}", self.read) }
    }

    fn unreadable(&self, error: &dyn std::fmt::Display) -> LedgerError {
        LedgerError::Corrupt { what: format!("column {} of a row cannot be read: {error}", self.read) }
    }
}

/// JSON text of one of our own types.
pub(crate) fn to_json(value: &impl serde::Serialize) -> Result<String, LedgerError> {
    serde_json::to_string(value).map_err(|error| LedgerError::Corrupt { what: format!("cannot be written: {error}") })
}

/// For `Cells::parsed`: a named enum's reader that knows no error.
pub(crate) fn known<T>(read: impl FnOnce(&str) -> Option<T>) -> impl FnOnce(String) -> Result<T, String> {
    move |text| read(&text).ok_or_else(|| format!("{text:?} is not known"))
}
