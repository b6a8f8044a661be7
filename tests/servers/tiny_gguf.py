"""A llama model of 2 MB whose weights are set by hand: a real file for a real engine, without a download.

It predicts the next token from the one before it (one-hot embeddings, a feed-forward layer of zeros). One attention
head, the same at every position, raises two flags: the prompt offers tools, and a tool has answered. So it streams the
answer, unless tools are offered and none has answered yet: then it calls a tool. The engine's own grammar keeps the
call valid for whatever JSON Schema was sent.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]

_CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_MARKS = ("<tool_call>", "</tool_call>", "<tools>", "<tool_response>")
_MERGED = "th"
# What an engine draws by chance at its usual temperature must be what is wanted most.
_CERTAINTY = 100
# The form of chat that Qwen's models have, which llama.cpp knows how to read tool calls from.
_TEMPLATE = """\
{%- set system = messages[0].content if messages[0].role == 'system' else '' %}
{%- if tools or system %}{{- '<|im_start|>system\\n' + system }}
{%- if tools %}{{- '\\n\\n# Tools\\n\\nYou may call one or more functions.\\n<tools>' }}
{%- for tool in tools %}{{- '\\n' }}{{- tool | tojson }}{%- endfor %}
{{- '\\n</tools>\\n\\nFor each function call, return a json object with function name and arguments within \
<tool_call></tool_call> XML tags:\\n<tool_call>\\n{"name": <function-name>, "arguments": <args-json-object>}\\n\
</tool_call>' }}{%- endif %}{{- '<|im_end|>\\n' }}{%- endif %}
{%- for message in messages %}
{%- if message.role == 'user' or (message.role == 'system' and not loop.first) %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- elif message.role == 'assistant' %}{{- '<|im_start|>assistant\\n' + (message.content or '') }}
{%- for call in message.tool_calls or [] %}
{{- '\\n<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}{{- call.function.arguments | tojson }}
{{- '}\\n</tool_call>' }}{%- endfor %}{{- '<|im_end|>\\n' }}
{%- elif message.role == 'tool' %}
{{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}
{%- endif %}{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"""


def write(file: Path, *, answer: Sequence[str], tool: str, value: str, context: int = 131_072) -> None:
    """Write the model to ``file``.

    It streams the pieces of ``answer``, which differ from each other, and calls ``tool`` with ``value`` for every
    argument that is a text. ``context`` is the size, in tokens, that it claims to be trained for.
    """
    vocabulary = _Vocabulary((*answer, value, tool))
    size = len(vocabulary.tokens)
    width = -(-(size + 2) // 32) * 32
    offered, answered = size, size + 1
    likes = _likes(vocabulary, answer, tool, value)
    call = vocabulary.id("<tool_call>")
    output = _zeros(size, width)
    output[:, :size] = likes
    output[call, offered], output[call, answered] = 2000, -1e6
    output *= _CERTAINTY
    embedding, values, raised = _zeros(size, width), _zeros(width, width), _zeros(width, width)
    embedding[np.arange(size), np.arange(size)] = 1
    values[0, vocabulary.id("<tools>")] = values[1, vocabulary.id("<tool_response>")] = 1
    raised[offered, 0] = raised[answered, 1] = 1000
    ones, nothing, hidden = np.ones(width, np.float32), _zeros(width, width), 32
    writer = gguf.GGUFWriter(file, "llama")
    _describe(writer, vocabulary, context=context, width=width, hidden=hidden)
    weights: dict[str, Matrix] = {
        "token_embd": embedding,
        "output_norm": ones,
        "output": output,
        "blk.0.attn_norm": ones,
        "blk.0.attn_q": nothing,
        "blk.0.attn_k": nothing,
        "blk.0.attn_v": values,
        "blk.0.attn_output": raised,
        "blk.0.ffn_norm": ones,
        "blk.0.ffn_gate": _zeros(hidden, width),
        "blk.0.ffn_up": _zeros(hidden, width),
        "blk.0.ffn_down": _zeros(width, hidden),
    }
    for name, weight in weights.items():
        writer.add_tensor(f"{name}.weight", weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


class _Vocabulary:
    """A token for every byte, the marks of a chat, and a token for each of ``words``, which may be several bytes."""

    def __init__(self, words: Iterable[str]) -> None:
        self._bytes = _printable_bytes()
        long = [spelt for spelt in dict.fromkeys(map(self._spell, words)) if len(spelt) > 1]
        self.tokens = [*self._bytes, *_CONTROL, *_MARKS, _MERGED, *long]
        kind = gguf.TokenType
        self.kinds = [
            *[kind.NORMAL] * len(self._bytes),
            *[kind.CONTROL] * len(_CONTROL),
            *[kind.USER_DEFINED] * len(_MARKS),
            *[kind.NORMAL] * (1 + len(long)),
        ]
        self._ids = {token: number for number, token in enumerate(self.tokens)}

    def id(self, text: str) -> int:
        return self._ids[text if text in _CONTROL + _MARKS else self._spell(text)]

    def ids(self, characters: str) -> list[int]:
        return [self.id(character) for character in characters]

    def _spell(self, text: str) -> str:
        return "".join(self._bytes[byte] for byte in text.encode())


def _printable_bytes() -> list[str]:
    """The character that stands for each byte in GPT-2's vocabulary: itself where it can be printed."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]


def _likes(vocabulary: _Vocabulary, answer: Sequence[str], tool: str, value: str) -> Matrix:
    """How much each token (row) is wanted after each other one (column)."""
    size = len(vocabulary.tokens)
    likes = _zeros(size, size)
    newline, quote, brace = vocabulary.id("\n"), vocabulary.id('"'), vocabulary.id("}")
    call, end_of_call, end = vocabulary.id("<tool_call>"), vocabulary.id("</tool_call>"), vocabulary.id("<|im_end|>")

    def prefer(previous: int, following: Sequence[int]) -> None:
        for rank, token in enumerate(following):
            likes[token, previous] += 100 - 5 * rank

    for byte in range(256):
        if byte != quote:
            prefer(byte, vocabulary.ids('"}],1t{['))  # inside JSON: close whatever the grammar allows to be closed
    prefer(quote, [vocabulary.id(value), vocabulary.id(tool), *vocabulary.ids(":},]")])
    for word in {value, tool}:
        prefer(vocabulary.id(word), [quote])
    likes[end_of_call, brace] += 200
    likes[newline, brace] += 190
    likes[end_of_call, newline] += 10
    likes[end, end_of_call] += 1e6
    likes[newline, call] += 200
    likes[call, :] = -1e7  # a call begins at the start of a line alone
    likes[call, newline] = 0
    steps = [newline, *map(vocabulary.id, answer), end]
    for previous, following in pairwise(steps):
        likes[following, previous] += 400
    return likes


def _describe(writer: Any, vocabulary: _Vocabulary, *, context: int, width: int, hidden: int) -> None:
    heads = 4
    writer.add_name("tiny")
    writer.add_context_length(context)
    writer.add_embedding_length(width)
    writer.add_block_count(1)
    writer.add_feed_forward_length(hidden)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(width // heads)
    writer.add_vocab_size(len(vocabulary.tokens))
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(vocabulary.tokens)
    writer.add_token_types(vocabulary.kinds)
    writer.add_token_merges([" ".join(_MERGED)])
    writer.add_bos_token_id(vocabulary.id("<|endoftext|>"))
    writer.add_eos_token_id(vocabulary.id("<|im_end|>"))
    writer.add_pad_token_id(vocabulary.id("<|endoftext|>"))
    writer.add_add_bos_token(False)
    writer.add_chat_template(_TEMPLATE)


def _zeros(*shape: int) -> Matrix:
    return np.zeros(shape, np.float32)
