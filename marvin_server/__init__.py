"""The core of Marvin: an assistant that answers a prompt with a language model and tools."""

__version__ = "0.1.0"
