# shellcheck shell=sh
# The probe script's functions: POSIX sh for dash, bash and busybox. They define, and do nothing; render.py adds the calls.
# Every answer is a line "MARK INDEX NAME TEXT". Paths are answered by index: they may hold anything, so they are never printed.
# Functions that ask about paths use builtins only, so that a thousand paths start no process.

gng_newline='
'
gng_tasks=
gng_made=

# gng_setup NONCE: messages of tools in English, and the mark that answer lines of this run carry.
gng_setup() {
  export LC_ALL=C
  gng_mark="@gonogo $1"
  gng_find rm
  gng_rm=$gng_found
}

# gng_say INDEX NAME TEXT: one answer line. A line stays below the size that a pipe takes in one piece.
gng_say() { printf '%s %s %s %.3000s\n' "$gng_mark" "$1" "$2" "$3"; }

# gng_text INDEX NAME TEXT: an answer of several lines, one line each.
gng_text() {
  gng_rest=$3
  while :; do
    case $gng_rest in
      *"$gng_newline"*)
        gng_say "$1" "$2" "${gng_rest%%"$gng_newline"*}"
        gng_rest=${gng_rest#*"$gng_newline"}
        ;;
      *)
        gng_say "$1" "$2" "$gng_rest"
        return 0
        ;;
    esac
  done
}

# gng_line INDEX NAME FILE: the first line of a file, where it can be read.
gng_line() {
  gng_value=
  [ -r "$3" ] && { read -r gng_value <"$3" || [ -n "$gng_value" ]; } 2>/dev/null && gng_say "$1" "$2" "$gng_value"
}

# --- paths ---

# gng_look PATH: sets gng_kind and gng_rights (letters of r, w, x, e: readable, writable, executable, empty).
gng_look() {
  gng_rights=
  if [ -d "$1" ]; then
    gng_kind='directory'
    [ -r "$1" ] && [ -x "$1" ] && gng_rights=r
  elif [ -f "$1" ]; then
    gng_kind='file'
    # Opening it is the proof: permission bits do not tell about access lists and network filesystems.
    { true <"$1"; } 2>/dev/null && gng_rights=r
    [ -s "$1" ] || gng_rights=${gng_rights}e
  elif [ -e "$1" ]; then
    gng_kind='other'
    [ -r "$1" ] && gng_rights=r
  elif [ -L "$1" ]; then
    gng_kind='dangling'
  else
    gng_kind='missing'
  fi
  [ -w "$1" ] && gng_rights=${gng_rights}w
  [ -x "$1" ] && gng_rights=${gng_rights}x
  return 0
}

