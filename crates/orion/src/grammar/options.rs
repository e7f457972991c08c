//! The table of options, from which parser and help are made.

/// An option.
pub struct Known {
    /// Its name with its dashes.
    pub name: &'static str,
    /// The name of its value; empty for a switch.
    pub value: &'static str,
    /// Its description, in one line.
    pub about: &'static str,
}

const fn option(name: &'static str, value: &'static str, about: &'static str) -> Known {
    Known { name, value, about }
}

/// All options, in the order of the help.
pub const OPTIONS: [Known; 31] = [
    option("-run", "KIND", "simple, normal, advanced, dss, oltp; matrix: normal"),
    option("-testname", "NAME", "volumes are listed in NAME.lun (orion)"),
    option("-num_disks", "N", "ladders are made for so many disks (the volumes)"),
    option("-size_small", "KB", "size of a small request (8)"),
    option("-size_large", "KB", "size of a large request (1024)"),
    option("-type", "rand|seq", "large loads: random requests or streams (rand)"),
    option("-num_streamIO", "N", "requests outstanding in each stream (4)"),
    option("-simulate", "concat|raid0", "how the volumes become one (concat)"),
    option("-stripe", "KB", "stripe of raid0 on one volume (1024)"),
    option("-write", "PERCENT", "requests that write, or streams; DESTROYS DATA (0)"),
    option("-cache_size", "MB", "moved before a point of streams (2 minutes)"),
    option("-duration", "SECONDS", "how long a point is measured (60)"),
    option("-matrix", "SHAPE", "of advanced: basic, detailed, point, col, row, max"),
    option("-num_small", "N", "small requests, for point, col and max"),
    option("-num_large", "N", "large requests or streams, for point, row, max"),
    option("-hugenotneeded", "", "taken and of no use here"),
    option("-storax", "LIBRARY", "taken and of no use here"),
    option("-verbose", "", "tells each point as it ends"),
    option("-help", "", "this"),
    option("--small-levels", "LIST", "small loads of your own: 1,2,4,8 or 1-8"),
    option("--large-levels", "LIST", "large loads of your own"),
    option("--quick", "", "all points in two minutes; its files say so"),
    option("--settle", "SECONDS", "before measuring (duration / 10, at most 2)"),
    option("--limit-ms", "MS", "99 % of small requests for the second maximum (10)"),
    option("--large-limit-ms", "MS", "the same of large requests (100)"),
    option("--page", "FILE", "writes a page with the matrix as a picture"),
    option("--seed", "N", "seed of all chance (1)"),
    option("--page-cache", "", "through the host's page cache"),
    option("--destroy-data", "NAME", "NAME may be overwritten"),
    option("--even-in-use", "NAME", "this device may be written even while in use"),
    option("--help", "", "as -help"),
];

/// What `-help` prints.
pub fn help() -> String {
    let mut text = String::from(
        "seawall orion -run KIND [options]: calibrates storage as Orion does.\n\
         NAME.lun lists the volumes, a path on each line.\n\n",
    );
    for Known { name, value, about } in &OPTIONS {
        text += &format!("  {:<26} {about}\n", format!("{name} {value}").trim_end());
    }
    text += "\nThe ladders, for N disks: simple has 1…5N small requests, then 1…2N large\n\
             ones; normal all combinations; oltp N, 2N … 20N small; dss N, 2N … 15N large.\n\
             In virtual time: seawall simulate orion --device disk -run simple …\n";
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_fits_a_terminal_and_has_every_option() {
        let help = help();
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
        assert!(OPTIONS.iter().all(|option| help.contains(&format!("  {}", option.name))));
    }
}
