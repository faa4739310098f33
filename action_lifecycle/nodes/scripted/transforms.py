# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Publishes transforms in which the facts from tf have their scripted values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from geometry_msgs.msg import TransformStamped
import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile
from tf2_msgs.msg import TFMessage

from ...documents.errors import LifecycleError
from ...world.facts.facts import FactSet, TfFact
from ...world.facts.frames import Frames, rotate

PERIOD = 0.05  #: s
_NEUTRAL = np.array((0.0, 0.0, 0.0, 1.0))


class Transforms:
    """
    The poses between the frames of the facts, on topic `tf` of the robot.

    A frame has one parent in tf. If the source of a fact has one already, the transform is
    published the other way around; a pose that follows from others must be what they give.
    """

    def __init__(self, node: Node, facts: FactSet) -> None:
        self._facts = [fact for fact in facts.values() if isinstance(fact, TfFact)]
        self._node = node
        self._publisher = node.create_publisher(TFMessage, 'tf', QoSProfile(depth=100)) \
            if self._facts else None
        self._next = 0.0
        self._told = ''
        ages = [fact.spec.max_age for fact in self._facts]
        self._period = min([PERIOD, *(age / 4 for age in ages)])

    def publish(self, now: float, values: Mapping[str, Any], stamp: Any) -> None:
        """Publish if it is time."""
        if self._publisher is None or now < self._next:
            return
        self._next = now + self._period
        try:
            message = self.message(values, stamp)
        except LifecycleError as error:
            if str(error) != self._told:
                self._told = str(error)
                self._node.get_logger().error(f'tf is silent: {error}')
            return
        if message.transforms:
            self._publisher.publish(message)

    def message(self, values: Mapping[str, Any], stamp: Any) -> TFMessage:
        """Return the transforms; raises LifecycleError if the poses contradict each other."""
        poses: dict[tuple[str, str], list[Any]] = {}
        for fact in self._facts:
            value = values.get(fact.name)
            if value is None:
                continue
            parts = poses.setdefault(_frames(fact), [None, None])
            length = {'translation': 3, 'rotation': 4, 'pose': 7}[fact.tf.part]
            if len(value) != length:
                raise LifecycleError(f"fact '{fact.name}': a {fact.tf.part} has {length} numbers, "
                                     f'got {len(value)}')
            if fact.tf.part != 'rotation':
                parts[0] = value[:3]
            if fact.tf.part != 'translation':
                parts[1] = value[-4:]
        message, frames = TFMessage(), Frames()
        for (target, source), (move, turn) in poses.items():
            if frames.pose(target, source) is None:
                entry = _transform(
                    target, source, np.zeros(3) if move is None else np.asarray(move, float),
                    _NEUTRAL if turn is None else np.asarray(turn, float),
                    {one.child_frame_id for one in message.transforms})
                entry.header.stamp = stamp
                message.transforms.append(entry)
                frames.ingest(TFMessage(transforms=[entry]), 1.0, static=True)
        self._check(frames, values)
        return message

    def _check(self, frames: Frames, values: Mapping[str, Any]) -> None:
        for fact in self._facts:
            wanted = values.get(fact.name)
            pose = frames.pose(*_frames(fact))
            if wanted is None or pose is None:
                continue
            wanted = np.array(wanted, float)
            if fact.tf.part != 'translation':
                wanted[-4:] /= np.linalg.norm(wanted[-4:]) or 1.0
            found = {'translation': pose[0], 'rotation': pose[1],
                     'pose': np.concatenate(pose[:2])}[fact.tf.part]
            opposite = wanted.copy()  # the same rotation
            if fact.tf.part != 'translation':
                opposite[-4:] *= -1.0
            if not any(np.allclose(found, one, atol=1e-6) for one in (wanted, opposite)):
                raise LifecycleError(
                    f"fact '{fact.name}': the pose of {fact.tf.source} in {fact.tf.target} is to "
                    f'be {wanted.tolist()}, and other facts make it {found.round(6).tolist()}')


def _frames(fact: TfFact) -> tuple[str, str]:
    return fact.tf.target.lstrip('/'), fact.tf.source.lstrip('/')


def _transform(
    target: str, source: str, move: Any, turn: Any, children: set[str]
) -> TransformStamped:
    """Return the pose of `source` in `target`, or its inverse if `source` has a parent."""
    parent, child = target, source
    length = float(np.linalg.norm(turn))
    if length < 1e-6:
        raise LifecycleError(f'the rotation of {source} in {target} has no length')
    turn = turn / length
    if source in children:
        if target in children:
            raise LifecycleError(f'frames {target} and {source} have parents already: the pose '
                                 'between them can not be published, too')
        parent, child = source, target
        turn = turn * (-1.0, -1.0, -1.0, 1.0)
        move = -rotate(turn, move)
    entry = TransformStamped(child_frame_id=child)
    entry.header.frame_id = parent
    place, rotation = entry.transform.translation, entry.transform.rotation
    place.x, place.y, place.z = map(float, move)
    rotation.x, rotation.y, rotation.z, rotation.w = map(float, turn)
    return entry
