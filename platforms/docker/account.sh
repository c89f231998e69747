# shellcheck shell=sh disable=SC2154
# The account on a daemon's host: who it is, which socket the docker command there would use, and may it open that.
# Asked once for each connection; $nonce and $asked (a socket that the address names, or empty) are set before.

say() { printf '@gonogo %s account %s %s\n' "$nonce" "$1" "$2"; }

use() {
  case $1 in
    unix://*) socket=${1#unix://} ;;
    /*) socket=$1 ;;
    *)
      say elsewhere "$1"
      socket=
      ;;
  esac
  say origin "$2"
}

context() {
  name=${DOCKER_CONTEXT-}
  config=${DOCKER_CONFIG:-$HOME/.docker}/config.json
  if [ -z "$name" ] && [ -r "$config" ]; then
    name=$(sed -n 's/.*"currentContext"[[:space:]]*:[[:space:]]*"\([^"]*\)".*/\1/p' "$config")
  fi
  [ "$name" != default ] || name=
}

find_socket() {
  if [ -n "$asked" ]; then
    use "$asked" 'the address'
    return
  fi
  if [ -n "${DOCKER_HOST-}" ]; then
    use "$DOCKER_HOST" 'DOCKER_HOST of the account'
    return
  fi
  context
  if [ -n "$name" ]; then
    host=$(docker context inspect --format '{{.Endpoints.docker.Host}}' "$name" 2>/dev/null)
    if [ -n "$host" ]; then
      use "$host" "docker context $name of the account"
      return
    fi
  fi
  for candidate in /var/run/docker.sock "${XDG_RUNTIME_DIR:-/run/user/$(id -u)}/docker.sock" "$HOME/.docker/run/docker.sock"; do
    if [ -S "$candidate" ]; then
      use "$candidate" 'where daemons listen'
      return
    fi
  done
  use /var/run/docker.sock 'the default'
}

say user "$(id -un 2>/dev/null)"
say uid "$(id -u)"
say gid "$(id -g)"
say groups "$(id -G)"
say group-names "$(id -Gn 2>/dev/null)"
for program in docker socat; do
  found=$(command -v "$program") && say "$program" "$found"
done
socket=
find_socket
if [ -n "$socket" ]; then
  say socket "$socket"
  if [ ! -S "$socket" ]; then
    say state missing
  elif [ -r "$socket" ] && [ -w "$socket" ]; then
    say state usable
  else
    say state denied
    # shellcheck disable=SC2012 # one known path, for a person to read
    say listing "$(ls -ld "$socket" 2>/dev/null)"
  fi
fi
say end 1
