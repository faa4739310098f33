# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Black boxes of a real bridge over DDS, read by other libraries, from the bag alone."""

from __future__ import annotations

from collections.abc import Iterator
import json
import os
from pathlib import Path
from typing import Any

from action_lifecycle.cli import main
from action_lifecycle.documents.stamps import to_seconds
from action_lifecycle.ros.conversions.basic import to_time
from action_lifecycle.ros.interfaces.qos import event_qos
from action_lifecycle_msgs.action import ConfirmOutcome
from action_lifecycle_msgs.msg import ActionStateChange, Condition, ErrorCode, FlowChange
from action_lifecycle_msgs.srv import SaveBlackBox
from geometry_msgs.msg import TransformStamped
import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import Image
from std_msgs.msg import Bool
from tf2_msgs.msg import TFMessage

from .bridge_rig import FACTS, Rig

pytest.importorskip('mcap')

REFUTED = ConfirmOutcome.Result.REFUTED
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
MORE = """
  place: {tf: {target: world, source: part}, max_age: .inf}
  bright: {topic: image, type: sensor_msgs/msg/Image, field: 'height'}
"""


@pytest.fixture(scope='module')
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    folder = tmp_path_factory.mktemp('bridge')
    rig = Rig(folder, FACTS.replace('limits:', MORE.strip('\n') + '\nlimits:'), linger=0.2, **{
        'black_box.folder': str(folder / 'boxes'), 'black_box.seconds': 2.0,
        'black_box.memory': 4})
    rig.start()
    yield rig
    rig.close()


@pytest.fixture
def rig(shared: Rig) -> Iterator[Rig]:
    shared.gap, shared.moving = 0.001, 0.0
    shared.spin(0.05)
    yield shared


def ended(rig: Rig, expression: str, after: float, within: float = 0.3) -> Any:
    """Have an outcome confirmed and return the result."""
    goal = ConfirmOutcome.Goal(
        flow_id='pick/1', action_id='grasp', attempt=2, after=to_time(after),
        conditions=[Condition(name='grasped', expression=expression, within=within)])
    return rig.result(rig.wait(rig.confirmation.send_goal_async(goal)))


def refuted(rig: Rig, expression: str = 'gap > 0.01') -> Any:
    result = ended(rig, expression, rig.now())
    assert result.verdict == REFUTED
    return result


def box_of(rig: Rig, result: Any) -> Path:
    """Wait for the box that the message of a result names."""
    path = rig.folder / 'boxes' / result.error_msg.rpartition('; black box: ')[2]
    assert path.suffix == '.mcap'
    rig.until(path.exists)
    return path


def decoded(path: Path) -> list[tuple[str, float, float, Any]]:
    """Return (topic, log time, publish time, message) by mcap_ros2 from the bag alone."""
    from mcap_ros2.reader import read_ros2_messages
    return [(entry.channel.topic, entry.log_time_ns / 10**9, entry.publish_time_ns / 10**9,
             entry.ros_msg) for entry in read_ros2_messages(str(path))]


def metadata(path: Path) -> dict[str, str]:
    from mcap.reader import make_reader
    with open(path, 'rb') as file:
        return {record.name: record.metadata for record in make_reader(file).iter_metadata()}[
            'action_lifecycle']


def test_a_refuted_outcome_leaves_a_box_with_the_deciding_samples(rig: Rig) -> None:
    result = refuted(rig)
    path = box_of(rig, result)
    assert path.name.split('-')[1:] == ['pick_1', 'grasp', '2', 'refuted.mcap']
    assert result.error_msg.startswith('grasped: gap > 0.01 is false (gap 0.001 m)')
    fact = result.evidence[0].facts[0]
    messages = decoded(path)
    deciding = [message for topic, _, _, message in messages if topic == fact.topic
                and to_seconds(message.header.stamp) == to_seconds(fact.stamp)]
    assert [list(message.position) for message in deciding] == [list(fact.numbers)]
    times = [log_time for _, log_time, _, _ in messages]
    assert times == sorted(times) and times[-1] >= to_seconds(result.evidence[0].stamp) + 0.2
    topics = {topic for topic, *_ in messages}
    assert topics >= {'/joint_states', '/estop', '/world_model_bridge/facts'}
    told = metadata(path)
    assert (told['flow_id'], told['action_id'], told['attempt'], told['verdict']) == (
        'pick/1', 'grasp', '2', 'refuted')
    assert told['reason'] == result.error_msg.partition('; black box')[0]
    assert json.loads(told['topics'])['joint_states'] == '/joint_states'


