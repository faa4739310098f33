# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The action_lifecycle node: runs flows and their actions, and writes the journal."""

from __future__ import annotations

from functools import partial
from typing import Any

from action_lifecycle_msgs import msg

from .bridge_client import BridgeClient
from .earlier_journal import lock_of, open_journal
from .flows.control_server import ControlServer
from .flows.edit_server import EditServer
from .flows.flow_check import FlowCheck
from .flows.flow_server import FlowServer
from .flows.flow_sources import FlowSources
from .flows.job_services import JobServices
from .flows.large_flows import LargeFlows
from .flows.plan_client import PlanClient, planner_fault
from .flows.send_event import EventServer
from .health import actions_health, journal_health
from .ledger_link import declare_ledger, durability, LedgerLink
from .safety_relay import SafetyRelay
from .verifiers.verifiers import NodeVerifier
from .work.goals import GoalWorker
from .work.graph_worker import GraphWorker
from .work.host import NodeHost
from .work.job_worker import JobWorker
from .work.task_modules import ANY
from .work.tool_worker import ToolWorker
from ..shared.background_worker import Apart
from ..shared.latched_publisher import Latched
from ..shared.operators import KnownFacts, Operators
from ..shared.paths import new_journal_path, recipe_folder
from ..shared.queries import Queries
from ..shared.ros_log import log_to
from ..shared.row_queries import RowQueries
from ..shared.task_engine import declare_engine
from ...dialogue.flow_dialogue import FlowDialogues
from ...documents.errors import LifecycleError
from ...flow.orchestrator import Orchestrator
from ...flow.recipes.recipe import Recipe
from ...flow.recipes.recipe_making import RecipeMaker
from ...flow.run.flow_run import FlowRun
from ...flow.run.recorder import JournalRecorder
from ...flow.scheduling.scheduler import EVERYTHING
from ...graphs.packaged import config_file, packaged_graph
from ...graphs.state_types import REGISTRY
from ...journal.flow_rows import event_data, event_text, flow_event
from ...journal.journal import Journal
from ...journal.row import Row
from ...lifecycle.action import Action
from ...lifecycle.states import ActionState
from ...lifecycle.text_format import printable
from ...ros.conversions.basic import to_time
from ...ros.conversions.status import change_to, flow_change_to, flow_to, status_to
from ...ros.interfaces.names import name_fault
from ...ros.interfaces.qos import event_qos
from ...ros.node.lifecycle_node import ManagedNode
from ...ros.node.process import run

ENDED_FLOWS = 20
"""Number of ended flows that are still published."""
LONGEST_CAUSE = 500
"""Maximum number of characters of the cause of a flow's change in the log."""


