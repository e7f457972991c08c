//! docs/fio.md matches the tables in the code. `UPDATE_DOCS=1` rewrites its tables.

use fio::catalogue::{self, Definition};
use fio::flags::{FLAGS, MISSING};
use std::path::Path;

const BEGIN: &str = "<!-- options: begin, made by `UPDATE_DOCS=1 cargo test -p fio documents` -->\n";
const END: &str = "<!-- options: end -->\n";

fn row(definition: &Definition) -> String {
    let names = std::iter::once(&definition.name).chain(definition.aliases);
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    let value = match definition.form {
        catalogue::Form::Text(example) => format!("such as `{example}`"),
        form => form.name().to_owned(),
    };
    format!("| {} | {value} | {} |\n", names.join(", "), definition.about)
}

fn tables() -> String {
    let mut text = BEGIN.to_owned() + "\n### Of the whole run\n\n| option | meaning |\n| --- | --- |\n";
    for flag in FLAGS {
        let value =
            flag.example.filter(|example| !example.is_empty()).map_or(String::new(), |example| format!("={example}"));
        text += &format!("| `--{}{value}` | {} |\n", flag.name, flag.about);
    }
    for (subject, options) in catalogue::SUBJECTS {
        text += &format!("\n### {subject}\n\n| option | value | meaning |\n| --- | --- | --- |\n");
        text.extend(options.iter().map(row));
    }
    text += "\n### Not there\n\nNaming one of these is an error that says what is nearest.\n\n| option | instead |\n| --- | --- |\n";
    let mut last: Option<(Vec<String>, &str)> = None;
    for (name, instead) in catalogue::missing() {
        match &mut last {
            Some((names, same)) if *same == instead => names.push(format!("`{name}`")),
            _ => {
                text.extend(last.take().map(|(names, instead)| format!("| {} | {instead} |\n", names.join(", "))));
                last = Some((vec![format!("`{name}`")], instead));
            }
        }
    }
    text.extend(last.map(|(names, instead)| format!("| {} | {instead} |\n", names.join(", "))));
    text.extend(MISSING.iter().map(|(name, instead)| format!("| `--{name}` | {instead} |\n")));
    text + "\n" + END
}

#[test]
fn the_documentation_has_every_option() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fio.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let expected = format!("{before}{}{after}", tables());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &expected).unwrap();
        return;
    }
    assert!(text == expected, "docs/fio.md is behind the catalogue: run UPDATE_DOCS=1 cargo test -p fio documents");
}