@pytest.mark.parametrize(('expression', 'gap', 'within'), [
    ('gap > 0.01', 0.001, 0.3), ('gap > 0.01 and present', 0.02, 3.0),  # > black_box.seconds
    ('speed > 1 or gap > 0.01', None, 0.3)])
def test_the_box_alone_gives_the_verdict_again(
    rig: Rig, capsys: pytest.CaptureFixture[str], expression: str, gap: float | None,
    within: float,
) -> None:
    rig.gap = gap
    present = rig.robot.create_publisher(Bool, 'present', LATCHED)
    present.publish(Bool(data=False))
    rig.wait(rig.confirm('present or gap > 5', within=0.2).get_result_async())
    after = rig.now() - 0.1
    result = ended(rig, expression, after, within)
    path = box_of(rig, result)
    assert main(['replay', str(path), '--all', '--json']) == 0  # with the facts file in the box
    again = next(one for one in json.loads(capsys.readouterr().out)['confirmations']
                 if one['started'] >= after)
    assert (again['status'], again['recorded']['verdict']) == ('same', metadata(path)['verdict'])
    event = [message for topic, *_, message in decoded(path)
             if topic == '/world_model_bridge/confirmations'][-1]
    assert (event.flow_id, event.error_msg) == ('pick/1', result.error_msg)
    start = again['started']
    times = [time for topic, time, *_ in decoded(path) if topic == '/joint_states']
    begin = float(metadata(path)['start'])
    assert begin <= start and (gap is None or any(begin < time < start + 0.3 for time in times))
    rig.robot.destroy_publisher(present)


def test_rosbags_reads_each_message_and_the_facts_file(rig: Rig) -> None:
    from mcap.reader import make_reader
    from rosbags.highlevel import AnyReader
    path = box_of(rig, refuted(rig))
    with AnyReader([path]) as reader:
        read = [(connection.topic, reader.deserialize(data, connection.msgtype))
                for connection, _, data in reader.messages()]
    assert [topic for topic, _ in read] == [topic for topic, *_ in decoded(path)]
    assert any(topic == '/joint_states' and list(message.position) == [0.001]
               for topic, message in read)
    with open(path, 'rb') as file:
        facts, = make_reader(file).iter_attachments()
    assert facts.data.decode() == (rig.folder / 'facts.yaml').read_text()


def test_latched_messages_and_transforms_from_before_are_at_its_start(rig: Rig) -> None:
    present = rig.robot.create_publisher(Bool, 'present', LATCHED)
    frames = [TransformStamped(child_frame_id=name) for name in ('part', 'camera')]
    for frame in frames:
        frame.header.frame_id = 'world'
        frame.transform.rotation.w = 1.0
    statics = [rig.robot.create_publisher(TFMessage, '/tf_static', LATCHED) for _ in frames]
    for static, frame in zip(statics, frames):
        static.publish(TFMessage(transforms=[frame]))
    sent = rig.now()
    present.publish(Bool(data=True))
    rig.spin(1.0)  # before the topic is subscribed
    handle = rig.confirm('place[0] > 5 and present', within=60.0)
    rig.until(lambda: rig.world and {'place', 'present'} <= {
        fact.name for fact in rig.world[-1].facts if fact.validity == 1})
    rig.spin(2.5)  # longer than black_box.seconds
    rig.wait(handle.cancel_goal_async())
    messages = decoded(box_of(rig, refuted(rig, 'place[0] > 5 and present')))
    start = messages[0][1]
    of_tf = [entry for entry in messages if entry[0] == '/tf_static']
    assert {message.transforms[0].child_frame_id for *_, message in of_tf} == {'part', 'camera'}
    before = [entry for entry in messages if entry[0] == '/present']
    assert [message.data for *_, message in before] == [True]
    assert before[0][1] == start and before[0][2] == pytest.approx(sent, abs=0.4)
    assert start > sent + 0.5
    for publisher in (present, *statics):
        rig.robot.destroy_publisher(publisher)


