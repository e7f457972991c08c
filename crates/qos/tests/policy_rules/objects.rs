//! Rules on objects: which policy they may have, beside and below which others, and how they are
//! named.

use super::*;

#[test]
fn some_objects_take_no_floor_and_no_adaptive_policy() {
    let mut w = world().with("floor", fixed(100, 50, false)).with("top", fixed(100, 0, false));
    let (a, q) = (w.a, w.q);
    w.refuses(
        Rule::FloorOnSvm,
        "SVM a: an SVM cannot have a floor: attach the group to its volumes; got policy group floor with a floor of \
         50 IOPS",
        |r| r.attach(a, Some("floor")),
    );
    for object in [a, q] {
        let line = format!(
            "{}: an adaptive policy group fits volumes, LUNs and files only; got policy group value",
            w.registry.label(object)
        );
        w.refuses(Rule::AdaptiveKind, &line, |r| r.attach(object, Some("value")));
    }
    w = w.attached(a, "top").attached(q, "floor");
    let floor = fixed_change(FixedChange { floor: Some(Rates::iops(1)), ..FixedChange::default() });
    w.refuses(
        Rule::FloorOnSvm,
        "SVM a: an SVM cannot have a floor: attach the group to its volumes; got policy group top with a floor of \
         1 IOPS",
        |r| r.modify_group("top", &floor),
    );
}

#[test]
fn object_and_group_are_of_one_svm() {
    let mut w = world().with("g", fixed(100, 0, false)).with("ada", adaptive(1, 2));
    let (other, svm) = (w.w, w.registry.svm_of(w.w).unwrap());
    w.refuses(
        Rule::OtherSvm,
        "volume b:w: an object and its policy group must be in the same SVM; got policy group g",
        |r| r.attach(other, Some("g")),
    );
    w.refuses(
        Rule::OtherSvm,
        "SVM b: an object and its policy group must be in the same SVM; got policy group ada",
        |r| r.set_template(svm, Some("ada")),
    );
}

/// As in ONTAP: what holds a LUN or file under a policy can have none, and vice versa; the upper
/// levels may be nested.
#[test]
fn a_lun_or_file_and_what_holds_it_are_not_both_in_groups() {
    for leaf in [|w: &World| w.m, |w: &World| w.l, |w: &World| w.f] {
        let mut w = world().with("g", fixed(100, 0, false));
        let leaf = leaf(&w);
        let holders: Vec<ObjectId> = w.registry.path(leaf).skip(1).map(|object| object.id()).collect();
        let rule = "a LUN or file and what contains it cannot both be in policy groups: detach one, or set nesting to \
                    free";
        let leaf_label = w.registry.label(leaf);
        for holder in holders {
            let label = w.registry.label(holder);
            w = w.attached(holder, "g");
            w.refuses(Rule::Nested, &format!("{leaf_label}: {rule}; got {label} in policy group g"), |r| {
                r.attach(leaf, Some("g"))
            });
            let _ = w.registry.attach(holder, None).unwrap();
            w = w.attached(leaf, "g");
            w.refuses(Rule::Nested, &format!("{label}: {rule}; got {leaf_label} in policy group g"), |r| {
                r.attach(holder, Some("g"))
            });
            let _ = w.registry.attach(leaf, None).unwrap();
        }
    }
    let w = world().with("g", fixed(100, 0, false));
    let (a, v, q) = (w.a, w.v, w.q);
    w.attached(q, "g").attached(a, "g").attached(v, "g");
}

#[test]
fn with_free_nesting_every_level_may_carry_one() {
    let settings = RegistrySettings { nesting: Nesting::Free, ..RegistrySettings::default() };
    let mut w = world_with(settings);
    for (number, object) in [w.a, w.v, w.q, w.m].into_iter().enumerate() {
        let name = format!("g{number}");
        w = w.with(&name, fixed(100 - number as u64, 0, false)).attached(object, &name);
    }
    let in_force = w.registry.limits_in_force(w.m).unwrap();
    assert_eq!(in_force.levels.len(), 4);
    // The tightest binds: 97 on the LUN itself. After it is detached, 98 on the qtree.
    assert_eq!(in_force.ceiling_iops().map(|(iops, level)| (iops, level.object)), Some((Iops(97), w.m)));
    let _ = w.registry.attach(w.m, None).unwrap();
    let in_force = w.registry.limits_in_force(w.m).unwrap();
    assert_eq!(in_force.ceiling_iops().map(|(iops, level)| (iops, level.object)), Some((Iops(98), w.q)));
}

#[test]
fn a_floor_above_a_ceiling_further_up_is_pointed_out() {
    let mut w = world().with("low", fixed(100, 0, false)).with("floor", fixed(0, 200, false));
    let (v, q) = (w.v, w.q);
    w = w.attached(q, "floor");
    let in_force = |w: &World| w.registry.limits_in_force(q).unwrap();
    assert_eq!(in_force(&w).floor(q).iops, Some(Iops(200)));
    assert_eq!(in_force(&w).floor_blocked_by(q), None);
    w = w.attached(v, "low");
    assert_eq!(in_force(&w).floor_blocked_by(q).map(|level| level.object), Some(v));
}

