//! Seeded histories of file operations over several connections, with restarts in between, compared
//! with a model in memory.

use super::*;
use std::collections::BTreeMap;

/// Number of histories, connections, restarts, and operations between restarts.
const SEEDS: u64 = 2;
const CONNECTIONS: usize = 3;
const STARTS: u64 = 3;
const STEPS: u64 = 150;

/// SplitMix64.
pub struct Chance(pub u64);

impl Chance {
    pub fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % below
    }
}

/// What exists at a path: a folder, or the number of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum There {
    Folder,
    File(usize),
}

#[derive(Default)]
struct Model {
    paths: BTreeMap<String, There>,
    files: Vec<Vec<u8>>,
}

impl Model {
    fn a_folder(&self, chance: &mut Chance) -> String {
        let folders = self.paths.iter().filter(|(_, there)| **there == There::Folder).map(|(path, _)| path.clone());
        let all: Vec<String> = std::iter::once(String::new()).chain(folders).collect();
        all[chance.next(all.len() as u64) as usize].clone()
    }

    fn a_path(&self, chance: &mut Chance) -> Option<(String, There)> {
        let count = self.paths.len() as u64;
        let at = if count == 0 { return None } else { chance.next(count) };
        self.paths.iter().nth(at as usize).map(|(path, there)| (path.clone(), *there))
    }

    fn a_file(&self, chance: &mut Chance) -> Option<(String, usize)> {
        let files = self.paths.iter().filter_map(|(path, there)| match there {
            There::File(number) => Some((path.clone(), *number)),
            There::Folder => None,
        });
        let all: Vec<_> = files.collect();
        (!all.is_empty()).then(|| all[chance.next(all.len() as u64) as usize].clone())
    }

    fn is_empty(&self, folder: &str) -> bool {
        !self.paths.keys().any(|path| path.starts_with(&format!("{folder}/")))
    }
}

impl Client {
    fn walk(&mut self, top: FileHandle, path: &str) -> FileHandle {
        let names = path.split('/').filter(|name| !name.is_empty());
        names.fold(top, |at, name| self.look_up(at, name.as_bytes()).unwrap_or_else(|error| panic!("{path}: {error}")))
    }

    fn place<'a>(&mut self, top: FileHandle, path: &'a str) -> (FileHandle, &'a [u8]) {
        let (folder, name) = path.rsplit_once('/').unwrap();
        (self.walk(top, folder), name.as_bytes())
    }
}

fn step(client: &mut Client, top: FileHandle, model: &mut Model, chance: &mut Chance) {
    let fresh = |chance: &mut Chance| format!("n{}", chance.next(30));
    match chance.next(10) {
        0 | 1 => {
            let path = format!("{}/{}", model.a_folder(chance), fresh(chance));
            let (folder, name) = client.place(top, &path);
            let made = client.create(folder, name);
            assert_eq!(made.is_ok(), !model.paths.contains_key(&path), "{path}: {made:?}");
            if made.is_ok() {
                model.paths.insert(path, There::File(model.files.len()));
                model.files.push(Vec::new());
            }
        }
        2 => {
            let path = format!("{}/{}", model.a_folder(chance), fresh(chance));
            let (folder, name) = client.place(top, &path);
            let made = client.make_dir(folder, name);
            assert_eq!(made.is_ok(), !model.paths.contains_key(&path), "{path}: {made:?}");
            model.paths.entry(path).or_insert(There::Folder);
        }
        3 => remove(client, top, model, chance),
        4 => rename(client, top, model, chance),
        5 => {
            let Some((from, number)) = model.a_file(chance) else { return };
            let path = format!("{}/{}", model.a_folder(chance), fresh(chance));
            let (file, (folder, name)) = (client.walk(top, &from), client.place(top, &path));
            let done = client.link(file, folder, name);
            assert_eq!(done.is_ok(), !model.paths.contains_key(&path), "{path}: {done:?}");
            model.paths.entry(path).or_insert(There::File(number));
        }
        6 => {
            let Some((path, number)) = model.a_file(chance) else { return };
            let size = chance.next(30_000);
            let file = client.walk(top, &path);
            client.resize(file, size).unwrap();
            model.files[number].resize(size as usize, 0);
        }
        _ => {
            let Some((path, number)) = model.a_file(chance) else { return };
            let (at, len) = (chance.next(40_000) as usize, 1 + chance.next(20_000) as usize);
            let data = vec![chance.next(256) as u8; len];
            let stable = if chance.next(3) == 0 { Stable::File } else { Stable::Unstable };
            let file = client.walk(top, &path);
            client.write_all(file, at as u64, &data, stable).unwrap();
            let held = &mut model.files[number];
            held.resize(held.len().max(at + len), 0);
            held[at..at + len].copy_from_slice(&data);
            if chance.next(2) == 0 {
                client.commit(file).unwrap();
            }
        }
    }
}

