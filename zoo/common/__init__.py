# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What the programs of the zoo share: collectives, relations, capture, and the judge."""
