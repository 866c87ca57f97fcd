"""The words of the domain, with no I/O: hostlists, quantities, GRES, states, time. Floor 0."""
