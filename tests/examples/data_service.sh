#!/bin/bash
# data_service.sh PROGRAM: workers serve, a trainer trains from them; one, two, and one of two that is killed: one loss.
set -u
program=$1
work=$(mktemp -d)
workers=()
trap 'kill -KILL "${workers[@]}" 2> /dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
wrong() { echo "$*"; failed=1; }

"$program" > out && wrong "without arguments: no error"
grep -q '^usage: data_service serve PORT' out || wrong "without arguments: $(cat out)"
"$program" train 10.0.0.7 > out 2> err; [ $? -eq 1 ] && grep -q 'host:port' err || wrong "an address without a port: $(cat err)"
for port in 65536 70000 -1 7000x ''; do   # modulo 65536 is another port
  timeout 10 "$program" serve "$port" > out 2> err
  [ $? -eq 1 ] && grep -q 'to 65535, found "'"$port"'"' err || wrong "port $port: $(cat out err)"
done
"$program" train 127.0.0.1:65536 > out 2> err
[ $? -eq 1 ] && grep -q 'a port from 1 to 65535' err || wrong "an address with port 65536: $(cat err)"

REGIMEN_SECRET=$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')
export REGIMEN_SECRET
addresses=()
serve() {  # NAME: a worker at a free port, which it says
  "$program" serve 0 > "$1" 2> "$1.err" &
  workers+=($!)
  disown $!
  until grep -qs "^serving at port [0-9]*$" "$1"; do
    kill -0 "${workers[-1]}" 2> /dev/null || { wrong "a worker ends: $(cat "$1.err")"; exit 1; }
    sleep 0.05
  done
  addresses+=("127.0.0.1:$(sed 's/.* //' "$1")")
}
serve first
serve second

"$program" train "${addresses[0]}" > one 2> err || wrong "with one worker: $(cat err)"
grep -q "^${addresses[0]}: 240000 samples$" one || wrong "one worker has not sent all: $(cat one)"
loss=$(grep '^loss [0-9.e-]*$' one) || wrong "no loss: $(cat one)"

"$program" train "${addresses[@]}" > two 2> err || wrong "with two workers: $(cat err)"
[ "$(grep '^loss' two)" = "$loss" ] || wrong "two workers: $(cat two), one: $loss"
sent() { sed -n "s/^$1: \([0-9]*\) samples$/\1/p" two; }
[ $(($(sent "${addresses[0]}") + $(sent "${addresses[1]}"))) -eq 240000 ] || wrong "two workers have not sent all: $(cat two)"

"$program" train "${addresses[@]}" > killed 2> err &
trainer=$!
until grep -q step err || ! kill -0 $trainer 2> /dev/null; do sleep 0.02; done   # it has begun
kill -KILL "${workers[1]}"
wait $trainer || wrong "with a killed worker: $(cat err)"
[ "$(grep '^loss' killed)" = "$loss" ] || wrong "a killed worker: $(cat killed), one: $loss"

REGIMEN_SECRET=another "$program" train "${addresses[0]}" > out 2> err
[ $? -eq 1 ] && grep -q 'REGIMEN_SECRET' err || wrong "another secret: $(cat err)"
exit $failed
