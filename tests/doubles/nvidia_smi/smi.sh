# The behaviour of the stand-in. Before this text stand, rendered from a scenario: gpus, processes, topology, summary,
# list, trouble() and value(). POSIX sh, builtins only where nothing hangs: it runs under dash, bash and busybox.

query=summary fields='' format=''

invalid() {
  printf 'Invalid combination of input arguments. Please run %s for help.\n' "'nvidia-smi -h'"
  exit 1
}

while [ $# -gt 0 ]; do
  case $1 in
    --format=*) format=,${1#*=}, ;;
    --query-gpu=*) query=gpus fields=${1#*=} ;;
    --query-remapped-rows=*) query=gpus fields=${1#*=} ;;
    --query-compute-apps=*) query=processes fields=${1#*=} ;;
    -L | --list-gpus) query=list ;;
    topo) query=topology ;;
    -m) [ "$query" = topology ] || invalid ;;
    *) invalid ;;
  esac
  shift
done

# cells ROW: sets line to the row's values, in the order asked for.
cells() {
  line='' rest=$fields,
  while [ -n "$rest" ]; do
    field=${rest%%,*} rest=${rest#*,}
    value "$1" "$field" || {
      printf 'Field "%s" is not a valid field to query.\n\n' "$field"
      exit 2
    }
    case $format in
      *,nounits,*) unit='' ;;
    esac
    # shellcheck disable=SC2154 # value sets it
    line="${line:+$line, }$cell${unit:+ $unit}"
  done
}

# table ROW ...: as --format=csv prints it; nothing where a field is unknown.
table() {
  lines=''
  for row in "$@"; do
    cells "$row"
    lines="$lines$line
"
  done
  case $format in
    *,noheader,*) ;;
    *) printf '%s\n' "$fields" ;;
  esac
  printf '%s' "$lines"
}

trouble "$query"
# shellcheck disable=SC2086,SC2154 # rows are words; all of these stand in the text before
case $query in
  gpus) table $gpus ;;
  processes) table $processes ;;
  list) printf '%s' "$list" ;;
  topology) printf '%s' "$topology" ;;
  summary) printf '%s' "$summary" ;;
esac
