# shellcheck shell=sh disable=SC2034,SC2154
# The arrival stage's judgement: the probe script's functions ask, these decide, inside the job and before its command.
# A judgement is a line "MARK check ok|bad|unknown KEY WORDS". Words name the subject as render wrote it, printable.

gng_failed=

# gng_verdict KEY ok|bad|unknown WORDS
gng_verdict() {
  gng_say check "$2" "$1 $3"
  [ "$2" = ok ] || gng_failed=yes
}

# gng_finish: the end line, and exit status 97 where anything did not hold.
gng_finish() {
  if [ -n "$gng_failed" ]; then
    gng_say preflight failed yes
    exit 97
  fi
  gng_say preflight passed yes
}

# gng_judge_path KEY SHOWN KIND RIGHTS PATH: KIND any, file or directory; RIGHTS r or rw.
gng_judge_path() {
  gng_look "$5"
  case $gng_kind in
    dangling)
      gng_verdict "$1" bad "$2 is a link whose target does not exist"
      return 0
      ;;
    missing)
      gng_parent "$5"
      if [ "$gng_parent_kind" = hidden ]; then
        gng_verdict "$1" bad "$2 cannot be looked for: this user may not enter a parent directory"
      else
        gng_verdict "$1" bad "$2 does not exist"
      fi
      return 0
      ;;
  esac
  if [ "$3" != any ] && [ "$3" != "$gng_kind" ]; then
    gng_verdict "$1" bad "$2 is a $gng_kind, not a $3"
  elif [ "${gng_rights#*r}" = "$gng_rights" ]; then
    gng_verdict "$1" bad "$2 may not be read by this user"
  elif [ "$4" = rw ] && [ "${gng_rights#*w}" = "$gng_rights" ]; then
    gng_verdict "$1" bad "$2 may not be written by this user"
  else
    gng_verdict "$1" ok "$2 is a $gng_kind that this user may use"
  fi
}

# gng_judge_write KEY SHOWN DIRECTORY FILE
gng_judge_write() {
  gng_look "$3"
  if [ "$gng_kind" != directory ]; then
    gng_verdict "$1" bad "$2 is no directory ($gng_kind)"
    return 0
  fi
  gng_try_file "$4"
  case $gng_result in
    created)
      "$gng_rm" -f "$4" 2>/dev/null
      if [ -e "$4" ]; then
        gng_verdict "$1" bad "a file created in $2 could not be deleted again"
      else
        gng_verdict "$1" ok "a file was created in $2 and deleted again"
      fi
      ;;
    refused) gng_verdict "$1" bad "no file can be created in $2: ${gng_words##*: }" ;;
    *) gng_verdict "$1" unknown "writing in $2 was not tried: there is no rm to clean up with" ;;
  esac
}

# gng_judge_space KEY SHOWN DIRECTORY BYTES
gng_judge_space() {
  gng_climb_directory "$3"
  gng_out=$(stat -f -c '%a %S' "$gng_at" 2>/dev/null)
  case $gng_out in
    [0-9]*' '[0-9]*) gng_free=$((${gng_out% *} * ${gng_out#* })) ;;
    *)
      gng_verdict "$1" unknown "free space under $2 could not be asked: stat gave no answer"
      return 0
      ;;
  esac
  if [ "$gng_free" -lt "$4" ]; then
    gng_verdict "$1" bad "$gng_free bytes are free under $2, $4 are needed"
  else
    gng_verdict "$1" ok "$gng_free bytes are free under $2"
  fi
}

# gng_judge_port KEY PROGRAM PORT HEX
gng_judge_port() {
  gng_tab='	'
  gng_state=
  if gng_find python3 && gng_out=$("$gng_found" -I -S -c "$2" 0 "$3" "$4" 2>/dev/null); then
    gng_state=${gng_out#*"$gng_tab"}
    gng_state=${gng_state%%"$gng_tab"*}
  else
    gng_listeners
    gng_port_state "$4"
  fi
  case $gng_state in
    free) gng_verdict "$1" ok "port $3 is free" ;;
    busy) gng_verdict "$1" bad "port $3 is in use" ;;
    denied) gng_verdict "$1" bad "port $3 may not be listened on by this user" ;;
    *) gng_verdict "$1" unknown "port $3 could not be asked about" ;;
  esac
}

# gng_judge_program KEY SHOWN NAME
gng_judge_program() {
  if gng_find "$3"; then
    gng_verdict "$1" ok "$2 is there"
  else
    gng_verdict "$1" bad "$2 is not there, or may not be executed"
  fi
}

# gng_judge_modules KEY SHOWN SECONDS INTERPRETER PROGRAM MODULE ...
gng_judge_modules() {
  gng_key=$1 gng_shown=$2 gng_limit=$3
  if ! gng_find "$4"; then
    gng_verdict "$1" bad "the interpreter $2 is not there"
    return 0
  fi
  shift 4
  gng_out=$(gng_bounded "$gng_limit" "$gng_found" -c "$@" 2>&1)
  gng_code=$?
  gng_absent=
  while read -r gng_sign gng_state gng_name _; do
    case $gng_sign$gng_state in
      @mmissing | @merror) gng_absent="$gng_absent $gng_name" ;;
    esac
  done <<END
$gng_out
END
  if [ "$gng_code" != 0 ]; then
    gng_verdict "$gng_key" unknown "$gng_shown failed with exit code $gng_code"
  elif [ -n "$gng_absent" ]; then
    gng_verdict "$gng_key" bad "$gng_shown cannot find:$gng_absent"
  else
    gng_verdict "$gng_key" ok "$gng_shown finds every module"
  fi
}

