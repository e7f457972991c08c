//! `/api/private/cli`: command lines over REST, for everything without a path of its own.
//!
//! ```text
//!   POST   /api/private/cli                        {"input": "volume show"}      ► {"output": …}
//!   GET    /api/private/cli/volume?fields=size     volume show -fields size      ► records
//!   POST   /api/private/cli/volume    {…}          volume create -…              ► {"cli_output": …}
//!   PATCH                                          volume modify -…
//!   DELETE                                         volume delete -…
//!   POST   /api/private/cli/volume/rename {…}      volume rename -…
//! ```
//! Values are quoted, so that none is taken for a parameter. Names have underscores in place of
//! hyphens.

use crate::body::Body;
use crate::caller::{Caller, Role};
use crate::problem::{Problem, code};
use crate::query::decoded;
use crate::resource::unsupported;
use ontap::catalogue::specs;
use ontap::{Command, Word};
use serde_json::{Map, Value, json};

/// A command line, and the form of its answer.
#[derive(Debug, PartialEq)]
pub(crate) struct Line {
    pub text: String,
    /// The password, which is not part of the line.
    pub secret: Option<String>,
    pub answer: Answer,
}

/// The form of a line's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// As text in `output`.
    Output,
    /// As the records of a list.
    Records,
    /// As text in `cli_output`.
    Text,
}

/// The command line of a request. `words` follow `/api/private/cli` in its path.
///
/// # Errors
/// There is no such command, or its body is invalid.
pub(crate) fn line(words: &[&str], method: &str, query: &str, mut body: Map<String, Value>) -> Result<Line, Problem> {
    if words.is_empty() && method == "POST" {
        let mut body = Body::from(body);
        let input = body.text("input")?;
        let text = body.required("input", input)?.replace(['\n', '\r'], " ");
        let secret = body.text("password")?;
        body.end()?;
        return Ok(Line { text, secret, answer: Answer::Output });
    }
    let verb = match method {
        "GET" => "show",
        "POST" => "create",
        "PATCH" => "modify",
        "DELETE" => "delete",
        _ => return Err(unsupported("command", method)),
    };
    let asked = words.join(" ");
    let with_verb = format!("{asked} {verb}");
    let is_command = |path: &str| specs().any(|spec| spec.path == path);
    let path = [&with_verb, &asked].into_iter().find(|path| is_command(path)).ok_or_else(|| {
        Problem::missing(format!("{with_verb}: there is no such command; `help` on the command line lists them"))
    })?;
    let (mut text, mut given) = (path.clone(), Vec::new());
    for part in query.split('&').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        given.push((decoded(name)?, Value::String(decoded(value)?)));
    }
    // A password is never part of the line, which is logged and written to the audit trail.
    let is_login = path.starts_with("security login");
    let secret =
        is_login.then(|| body.remove("password")).flatten().and_then(|value| value.as_str().map(str::to_owned));
    given.extend(body);
    // Parameters that the client's library adds for records.
    given.retain(|(name, _)| !["return_timeout", "return_records", "privilege_level"].contains(&name.as_str()));
    let is_paged = |name: &str| ["max_records", "offset", "iterations"].contains(&name);
    if let Some((name, _)) = given.iter().find(|(name, _)| is_paged(name)) {
        let message = format!("{name}: here a list is given whole, and statistics once; leave it out");
        return Err(Problem::bad(code::UNEXPECTED, name, message));
    }
    for (name, value) in given {
        text += &parameter(&name, &value)?;
    }
    let shows = verb == "show" && *path == with_verb;
    if shows {
        text += " -output json";
    }
    if shows && path.starts_with("qos statistics") {
        text += " -iterations 1";
    }
    Ok(Line { text, secret, answer: if shows { Answer::Records } else { Answer::Text } })
}

fn parameter(name: &str, value: &Value) -> Result<String, Problem> {
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)) {
        let message = format!("{name:?} is no name of a parameter");
        return Err(Problem::bad(code::UNEXPECTED, name, message));
    }
    let dashed = name.replace('_', "-");
    let text = match value {
        Value::String(text) if name == "fields" => text.replace('_', "-"),
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(truth) => truth.to_string(),
        _ => {
            let message = format!("{name}: must be a text, a number, true or false, got {value}");
            return Err(Problem::bad(code::INVALID_VALUE, name, message));
        }
    };
    if text.contains(['\n', '\r']) {
        return Err(Problem::bad(code::INVALID_VALUE, name, format!("{name}: must be of one line")));
    }
    // Quotes disable the operators of patterns, so they are used only if the text would otherwise
    // not be a single word.
    let plain = Word::split(&text)
        .is_ok_and(|words| matches!(&words[..], [word] if !word.quoted && word.parameter().is_none()));
    let word = Word { quoted: !plain, text };
    Ok(format!(" -{dashed} {word}"))
}

