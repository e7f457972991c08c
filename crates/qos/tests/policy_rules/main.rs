//! Every rule, broken once: its code, the line that an administrator reads, and that nothing
//! changed.

mod objects;
mod policies;

use block::{Bytes, Iops, ObjectId, Span};
use qos::{
    AdaptiveChange, AdaptivePolicy, BlockSize, BurstChange, BurstKnobs, Catalogue, Change, Density, Edit, FixedChange,
    FixedPolicy, Nesting, NewGroup, Note, ObjectKind, PeakMode, Policy, PolicyChange, Rates, Refusal, Registry,
    RegistrySettings, Rule, Size,
};

/// Two SVMs: `a` with volume `v` holding LUN `l`, qtree `q` with LUN `m`, and file `d/f`; `b` with
/// volume `w`.
struct World {
    registry: Registry,
    a: ObjectId,
    v: ObjectId,
    q: ObjectId,
    l: ObjectId,
    m: ObjectId,
    f: ObjectId,
    w: ObjectId,
}

fn world() -> World {
    world_with(RegistrySettings::default())
}

fn world_with(settings: RegistrySettings) -> World {
    let mut registry = Registry::new(settings);
    let size = Size { allocated: Bytes(1_000_000_000_000), used: Bytes(0) };
    let a = registry.add_svm("a").unwrap().0;
    let v = registry.add_volume(a, "v", size).unwrap().0;
    let q = registry.add_qtree(v, "q").unwrap().0;
    let l = registry.add_lun(a, "/vol/v/l", size).unwrap().0;
    let m = registry.add_lun(a, "/vol/v/q/m", size).unwrap().0;
    let f = registry.add_file(v, "/d/f", size).unwrap().0;
    let b = registry.add_svm("b").unwrap().0;
    let w = registry.add_volume(b, "w", size).unwrap().0;
    World { registry, a, v, q, l, m, f, w }
}

fn fixed(ceiling: u64, floor: u64, shared: bool) -> Policy {
    let rates = Rates::iops;
    Policy::Fixed(FixedPolicy { ceiling: rates(ceiling), floor: rates(floor), shared, ..FixedPolicy::default() })
}

fn adaptive(expected: u64, peak: u64) -> Policy {
    Policy::Adaptive(AdaptivePolicy::new(Density::per_tb(expected), Density::per_tb(peak)))
}

impl World {
    fn create(&mut self, name: &str, policy: Policy) -> Result<Change, Refusal> {
        self.registry.create_group(NewGroup { name, svm: self.a, uuid: 1, policy })
    }

    fn with(mut self, name: &str, policy: Policy) -> World {
        let _ = self.create(name, policy).unwrap();
        self
    }

    fn attached(mut self, object: ObjectId, group: &str) -> World {
        let _ = self.registry.attach(object, Some(group)).unwrap();
        self
    }

    /// Runs `act`, which must be refused with this rule and line and change nothing.
    fn refuses<T: std::fmt::Debug>(
        &mut self,
        rule: Rule,
        line: &str,
        act: impl FnOnce(&mut Registry) -> Result<T, Refusal>,
    ) {
        let before = self.registry.clone();
        let refusal = act(&mut self.registry).expect_err(line);
        assert_eq!((refusal.rule, refusal.to_string().as_str()), (rule, line));
        assert!(self.registry == before, "{line}: something changed");
    }
}

fn fixed_change(change: FixedChange) -> PolicyChange {
    PolicyChange::Fixed(change)
}

#[test]
fn templates_are_adaptive_and_exclude_a_policy_of_the_svm() {
    let mut w = world().with("g", fixed(100, 0, false));
    let (a, v) = (w.a, w.v);
    w.refuses(
        Rule::TemplateKind,
        "SVM a: an SVM's template is an adaptive policy group; got fixed policy group g",
        |r| r.set_template(a, Some("g")),
    );
    w.refuses(Rule::WrongKind, "volume a:v: the operation does not fit this kind of object; got a template", |r| {
        r.set_template(v, Some("value"))
    });
    let _ = w.registry.set_template(a, Some("value")).unwrap();
    let line = "SVM a: an SVM has a template or is in a policy group, not both: take one away; got";
    w.refuses(Rule::TemplateAndPolicy, &format!("{line} template value"), |r| r.attach(a, Some("g")));
    let _ = w.registry.set_template(a, None).unwrap();
    w = w.attached(a, "g");
    w.refuses(Rule::TemplateAndPolicy, &format!("{line} policy group g"), |r| r.set_template(a, Some("value")));
}

