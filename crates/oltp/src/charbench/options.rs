//! The options of charbench that are known here, and its help, laid out as the original's.

use std::fmt::Write as _;

/// An option of charbench.
pub(super) struct CharbenchOption {
    /// As typed, with its dash.
    pub name: &'static str,
    /// The name of its value; `None` for a switch.
    pub value: Option<&'static str>,
    /// The option of `seawall oltp run` that takes the same value.
    pub ours: Option<&'static str>,
    /// Its description.
    help: &'static str,
}

const fn valued(
    name: &'static str,
    value: &'static str,
    ours: Option<&'static str>,
    help: &'static str,
) -> CharbenchOption {
    CharbenchOption { name, value: Some(value), ours, help }
}

const fn switch(name: &'static str, help: &'static str) -> CharbenchOption {
    CharbenchOption { name, value: None, ours: None, help }
}

/// All of them, in the order of the help.
pub(super) const OPTIONS: [CharbenchOption; 24] = [
    switch("-a", "accepted; a run always starts at once"),
    valued("-be", "stopafter", None, "end of the measured window, hh:mm or hh:mm.ss"),
    valued("-bs", "startafter", None, "start of the measured window, hh:mm or hh:mm.ss (0:00)"),
    valued("-c", "filename", None, "refused; give the settings as options"),
    valued("-com", "comment", Some("--comment"), "comment for the results file"),
    valued("-cs", "connectstring", Some("--database"), "sqlite:PATH, postgres://HOST/DB or mysql://HOST/DB"),
    valued("-di", "shortname(s)", Some("--disable"), "leave transactions out, as in SQ,WQ,WA"),
    switch("-h", "print this help (also --help)"),
    valued("-intermax", "milliseconds", None, "most think time between transactions (0)"),
    valued("-intermin", "milliseconds", None, "least think time between transactions (0)"),
    valued("-max", "milliseconds", None, "most think time within a transaction (0)"),
    valued("-min", "milliseconds", None, "least think time within a transaction (0)"),
    switch("-nc", "accepted; the output has no colour"),
    switch("-nr", "write no results file"),
    valued("-p", "password", None, "refused; set PGPASSWORD or MYSQL_PWD instead"),
    valued("-r", "filename", Some("--xml"), "results file, which is overwritten (results.xml)"),
    valued("-rr", "seconds", None, "accepted; there is a line for each second"),
    valued("-rt", "runtime", None, "length of the run, hh:mm or hh:mm.ss (0:01)"),
    switch("-s", "accepted; changes nothing"),
    switch("-sr", "write no results file"),
    valued("-stats", "level", None, "accepted; the results file has one form"),
    valued("-u", "username", None, "user of a connect string that names none"),
    valued("-uc", "usercount", Some("--users"), "number of users (4)"),
    valued("-v", "options", Some("--columns"), "columns: users,tpm,tps,errs,resp,vresp,trans"),
];

/// The option that was typed.
pub(super) fn find(word: &str) -> Option<&'static CharbenchOption> {
    OPTIONS.iter().find(|option| option.name == word)
}

/// What `charbench -h` prints, in 80 columns.
pub fn help() -> String {
    let mut text = String::from("usage: parameters:\n");
    for option in &OPTIONS {
        let value = option.value.map_or(String::new(), |value| format!(" <{value}>"));
        let _ = writeln!(text, " {:<24} {}", format!("{}{value}", option.name), option.help);
    }
    text += "
Options of `seawall oltp run` are taken too; `seawall oltp run --help` lists
them. `seawall oltp setup` makes the tables and loads them.
";
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each option has its line, in order, and nothing is wider than a terminal.
    #[test]
    fn the_help_lists_every_option() {
        let help = help();
        assert!(help.starts_with("usage: parameters:\n -a "), "{help}");
        let listed: Vec<&str> = help.lines().filter_map(|line| line.strip_prefix(" -")?.split(' ').next()).collect();
        let names: Vec<&str> = OPTIONS.iter().map(|option| &option.name[1..]).collect();
        assert_eq!(listed, names);
        assert!(names.is_sorted(), "{names:?}");
        assert_eq!(help.lines().find(|line| line.chars().count() > 80), None);
        assert!(help.contains(" -uc <usercount>          number of users (4)\n"), "{help}");
    }
}