#[test]
fn objects_have_their_place_and_name() {
    let mut w = world();
    let (a, v, q, l, f) = (w.a, w.v, w.q, w.l, w.f);
    w.refuses(Rule::ObjectTaken, "volume v of SVM a: the name is in use there: choose another; got v", |r| {
        r.add_volume(a, "v", Size::default())
    });
    w.refuses(Rule::ObjectTaken, "qtree d of volume a:v: the name is in use there: choose another; got d/f", |r| {
        r.add_qtree(v, "d")
    });
    w.refuses(Rule::ObjectTaken, "file l/x of volume a:v: the name is in use there: choose another; got l", |r| {
        r.add_file(v, "/l/x", Size::default())
    });
    w.refuses(
        Rule::ObjectName,
        "volume of SVM a: names of SVMs, volumes and qtrees have 1 to 203 letters, digits, '_', '-' or '.', the first \
         a letter, digit or '_'; got \"a b\"",
        |r| r.add_volume(a, "a b", Size::default()),
    );
    w.refuses(
        Rule::LunPath,
        "LUN \"lun1\" of SVM a: a LUN's path is /vol/VOLUME/LUN or /vol/VOLUME/QTREE/LUN, without control characters; \
         got \"lun1\"",
        |r| r.add_lun(a, "lun1", Size::default()),
    );
    w.refuses(
        Rule::FilePath,
        "volume a:v: a file's path is /NAME or /FOLDER/…/NAME inside its volume, each name of 255 bytes at most, \
         without '.', '..' and control characters; got \"f\"",
        |r| r.rename(f, "f"),
    );
    w.refuses(
        Rule::Moves,
        "LUN a:/vol/v/l: a rename cannot move an object to another volume or qtree: make it anew there; \
         got /vol/v/q/l",
        |r| r.rename(l, "/vol/v/q/l"),
    );
    w.refuses(
        Rule::WrongKind,
        "qtree a:/vol/v/q: the operation does not fit this kind of object; got a new volume",
        |r| r.add_volume(q, "x", Size::default()),
    );
    w.refuses(Rule::WrongKind, "qtree a:/vol/v/q: the operation does not fit this kind of object; got a size", |r| {
        r.set_size(q, Size::default(), block::Time::ZERO)
    });
    w.refuses(
        Rule::ObjectInUse,
        "SVM a: an SVM goes last: remove its volumes and its policy groups first; got volume a:v",
        |r| r.remove_object(a),
    );
    w.refuses(
        Rule::WrongKind,
        "volume a:v: the operation does not fit this kind of object; got a policy group of its own",
        |r| r.create_group(NewGroup { name: "g", svm: v, uuid: 1, policy: fixed(1, 0, true) }),
    );
    let _ = w.registry.remove_object(v).unwrap();
    w = w.with("g", fixed(1, 0, true));
    w.refuses(
        Rule::ObjectInUse,
        "SVM a: an SVM goes last: remove its volumes and its policy groups first; got policy group g",
        |r| r.remove_object(a),
    );
    let _ = w.registry.delete_group("g", false).unwrap();
    let _ = w.registry.remove_object(a).unwrap();
    assert_eq!(w.registry.find_svm("a"), None);
}

#[test]
fn renamed_objects_are_found_by_their_new_names() {
    let mut w = world();
    let (a, v, l, m, f) = (w.a, w.v, w.l, w.m, w.f);
    for (object, name) in [(l, "/vol/v/l2"), (m, "/vol/v/q/m2"), (f, "/e/f2"), (v, "v2"), (a, "a2")] {
        assert_eq!(w.registry.rename(object, name), Ok(Change::default()));
    }
    let r = &w.registry;
    assert_eq!((r.find_svm("a"), r.find_svm("a2"), r.find_volume(a, "v2")), (None, Some(a), Some(v)));
    assert_eq!((r.find_lun(a, "/vol/v2/l2"), r.find_lun(a, "/vol/v2/q/m2")), (Some(l), Some(m)));
    assert_eq!((r.find_file(v, "/e/f2"), r.find_file(v, "/d/f")), (Some(f), None));
    assert_eq!((r.label(m).as_str(), r.label(f).as_str()), ("LUN a2:/vol/v2/q/m2", "file a2:/vol/v2/e/f2"));
}

#[test]
fn clones_do_not_inherit() {
    let mut w = world().with("g", fixed(100, 0, false));
    let (a, v, l) = (w.a, w.v, w.l);
    w = w.attached(v, "g");
    let (copy, change) = w.registry.clone_volume(v, "c").unwrap();
    assert_eq!(change.edits.len(), 5, "a volume, a qtree, two LUNs and a file, and no limit: {change:?}");
    let inside = w.registry.find_lun(a, "/vol/c/q/m").unwrap();
    for object in [copy, inside] {
        assert!(w.registry.limits_in_force(object).unwrap().levels.is_empty());
    }
    let _ = w.registry.attach(v, None).unwrap();
    w = w.attached(l, "g");
    let (copy, _) = w.registry.clone_lun(l, "/vol/v/l2").unwrap();
    let copy = w.registry.object(copy).unwrap();
    assert_eq!((copy.kind(), copy.membership()), (ObjectKind::Lun, None));
    w.refuses(
        Rule::WrongKind,
        "LUN a:/vol/v/l: the operation does not fit this kind of object; got a volume clone",
        |r| r.clone_volume(l, "x"),
    );
    w.refuses(Rule::WrongKind, "volume a:v: the operation does not fit this kind of object; got a LUN clone", |r| {
        r.clone_lun(v, "/vol/v/x")
    });
}
