//! `tallystick tool put`: declares a tool from a JSON file; the same document as `PUT /api/v1/tools/{name}`, and its name.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use tallystick_domain::json::Json;
use tallystick_domain::name::ToolName;
use tallystick_ledger::people::system_actor;

use super::{CliError, open};
use crate::config::Config;
use crate::http::body::from_json;
use crate::http::v1::tools::ToolDeclaration;

/// Tools and their contracts.
#[derive(Debug, Subcommand)]
pub enum Tool {
    /// Declare a tool from a JSON file that also holds its name
    Put {
        /// The file
        file: PathBuf,
    },
    /// List every declared tool
    List,
}

pub(super) async fn run(config: &Config, command: Tool) -> Result<ExitCode, CliError> {
    match command {
        Tool::Put { file } => {
            let text = std::fs::read(&file).map_err(|source| CliError::Read { path: file.clone(), source })?;
            let tool = read_tool(&text).map_err(|what| CliError::BadInput(format!("{}: {what}", file.display())))?;
            let ledger = open(config).await?;
            let declared = ledger.declare_tool(&system_actor(), tool).await?;
            ledger.close().await;
            println!("{} is declared, version {}", declared.name, declared.version);
        }
        Tool::List => {
            let ledger = open(config).await?;
            for tool in ledger.tools(&system_actor()).await? {
                println!("{}\t{}\tversion {}", tool.name, tool.class.name(), tool.version);
            }
            ledger.close().await;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn read_tool(text: &[u8]) -> Result<tallystick_domain::tool::Tool, String> {
    let members = Json::parse_members(text).map_err(|error| error.to_string())?;
    let name = members.iter().find(|member| member.name == "name").and_then(|member| member.value.as_str());
    let name = ToolName::parse(name.ok_or("the member \"name\" is missing")?).map_err(|error| error.to_string())?;
    let mut declaration: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(text).map_err(|error| error.to_string())?;
    declaration.remove("name");
    let rest = serde_json::to_vec(&declaration).map_err(|error| error.to_string())?;
    let declaration: ToolDeclaration = from_json(&rest).map_err(|problem| problem.detail().to_owned())?;
    Ok(declaration.named(name))
}

/// Several tools: a JSON array of declarations, or one declaration a line.
pub(super) fn read_tools(text: &[u8]) -> Result<Vec<tallystick_domain::tool::Tool>, String> {
    if text.trim_ascii_start().first() == Some(&b'[') {
        let Json::Array(all) = Json::parse(text).map_err(|error| error.to_string())? else { return Ok(Vec::new()) };
        return all
            .iter()
            .zip(1..)
            .map(|(tool, number)| read_tool(tool.pretty().as_bytes()).map_err(|what| format!("tool {number}: {what}")))
            .collect();
    }
    let lines = text.split(|byte| *byte == b'\n').zip(1..).filter(|(line, _)| !line.trim_ascii().is_empty());
    lines.map(|(line, number)| read_tool(line).map_err(|what| format!("line {number}: {what}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_file_with_an_unknown_member_is_refused_by_name() {
        let error = read_tool(br#"{"name":"pay","class":"irreversible","hots":"x"}"#).unwrap_err();
        assert!(error.contains("hots"), "{error}");
        assert_eq!(read_tool(br#"{"name":"pay","class":"irreversible"}"#).unwrap().name.as_str(), "pay");
    }

    #[test]
    fn tools_are_read_from_an_array_and_from_lines() {
        let (one, two) = (r#"{"name":"pay","class":"irreversible"}"#, r#"{"name":"read","class":"read"}"#);
        for text in [format!("[{one},\n {two}]"), format!("{one}\n\n{two}\n")] {
            let names: Vec<_> = read_tools(text.as_bytes()).unwrap().into_iter().map(|tool| tool.name).collect();
            assert_eq!(names.iter().map(ToolName::as_str).collect::<Vec<_>>(), ["pay", "read"]);
        }
        let error = read_tools(format!("{one}\n{{\"name\":\"x\"}}").as_bytes()).unwrap_err();
        assert!(error.starts_with("line 2: ") && error.contains("class"), "{error}");
        assert!(read_tools(b"[{\"class\":\"read\"}]").unwrap_err().starts_with("tool 1: "));
    }
}
