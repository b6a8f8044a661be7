"""Providers: one module per wire API, and a data file per vendor."""
