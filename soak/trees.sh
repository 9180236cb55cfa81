#!/bin/sh
# The process trees of the soak: trees.sh ROLE [NUMBER]. Each process appends its line of /proc/PID/stat to $SOAK_LOG.
# A number bounds how many processes a chain or a bomb has, and how often a daemon executes itself.

read -r stat </proc/$$/stat && echo "$stat" >>"$SOAK_LOG"

# silent starts a role in a session of its own, without the terminal's output.
silent() { setsid "$0" "$@" </dev/null >/dev/null 2>&1 & }

case $1 in
sleep) exec sleep 60 ;;
stubborn) trap '' TERM; exec sleep 60 ;;
# Trees of three, of which one left the session.
session) setsid "$0" sleep & "$0" sleep & wait ;;
silent) silent sleep; "$0" sleep & wait ;;
stubborns) silent stubborn; "$0" stubborn & wait ;;
orphans) silent sleep; "$0" sleep & exit 0 ;;
# Programs that start one another and exit: setsid, exec, exit.
relay) silent relay2; exit 0 ;;
relay2) silent relay3; exit 0 ;;
relay3) exec "$0" sleep ;;
# A daemon that executes itself NUMBER times.
reexecs) silent reexec "$2"; exit 0 ;;
reexec) if [ "$2" -gt 0 ]; then exec "$0" reexec $(($2 - 1)); fi; exec sleep 60 ;;
# NUMBER daemons of which each starts the next, and exits or goes on.
chain) if [ "$2" -gt 0 ]; then silent chain $(($2 - 1)); exit 0; fi; exec sleep 60 ;;
linked) if [ "$2" -gt 0 ]; then silent linked $(($2 - 1)); fi; exec sleep 60 ;;
# A bounded fork bomb of 2^NUMBER - 1 daemons.
bomb) if [ "$2" -gt 1 ]; then silent bomb $(($2 - 1)); silent bomb $(($2 - 1)); fi; exec sleep 60 ;;
# A tree of three that the soak stops.
three) "$0" sleep & setsid "$0" sleep & echo ready; wait ;;
*) echo "trees.sh: no role $1" >&2; exit 2 ;;
esac