#[test]
fn a_group_in_use_is_deleted_only_by_force() {
    let mut w = world().with("g", fixed(100, 0, true)).with("ada", adaptive(1, 2));
    let (a, v, q) = (w.a, w.v, w.q);
    w = w.attached(v, "g").attached(q, "g");
    w.refuses(
        Rule::GroupInUse,
        "policy group g: a policy group in use cannot be deleted: detach its members or force it; \
         got volume a:v and 1 more",
        |r| r.delete_group("g", false),
    );
    let change = w.registry.delete_group("g", true).unwrap();
    assert_eq!(change.edits.len(), 3, "two members leave and the budget goes: {change:?}");
    let labels: Vec<String> = change.notes.iter().map(Note::to_string).collect();
    assert_eq!(
        labels,
        ["volume a:v left policy group g, which is deleted", "qtree a:/vol/v/q left policy group g, which is deleted"]
    );
    assert_eq!((w.registry.workloads(), w.registry.group("g")), (0, None));

    let _ = w.registry.set_template(a, Some("ada")).unwrap();
    w.refuses(
        Rule::GroupInUse,
        "policy group ada: a policy group in use cannot be deleted: detach its members or force it; got SVM a",
        |r| r.delete_group("ada", false),
    );
    let change = w.registry.delete_group("ada", true).unwrap();
    assert_eq!(change.notes, [Note::NoTemplate { svm: "SVM a".into(), group: "ada".into() }]);
    assert_eq!(change.notes[0].to_string(), "SVM a has no template any more: policy group ada is deleted");
    assert_eq!(w.registry.object(a).unwrap().template(), None);
}

#[test]
fn what_is_not_there_is_named() {
    let mut w = world();
    let (a, v, nobody) = (w.a, w.v, ObjectId(99));
    w.refuses(Rule::NoGroup, "volume a:v: there is no such policy group; got policy group \"gold\"", |r| {
        r.attach(v, Some("gold"))
    });
    w.refuses(Rule::NoGroup, "SVM a: there is no such policy group; got policy group \"gold\"", |r| {
        r.set_template(a, Some("gold"))
    });
    w.refuses(Rule::NoGroup, "policy group gold: there is no such policy group; got \"gold\"", |r| {
        r.delete_group("gold", true)
    });
    w.refuses(Rule::NoObject, "object 99: there is no such object; got 99", |r| r.attach(nobody, Some("value")));
    w.refuses(Rule::NoObject, "object 99: there is no such object; got 99", |r| r.remove_object(nobody));
    w.refuses(Rule::NoObject, "LUN \"/vol/x/l\" of SVM a: there is no such object; got volume \"x\"", |r| {
        r.add_lun(a, "/vol/x/l", Size::default())
    });
    assert_eq!(w.registry.limits_in_force(nobody), None);
}

#[test]
fn a_catalogue_that_contradicts_itself_is_refused() {
    let w = world().with("g", fixed(100, 0, false));
    let (q, v) = (w.q, w.v);
    let w = w.attached(q, "g");
    let restore = |catalogue: &Catalogue| Registry::restore(RegistrySettings::default(), catalogue).map(|_| ());
    let good = w.registry.catalogue();
    assert_eq!(restore(&good), Ok(()));
    let broken = |change: &dyn Fn(&mut Catalogue)| {
        let mut catalogue = good.clone();
        change(&mut catalogue);
        restore(&catalogue).unwrap_err().rule
    };
    assert_eq!(broken(&|c| c.objects.push(c.objects[0].clone())), Rule::Catalogue);
    assert_eq!(broken(&|c| c.groups.push(c.groups[0].clone())), Rule::Catalogue);
    assert_eq!(broken(&|c| c.groups.clear()), Rule::Catalogue, "a member of nothing");
    assert_eq!(broken(&|c| c.groups[0].id = qos::GroupId(1)), Rule::Catalogue, "a built-in group's number");
    assert_eq!(broken(&|c| c.objects.retain(|object| object.id != v)), Rule::NoObject);
    assert_eq!(broken(&|c| c.objects[2].kind = ObjectKind::Volume), Rule::WrongKind);
}

