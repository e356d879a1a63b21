//! A strict JSON reader that loses nothing: numbers stay as written, members in their order; what
//! parsers disagree on (duplicate names, lone surrogates) is refused.

use std::fmt::Write as _;

/// The most nested arrays and objects that are read.
pub const DEPTH_LIMIT: usize = 128;

/// A JSON value with nothing lost: numbers as written, members in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as written.
    Number(String),
    /// A string, unescaped.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object; names are unique.
    Object(Vec<(String, Json)>),
}

/// Why a text is not JSON that we accept, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem} at byte {at}")]
pub struct JsonError {
    /// What is wrong.
    pub problem: JsonProblem,
    /// Where, counted in bytes from 0.
    pub at: usize,
}

/// What can be wrong with a JSON text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonProblem {
    /// The text ends too soon.
    #[error("the text ends in the middle of a value")]
    EndsEarly,
    /// A character that cannot stand there.
    #[error("unexpected {0:?}")]
    Unexpected(char),
    /// The same member twice: parsers disagree on which one counts.
    #[error("the member {0:?} occurs twice")]
    DuplicateName(String),
    /// Half of a surrogate pair.
    #[error("a lone surrogate in a string")]
    LoneSurrogate,
    /// Not a JSON number, or an exponent beyond all use.
    #[error("not a number that JSON allows")]
    BadNumber,
    /// Too many nested arrays and objects.
    #[error("more than {DEPTH_LIMIT} nested arrays and objects")]
    TooDeep,
    /// Bytes that are not UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
}

impl Json {
    /// Reads a whole text, strictly (J1, J3, J5): duplicate names, lone surrogates, NaN and Infinity are refused.
    pub fn parse(bytes: &[u8]) -> Result<Self, JsonError> {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| JsonError { problem: JsonProblem::NotUtf8, at: error.valid_up_to() })?;
        let mut reader = Reader { text, at: 0 };
        let value = reader.value(0)?;
        reader.skip_space();
        match reader.peek() {
            None => Ok(value),
            Some(extra) => Err(reader.error(JsonProblem::Unexpected(extra))),
        }
    }

    /// Reads an object and where each top-level value stands, so that its bytes can be kept as received.
    pub fn parse_members(bytes: &[u8]) -> Result<Vec<Member>, JsonError> {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| JsonError { problem: JsonProblem::NotUtf8, at: error.valid_up_to() })?;
        let mut reader = Reader { text, at: 0 };
        reader.skip_space();
        let members = reader.members(0)?;
        reader.skip_space();
        match reader.peek() {
            None => Ok(members),
            Some(extra) => Err(reader.error(JsonProblem::Unexpected(extra))),
        }
    }

    /// The member with this name, if this is an object that has it.
    pub fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members.iter().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// What a JSON pointer points at (RFC 6901): `/data/0/id`.
    pub fn pointer(&self, pointer: &str) -> Option<&Self> {
        let Some(path) = pointer.strip_prefix('/') else { return pointer.is_empty().then_some(self) };
        path.split('/').try_fold(self, |value, token| match value {
            Self::Object(_) => value.get(&token.replace("~1", "/").replace("~0", "~")),
            Self::Array(items) => {
                let is_index = token == "0" || !token.starts_with(['0', '+']);
                items.get(token.parse::<usize>().ok().filter(|_| is_index)?)
            }
            _ => None,
        })
    }

    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// A whole number that fits, if it is one.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Number(literal) => literal.parse().ok(),
            _ => None,
        }
    }

    /// What kind of value it is, for messages.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }

    /// The text as it is shown: two blanks an indent, numbers as written, strings escaped.
    pub fn pretty(&self) -> String {
        let mut out = String::new();
        self.write_pretty(0, &mut out);
        out
    }

    /// The text on one line without blanks, numbers as written: what is sent.
    pub fn compact(&self) -> String {
        let mut out = String::new();
        self.write_compact(&mut out);
        out
    }

    fn write_compact(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(literal) => out.push_str(literal),
            Self::String(text) => write_string(text, out),
            Self::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    item.write_compact(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (index, (name, value)) in members.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    write_string(name, out);
                    out.push(':');
                    value.write_compact(out);
                }
                out.push('}');
            }
        }
    }

    /// Puts a value where a JSON pointer points, making the objects on the way. False, and nothing changed, where
    /// something other than an object stands in the way.
    #[must_use]
    pub fn set(&mut self, pointer: &str, value: Self) -> bool {
        let Some(path) = pointer.strip_prefix('/') else { return false };
        let names: Vec<String> = path.split('/').map(|token| token.replace("~1", "/").replace("~0", "~")).collect();
        if !self.has_room_for(&names) {
            return false;
        }
        let mut place = self;
        for name in names {
            if !matches!(place, Self::Object(_)) {
                *place = Self::Object(Vec::new());
            }
            let Self::Object(members) = place else { return false };
            let at = members.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
                members.push((name, Self::Null));
                members.len() - 1
            });
            place = &mut members[at].1;
        }
        *place = value;
        true
    }

    fn has_room_for(&self, names: &[String]) -> bool {
        let mut place = Some(self);
        for (depth, name) in names.iter().enumerate() {
            match place {
                None => return true,
                Some(Self::Object(_)) => place = place.and_then(|object| object.get(name)),
                // What was null was nothing.
                Some(Self::Null) if depth > 0 => return true,
                Some(_) => return false,
            }
        }
        true
    }

    fn write_pretty(&self, depth: usize, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(literal) => out.push_str(literal),
            Self::String(text) => write_string(text, out),
            Self::Array(items) if items.is_empty() => out.push_str("[]"),
            Self::Object(members) if members.is_empty() => out.push_str("{}"),
            Self::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    write_line(depth + 1, out);
                    item.write_pretty(depth + 1, out);
                }
                write_line(depth, out);
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (index, (name, value)) in members.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    write_line(depth + 1, out);
                    write_string(name, out);
                    out.push_str(": ");
                    value.write_pretty(depth + 1, out);
                }
                write_line(depth, out);
                out.push('}');
            }
        }
    }
}