/// Checks that the caller may run a line. Lines can reach every SVM, so the administrator of one
/// may run none.
///
/// # Errors
/// They may not.
pub(crate) fn check(caller: &Caller, line: &str) -> Result<(), Problem> {
    let shows = || ontap::parse(line).as_ref().is_ok_and(Command::shows);
    match &caller.role {
        Role::Admin => Ok(()),
        Role::ReadOnly if shows() => Ok(()),
        role => Err(Problem::denied(format!("{}: may not run that line, with the role {role}", caller.name))),
    }
}

/// The body for a line's answer.
pub(crate) fn told(answer: Answer, text: &str) -> Value {
    match answer {
        Answer::Output => json!({ "output": text }),
        Answer::Text => json!({ "num_records": 1, "cli_output": text }),
        Answer::Records => serde_json::from_str(text).unwrap_or_else(|_| json!({ "num_records": 0, "records": [] })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(words: &str, method: &str, query: &str, body: Value) -> String {
        let Value::Object(body) = body else { panic!("{body}") };
        let words: Vec<&str> = words.split('/').filter(|word| !word.is_empty()).collect();
        line(&words, method, query, body).unwrap().text
    }

    #[test]
    fn requests_are_lines_and_values_are_never_parameters() {
        assert_eq!(
            text("volume", "GET", "fields=size,qos_policy_group&volume=v%2A", json!({})),
            "volume show -fields size,qos-policy-group -volume v* -output json"
        );
        let body = json!({ "volume": "v1", "vserver": "s", "size": "1GB" });
        assert_eq!(text("volume", "POST", "", body), "volume create -size 1GB -volume v1 -vserver s");
        let body = json!({ "policy_group": "p -force", "is_shared": false });
        assert_eq!(
            text("qos/policy-group", "PATCH", "", body),
            "qos policy-group modify -is-shared false -policy-group \"p -force\""
        );
        assert_eq!(text("volume", "DELETE", "volume=-force", json!({})), "volume delete -volume \"-force\"");
        assert_eq!(text("volume/rename", "POST", "", json!({ "newname": "w" })), "volume rename -newname w");
        assert!(text("qos/statistics/volume/performance", "GET", "", json!({})).ends_with("-iterations 1"));
        for query in ["max_records=1", "offset=2", "iterations=3"] {
            let problem = line(&["volume"], "GET", query, Map::new()).unwrap_err();
            assert_eq!(
                (problem.status, problem.target.as_deref()),
                (400, query.split('=').next()),
                "{}",
                problem.message
            );
        }
        assert_eq!(text("", "POST", "", json!({ "input": "df\nrm" })), "df rm");
        // A password is beside the line.
        let body = json!({ "user_or_group_name": "bob", "role": "readonly", "password": "correct horse" });
        let Value::Object(body) = body else { panic!() };
        let made = line(&["security", "login"], "POST", "", body).unwrap();
        assert_eq!(made.text, "security login create -role readonly -user-or-group-name bob");
        assert_eq!(made.secret.as_deref(), Some("correct horse"));
        assert_eq!(line(&["odd"], "GET", "", Map::new()).unwrap_err().status, 404);
        for body in [json!({ "a b": 1 }), json!({ "volume": [1] }), json!({ "volume": "a\nb" })] {
            let Value::Object(body) = body else { panic!() };
            assert_eq!(line(&["volume"], "POST", "", body).unwrap_err().status, 400);
        }
    }

    #[test]
    fn who_only_looks_runs_only_what_shows() {
        let caller = |role| Caller { name: "x".into(), role };
        for (role, line, may) in [
            (Role::Admin, "volume delete v", true),
            (Role::ReadOnly, "volume show", true),
            (Role::ReadOnly, "volume delete v", false),
            (Role::ReadOnly, "odd", false),
            (Role::Svm("s".into()), "volume show", false),
        ] {
            assert_eq!(check(&caller(role.clone()), line).is_ok(), may, "{role} {line}");
        }
    }
}
