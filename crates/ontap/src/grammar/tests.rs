use super::*;
use crate::catalogue::*;
use crate::value::*;

fn ok(line: &str) -> Command {
    parse(line).unwrap_or_else(|e| panic!("{line}: {e}"))
}

fn wrong(line: &str) -> CommandError {
    parse(line).expect_err(line)
}

fn object(name: &str) -> ObjectName {
    name.parse().unwrap()
}

fn policy(name: &str) -> PolicyName {
    name.parse().unwrap()
}

#[test]
fn a_volume_is_created() {
    let expected = VolumeCreate {
        volume: object("vol1"),
        vserver: Some(object("svm01")),
        aggregate: None,
        size: Some(Size { number: 1, unit: SizeUnit::Scaled(3) }),
        junction_path: None,
        qos_policy_group: Some(PolicyAssignment::Group(policy("policy1"))),
        qos_adaptive_policy_group: None,
    };
    let expected = Command::Volume(VolumeCommand::Create(expected));
    let rest = "-vserver svm01 -size 1GB -qos-policy-group policy1";
    assert_eq!(ok(&format!("volume create -volume vol1 {rest}")), expected);
    // Cut short, with the first parameter in its place, or at the end, or in other letters.
    assert_eq!(ok(&format!("vol cr vol1 {rest}")), expected);
    assert_eq!(ok(&format!("volume create {rest} vol1")), expected);
    assert_eq!(ok("VOLUME create -VOL vol1 -vs svm01 -SIZE 1g -qos-pol policy1"), expected);
}

#[test]
fn mistakes_in_command_words_are_named() {
    assert_eq!(
        wrong("volme modify -volume v -size 1g").to_string(),
        "\"volme\" is not a recognized command; did you mean \"volume\"?; try: volume modify -volume v -size 1g"
    );
    assert_eq!(wrong("").to_string(), "no command was given; type \"?\" for the list");
    assert_eq!(wrong("v show").to_string(), "\"v\" is ambiguous; it could be vserver, volume");
}
