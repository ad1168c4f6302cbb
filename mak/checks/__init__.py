"""Before, after → findings: one rule per file."""
