"""The real-model suite: generated projects, arms that carry the same tasks out, an oracle."""