def test_changes_of_the_action_are_in_it_from_its_start(rig: Rig) -> None:
    changes = rig.robot.create_publisher(
        ActionStateChange, 'action_lifecycle/state_changes', event_qos())
    flows = rig.robot.create_publisher(FlowChange, 'action_lifecycle/flow_changes', event_qos())
    rig.until(lambda: changes.get_subscription_count() and flows.get_subscription_count())
    for flow, action in (('pick/1', 'grasp'), ('pick/1', 'other'), ('old', 'grasp')):
        changes.publish(ActionStateChange(flow_id=flow, action_id=action, event='begin', seq=7))
        flows.publish(FlowChange(flow_id=flow, event='accepted'))
    rig.spin(2.5)
    changes.publish(ActionStateChange(flow_id='old', action_id='late'))
    found = [(topic.rpartition('/')[2], message.flow_id, message.action_id)
             for topic, *_, message in decoded(box_of(rig, refuted(rig)))
             if topic.startswith('/action_lifecycle/')]
    assert sorted(found) == [
        ('flow_changes', 'pick/1', ''), ('flow_changes', 'pick/1', ''),
        ('state_changes', 'old', 'late'), ('state_changes', 'pick/1', 'grasp')]


def test_large_images_leave_room_for_the_other_topics(rig: Rig) -> None:
    images = rig.robot.create_publisher(Image, 'image', 10)
    image = Image(height=480, width=640, step=1920, encoding='rgb8', data=bytes(480 * 1920))
    timer = rig.robot.create_timer(0.05, lambda: images.publish(image))
    handle = rig.confirm('bright < 0 and gap > 5', within=60.0)
    rig.spin(2.5)
    path = box_of(rig, refuted(rig, 'bright < 0 or gap > 1'))
    rig.robot.destroy_timer(timer)
    rig.wait(handle.cancel_goal_async())
    assert rig.bridge._box._rings.bytes <= 4_000_000
    messages = decoded(path)
    count = {topic: sum(entry[0] == topic for entry in messages)
             for topic in ('/image', '/joint_states')}
    assert 1 <= count['/image'] <= 4 and count['/joint_states'] > 50
    assert list(json.loads(metadata(path)['shortened'])) == ['/image']


def test_a_box_on_request(rig: Rig) -> None:
    client = rig.asker.create_client(SaveBlackBox, 'world_model_bridge/save_black_box')
    answer = rig.call(client, SaveBlackBox.Request(reason='a noise', seconds=1.0))
    assert not answer.error_msg and answer.messages == len(decoded(Path(answer.path))) > 10
    assert metadata(Path(answer.path))['reason'] == 'a noise'
    answer = rig.call(client, SaveBlackBox.Request(seconds=-1.0))
    assert answer.error_code == ErrorCode.INVALID_REQUEST and not answer.path


def test_a_violated_motion_leaves_a_box(rig: Rig) -> None:
    rig.gap = 0.02
    rig.spin(0.6)  # until the last sample is stale
    rig.gripper.behaviour = 'wait'
    handle = rig.send(rig.order({'command': {'position': 0.01}}, flow_id='f', action_id='a',
                                attempt=1, maintain=[Condition(
                                    name='held', expression='gap > 0.01', within=1.0)]))
    rig.until(lambda: rig.gripper.goals)
    rig.gap = 0.0
    result = rig.result(handle)
    rig.gripper.behaviour = 'succeed'
    assert result.error_code == ErrorCode.MAINTAIN_VIOLATED
    path = box_of(rig, result)
    assert path.name.endswith('-f-a-1-violated.mcap')
    positions = [message.position[0] for topic, *_, message in decoded(path)
                 if topic == '/joint_states']
    assert 0.02 in positions and positions[-1] == 0.0


def test_a_full_disk_is_reported_and_changes_no_verdict(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    import resource
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        result = refuted(rig)
        rig.until(lambda: rig.bridge._box._trouble, 5.0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    name = result.error_msg.rpartition(' ')[2]
    assert rig.bridge._box.health().message == (
        f'no black box: {rig.folder}/boxes/{name}: File too large')
    assert not [file for file in os.listdir(rig.folder / 'boxes') if name in file]
    box_of(rig, refuted(rig))
    rig.until(lambda: 'last' in rig.bridge._box.health().message)