# gng_compare LEFT RIGHT: sets gng_order to -1, 0 or 1; versions are dotted numbers, missing parts count as 0.
gng_compare() {
  gng_left=$1. gng_right=$2. gng_order=0
  while [ -n "$gng_left$gng_right" ]; do
    gng_one=${gng_left%%.*} gng_other=${gng_right%%.*}
    gng_left=${gng_left#*.} gng_right=${gng_right#*.}
    if [ "${gng_one:-0}" -lt "${gng_other:-0}" ]; then
      gng_order=-1
      return 0
    elif [ "${gng_one:-0}" -gt "${gng_other:-0}" ]; then
      gng_order=1
      return 0
    fi
  done
}

# gng_judge_gpu KEY SECONDS COUNT MEMORY DRIVER CUDA: devices, MiB on each, least driver and CUDA version ('' for any).
gng_judge_gpu() {
  if ! { gng_find nvidia-smi || gng_find /usr/lib/wsl/lib/nvidia-smi; }; then
    gng_verdict "$1" bad "nvidia-smi is not on PATH"
    return 0
  fi
  gng_tool=$gng_found
  gng_devices "$1" "$2" index,memory.total,driver_version
  case $gng_code in
    0) ;;
    137 | 124)
      gng_verdict "$1" unknown "nvidia-smi gave no answer within $2 s"
      return 0
      ;;
    *)
      gng_verdict "$1" bad "nvidia-smi: ${gng_out%%"$gng_newline"*}"
      return 0
      ;;
  esac
  gng_count=0 gng_small='' gng_driver=''
  while IFS=', ' read -r gng_name gng_memory gng_driver_here _; do
    case $gng_name in
      *[!0-9]* | '') continue ;;
    esac
    gng_count=$((gng_count + 1)) gng_driver=$gng_driver_here
    case $gng_memory in
      *[!0-9]* | '') gng_small="$gng_small $gng_name (unknown)" ;;
      *) [ "$gng_memory" -ge "$4" ] || gng_small="$gng_small $gng_name ($gng_memory MiB)" ;;
    esac
  done <<END
$gng_out
END
  gng_judge_devices "$@"
}

# gng_judge_devices KEY SECONDS COUNT MEMORY DRIVER CUDA: after the devices were read.
gng_judge_devices() {
  if [ "$gng_count" -lt "$3" ]; then
    gng_verdict "$1" bad "$gng_count GPUs are visible, $3 are needed (${gng_out%%"$gng_newline"*})"
    return 0
  fi
  if [ "$4" -gt 0 ] && [ -n "$gng_small" ]; then
    gng_verdict "$1" bad "less than $4 MiB of memory on GPU$gng_small"
    return 0
  fi
  if [ -n "$5" ]; then
    gng_judge_version "$1" driver "$gng_driver" "$5" || return 0
  fi
  if [ -n "$6" ]; then
    gng_smi "$1" table "$2"
    gng_cuda=${gng_out#*CUDA Version: }
    [ "$gng_cuda" != "$gng_out" ] || gng_cuda=
    gng_judge_version "$1" CUDA "${gng_cuda%%[!0-9.]*}" "$6" || return 0
  fi
  gng_verdict "$1" ok "$gng_count GPUs, driver $gng_driver"
}

# gng_judge_version KEY WHAT FOUND LEAST: false, with the verdict given, where it is not met.
gng_judge_version() {
  case $3 in
    '' | *[!0-9.]*)
      gng_verdict "$1" unknown "the $2 version is not known"
      return 1
      ;;
  esac
  gng_compare "$3" "$4"
  [ "$gng_order" -ge 0 ] && return 0
  gng_verdict "$1" bad "$2 $3 is older than $4"
  return 1
}

# gng_judge_node KEY MEMORY SHM FILES: least KiB of memory and of /dev/shm, least open files; 0 for any.
gng_judge_node() {
  gng_words=
  if [ "$2" -gt 0 ]; then
    gng_memory=0
    while read -r gng_name gng_value _; do
      [ "$gng_name" = MemTotal: ] && gng_memory=$gng_value
    done </proc/meminfo
    [ "$gng_memory" -ge "$2" ] || gng_words="$gng_words; $gng_memory KiB of memory, $2 are needed"
  fi
  if [ "$3" -gt 0 ]; then
    gng_out=$(stat -f -c '%b %S' /dev/shm 2>/dev/null)
    case $gng_out in
      [0-9]*' '[0-9]*) gng_memory=$((${gng_out% *} * ${gng_out#* } / 1024)) ;;
      *) gng_memory=0 ;;
    esac
    [ "$gng_memory" -ge "$3" ] || gng_words="$gng_words; /dev/shm has $gng_memory KiB, $3 are needed"
  fi
  if [ "$4" -gt 0 ]; then
    gng_files=0
    while read -r gng_one gng_other gng_name gng_value _; do
      [ "$gng_one $gng_other $gng_name" = 'Max open files' ] && gng_files=$gng_value
    done </proc/self/limits
    [ "$gng_files" = unlimited ] || [ "$gng_files" -ge "$4" ] || gng_words="$gng_words; $gng_files open files, $4 are needed"
  fi
  if [ -n "$gng_words" ]; then
    gng_verdict "$1" bad "${gng_words#; }"
  else
    gng_verdict "$1" ok "memory, /dev/shm and open files suffice"
  fi
}
