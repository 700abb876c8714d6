"""Ways into a server that a reload would open wait for somebody to confirm (L6)."""

import pytest

from toolrt.testing import open_files

pytestmark = pytest.mark.anyio
T = {
    "tools.d/t.yaml": "tools: {t: {description: T., command: [printf, hello], effect: read}}",
    **dict.fromkeys(("keys.json", "others.json"), '{"keys": [{}]}'),
}
JWT = "{issuer: https://login, audience: us, jwks: keys.json}"


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("serve: {auth: {required: true}}", "", "would need no credential"),
        ("", f"serve: {{auth: {{jwt: {JWT}}}}}", "tokens of `https://login` for `us`"),
        (f"serve: {{auth: {{jwt: {JWT}}}}}",
         f"serve: {{auth: {{jwt: {JWT.replace('keys', 'others')}}}}}", "signed by `others.json`"),
        ("", "serve: {origins: ['https://app.example']}", "pages of `https://app.example`"),
    ],
)  # fmt: skip
async def test_l6_a_way_in_that_is_new_has_to_be_meant(before: str, after: str, why: str) -> None:
    async with open_files({**T, "toolrt.yaml": before}) as runtime:
        path = runtime.project / "toolrt.yaml"
        path.write_text(after)
        refused = await runtime.reload()
        kept = runtime.written
        meant = await runtime.reload(accept_loss=True)
        path.write_text(before)
        back = runtime.written

    assert not refused.is_accepted
    assert why in refused.losses[0]
    assert meant.is_accepted
    assert kept != back


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "serve: {auth: {required: true}}"),
        (f"serve: {{auth: {{jwt: {JWT}}}}}", ""),
        ("serve: {port: 1}", "serve: {port: 2, hosts: [a.internal]}"),
    ],
)
async def test_what_closes_a_way_in_needs_nobody(before: str, after: str) -> None:
    async with open_files({**T, "toolrt.yaml": before}) as runtime:
        (runtime.project / "toolrt.yaml").write_text(after)
        outcome = await runtime.reload()

    assert outcome.is_accepted