# gng_climb PATH: sets gng_at to the nearest parent that exists and gng_up to the number of components cut off.
gng_climb() {
  gng_at=$1 gng_up=0
  while [ ! -e "$gng_at" ] && [ ! -L "$gng_at" ]; do
    case $gng_at in
      / | .) return 0 ;;
      */*) gng_at=${gng_at%/*} ;;
      *) gng_at=. ;;
    esac
    [ -n "$gng_at" ] || gng_at=/
    gng_up=$((gng_up + 1))
  done
}

# gng_parent PATH: after gng_climb, sets gng_parent_kind: file, directory, other, dangling or hidden (not to be searched).
gng_parent() {
  gng_climb "$1"
  gng_look "$gng_at"
  gng_parent_kind=$gng_kind
  if [ "$gng_kind" = directory ] && [ ! -x "$gng_at" ]; then gng_parent_kind=hidden; fi
}

# gng_path INDEX PATH
gng_path() {
  gng_look "$2"
  if [ "$gng_kind" = missing ]; then
    gng_parent "$2"
    gng_say "$1" path "missing - $gng_up $gng_parent_kind"
  else
    gng_say "$1" path "$gng_kind ${gng_rights:--} 0 -"
  fi
}

# --- writing ---

# gng_try_file FILE: create the file, which must be new; sets gng_result and, where refused, gng_words.
gng_try_file() {
  gng_words=
  if [ -z "$gng_rm" ]; then
    gng_result=no-rm
    return 0
  fi
  # shellcheck disable=SC2034 # read by gng_remove, which render.py writes
  gng_made=yes # before the file is there, so that a signal in between removes it
  set -C
  if { true >"$1"; } 2>/dev/null; then
    gng_result=created
  else
    gng_result=refused
    gng_words=$({ true >"$1"; } 2>&1) # once more, for the shell's own words
  fi
  set +C
}

# gng_create INDEX DIRECTORY FILE
gng_create() {
  gng_look "$2"
  if [ "$gng_kind" = directory ]; then
    gng_try_file "$3"
    gng_say "$1" write "directory $gng_result 0 - -"
    [ -z "$gng_words" ] || gng_say "$1" words "$gng_words"
  else
    gng_was=$gng_kind
    gng_parent "$2"
    gng_say "$1" write "$gng_was - $gng_up $gng_parent_kind ${gng_rights:--}"
  fi
}

# gng_deleted INDEX FILE: whether the file is gone.
gng_deleted() {
  if [ -e "$2" ]; then gng_say "$1" deleted no; else gng_say "$1" deleted yes; fi
}

# --- space ---

# gng_climb_directory PATH: sets gng_at to the nearest parent that is a directory and gng_up to the components cut off.
gng_climb_directory() {
  gng_at=$1 gng_up=0
  while [ ! -d "$gng_at" ]; do
    case $gng_at in
      / | .) return 0 ;;
      */*) gng_at=${gng_at%/*} ;;
      *) gng_at=. ;;
    esac
    [ -n "$gng_at" ] || gng_at=/
    gng_up=$((gng_up + 1))
  done
}

# gng_spaces INDEX DIRECTORY ...: all in one run of df and one of stat.
gng_spaces() {
  gng_left=$#
  while [ "$gng_left" -gt 0 ]; do
    gng_climb_directory "$2"
    gng_say "$1" space "$gng_up"
    set -- "$@" "$gng_at"
    shift 2
    gng_left=$((gng_left - 2))
  done
  gng_text all df "$(df -Pk "$@" 2>&1)"
  gng_text all stat "$(stat -f -c '%d %c %T' "$@" 2>&1)"
}

# --- ports ---

# gng_ports PROGRAM INDEX PORT HEX ...: by binding with python, else from the kernel's list of listeners.
gng_ports() {
  gng_program_text=$1
  shift
  if gng_find python3 && gng_out=$("$gng_found" -I -S -c "$gng_program_text" "$@" 2>&1); then
    gng_text all ports "$gng_out"
    return 0
  fi
  gng_listeners
  while [ $# -gt 0 ]; do
    gng_port_state "$3"
    gng_say "$1" port "$gng_state"
    shift 3
  done
}

# gng_listeners: sets gng_listening to the ports, in hexadecimal, that the kernel lists as listening.
gng_listeners() {
  gng_listening=' '
  for gng_file in /proc/net/tcp /proc/net/tcp6; do
    [ -r "$gng_file" ] || continue
    while read -r _ gng_local _ gng_state _; do
      [ "$gng_state" = 0A ] && gng_listening="$gng_listening${gng_local##*:} "
    done <"$gng_file"
  done
}

# gng_port_state HEX: after gng_listeners, sets gng_state to free, busy or unknown.
gng_port_state() {
  gng_state=free
  [ -r /proc/net/tcp ] || gng_state=unknown
  case $gng_listening in
    *" $1 "*) gng_state=busy ;;
  esac
}

# --- programs and interpreters ---

# gng_find NAME: sets gng_found to the program that exec would start, as the kernel looks along PATH.
gng_find() {
  gng_found=
  case $1 in
    '') return 1 ;;
    */*)
      [ -f "$1" ] && [ -x "$1" ] && gng_found=$1
      ;;
    *)
      gng_rest=$PATH:
      while [ -n "$gng_rest" ]; do
        gng_dir=${gng_rest%%:*}
        gng_rest=${gng_rest#*:}
        if [ -f "${gng_dir:-.}/$1" ] && [ -x "${gng_dir:-.}/$1" ]; then
          gng_found=${gng_dir:-.}/$1
          break
        fi
      done
      ;;
  esac
  [ -n "$gng_found" ]
}

