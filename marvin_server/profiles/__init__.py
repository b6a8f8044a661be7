"""A profile: one person's preferences, places, tokens, subscriptions and history, as files that they can edit."""
