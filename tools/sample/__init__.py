# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Makes the sample data: runs of the simulated cell as a robot records them."""

from pathlib import Path
import sys

sys.path.append(str(Path(__file__).resolve().parents[2] / 'bench'))  # its cell on a stepped clock
