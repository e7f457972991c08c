//! The list of volumes: one path per line and nothing else.

use crate::grammar::Error;

/// Maximum number of volumes of a run: each file is open twice.
const VOLUMES_MOST: usize = 4096;

/// The file that lists the volumes of a test.
pub fn lun_file(test_name: &str) -> String {
    format!("{test_name}.lun")
}

/// The volumes that `text`, the content of `file`, lists.
///
/// # Errors
/// There are none, too many, or duplicates.
pub fn luns(text: &str, file: &str) -> Result<Vec<String>, Error> {
    let mut found: Vec<String> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let path = line.trim();
        if path.is_empty() {
            continue;
        }
        if let Some(first) = found.iter().position(|known| known == path) {
            let first = first + 1;
            return Err(Error(format!("{file} line {number}: {path} is volume {first} already; name each once")));
        }
        found.push(path.to_owned());
    }
    if found.is_empty() {
        return Err(Error(format!("{file}: is empty; it lists the volumes, a path on each line")));
    }
    if found.len() > VOLUMES_MOST {
        return Err(Error(format!("{file}: lists {} volumes, at most {VOLUMES_MOST} are allowed", found.len())));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_volume() {
        assert_eq!(luns("/dev/sda\r\n  /data/a b \n\n", "x.lun").unwrap(), ["/dev/sda", "/data/a b"]);
        assert_eq!(luns(" \n\n", "x.lun").unwrap_err().0, "x.lun: is empty; it lists the volumes, a path on each line");
        let twice = luns("/a\n/b\n/a\n", "x.lun").unwrap_err().0;
        assert_eq!(twice, "x.lun line 3: /a is volume 1 already; name each once");
        assert_eq!(lun_file("x.lun"), "x.lun.lun");
    }
}
