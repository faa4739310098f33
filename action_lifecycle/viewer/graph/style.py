# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The CSS of drawings of flows."""

from __future__ import annotations

from ..looks import style_sheet

STYLE = """
.stage{width:100%;height:100%;touch-action:none;user-select:none;cursor:grab}
.stage:active{cursor:grabbing} .stage>svg{width:100%;height:100%;display:block}
.flow{--card:#fff;--line:#c6ccd6;--text:#1b1f27;--muted:#5d6572;--frame:#f1f3f6;
font:500 12.5px system-ui,'Segoe UI',Roboto,sans-serif}
DARK .flow{--card:#242932;--line:#474f5c;--text:#eceff4;--muted:#a3abb8;--frame:#1d2128}
.flow text{fill:var(--text)} .flow .detail{fill:var(--muted);font-size:11px;font-weight:400}
.flow .card{fill:color-mix(in srgb,var(--look) 9%,var(--card));
stroke:color-mix(in srgb,var(--look) 45%,var(--line))}
.flow .frame>.card{fill:var(--frame);stroke:color-mix(in srgb,var(--look) 35%,var(--line))}
.flow .symbol{fill:var(--look);fill-rule:evenodd}
.flow .look-waiting>.card,.flow .look-skipped>.card,.flow .look-canceled>.card{fill:var(--card);
stroke-dasharray:4 3}
.flow .frame.box>.card{fill:var(--frame)}
.flow .look-skipped>.name,.flow .look-canceled>.name{fill:var(--muted);
text-decoration:line-through}
.flow .active>.card{stroke:var(--look);stroke-width:2}
.flow .look-failed>.card,.flow .look-error>.card{stroke:var(--look);stroke-width:2}
.flow .picked>.card{stroke:var(--text);stroke-width:2.5;stroke-dasharray:none}
.flow .box{cursor:pointer;outline:none} .flow .box:focus-visible>.card{stroke:var(--text);
stroke-width:3;stroke-dasharray:none}
.flow .box:hover>.card{filter:brightness(.97)}
.flow .edge{fill:none;stroke:var(--muted);stroke-opacity:.6;stroke-width:1.4}
.flow .edge.if{stroke-dasharray:5 4} .flow .edge.near{stroke:var(--text);stroke-opacity:1;
stroke-width:2} .flow .arrow{fill:var(--muted)}
.flow .edge-label{fill:var(--muted);font-size:10.5px;font-weight:400;text-anchor:middle;
paint-order:stroke;stroke:var(--card);stroke-width:4px;stroke-linejoin:round}
.flow .toggle rect{fill:transparent} .flow .toggle path{stroke:var(--muted);stroke-width:1.8;
fill:none} .flow .toggle:hover rect{fill:var(--line);fill-opacity:.6}
.flow.far text,.flow.far .toggle{display:none}
.flow.far .box:not(.frame)>.symbol{
transform:translate(82px,6px) scale(2.1);fill:var(--text)}
.flow.far .box:not(.frame)>.card{fill:color-mix(in srgb,var(--look) 55%,var(--card))}
.flow.far .look-waiting:not(.frame)>.card{fill:var(--card)}
"""


def graph_style(dark: str = '.body--dark') -> str:
    """Return the CSS of drawings; `dark`: see `looks.style_sheet`."""
    if dark:
        return style_sheet(dark) + STYLE.replace('DARK', dark)
    night = next(line for line in STYLE.splitlines() if line.startswith('DARK'))
    return style_sheet('') + STYLE.replace(night, '@media (prefers-color-scheme:dark){'
                                           + night.replace('DARK ', '') + '}')
