"""Tables, figures and verdicts from the results of sweeps."""
