#!/bin/sh
# The network of the QUIC interop runner: `Containerfile`, target interop. `sojourn router` reads SCENARIO and WAITFORSERVER.
# The runner's checks read the captures of both interfaces by these names; frames of this container's own are not in them.
set -eu
own=""
for address in $(hostname -I); do own="$own and not host $address"; done
for side in "left eth0" "right eth1"; do
  set -- $side
  tcpdump --immediate-mode -Z root -q -n -U -i "$2" -w "/logs/trace_node_$1.pcap" "(ip or ip6)$own" 2> "/logs/tcpdump_$1.log" &
done
exec sojourn router eth0 eth1 --no-status --scenario "${SCENARIO:-}" --wait-for "${WAITFORSERVER:-}" --ready-port 57832 \
  -o /logs/sojourn