# gng_program INDEX NAME
gng_program() {
  if gng_find "$2"; then
    gng_text "$1" program "$gng_found"
  else
    gng_look "$2"
    gng_say "$1" no-program "$gng_kind"
  fi
}

# gng_bounded SECONDS PROGRAM ...: run it, killed when the time is up where the timeout program is there.
gng_bounded() {
  gng_seconds=$1
  shift
  if gng_find timeout; then
    "$gng_found" -s KILL "$gng_seconds" "$@"
  else
    "$@"
  fi
}

# gng_python INDEX SECONDS INTERPRETER PROGRAM ARGUMENT ...: the program's output and its exit status.
gng_python() {
  gng_index=$1 gng_limit=$2 gng_interpreter=$3
  shift 3
  if ! gng_find "$gng_interpreter"; then
    gng_say "$gng_index" python-status absent
    return 0
  fi
  gng_out=$(gng_bounded "$gng_limit" "$gng_found" -c "$@" 2>&1)
  gng_say "$gng_index" python-status $?
  gng_text "$gng_index" python "$gng_out"
}

# --- the node ---

# gng_node INDEX
gng_node() {
  while read -r gng_value; do
    case $gng_value in
      Uid:* | Gid:* | Groups:* | Cpus_allowed_list:*) gng_say "$1" status "$gng_value" ;;
    esac
  done </proc/self/status
  while read -r gng_value; do
    case $gng_value in
      MemTotal:* | MemAvailable:*) gng_say "$1" status "$gng_value" ;;
    esac
  done </proc/meminfo
  while read -r gng_value; do gng_say "$1" limits "$gng_value"; done </proc/self/limits
  gng_line "$1" hostname /proc/sys/kernel/hostname
  gng_line "$1" kernel /proc/sys/kernel/osrelease
  gng_line "$1" boot-id /proc/sys/kernel/random/boot_id
  gng_line "$1" machine-id /etc/machine-id
  gng_say "$1" arch "$(uname -m 2>&1)"
  gng_say "$1" user "$(id -un 2>/dev/null)"
  gng_text "$1" shm "$(df -Pk /dev/shm 2>&1)"
  gng_line "$1" memory-limit /sys/fs/cgroup/memory.max
  gng_line "$1" memory-limit /sys/fs/cgroup/memory/memory.limit_in_bytes
  while IFS=: read -r gng_hierarchy _ gng_value; do
    [ "$gng_hierarchy" = 0 ] && gng_line "$1" memory-limit "/sys/fs/cgroup$gng_value/memory.max"
  done </proc/self/cgroup
  if [ -e /etc/nv_tegra_release ]; then gng_say "$1" tegra yes; fi
  gng_line "$1" soc /sys/devices/soc0/family
  return 0
}

# --- questions that may hang: in the background, waited for with a bound, given up without waiting for the hung process ---

# gng_begin INDEX SECONDS FUNCTION ...
gng_begin() {
  gng_task=$1
  sleep "$2" >/dev/null 2>&1 &
  gng_sleeper=$!
  shift 2
  {
    trap - 0 HUP INT TERM
    "$@"
    gng_say "$gng_task" over yes
    kill -9 "$gng_sleeper" 2>/dev/null # the shell that becomes sleep may still be one that traps other signals
  } &
  gng_tasks="$gng_tasks $gng_task:$gng_sleeper:$!"
}

# gng_await: wait until each task has answered, or its sleeper has ended.
gng_await() {
  for gng_task in $gng_tasks; do
    gng_worker=${gng_task##*:}
    gng_sleeper=${gng_task#*:}
    gng_sleeper=${gng_sleeper%:*}
    wait "$gng_sleeper" 2>/dev/null
    if [ $? -le 128 ]; then
      kill -9 "$gng_worker" 2>/dev/null
      gng_say "${gng_task%%:*}" silent yes
    fi
  done
  gng_tasks=
}

# gng_stop: end what still runs in the background; used when the script itself is told to stop.
gng_stop() {
  for gng_task in $gng_tasks; do
    gng_sleeper=${gng_task#*:}
    kill -9 "${gng_task##*:}" "${gng_sleeper%:*}" 2>/dev/null
  done
}
