from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.redaction import BadPattern, Redactor

SECRETS = [
    ("export OPENAI_API_KEY=sk-proj-abcdefghijklmnopqrstuvwx", "sk-proj-abcdefghijklmnopqrstuvwx"),
    ("key sk-" + "ant-a1b2c3d4e5f6g7h8i9j0", "a1b2c3d4e5f6g7h8i9j0"),
    ("WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567", "0123456789abcdef0123456789abcdef01234567"),
    ("wandb login 0123456789abcdef0123456789abcdef01234567", "0123456789abcdef0123456789abcdef01234567"),
    ("HF_TOKEN: hf_abcdefghijklmnopqrstuvwxyzABCDEF", "hf_abcdefghijklmnopqrstuvwxyzABCDEF"),
    ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"),
    ("AKIAABCDEFGHIJKLMNOP", "AKIAABCDEFGHIJKLMNOP"),
    ("xoxb-1234567890-abcdefghij", "xoxb-1234567890-abcdefghij"),
    ("Authorization: Bearer abc.def.ghijklmnop123", "abc.def.ghijklmnop123"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijk", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijk"),
    ("postgres://user:p4ssw0rd@db.internal:5432/x", "p4ssw0rd"),
    ("postgres://user:p4ssw0rd@db.internal:5432/x", "db.internal"),
    ("'password': 'hunter22'", "hunter22"),
    ("token=abcdef123456", "abcdef123456"),
    ("mail bob.smith+x@corp.example.org now", "bob.smith+x@corp.example.org"),
    ("/home/alice/verl/trainer.py", "alice"),
    ("/Users/bob/x.py", "bob"),
    ("C:\\Users\\carl\\a.py", "carl"),
    ("/data/home/dave/x.parquet", "dave"),
    ("erin@gpu-node-12:~$ python", "erin"),
    ("https://wandb.ai/myteam/proj/runs/abc", "myteam"),
    ("ip=10.0.3.14:8265", "10.0.3.14"),
    ("addr fe80::1ff:fe23:4567:890a", "fe80::1ff:fe23:4567:890a"),
    ("ip-10-0-3-14", "ip-10-0-3-14"),
    ("node gpu-node-12.cluster.local is down", "gpu-node-12.cluster.local"),
    ("hostname: dgx-a100-07", "dgx-a100-07"),
    ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----", "abc"),
]


@pytest.mark.parametrize(("text", "secret"), SECRETS, ids=[text[:20] for text, _ in SECRETS])
def test_secrets_are_masked_and_come_back(text: str, secret: str) -> None:
    redactor = Redactor()
    masked = redactor.mask(text)
    assert secret not in masked
    assert re.search(r"\[[A-Z]+_\d+\]", masked)
    assert redactor.restore(masked) == text


@pytest.mark.parametrize(
    "text",
    [
        "step:140 - actor/entropy:0.031 - val-core/openai/gsm8k/acc/mean@1:0.5 - perf/throughput:1234.567",
        "max_token_len: 16384 eos_token_id: 151643 pad_token: '<pad>' num_tokens=3 tokenizer=auto",
        "torch 2.5.1.0 cuda 12.4.1.2, version 1.2.3.4, driver: 535.104.5.1",
        "127.0.0.1 and 0.0.0.0 and ::1",
        "2024-05-06 12:34:56 and 12:34:56:78",
        "torch.cuda.OutOfMemoryError in verl.workers.fsdp_workers",
        "https://github.com/volcengine/verl and https://huggingface.co/Qwen",
        "actor_rollout_ref.model.path=Qwen/Qwen2.5-7B trainer.n_gpus_per_node=8",
        "password: null api_key: ${oc.env:KEY} token: None",
        "/root/verl /home/ubuntu/x",
        "gpu-0 worker-1 rank-3",
    ],
)
def test_ordinary_log_text_is_left_alone(text: str) -> None:
    assert Redactor().mask(text) == text


def test_the_same_word_has_one_mark_everywhere() -> None:
    redactor = Redactor()
    assert redactor.mask("/home/alice/a and /home/alice/b, /home/bert/c") == "/home/[USER_1]/a and /home/[USER_1]/b, /home/[USER_2]/c"
    assert redactor.mask("/home/bert/d") == "/home/[USER_2]/d"
    assert redactor.restore("USER_1 told `[USER_2]`") == "alice told `bert`"
    assert redactor.restore("[USER_9] is unknown") == "[USER_9] is unknown"


def test_masking_twice_changes_nothing() -> None:
    redactor = Redactor()
    once = redactor.mask("token=abcdef123456 on gpu-node-12.cluster.local")
    assert redactor.mask(once) == once


def test_own_patterns() -> None:
    redactor = Redactor(["proj-[0-9]+", r"customer=(\w+)"])
    assert redactor.mask("proj-77 for customer=acme") == "[CUSTOM_1] for customer=[CUSTOM_2]"
    for bad in ("(", "x*"):
        with pytest.raises(BadPattern):
            Redactor([bad])


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="[]"), max_size=300))
def test_any_text_comes_back(text: str) -> None:
    redactor = Redactor()
    assert redactor.restore(redactor.mask(text)) == text or re.search(r"(SECRET|EMAIL|IP|HOST|USER|CUSTOM)_\d", text)