fn remove(client: &mut Client, top: FileHandle, model: &mut Model, chance: &mut Chance) {
    let Some((path, there)) = model.a_path(chance) else { return };
    let (directory, name) = client.place(top, &path);
    let (done, fits) = match there {
        There::File(_) => (client.remove(directory, name), true),
        There::Folder => (client.done(&Call::RemoveDir(Entry { directory, name })), model.is_empty(&path)),
    };
    assert_eq!(done.is_ok(), fits, "{path}: {done:?}");
    if fits {
        model.paths.remove(&path);
    }
}

fn rename(client: &mut Client, top: FileHandle, model: &mut Model, chance: &mut Chance) {
    let Some((from, there)) = model.a_path(chance) else { return };
    let to = match model.a_path(chance) {
        Some((path, _)) if chance.next(3) == 0 => path,
        _ => format!("{}/n{}", model.a_folder(chance), chance.next(30)),
    };
    let other = model.paths.get(&to).copied();
    let is_same = from == to || matches!(there, There::File(_)) && other == Some(there);
    let fits = match (there, other) {
        _ if is_same => true,
        (There::Folder, _) if to.starts_with(&format!("{from}/")) => false,
        (_, None) | (There::File(_), Some(There::File(_))) => true,
        (There::Folder, Some(There::Folder)) => model.is_empty(&to),
        _ => false,
    };
    let (old, new) = (client.place(top, &from), client.place(top, &to));
    let done = client.rename(old, new);
    assert_eq!(done.is_ok(), fits, "{from} to {to}: {done:?}");
    if !fits || is_same {
        return;
    }
    model.paths.remove(&from);
    model.paths.insert(to.clone(), there);
    let below = format!("{from}/");
    let moved: Vec<String> = model.paths.keys().filter(|path| path.starts_with(&below)).cloned().collect();
    for path in moved {
        let there = model.paths.remove(&path).unwrap();
        model.paths.insert(format!("{to}/{}", &path[below.len()..]), there);
    }
}

/// Everything is as in the model, and nothing else exists.
fn compare(client: &mut Client, top: FileHandle, model: &Model) {
    let mut folders = vec![String::new()];
    folders.extend(model.paths.iter().filter(|(_, there)| **there == There::Folder).map(|(path, _)| path.clone()));
    for folder in folders {
        let handle = client.walk(top, &folder);
        let mut names = client.names(handle, 700);
        names.retain(|name| !matches!(name.as_str(), "." | ".." | "lun1"));
        let below = format!("{folder}/");
        let expected = model.paths.keys().filter_map(|path| path.strip_prefix(&below));
        let mut expected: Vec<String> = expected.filter(|rest| !rest.contains('/')).map(str::to_owned).collect();
        expected.sort();
        assert_eq!(names, expected, "{folder}");
    }
    for (path, there) in &model.paths {
        let handle = client.walk(top, path);
        let There::File(number) = there else { continue };
        assert!(client.read_all(handle) == model.files[*number], "{path}");
        let links = model.paths.values().filter(|other| *other == there).count();
        assert_eq!(client.attributes(handle).unwrap().links as usize, links, "{path}");
    }
}

#[test]
fn histories_over_several_connections_leave_what_a_model_has() {
    for seed in 0..SEEDS {
        let mut chance = Chance(seed);
        let mut server = start(BACKENDS[(seed % 2) as usize % BACKENDS.len()], limits());
        let mut model = Model::default();
        for _ in 0..STARTS {
            let mut clients: Vec<Client> = (0..CONNECTIONS).map(|_| Client::connect(&server)).collect();
            let top = clients[0].mount("/vol1").unwrap();
            for _ in 0..STEPS {
                let client = chance.next(CONNECTIONS as u64) as usize;
                step(&mut clients[client], top, &mut model, &mut chance);
            }
            compare(&mut clients[0], top, &model);
            drop(clients);
            server.until_empty();
            server = server.restart_behind(limits(), front(Access::default()));
        }
        let mut client = Client::connect(&server);
        let top = client.mount("/vol1").unwrap();
        compare(&mut client, top, &model);
        end(server, client, &format!("seed {seed}"));
    }
}
