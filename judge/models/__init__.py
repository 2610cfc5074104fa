"""Talking to chat models: one door for every call, which stores, replays, counts, limits and retries."""
