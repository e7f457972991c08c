//! Calls that are sent without waiting for answers.

use super::*;

/// Four thousand files are asked for at once over one connection, which is more than fits into the
/// changes that may wait for a record. The server stops reading until there is room: every call is
/// answered, and all files are there.
#[test]
fn thousands_of_calls_at_once_are_all_done() {
    const FILES: usize = 4000;
    for backend in BACKENDS {
        let server = start(backend, limits());
        let mut client = Client::connect(&server);
        let top = client.mount("/vol1").unwrap();
        let name = |number: usize| format!("{number:0>200}");
        let stream = client.stream.try_clone().unwrap();
        let mut sender = Client { stream, groups: client.groups.clone(), came: Vec::new(), ..client };
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for number in 0..FILES {
                    let name = name(number);
                    let entry = Entry { directory: top, name: name.as_bytes() };
                    let call = Call::Create { entry, how: CreateHow::Guarded(set_size(1)) };
                    sender.send((::nfs::PROGRAM, 3, Procedure::Create as u32), &[], |out| call.put(out));
                }
            });
            for _ in 0..FILES {
                let (_, outcome, results) = client.receive().expect("an answer");
                let reply = Reply::read(Procedure::Create, &mut Reader::new(&results)).unwrap();
                let is_made = matches!(reply, Reply::Made(_, Ok((Some(_), Some(_)))));
                assert!(outcome == CallOutcome::Success && is_made, "{reply:?}");
            }
        });
        assert_eq!(client.names(top, 32 << 10).len(), FILES + 3, "with `.`, `..` and `lun1`");
        end(server, client, "");
    }
}