class ActionLifecycleNode(ManagedNode):
    """
    Managed node `action_lifecycle`.

    | interface | name | type |
    |---|---|---|
    | action | `~/execute_flow` | action_lifecycle_msgs/action/ExecuteFlow |
    | service | `~/edit_flow` | action_lifecycle_msgs/srv/EditFlow |
    | service | `~/control_flow` | action_lifecycle_msgs/srv/ControlFlow |
    | service | `~/send_event` | action_lifecycle_msgs/srv/SendEvent |
    | service | `~/get_action` | action_lifecycle_msgs/srv/GetAction |
    | service | `~/list_actions` | action_lifecycle_msgs/srv/ListActions |
    | service | `~/get_history` | action_lifecycle_msgs/srv/GetHistory |
    | service | `~/get_dialogue` | action_lifecycle_msgs/srv/GetDialogue |
    | service | `~/get_rows` | action_lifecycle_msgs/srv/GetRows |
    | service | `~/respond` | action_lifecycle_msgs/srv/Respond |
    | service | `~/clear_stop` | action_lifecycle_msgs/srv/ClearStop |
    | service | `~/list_jobs` | action_lifecycle_msgs/srv/ListJobs |
    | service | `~/cancel_job` | action_lifecycle_msgs/srv/CancelJob |
    | topic (events) | `~/state_changes` | action_lifecycle_msgs/msg/ActionStateChange |
    | topic (events) | `~/flow_changes` | action_lifecycle_msgs/msg/FlowChange |
    | topic (latched) | `~/actions` | action_lifecycle_msgs/msg/ActionStatusArray |
    | topic (latched) | `~/flow` | action_lifecycle_msgs/msg/FlowStatusArray |
    | topic (latched) | `~/operator_requests` | action_lifecycle_msgs/msg/OperatorRequestArray |
    | topic (latched) | `~/safety` | action_lifecycle_msgs/msg/SafetyState |
    | calls | `<bridge>/execute_motion`, `<bridge>/confirm_outcome` | actions of the bridge |
    | calls | `<bridge>/check`, `<bridge>/evaluate`, `<bridge>/clear_stop` | of the bridge |
    | calls | `<agent>/run_graph` | action_lifecycle_msgs/action/RunGraph |
    | calls | the service that `planner` names | action_lifecycle_msgs/srv/Plan |
    | subscribes to | `<ledger>/sync` | action_lifecycle_msgs/msg/LedgerSync |
    | calls | the services that `verify` and `call` name | of any type |
    | publishes | on the topics that `publish` names | of any type |
    | reads | `<bridge>/facts` | action_lifecycle_msgs/msg/WorldState |

    Parameters: `journal_path` (string): file of the journal; `new_journal` (bool): an empty
    journal, or one that lacks rows, may take the place of an earlier one; `trace_file`,
    `black_box.folder` (string): as for the bridge, they show whether there was one;
    `flow_folders` (string list):
    folders of the flows that goals give by name; `bridge` (string): name of the bridge node;
    `bridge_timeout` (double, s): maximum wait for a bridge that is
    away, inactive, or does not know its safety topics yet; `ledger` (string):
    name of the ledger node; `durability.KIND` (process, power); `compact_keep` (int, rows) and
    `compact_unsynced` (bool): what compaction keeps of the journal; `second_goal` (refuse,
    attach): treatment of a goal with the id of a running flow; `recipe_folder` (string);
    `planner` (string): name of the service that makes flows from requests in natural language and
    edits them, or `python:NAME`, a registered planner in Python; `planner_timeout` (double, s):
    maximum time for its response, and for a question about a running flow with all its tries;
    `engine` (local, celery), `workers` (int), `broker` (string), `task_time_limit`, `queue_limit`
    (double, s): for tasks of jobs; `job_modules` (string list): modules whose functions jobs may
    call; `tools_file` (string): tools that actions may call;
    `authorization_timeout` (double, s): time for a person to authorise a tool; `agent` (string):
    name of the agent node, which runs graphs of actions; `graph_folders` (string list),
    `states_folder` (string): folders of these graphs and of their state types.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('action_lifecycle', **kwargs)
        self.declare('journal_path', '', 'File of the journal; empty: in the ROS home.')
        self.declare('new_journal', False, 'Whether an empty journal, or one that lacks rows, may '
                     'take the place of an earlier one; nothing starts then until clear_stop.')
        self.declare('trace_file', '', "The bridge's file of the evidence traces, which shows "
                     'that there was a journal; empty: beside the journal.')
        self.declare('black_box.folder', '', "The bridge's folder of the black boxes, which shows "
                     'that there was a journal; empty: beside the journal.')
        self.declare('flow_folders', [str(config_file('flows'))],
                     'Folders of the flows that are given by name.')
        self.declare('bridge', 'world_model_bridge', 'Name of the world model bridge node.',
                     check=name_fault)
        self.declare('bridge_timeout', 10.0, 'Maximum wait for a bridge that is not ready (s).',
                     limits=(0.1, 600.0))
        self.declare('second_goal', 'refuse', 'Treatment of a goal with the id of a running flow.',
                     choices=('refuse', 'attach'))
        self.declare('recipe_folder', '', 'Folder of the recipes; empty: beside the journal.')
        self.declare('planner', '', 'Service (Plan) that makes flows from requests and edits '
                     'them, or python:NAME; empty: none.', check=planner_fault)
        self.declare('planner_timeout', 60.0, 'Maximum time (s) for an answer of the planner, and '
                     'for a question about a running flow with all its tries.',
                     limits=(0.1, 3600.0))
        declare_ledger(self)
        declare_engine(self)
        self.declare('job_modules', [ANY], 'Modules and packages whose functions jobs may call; '
                     '*: all but those of Python itself and of this package.')
        self.declare('agent', 'agent', 'Name of the agent node, which runs the graphs of actions.',
                     check=name_fault)
        self.declare('graph_folders', [str(config_file('graphs'))],
                     'Folders of the graphs that actions give by name.')
        self.declare('states_folder', '', 'Folder with state types of these graphs, '
                     'state_NAME.py; empty: none.')
        self.declare('tools_file', '', 'Tools that actions may call; empty: none.')
        self.declare('authorization_timeout', 300.0,
                     'Time (s) for a person to authorise a tool.', limits=(1.0, 86400.0))
        self.journal: Journal | None = None
        self.orchestrator: Orchestrator | None = None
        self._large_flows = LargeFlows()

    def configure(self) -> None:
        """Open the journal and create the interfaces."""
        path = new_journal_path(self)
        self.journal = open_journal(
            path, durability(self), bool(self.parameter('new_journal')),
            str(self.parameter('trace_file')), str(self.parameter('black_box.folder')))
        self.defer(self._close_journal)
        self.claim_name()
        self.get_logger().info(f'journal: {path}')
        log_to(self)
        self.recorder = JournalRecorder(self.journal, self, self.call_soon, self._action_changed,
                                        self._flow_recorded)
        bridge, wait = self.parameter('bridge'), self.parameter('bridge_timeout')
        self.world = BridgeClient(self, bridge, wait)
        self.defer(self.world.destroy)
        self.ledger = LedgerLink(
            self, self.journal, self.world, self._lease_of, self._had_an_earlier_journal)
        self.defer(self.ledger.close)
        self.facts = KnownFacts(self, bridge)
        self.operators = Operators(self, self.journal, self.facts)
        self.desk = self.operators.desk
        self.apart = Apart(self)
        self.defer(self.apart.close)
        self.recipes = recipe_folder(self, path)
        self.verifier = NodeVerifier(self, self.desk, self.facts)
        modules = list(self.parameter('job_modules'))
        jobs = JobWorker(self, path, modules)
        self.defer(jobs.close)
        tools = ToolWorker(self, self.desk, str(self.parameter('tools_file')),
                           float(self.parameter('authorization_timeout')))
        self.defer(tools.close)
        if folder := str(self.parameter('states_folder')):
            REGISTRY.load_folder(folder)
        graphs = GraphWorker(self, self.apart, self.parameter('agent'),
                             self.parameter('graph_folders'), wait, modules)
        self.defer(graphs.close)
        self.goals = GoalWorker(self, self.world)
        self.host = NodeHost(self, {
            'call': self.goals, 'graph': graphs, 'job': jobs, 'publish': self.goals,
            'tool': tools})
        check = FlowCheck(self, bridge, wait, self.verifier, self.host,
                          [bridge, self.parameter('ledger')])
        check.recipes = self._recipe
        self.planners = PlanClient(self, self.apart, self.facts)
        self.flows = FlowServer(
            self, FlowSources(
                check, self.world, self.apart, self.parameter('flow_folders'), self.recipes),
            self.planners, lambda: self._flows.publish_soon(),
            attach=self.parameter('second_goal') == 'attach')
        self.edits = EditServer(self, check, self._running)
        JobServices(self, self.flows)
        Queries(self, self.journal)
        RowQueries(self, self.journal.path)
        EventServer(self, self._running)
        ControlServer(self, self._running)
        self._safety = SafetyRelay(
            self, self.world, self.recorder, self._running,
            lambda: list(self.orchestrator.resources.locked) if self.orchestrator else [])
        self._changes = self.add_publisher(
            msg.ActionStateChange, '~/state_changes', event_qos())
        self._change = msg.ActionStateChange()  #: filled anew for each change
        self._flow_changes = self.add_publisher(msg.FlowChange, '~/flow_changes', event_qos())
        self._actions = Latched(self, msg.ActionStatusArray, '~/actions', self._actions_message)
        self._flows = Latched(self, msg.FlowStatusArray, '~/flow', self._flows_message)
        journal = self.journal
        self.add_diagnostics('journal', lambda: journal_health(journal))
        self.add_diagnostics('actions', lambda: actions_health(
            self.orchestrator, len(self.desk.open)))
        self._last_seq: dict[tuple[str, str], int] = {}
        self._ended_flows: dict[str, msg.FlowStatus] = {}  #: of flows that have not changed since
        self._halts = 0

    def activate(self) -> None:
        """Restore the open flows from the journal and resume them."""
        if self.busy():
            raise LifecycleError('motions from before deactivation are still being stopped')
        self.orchestrator = Orchestrator(
            packaged_graph('action'), self.recorder, self.ledger.world, self, self.desk,
            self.verifier, self._flow_changed, self.host)
        self.orchestrator.recipes = self._recipe
        self.orchestrator.folders = self.parameter('flow_folders')
        self.recipe_maker = RecipeMaker(self.orchestrator, self.recipes, self.apart)
        self.orchestrator.extensions.append(self.recipe_maker)
        self.orchestrator.extensions.append(
            FlowDialogues(self.recorder.journal, self, self.desk))
        self.orchestrator.editor.check = partial(self.spawn, self.edits.check)
        self.orchestrator.steering.planner = self.planners
        self.orchestrator.steering.limit = self.planners.timeout
        self.flows.activate(self.orchestrator, self.apart)
        self._safety.activate()
        for topic in (self._actions, self._flows, self._safety.topic, self.operators.topic):
            topic.publish()

    def halt(self) -> None:
        """Stop all motions; every action keeps its state."""
        orchestrator, self.orchestrator = self.orchestrator, None
        if orchestrator is not None:
            self._halts += 1
            self.recipe_maker.halt()
            orchestrator.halt(self._stopped)
            self.flows.interrupt()
            self.goals.halt()

    def _stopped(self) -> None:
        self._halts -= 1

    def busy(self) -> bool:
        """Whether a motion is still being stopped."""
        return self.journal is not None and (self._halts > 0 or self.goals.busy())

    def _close_journal(self) -> None:
        if self.journal is not None:
            self.journal.close()
            self.journal = None

    def _had_an_earlier_journal(self, sign: str) -> None:
        """Lock everything: what the journal before this new one had locked is not known."""
        assert self.journal is not None
        lock = lock_of(sign)
        self.get_logger().error(
            f'{self.journal.path}: {lock.cause}; nothing starts until clear_stop')
        if self.orchestrator is not None:
            self.orchestrator.resources.lock_all({EVERYTHING: lock.cause})
            self._safety.publish_locks()
        self.journal.append(lock)

    def _recipe(self, name: str, action_id: str) -> dict[str, Any]:
        return Recipe.load(self.recipes, name).fragment(action_id)

    def _lease_of(self, flow_id: str) -> str:
        return str(self._running().runs[flow_id].root.origin.get('lease', ''))

    # Callbacks of the orchestrator

    def _action_changed(self, action: Action, row: Row) -> None:
        key = action.flow_id, action.action_id
        self._changes.publish(change_to(row, self._last_seq.get(key, 0), self._change))
        self._last_seq[key] = row.seq
        if action.state is ActionState.TERMINATED:
            del self._last_seq[key]
        self.get_logger().info(
            f'{row.flow_id}/{row.action_id} #{row.attempt}: {row.from_state} → {row.to_state}'
            + (f' ({row.cause})' if row.cause else ''))
        if self.orchestrator is not None:
            changed = self.orchestrator.runs.get(action.flow_id)
            if changed is not None:
                self._flow_changed(changed)

    def _flow_recorded(self, row: Row) -> None:
        change = flow_event(row)
        self._flow_changes.publish(flow_change_to(change))
        line = f'{change.flow_id}: {event_text(event_data(change))}'
        if change.cause:
            line += f" ({printable(' '.join(change.cause.split()), LONGEST_CAUSE)})"
        if change.to_state == msg.FlowStatus.FAIL:
            self.get_logger().error(line)
        else:
            self.get_logger().info(line)

    def _flow_changed(self, changed: FlowRun) -> None:
        self._large_flows.changed(changed)
        self._ended_flows.pop(changed.flow_id, None)
        self.flows.changed(changed)
        self._flows.publish_soon()
        self._actions.publish_soon()
        self._safety.publish_locks()
        if changed.ended and self.orchestrator is not None:
            ended = [flow_id for flow_id, other in self.orchestrator.runs.items()
                     if other.ended and other.parent is None]
            for flow_id in ended[:-ENDED_FLOWS]:
                self.orchestrator.forget(flow_id)

    # Latched topics

    def _actions_message(self) -> msg.ActionStatusArray:
        now = self.now()
        orchestrator = self.orchestrator
        return msg.ActionStatusArray(stamp=to_time(now), actions=[
            status_to(action, orchestrator.resources.held_by(
                action.flow_id, action.action_id), now, orchestrator.blocked_for(action))
            for run in orchestrator.runs.values() for action in run.shown()
            if action.state is not ActionState.TERMINATED] if orchestrator else [])

    def _flows_message(self) -> msg.FlowStatusArray:
        now = self.now()
        orchestrator = self.orchestrator
        if orchestrator is None:
            return msg.FlowStatusArray(stamp=to_time(now))
        runs = orchestrator.runs
        known = self._ended_flows
        flows = {flow_id: known.get(flow_id) or flow_to(run, now, orchestrator.blocked_for)
                 for flow_id, run in runs.items()}
        self._ended_flows = {
            flow_id: flow for flow_id, flow in flows.items() if runs[flow_id].ended}
        return msg.FlowStatusArray(stamp=to_time(now), flows=[  # the newest last
            *self.flows.requests.ended(runs), *flows.values(), *self.flows.requests.open(runs)])

    def _running(self) -> Orchestrator:
        if self.orchestrator is None:
            raise LifecycleError('the node is not active')
        return self.orchestrator


def main(args: list[str] | None = None) -> int:
    """Run the node."""
    return run(ActionLifecycleNode, args=args)
