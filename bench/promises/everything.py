"""Reading this file registers all experiments."""

from promises import p_alike, p_built, p_faults, p_identity, p_lines, p_nodes, p_orphans, p_signals, p_soak, p_status, p_surroundings, p_trust  # noqa: F401
