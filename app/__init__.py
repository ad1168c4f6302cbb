"""The GitHub App as a service: webhooks are verified, kept in a durable queue and worked off."""
