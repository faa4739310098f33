# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verb `jobs`: the scheduled jobs of a robot."""

from __future__ import annotations

import argparse

from action_lifecycle_msgs.srv import ListJobs

from ..client import connect, NODE
from ..exits import DONE
from ..node_data import job_data
from ..table import at_clock, print_json, print_rows


def list_jobs(options: argparse.Namespace) -> int:
    """Print the scheduled jobs."""
    with connect(options.namespace, options.wait) as client:
        answer = client.call(ListJobs, f'{NODE}/list_jobs', ListJobs.Request())
    jobs = [job_data(job) for job in answer.jobs]
    if options.json:
        print_json(jobs)
        return DONE
    print_rows(('job', 'of', 'schedule', 'clock', 'next', 'runs', 'missed', 'last flow',
                'last result'),
               ((job['id'], '/'.join(filter(None, (job['flow_id'], job['action_id'])))
                 or job['flow'], job['schedule'], job['clock'],
                 at_clock(job['next'], job['clock']), job['runs'], job['missed_runs'],
                 job['last_flow_id'], job['last_result']) for job in jobs))
    return DONE
