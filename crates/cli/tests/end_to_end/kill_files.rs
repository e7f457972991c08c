//! The server killed under a client that makes, writes, renames and removes files over NFS: what
//! was answered is there, the check is clean. `SEAWALL_KILLS` sets how often (6 if not set).

use crate::nfs_client::Client;
use crate::running::{run, seawall};
use crate::scratch::Scratch;
use crate::server::Server;
use nfs::{Call, CreateHow, Entry, FileHandle, SetAttributes, Stable};
use std::collections::BTreeMap;

/// Bytes of a file.
const LEN: usize = 5000;

/// What a name's file must hold.
type Files = BTreeMap<String, u8>;

/// Works until the server dies; what was asked last, and what it touches, may be there or not.
fn work(mut client: Client, top: FileHandle, files: &mut Files, round: u64, answered: &dyn Fn()) -> Vec<String> {
    for number in 0.. {
        let (name, moved) = (format!("{round}-{number}"), format!("{round}-{number}-moved"));
        let doubt = vec![name.clone(), moved.clone()];
        let entry = |name| Entry { directory: top, name };
        let how = CreateHow::Guarded(SetAttributes::default());
        let Some(made) = client.call(&Call::Create { entry: entry(name.as_bytes()), how }, &[]) else { return doubt };
        let handle = made.unwrap().unwrap();
        let (byte, count) = (number as u8, LEN as u32);
        let write = Call::Write { handle, at: 0, count, stable: Stable::File, len: count };
        let Some(done) = client.call(&write, &[byte; LEN]) else { return doubt };
        done.unwrap();
        if number % 3 > 0 {
            let rename = Call::Rename { from: entry(name.as_bytes()), to: entry(moved.as_bytes()) };
            let Some(done) = client.call(&rename, &[]) else { return doubt };
            done.unwrap();
        }
        if number % 3 == 2 {
            let Some(done) = client.call(&Call::Remove(entry(moved.as_bytes())), &[]) else { return doubt };
            done.unwrap();
        } else {
            files.insert(if number % 3 == 0 { name } else { moved }, byte);
        }
        answered();
    }
    unreachable!("the server is killed")
}

#[test]
fn files_that_were_answered_are_there_after_kills() {
    let kills = std::env::var("SEAWALL_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(6);
    let scratch = Scratch::new();
    let mut server = Server::start_with(&scratch, &["--nfs", "127.0.0.1:0"]);
    server.tell(&["vserver create -vserver svm01", "volume create -vserver svm01 -volume v -size 1GB"]);
    let mut files = Files::new();
    for round in 0..kills {
        let (client, top) = Client::connect(&server.nfs(), b"/v");
        let (tell, answered) = std::sync::mpsc::channel();
        let doubt = std::thread::scope(|scope| {
            let files = &mut files;
            let worker = scope.spawn(move || {
                work(client, top, files, round, &|| {
                    let _ = tell.send(());
                })
            });
            for _ in 0..=(round % 40) * 37 {
                answered.recv().unwrap();
            }
            server.kill();
            worker.join().unwrap()
        });
        let checked = run(seawall(scratch.path()).args(["check", "pool"]));
        assert_eq!(checked.code, Some(0), "kill {round}: {}{}", checked.out, checked.err);
        server = Server::start_with(&scratch, &["--nfs", "127.0.0.1:0"]);
        let (mut client, top) = Client::connect(&server.nfs(), b"/v");
        // All of them; of many rounds those of this one, a sixteenth of the earlier ones, and all
        // in the end, so that the time does not grow with the square of the rounds.
        let are_all = kills <= 16 || round + 1 == kills;
        let of_round = format!("{round}-");
        for (number, (name, byte)) in files.iter().enumerate() {
            let is_due = are_all || name.starts_with(&of_round) || number as u64 % 16 == round % 16;
            if !is_due {
                continue;
            }
            let entry = Entry { directory: top, name: name.as_bytes() };
            let handle =
                client.call(&Call::Lookup(entry), &[]).unwrap().unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(client.read(handle.unwrap()) == [*byte; LEN], "kill {round}: {name}");
        }
        for name in doubt {
            let entry = Entry { directory: top, name: name.as_bytes() };
            if let Some(Ok(_)) = client.call(&Call::Remove(entry), &[]) {
                files.remove(&name);
            }
        }
    }
    println!("{kills} kills, {} files are there", files.len());
    server.stop();
}
