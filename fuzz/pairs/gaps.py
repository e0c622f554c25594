# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Why a prover may call two programs different that compute the same."""


def explain(first, second, said):
    return None
