# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verb `new`: looks at the running graph and writes a facts file and a first flow."""

from __future__ import annotations

import argparse
from pathlib import Path
import shlex

from ..client import connect
from ..drafts.fact_drafts import draft_facts, FactsDraft, is_read
from ..drafts.flow_drafts import CHANGE, choose_server, draft_flow, FlowDraft
from ..drafts.seen_graph import look_at, SeenGraph
from ..exits import NotThere
from ...documents.errors import LifecycleError


def new(options: argparse.Namespace) -> None:
    """Write the files in a folder; files that are there are never overwritten."""
    folder = Path(options.folder)
    with connect(options.namespace, options.listen) as client:
        clock = client.node.get_clock()
        print(f'listening for {options.listen:g} s …', flush=True)
        seen = look_at(client.node, is_read, client.spin, options.listen,
                       lambda: clock.now().nanoseconds * 1e-9)
        if not seen.topics and not seen.servers:
            raise NotThere(
                f'no topic and no action server on the ROS domain '
                f'{client.node.context.get_domain_id()}: is the robot on, and ROS_DOMAIN_ID its '
                'domain?')
        inside = seen.namespace.rstrip('/') + '/'
        if not any(name.startswith(inside) for name in (*seen.topics, *seen.servers)):
            names = sorted({name.rpartition('/')[0] or '/' for name in seen.topics})
            raise NotThere(f"nothing is in the namespace '{seen.namespace}' (seen: "
                           f"{', '.join(names[:20])})")
        facts = draft_facts(seen, clock.now().nanoseconds * 1e-9)
        server = choose_server(seen, options.server)
        flow = draft_flow(seen, facts, server) if server else None
    files = {'facts.yaml': facts.text}
    if flow is not None:
        files[f'{flow.name}.yaml'] = flow.text
        if flow.cases:
            files[f'{flow.name}.cases.yaml'] = flow.cases
    _write(folder, files)
    _tell(folder, list(files), seen, facts, flow)


def _write(folder: Path, files: dict[str, str]) -> None:
    """Write new files, or none of them."""
    there = [name for name in files if (folder / name).exists()]
    if there:
        raise LifecycleError(f"'{folder / there[0]}' exists and is not overwritten; give another "
                             'folder')
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            with (folder / name).open('x', encoding='utf-8') as file:
                file.write(text)
    except OSError as error:
        raise LifecycleError(f"'{folder}' can not be written: {error.strerror}") from error


def _tell(
    folder: Path, files: list[str], seen: SeenGraph, facts: FactsDraft, flow: FlowDraft | None,
) -> None:
    """Print what was found and what to do next."""
    valid = facts.valid()
    estop = f"e-stop: {facts.estop['topic']}" if facts.estop else 'no e-stop topic found'
    print(f'{len(seen.topics)} topics, {len(seen.servers)} action servers; '
          f'{len(valid)} of {len(facts.facts)} facts were read; {estop}')
    for fact in valid.values():
        read = ' '.join(fact.read.split())
        print(f"  {fact.name:<24} {read} {fact.fields.get('unit', '')}".rstrip())
    here = shlex.quote(str(folder))
    for name in files:
        print(f'written: {folder / name}')
    if flow is None:
        print('no action server was seen, so there is no flow yet')
    else:
        others = sorted(seen.name_in_files(name) for name in seen.servers
                        if seen.name_in_files(name) != flow.server)
        if others:
            print(f"the flow is for {flow.server}; --server takes another: {', '.join(others)}")
    print('next:')
    if flow is not None and CHANGE in flow.text:
        print(f'  edit {folder / flow.name}.yaml: the goal, and what shows that it has succeeded')
    if flow is not None:
        print(f'  action_lifecycle validate {here}/{flow.name}.yaml --facts {here}/facts.yaml')
        if flow.cases:
            print(f'  action_lifecycle test {here}')
    clock = ' use_sim_time:=true' if seen.simulated else ''
    print(f'  ros2 launch action_lifecycle bringup.launch.py facts_file:=$(realpath {here}'
          f'/facts.yaml){clock}')
    if flow is not None:
        print(f'  action_lifecycle run {here}/{flow.name}.yaml')
