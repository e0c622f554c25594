# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`python -m commute`: the command line tool."""

from commute.tool import main

main()
