"""The GitHub Action: a job's environment in, MAK, outputs out. It decides nothing."""
