"""Every key of the manifest language: a right value and what it changes, a wrong one and its place.

`tests/manifest/key_case.py` says how to read a case.
"""

from manifest import (
    cases_agent,
    cases_decide,
    cases_kinds,
    cases_limits,
    cases_offers,
    cases_project,
    cases_recovery,
    cases_serve,
    cases_shadows,
    cases_sources,
    cases_steps,
    cases_tool,
)
from manifest.key_case import Later, Works, Wrong

CASES: list[Works | Wrong | Later] = [
    *cases_tool.CASES,
    *cases_limits.LIMITS,
    *cases_recovery.RECOVERY,
    *cases_kinds.CASES,
    *cases_project.CASES,
    *cases_decide.CASES,
    *cases_offers.CASES,
    *cases_serve.CASES,
    *cases_shadows.SHADOWS,
    *cases_steps.CASES,
    *cases_agent.CASES,
    *cases_sources.CASES,
]
WORKS = [case for case in CASES if isinstance(case, Works)]
WRONG = [case for case in CASES if isinstance(case, Wrong)]
LATER = [case for case in CASES if isinstance(case, Later)]
