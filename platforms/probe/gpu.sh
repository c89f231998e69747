# shellcheck shell=sh
# The probe script's functions about GPUs, read after script.sh. They define, and do nothing.

# gng_smi INDEX NAME SECONDS ARGUMENT ...: one run of nvidia-smi; sets gng_out and gng_code.
gng_smi() {
  gng_index=$1 gng_name=$2 gng_limit=$3
  shift 3
  gng_out=$(gng_bounded "$gng_limit" "$gng_tool" "$@" 2>&1)
  gng_code=$?
}

gng_smi_told() {
  gng_say "$gng_index" "$gng_name-status" "$gng_code"
  gng_text "$gng_index" "$gng_name" "$gng_out"
}

# gng_gpu INDEX SECONDS FIELDS [topology]: fields that this driver does not know are dropped one by one, as it names them.
gng_gpu() {
  gng_find nvidia-smi || gng_find /usr/lib/wsl/lib/nvidia-smi || {
    gng_say "$1" devices-status absent
    return 0
  }
  # shellcheck disable=SC2154 # gng_find sets it
  gng_tool=$gng_found
  gng_devices "$1" "$2" "$3"
  gng_say "$1" fields "$gng_ask"
  gng_smi_told
  [ "$gng_code" = 0 ] || return 0
  gng_smi "$1" apps "$2" --query-compute-apps=pid,gpu_uuid,used_memory,process_name --format=csv,noheader,nounits
  gng_smi_told
  gng_smi "$1" remaps "$2" --query-remapped-rows=gpu_uuid,remapped_rows.pending,remapped_rows.failure --format=csv,noheader
  gng_smi_told
  gng_smi "$1" table "$2"
  gng_smi_told
  case $gng_out in
    *'MIG devices:'*)
      gng_smi "$1" instances "$2" -L
      gng_smi_told
      ;;
  esac
  if [ "$4" = topology ]; then
    gng_smi "$1" topology "$2" topo -m
    gng_smi_told
  fi
  gng_xids "$1" "$2"
}

# gng_xids INDEX SECONDS: what the NVIDIA driver has logged of errors, and the seconds since boot that the log counts in.
gng_xids() {
  gng_find dmesg || return 0
  gng_out=$(gng_bounded "$2" "$gng_found" 2>/dev/null) || return 0
  gng_line "$1" uptime /proc/uptime
  while IFS= read -r gng_value; do
    case $gng_value in
      *'NVRM: Xid'*) gng_say "$1" xid "$gng_value" ;;
    esac
  done <<END
$gng_out
END
}

# gng_devices INDEX SECONDS FIELDS: sets gng_ask to the fields that were answered, gng_out and gng_code.
gng_devices() {
  gng_fields=,$3, gng_tries=0
  while :; do
    gng_ask=${gng_fields#,}
    gng_ask=${gng_ask%,}
    gng_smi "$1" devices "$2" --query-gpu="$gng_ask" --format=csv,noheader,nounits
    case $gng_out in
      *'Field "'*'" is not a valid field to query'*) ;;
      *) break ;;
    esac
    gng_bad=${gng_out#*Field \"}
    gng_bad=${gng_bad%%\"*}
    gng_tries=$((gng_tries + 1))
    case $gng_fields in
      *",$gng_bad,"*) gng_fields=${gng_fields%%",$gng_bad,"*},${gng_fields#*",$gng_bad,"} ;;
      *) break ;;
    esac
    [ "$gng_tries" -lt 20 ] || break
  done
}