fn write_line(depth: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

/// J3: the short escapes, lower-case `\u00xx` for other controls, everything else as it is.
pub(crate) fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            control if control < ' ' => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

/// A member of an object and where its value stands in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Json,
    /// The bytes of its value.
    pub span: std::ops::Range<usize>,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn error(&self, problem: JsonProblem) -> JsonError {
        JsonError { problem, at: self.at }
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Result<char, JsonError> {
        let next = self.peek().ok_or_else(|| self.error(JsonProblem::EndsEarly))?;
        self.at += next.len_utf8();
        Ok(next)
    }

    fn skip_space(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
    }

    fn expect(&mut self, wanted: char) -> Result<(), JsonError> {
        match self.peek() {
            Some(found) if found == wanted => {
                self.at += found.len_utf8();
                Ok(())
            }
            Some(found) => Err(self.error(JsonProblem::Unexpected(found))),
            None => Err(self.error(JsonProblem::EndsEarly)),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json, JsonError> {
        if depth > DEPTH_LIMIT {
            return Err(self.error(JsonProblem::TooDeep));
        }
        self.skip_space();
        match self.peek() {
            None => Err(self.error(JsonProblem::EndsEarly)),
            Some('{') => {
                let members = self.members(depth)?;
                Ok(Json::Object(members.into_iter().map(|member| (member.name, member.value)).collect()))
            }
            Some('[') => self.array(depth),
            Some('"') => Ok(Json::String(self.string()?)),
            Some('-' | '0'..='9') => self.number(),
            Some(_) => self.word(),
        }
    }

    fn word(&mut self) -> Result<Json, JsonError> {
        for (word, value) in [("null", Json::Null), ("true", Json::Bool(true)), ("false", Json::Bool(false))] {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        let found = self.peek().unwrap_or(' ');
        Err(self.error(JsonProblem::Unexpected(found)))
    }

    fn array(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.expect('[')?;
        let mut items = Vec::new();
        self.skip_space();
        if self.peek() == Some(']') {
            self.at += 1;
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.skip_space();
            match self.next()? {
                ',' => {}
                ']' => return Ok(Json::Array(items)),
                other => return Err(self.error(JsonProblem::Unexpected(other))),
            }
        }
    }

    fn members(&mut self, depth: usize) -> Result<Vec<Member>, JsonError> {
        self.expect('{')?;
        let mut members: Vec<Member> = Vec::new();
        let mut names = std::collections::HashSet::new();
        self.skip_space();
        if self.peek() == Some('}') {
            self.at += 1;
            return Ok(members);
        }
        loop {
            self.skip_space();
            let start = self.at;
            let name = self.string()?;
            if !names.insert(name.clone()) {
                return Err(JsonError { problem: JsonProblem::DuplicateName(name), at: start });
            }
            self.skip_space();
            self.expect(':')?;
            self.skip_space();
            let from = self.at;
            let value = self.value(depth + 1)?;
            members.push(Member { name, value, span: from..self.at });
            self.skip_space();
            match self.next()? {
                ',' => {}
                '}' => return Ok(members),
                other => return Err(self.error(JsonProblem::Unexpected(other))),
            }
        }
    }

    fn number(&mut self) -> Result<Json, JsonError> {
        let rest = &self.text[self.at..];
        let length = rest.bytes().take_while(|b| matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')).count();
        let literal = &rest[..length];
        if !is_json_number(literal) || !crate::fingerprint::has_usable_exponent(literal) {
            return Err(self.error(JsonProblem::BadNumber));
        }
        self.at += length;
        Ok(Json::Number(literal.into()))
    }

    fn string(&mut self) -> Result<String, JsonError> {
        self.expect('"')?;
        let mut out = String::new();
        loop {
            // Most of a string is plain; it is taken as one piece.
            let rest = &self.text.as_bytes()[self.at..];
            let plain = rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..=0x1f)).count();
            out.push_str(&self.text[self.at..self.at + plain]);
            self.at += plain;
            let at = self.at;
            match self.next()? {
                '"' => return Ok(out),
                '\\' => out.push(self.escape()?),
                control => return Err(JsonError { problem: JsonProblem::Unexpected(control), at }),
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        Ok(match self.next()? {
            plain @ ('"' | '\\' | '/') => plain,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.unicode_escape(),
            other => return Err(self.error(JsonProblem::Unexpected(other))),
        })
    }

    fn unicode_escape(&mut self) -> Result<char, JsonError> {
        let high = self.four_digits()?;
        let code = match high {
            0xD800..=0xDBFF => {
                if !self.text[self.at..].starts_with("\\u") {
                    return Err(self.error(JsonProblem::LoneSurrogate));
                }
                self.at += 2;
                let low = self.four_digits()?;
                if !(0xDC00..=0xDFFF).contains(&low) {
                    return Err(self.error(JsonProblem::LoneSurrogate));
                }
                0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00)
            }
            other => other,
        };
        char::from_u32(code).ok_or_else(|| self.error(JsonProblem::LoneSurrogate))
    }

    fn four_digits(&mut self) -> Result<u32, JsonError> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.next()?;
            code = code * 16 + digit.to_digit(16).ok_or_else(|| self.error(JsonProblem::Unexpected(digit)))?;
        }
        Ok(code)
    }
}

fn is_json_number(literal: &str) -> bool {
    let unsigned = literal.strip_prefix('-').unwrap_or(literal);
    let (mantissa, power) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, power)) => (mantissa, Some(power)),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && power.is_none_or(|power| digits(power.strip_prefix(['+', '-']).unwrap_or(power)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn problem(text: &str) -> JsonProblem {
        Json::parse(text.as_bytes()).unwrap_err().problem
    }

    #[test]
    fn bad_json_says_what_and_where() {
        let error = Json::parse(br#"{"a":1,"b":2,"a":3}"#).unwrap_err();
        assert_eq!(error.to_string(), "the member \"a\" occurs twice at byte 13");
        assert_eq!(problem("[1,"), JsonProblem::EndsEarly);
        assert_eq!(problem("[01]"), JsonProblem::BadNumber);
        assert_eq!(problem("1e99999999999"), JsonProblem::BadNumber);
        assert_eq!(problem("NaN"), JsonProblem::Unexpected('N'));
        assert_eq!(problem(&"[".repeat(200)), JsonProblem::TooDeep);
        assert_eq!(problem("\"\n\""), JsonProblem::Unexpected('\n'));
        assert_eq!(problem(r#""\ud800""#), JsonProblem::LoneSurrogate);
        assert_eq!(Json::parse(b"\"\xff\"").unwrap_err().problem, JsonProblem::NotUtf8);
    }

    #[test]
    fn a_member_knows_where_its_value_stands() {
        let text = br#"{"ts": "x", "args" : {"id": 12345.0} }"#;
        let members = Json::parse_members(text).unwrap();
        assert_eq!(&text[members[1].span.clone()], br#"{"id": 12345.0}"#);
    }

    #[test]
    fn a_pointer_follows_members_and_indexes() {
        let json = Json::parse(br#"{"a":[{"b/c":1,"~":2}],"":3}"#).unwrap();
        let at = |pointer: &str| json.pointer(pointer).and_then(Json::as_i64);
        assert_eq!([at("/a/0/b~1c"), at("/a/0/~0"), at("/")], [Some(1), Some(2), Some(3)]);
        assert_eq!([at("/a/00/~0"), at("/a/1/~0"), at("/a/+0/~0"), at("a"), at("/x")], [None; 5]);
        assert_eq!(json.pointer(""), Some(&json));
    }

    #[test]
    fn a_value_is_put_where_a_pointer_points_and_nothing_else_changes() {
        let set = |text: &str, pointer: &str| {
            let mut json = Json::parse(text.as_bytes()).unwrap();
            let done = json.set(pointer, Json::String("v".into()));
            (done, json.compact())
        };
        for (text, pointer, done, after) in [
            (r#"{"a":1.0}"#, "/b", true, r#"{"a":1.0,"b":"v"}"#),
            (r#"{"a":{"x":1}}"#, "/a/y~1z", true, r#"{"a":{"x":1,"y/z":"v"}}"#),
            (r#"{"a":{"x":1}}"#, "/a/x", true, r#"{"a":{"x":"v"}}"#),
            (r#"{"a":null}"#, "/a/b/c", true, r#"{"a":{"b":{"c":"v"}}}"#),
            (r#"{"a":[1]}"#, "/a/0", false, r#"{"a":[1]}"#),
            (r#"{"a":"s"}"#, "/a/b", false, r#"{"a":"s"}"#),
            ("[1]", "/a", false, "[1]"),
            (r#"{"a":1}"#, "a", false, r#"{"a":1}"#),
        ] {
            assert_eq!(set(text, pointer), (done, after.to_owned()), "{text} {pointer}");
        }
    }

    #[test]
    fn a_compact_text_keeps_numbers_members_and_escapes() {
        let text = "{ \"b\" : [1e2, -0.0, true, null, {}], \"a\":\"x\\n\u{e9}\" }";
        let json = Json::parse(text.as_bytes()).unwrap();
        assert_eq!(json.compact(), "{\"b\":[1e2,-0.0,true,null,{}],\"a\":\"x\\n\u{e9}\"}");
        assert_eq!(Json::parse(json.compact().as_bytes()).unwrap(), json);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused_but_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = Json::parse(&bytes);
            let _ = Json::parse_members(&bytes);
        }
    }
}
