//! `/api/svm/svms`: storage virtual machines.

use super::{Resource, View};
use crate::body::Body;
use crate::problem::Problem;
use crate::record::{Field, Kind, key, known};
use crate::setting::{Place, Setting, Takes, setting};
use admin::uuid_of;
use block::ObjectId;
use ontap::Command;
use ontap::catalogue::{VserverCommand, VserverCreate, VserverDelete, VserverModify, VserverRename};
use ontap::value::{ObjectName, PolicyAssignment};
use qos::{Group, Object, ObjectKind};

/// SVMs.
pub(crate) struct Svms;

const FIELDS: &[Field<ObjectId>] = &[
    key("uuid", |_, svm| Some(uuid_of(svm).into())),
    key("name", |view, svm| Some(view.name_of(svm).into())),
    known("state", |_, _| Some("running".into())).of(Kind::Word(&[
        "starting",
        "running",
        "stopping",
        "stopped",
        "deleting",
        "initializing",
    ])),
    known("subtype", |_, _| Some("default".into())),
    known("aggregates", |view, _| Some(view.cluster.aggregates())).of(Kind::NamedList),
    known("qos_policy.name", |view, svm| view.policy_name(svm)),
    known("qos_policy.uuid", |view, svm| view.policy_uuid(svm)),
    known("qos_policy.max_throughput_iops", |view, object| view.max_iops(object)).of(Kind::Number),
    known("qos_policy.max_throughput_mbps", |view, object| view.max_mbps(object)).of(Kind::Number),
    known("qos_adaptive_policy_group_template.name", |view, svm| Some(template(view, svm)?.name().into())),
    known("qos_adaptive_policy_group_template.uuid", |view, svm| {
        Some(admin::uuid_text(template(view, svm)?.uuid()).into())
    }),
];

fn template<'a>(view: &View<'a>, svm: ObjectId) -> Option<&'a Group> {
    let registry = &view.administration.registry;
    registry.group_of(registry.object(svm).and_then(Object::template)?)
}

const SETTINGS: &[Setting] = &[
    setting("name", Takes::Text, Place::RequiredAndPatch),
    setting("aggregates", Takes::NamedList, Place::Post),
    setting("subtype", Takes::OneOf(&["default"]), Place::Post),
    setting("qos_policy", Takes::Policy, Place::Both),
    setting("qos_adaptive_policy_group_template", Takes::Named, Place::Both),
];

impl Resource for Svms {
    type Item = ObjectId;

    const NAME: &'static str = "SVM";

    fn path(&self) -> String {
        "/api/svm/svms".into()
    }

    fn fields(&self) -> &'static [Field<ObjectId>] {
        FIELDS
    }

    fn settings(&self) -> &'static [Setting] {
        SETTINGS
    }

    fn items(&self, view: &View<'_>) -> Vec<ObjectId> {
        view.objects(ObjectKind::Svm)
    }

    fn find(&self, view: &View<'_>, key: &str) -> Option<ObjectId> {
        view.object(ObjectKind::Svm, key)
    }

    fn key(&self, _: &View<'_>, item: ObjectId) -> String {
        uuid_of(item)
    }

    fn svm(&self, _: &View<'_>, item: ObjectId) -> Option<ObjectId> {
        Some(item)
    }

    fn create(&self, view: &View<'_>, body: &mut Body) -> Result<Vec<Command>, Problem> {
        view.may_change(None)?;
        let name = body.value("name")?;
        let vserver = body.required("name", name)?;
        view.any_aggregate(body)?;
        body.only("subtype", "default")?;
        let policy = view.assignment(body.object("qos_policy")?, None)?.any();
        let mut commands = vec![Command::Vserver(VserverCommand::Create(VserverCreate {
            vserver,
            aggregate: None,
            qos_policy_group: policy,
        }))];
        commands.extend(set_template(view, &commands, body)?);
        Ok(commands)
    }

    fn made(&self, view: &View<'_>, mut body: Body) -> Option<ObjectId> {
        view.registry().find_svm(&body.text("name").ok()??)
    }

    fn modify(&self, view: &View<'_>, item: ObjectId, body: &mut Body) -> Result<Vec<Command>, Problem> {
        // An SVM's own administrator may not change its limits.
        view.may_change(None)?;
        let vserver = view.object_name(item)?;
        let policy = view.assignment(body.object("qos_policy")?, Some(item))?.any();
        let template = view.assignment(body.object("qos_adaptive_policy_group_template")?, None)?.any();
        let new_name = view.new_name(item, body)?;
        let modify = |qos_policy_group, qos_adaptive_policy_group_template| {
            Command::Vserver(VserverCommand::Modify(VserverModify {
                vserver: vserver.clone(),
                qos_policy_group,
                qos_adaptive_policy_group_template,
            }))
        };
        // An SVM has either a policy or a template, so detaching comes before attaching.
        let mut assignments = [policy.map(|policy| (policy, false)), template.map(|policy| (policy, true))];
        assignments.sort_by_key(|given| given.as_ref().is_some_and(|(policy, _)| *policy != PolicyAssignment::Detach));
        let mut commands: Vec<Command> = assignments
            .into_iter()
            .flatten()
            .map(
                |(policy, is_template)| {
                    if is_template { modify(None, Some(policy)) } else { modify(Some(policy), None) }
                },
            )
            .collect();
        if let Some(new_name) = new_name {
            commands.push(Command::Vserver(VserverCommand::Rename(VserverRename { vserver, new_name })));
        }
        Ok(commands)
    }

    fn delete(&self, view: &View<'_>, item: ObjectId) -> Result<Vec<Command>, Problem> {
        view.may_change(None)?;
        let vserver = view.object_name(item)?;
        Ok(vec![Command::Vserver(VserverCommand::Delete(VserverDelete { vserver }))])
    }
}

/// The command that sets the template of an SVM made in the same request.
fn set_template(view: &View<'_>, made: &[Command], body: &mut Body) -> Result<Option<Command>, Problem> {
    let template = view.assignment(body.object("qos_adaptive_policy_group_template")?, None)?.any();
    let vserver: Option<&ObjectName> = made.iter().find_map(|command| match command {
        Command::Vserver(VserverCommand::Create(create)) => Some(&create.vserver),
        _ => None,
    });
    Ok(template.zip(vserver.cloned()).map(|(template, vserver)| {
        Command::Vserver(VserverCommand::Modify(VserverModify {
            vserver,
            qos_policy_group: None,
            qos_adaptive_policy_group_template: Some(template),
        }))
    }))
}
