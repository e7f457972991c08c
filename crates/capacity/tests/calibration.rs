//! Calibration on recordings of known models recovers their figures.

use array::{Collection, DeviceSpec, Flash, Host, Model, ParallelServers, VirtualClock};
use block::{Buf, Bytes, Driver as _, ObjectId, Op, Request, Span, Submitted, Time, Wakeup};
use capacity::{CalibrationLane, CalibrationPoint, CalibrationShape, calibrate};

fn lane(read_percent: u32, len: u64, depth: u32) -> CalibrationLane {
    let side = |has: bool| if has { len } else { 0 };
    CalibrationLane {
        read_percent,
        sequential: false,
        read_len: side(read_percent > 0),
        write_len: side(read_percent < 100),
        depth,
    }
}

/// A recording of a model. The loop is implemented a second time, over half a second of virtual
/// time with another seed, so that calibration is not compared with itself.
fn recorded(model: &Model, lane: CalibrationLane) -> CalibrationPoint {
    let mut device = DeviceSpec::of(model.clone()).build(77).expect("a device");
    let mut clock = VirtualClock::new();
    let (mut chance, mut asked, mut ended) = (0x9e37_79b9_u64, 0u64, Vec::new());
    let mut ask = |device: &mut dyn block::Target, now: Time| {
        // xorshift64 (Marsaglia, 2003).
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        let reads = chance % 100 < lane.read_percent.into();
        let len = lane.read_len.max(lane.write_len);
        let op = if reads { Op::Read } else { Op::Write(Buf::nothing(len as u32)) };
        let request = Request {
            tag: asked,
            object: ObjectId(0),
            at: (chance >> 20) % 1_000_000 * len,
            len,
            op,
            fua: false,
            due: now,
        };
        asked += 1;
        assert!(matches!(device.submit(now, request), Submitted::Taken(_)));
    };
    (0..lane.depth).for_each(|_| ask(&mut *device, Time::ZERO));
    let until = Time::ZERO + Span::from_millis(500);
    let mut count = 0u64;
    loop {
        let wake = match device.next_wakeup() {
            Wakeup::At(at) => at,
            _ => clock.now(),
        };
        let now = clock.turn(Some(wake));
        if now > until {
            let rate = count as f64 / 0.5;
            return CalibrationPoint { lanes: vec![lane], rate, rates: [rate; 2], responses: None, recordings: 1 };
        }
        device.poll(now, &mut ended);
        count += ended.len() as u64;
        ended.drain(..).for_each(|_| ask(&mut *device, now));
    }
}

fn recordings(model: &Model, mixes: &[u32], lens: &[u64], depths: &[u32]) -> Vec<CalibrationPoint> {
    let mut points = Vec::new();
    for mix in mixes {
        for len in lens {
            points.extend(depths.iter().map(|depth| recorded(model, lane(*mix, *len, *depth))));
        }
    }
    points
}

fn near(what: &str, found: f64, is: f64, within: f64) {
    assert!((found / is - 1.0).abs() <= within, "{what}: {found}, put in {is}");
}

/// A drive of 24 channels, pages of 16 KiB, 90 µs a read and 400 µs a program, from reads and
/// writes of two sizes: channels within 5 %, times within 3 %, the page exactly, and the points
/// held out within 2 %, with four numbers.
#[test]
fn a_drive_is_found_again() {
    let usual = Flash::default();
    let known = Flash {
        channels: 24,
        page: Bytes::kib(16),
        read: Span::from_micros(90),
        program: Span::from_micros(400),
        collection: usual.collection.map(|collection| Collection { stall: Span::ZERO, ..collection }),
        ..usual
    };
    let points = recordings(&Model::Flash(known), &[100, 0], &[8192, 65_536], &[1, 4, 16, 64]);
    let found = calibrate(points, &[CalibrationShape::Flash]).expect("fitted");
    let Model::Flash(drive) = found.model() else { panic!("{:?}", found.model()) };
    assert_eq!(drive.page, Bytes::kib(16));
    near("channels", drive.channels.into(), 24.0, 0.05);
    near("read", drive.read.as_secs_f64(), 90e-6, 0.03);
    near("program", drive.program.as_secs_f64(), 400e-6, 0.03);
    assert!(found.parameters() == 4 && found.held_out() == 5, "{found:?}");
    assert!(found.held_out_error() < 0.02, "{}", found.held_out_error());
}

/// Of all kinds the right one is chosen by the points fitted to, and its figures are recovered.
#[test]
fn the_kind_that_it_was_is_the_one_that_is_taken() {
    let servers = ParallelServers {
        servers: 6,
        service: Span::from_micros(250),
        size_unit: Some(Bytes::kib(32)),
        ..ParallelServers::default()
    };
    let host = Host {
        turn: Span::from_micros(60),
        request: Span::from_micros(8),
        size_unit: None,
        absence: None,
        ..Host::default()
    };
    let depths = [1, 2, 4, 8, 16, 32];
    let found = calibrate(
        recordings(&Model::ParallelServers(servers.clone()), &[100], &[4096, 65_536], &depths),
        &CalibrationShape::ALL,
    );
    let found = found.expect("fitted");
    let Model::ParallelServers(model) = found.model() else { panic!("{:?}", found.model()) };
    assert_eq!(model.servers, 6);
    near("service", model.service.as_secs_f64(), 250e-6, 0.02);
    near("size_unit", model.size_unit.map_or(0.0, |unit| unit.0 as f64), 32_768.0, 0.05);
    let found = calibrate(recordings(&Model::Host(host), &[0], &[4096], &depths), &CalibrationShape::ALL);
    let found = found.expect("fitted");
    let Model::Host(model) = found.model() else { panic!("{:?}", found.model()) };
    near("turn", model.turn.as_secs_f64(), 60e-6, 0.03);
    near("request", model.request.as_secs_f64(), 8e-6, 0.03);
    let shown = found.comparison("run 1", 0.15);
    assert!(shown.is_honest() && shown.holds(), "{}", shown.text());
    assert!(shown.text().contains("flash was not fitted: flash needs reads"), "{}", shown.text());
    assert!(shown.text().lines().all(|line| line.chars().count() <= 80), "{}", shown.text());
}

/// Changing a point that is held out changes its own error and no fitted number.
#[test]
fn what_is_held_out_moves_no_number() {
    let points =
        recordings(&Model::Host(Host { absence: None, ..Host::default() }), &[100], &[4096], &[1, 2, 4, 8, 16, 32]);
    let mut changed = points.clone();
    changed[1].rate *= 1.5;
    changed[1].rates = [changed[1].rate; 2];
    let [one, other] = [points, changed].map(|points| calibrate(points, &[CalibrationShape::Host]).expect("fitted"));
    assert_eq!(one.model(), other.model());
    assert!(other.held_out_error() > one.held_out_error() + 0.1, "{} {}", one.held_out_error(), other.held_out_error());
}

#[test]
fn too_little_is_refused_in_a_line() {
    let model = Model::ParallelServers(ParallelServers::default());
    let few = calibrate(recordings(&model, &[100], &[4096], &[1, 2, 4]), &CalibrationShape::ALL).expect_err("too few");
    assert!(few.starts_with("needs at least 6 points") && few.contains("got 3"), "{few}");
    let writes = calibrate(recordings(&model, &[0], &[4096], &[1, 2, 4, 8, 16, 32]), &[CalibrationShape::Flash]);
    assert!(writes.expect_err("no reads").starts_with("flash needs reads"));
}
