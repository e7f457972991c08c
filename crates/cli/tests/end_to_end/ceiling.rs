//! A ceiling binds: alike in a simulation and on the real server, and as other people's load
//! generators see it.

use crate::plan::{self, CEILING};
use crate::requires::requires;
use crate::results::recording;
use crate::running::{RESULTS, run, seawall};
use crate::scratch::Scratch;
use crate::server::{LUN, Server};
use stats::{Outcome, Recording};

/// Judged by the machine's time, so nothing runs beside them: see CONTRIBUTING.md.
mod alone {
    use super::*;

    /// One plan, played by the simulator and on the real server with its NBD clients: in both its
    /// criterion says that no sliding second had more than 1 % + 1 above the ceiling, and in both
    /// the rate under the ceiling is the ceiling's.
    #[test]
    fn a_ceiling_binds_alike_in_simulation_and_on_the_server() {
        let scratch = Scratch::new();
        let plan = plan::write(&scratch, plan::PLAN);
        let recordings = ["simulate", "run"].map(|command| {
            let ended = run(seawall(scratch.path())
                .arg(command)
                .arg(&plan)
                .args(["--out", command])
                .env(RESULTS, format!("{command}.sqlite")));
            assert_eq!(ended.code, Some(0), "{command}: {ended:?}");
            let widest = ended.out.lines().max_by_key(|line| line.chars().count()).unwrap_or_default();
            assert!(widest.chars().count() <= 80, "{command}: {widest}");
            recording(&scratch.join(command))
        });
        for recording in &recordings {
            assert_eq!(recording.verdicts.len(), 1);
            assert_eq!(recording.verdicts[0].outcome, Outcome::Pass, "{:?}", recording.verdicts);
            // The first phase shows that the ceiling is what binds: without it there is more than
            // twice as much.
            assert!(rate(recording, 0) > 2.0 * CEILING as f64, "{}", rate(recording, 0));
        }
        assert!(recordings[0].origin.simulated && !recordings[1].origin.simulated);
        let [simulated, real] = [rate(&recordings[0], 1), rate(&recordings[1], 1)];
        // Nothing but the ceiling holds the simulator back.
        assert!((simulated / CEILING as f64 - 1.0).abs() <= 0.01, "{simulated}");
        // The phase ends up to a moment late and a request may end in the second after its
        // dispatch, so 2 %. With the machine to itself, nothing but the ceiling holds the server
        // back either; a tenth is for what the system does meanwhile.
        assert!((0.9..=1.02).contains(&(real / CEILING as f64)), "{real}");
    }

    /// A ceiling of 1000 IOPS, as fio's own NBD client measures it over four seconds at depth 32.
    /// The server is killed and started again after the policy was set: what was answered is in
    /// force. Without a limit fio gets more than 1000 IOPS, so it is the ceiling that is seen.
    #[test]
    fn fio_sees_the_ceiling_also_after_a_restart() {
        requires!("fio");
        let scratch = Scratch::new();
        let server = Server::start(&scratch);
        server.make_lun("16MiB");
        let free = crate::fio::read_rate(&scratch, &server.uri(LUN), 1);
        assert!(free.per_second() > 2000.0, "{free:?}");
        server.tell(&[
            "qos policy-group create policy1 -vserver svm01 -max-throughput 1000IOPS -is-shared false",
            "volume modify -volume vol1 -vserver svm01 -qos-policy-group policy1",
        ]);
        server.kill();
        let server = Server::start(&scratch);
        let held = crate::fio::read_rate(&scratch, &server.uri(LUN), 4);
        // What the limit allows in that time, plus what fio had in flight at the end and counts;
        // and a tenth less, as the ceiling is all that holds it.
        let (least, most) = (1000.0 * held.seconds * 0.9, 1000.0 * held.seconds * 1.02 + 32.0);
        assert!((least..=most).contains(&(held.operations as f64)), "{held:?}, {least} to {most}");
    }
}

/// Operations per second of the one workload in a phase.
fn rate(recording: &Recording, phase: usize) -> f64 {
    let tally = &recording.workloads[0].tallies[phase];
    tally.counts.ops() as f64 / tally.length.as_secs_f64()
}