/// What other settings allowed stays in force, is named in a note, and survives being stored again;
/// new breaches are refused.
#[test]
fn what_no_longer_fits_is_kept_and_named() {
    let free = RegistrySettings { nesting: Nesting::Free, ..RegistrySettings::default() };
    let mut w = world_with(free.clone()).with("g", fixed(100, 0, false)).with("f", fixed(50, 0, false));
    let burst = BurstKnobs { percent: Some(50), ..BurstKnobs::default() };
    let bursting =
        Policy::Adaptive(AdaptivePolicy { burst, ..AdaptivePolicy::new(Density::per_tb(1), Density::per_tb(2)) });
    let _ = w.create("burst", bursting).unwrap();
    let (v, l, ww) = (w.v, w.l, w.w);
    let w = w.attached(v, "g").attached(l, "f");
    let kept = w.registry.catalogue();
    assert_eq!(Registry::restore(free.clone(), &kept).unwrap().1.notes, []);

    let tight = RegistrySettings { peak: PeakMode::Credits, workloads_max: 1, ..RegistrySettings::default() };
    let (mut registry, change) = Registry::restore(tight.clone(), &kept).unwrap();
    let notes: Vec<String> = change.notes.iter().map(Note::to_string).collect();
    assert_eq!(
        notes,
        [
            "policy group burst: where the peak is reached on credits, only the burst's duration can be set: \
             leave out percent and IOPS; got burst 50 percent; it is kept and in force as it was",
            "LUN a:/vol/v/l: the number of workloads (objects in a policy group) is at its limit: detach one or raise \
             the limit in the settings; got 2 with a limit of 1; it is kept and in force as it was",
        ]
    );
    let limits = registry.limits_in_force(l).unwrap();
    assert_eq!(limits.ceiling_iops().map(|(rate, level)| (rate, level.object)), Some((Iops(50), l)));
    assert_eq!(registry.catalogue(), kept);
    // From here on the settings of today hold.
    assert_eq!(registry.attach(ww, Some("value")).unwrap_err().rule, Rule::WorkloadsMax);

    let (mut registry, change) = Registry::restore(RegistrySettings::default(), &kept).unwrap();
    assert_eq!(change.notes.len(), 1, "a LUN and its volume");
    let note = change.notes[0].to_string();
    assert!(note.starts_with("LUN a:/vol/v/l: a LUN or file and what contains it cannot both"), "{note}");
    let _ = registry.attach(l, None).unwrap();
    assert_eq!(registry.attach(l, Some("f")).unwrap_err().rule, Rule::Nested);
}

#[test]
fn whether_svms_take_turns_is_the_settings_or_as_it_was_kept() {
    let fair = |set: Option<bool>, kept: bool| {
        let settings = RegistrySettings { fair: set, ..RegistrySettings::default() };
        let catalogue = Catalogue { fair: kept, ..Catalogue::default() };
        let (registry, change) = Registry::restore(settings, &catalogue).unwrap();
        assert_eq!(change.edits.contains(&Edit::SetFair { object: None, fair: true }), registry.fair());
        registry.fair()
    };
    assert_eq!([fair(None, false), fair(None, true)], [false, true]);
    assert_eq!([fair(Some(true), false), fair(Some(false), true)], [true, false]);
}

/// The page for administrators lists every rule under its code.
#[test]
fn every_code_is_documented() {
    let page = include_str!("../../../../docs/qos/policies.md");
    for rule in Rule::ALL {
        let row = format!("| {} | {} |", rule.code(), rule.text());
        assert!(page.contains(&row), "missing from docs/qos/policies.md: {row}");
    }
}
