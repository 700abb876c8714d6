"""Which commands may start a server, and which ways to run something else are refused."""

import pytest

from toolrt.bindings.mcp.gate import refusal

GOOD = """
npx -y @modelcontextprotocol/server-everything
npx --yes --package=@x/y y /data
npm exec -y @x/y
npm run serve
npm exec -y @x/y -- --flag
npm exec -- @x/y --flag
pnpm dlx @x/y
yarn dlx @x/y
python server.py
python3.12 -u -m pkg.server --port 1
/usr/bin/python3 -I server.py
uv run --with mcp server.py
uv run python server.py
uv run -m pkg.server
uvx --from pkg mcp-server-git --repository x
uv tool run x
pipx run x
node --enable-source-maps dist/index.js -e x
bun run index.ts
bun index.ts
deno run --allow-net=api.example.com npm:@x/y
java -Xmx512m -jar server.jar
ruby -W0 server.rb
docker run -i --rm -v /data/files:/files mcp/files /files
docker run -i --rm --mount type=bind,src=/data,dst=/data mcp/files
./server --flag
uv run tsx server.ts
npx -y tsx@4 --tsconfig x.json server.ts
npx -y @x/y@1.2.3 -e x
uvx mcp-server-git@latest
python3.13t server.py
docker run --network mcp-net -v ./files:/files:ro x
docker run --mount type=bind,source=/data,dst=/data,readonly x
docker run --env-file .env x
java -cp server.jar org.example.Main
""".strip().splitlines()

BAD = """
npx -c x
npx --call x
npx --call=x
npx -y -c x
npx bash
npx -- sh -c x
npx --shell=bash x
env TOKEN=1 npx x
bash -c x
sh script.sh
/bin/sh x
./bash x
node -e x
node --eval=x
node -p x
node -pe x
node -r ./x y.js
node --import=data:text/javascript,x y.js
node --inspect y.js
node
node -
python -c x
python -Ic x
python -i server.py
python -
python
python -m pdb server.py
python -m timeit x
uv run -- bash
uv run bash -c x
uv run python -c x
uv run --unknown x bash
uv run -m pty
uv pip install x
uvx bash
uvx --from x sh
pipx run bash
pipx install x
npm exec -c x
npm install x
pnpm exec --shell-mode x
yarn exec x
bun -e x
deno eval x
deno run data:text/javascript,x
deno run http://example.com/x.ts
java -javaagent:x.jar -jar y.jar
java -XX:OnOutOfMemoryError=x -jar y.jar
java @options
ruby -e x
docker run --privileged x
docker run -v /:/host x
docker run --volume=/etc:/x x
docker run --mount type=bind,src=/,dst=/x x
docker run -v /var/run/docker.sock:/s x
docker run -v ../..:/x x
docker run --network host x
docker run --network=host x
docker run --pid=host x
docker run --cap-add SYS_ADMIN x
docker run --entrypoint sh x
docker run -v //:/x x
docker run -v /etc/shadow:/x x
docker run -v /proc/1:/x x
docker run --mount type=bind,"src=/",dst=/x x
docker run --mount TYPE=bind,SRC=/,dst=/x x
docker run --mount type=volume,dst=/x,volume-opt=device=/ x
docker exec x
npm exec @x/y -c x
npm run serve --script-shell=x
node --env-file=.env y.js
sudo npx x
xargs npx
curl x
timeout 5 npx x
docker run -v /:/mnt,src=/data x
docker run --volume=/:/mnt,src=/data x
docker run --mount type=bind,src=/data,source=/,dst=/x x
docker run --mount type=bind,source=/,src=/data,dst=/x x
docker run --network name=host x
docker run --network=name=host,ip=1.2.3.4 x
docker run --network container:other x
docker run -v /var/lib:/x x
docker run -v /var/spool/cron:/x x
docker run -v /home/me:/x x
docker run -v /data/.ssh:/x x
docker run -v /Users:/x x
docker run -v /run/user/1000/podman/podman.sock:/s x
docker run -v /data/podman.sock:/s x
docker run --env-file /srv/.aws/credentials x
docker run --env-file ../.env x
bun exec x
bun repl
bun install
uv run nodejs -e x
uv run python3.13t -c x
uv run python3.11-dbg -c x
uv run pypy3 -c x
uv run ipython -c x
uv run gawk x
uv run git -c core.pager=x log
uv run systemd-run bash
uv run /lib64/ld-linux-x86-64.so.2 /bin/sh
uv run bash.exe x
npx tsx -e x
npx -y tsx@4 --eval x
npx ts-node -e x
npx node@20 -e x
npx bash@1
npx npm@latest exec -c x
bunx bash@1
uvx python@3.12 -c x
npx cross-env A=1 bash
npx concurrently x
./node_modules/.bin/tsx -e x
python -m asyncio
python -m pip install x
python -m uv run bash
python -m IPython -c x
python -X presite=x y.py
python /dev/stdin
python //proc/self/fd/0
node /dev/fd/0
java -m jdk.jshell/jdk.internal.jshell.tool.JShellToolProvider -
java -cp x groovy.ui.GroovyMain -e x
""".strip().splitlines()


@pytest.mark.parametrize("command", GOOD)
def test_a_program_that_is_told_what_to_run_may_start_a_server(command):
    assert refusal(command.split()) is None


@pytest.mark.parametrize("command", BAD)
def test_a_way_to_run_something_else_is_refused_with_its_place(command):
    refused = refusal(command.split())

    assert refused is not None
    assert 0 <= refused.at < len(command.split())


def test_a_line_for_a_shell_is_refused_with_the_list_that_is_meant():
    refused = refusal(["npx -y @x/y /data"])

    assert refused is not None
    assert refused.hint == "write [npx, -y, @x/y, /data]"


@pytest.mark.parametrize("word", ["npx;id", "npx|sh", "$(id)", "`id`", "npx&&id"])
def test_signs_of_a_shell_are_no_program(word):
    assert refusal([word, "x"]) is not None
