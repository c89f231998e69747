# shellcheck shell=sh disable=SC2034,SC2154
# The probe script's functions about the asking user and who owns what; included where such a question is asked.

# gng_home INDEX SECONDS HOME PROGRAM USER VARIABLE=FOLDER ...: a home for the user, a file in each folder, the user's name.
gng_home() {
  if ! gng_find mkdir || [ -z "$gng_rm" ]; then
    gng_say "$1" home no-tools
    return 0
  fi
  gng_made=yes # before anything is there, so that a signal in between removes it
  if ! gng_words=$("$gng_found" -p "$3" 2>&1); then
    gng_say "$1" home "refused $gng_words"
    return 0
  fi
  gng_say "$1" home made
  # In a subshell: the variables are the job's, not the script's.
  (
    trap - 0 HUP INT TERM
    gng_index=$1 gng_limit=$2 gng_home_program=$4 gng_mkdir=$gng_found
    export USER="$5" LOGNAME="$5"
    shift 5
    for gng_value in "$@"; do
      export "${gng_value?}"
      gng_folder=${gng_value#*=}
      if gng_why=$({ "$gng_mkdir" -p "$gng_folder" && true >"$gng_folder/.gonogo-probe"; } 2>&1); then continue; fi
      gng_say "$gng_index" cache "refused $gng_why"
      exit 0
    done
    gng_say "$gng_index" cache written
    gng_find python3 || gng_find python || exit 0
    gng_say "$gng_index" interpreter "$gng_found"
    gng_out=$(gng_bounded "$gng_limit" "$gng_found" -c "$gng_home_program" 2>&1)
    gng_say "$gng_index" python-status $?
    gng_text "$gng_index" python "$gng_out"
  )
}

# gng_owned MOST DIRECTORY ...: paths that belong to root, down to the second level; what lies in such a folder is not listed,
# nor what the other questions make at this moment.
gng_owned() {
  gng_most=$1
  shift
  if ! gng_find head; then
    gng_say owned status absent
    return 0
  fi
  gng_head=$gng_found
  if ! gng_find find; then
    gng_say owned status absent
    return 0
  fi
  gng_out=$("$gng_found" "$@" -xdev -mindepth 1 -maxdepth 2 \
    \( -name lost+found -o -name '.gonogo-*' \) -prune -o -user 0 -prune -print 2>/dev/null |
    "$gng_head" -n "$gng_most")
  gng_say owned status answered
  [ -z "$gng_out" ] || gng_text owned path "$gng_out"
}

# gng_chown INDEX FILE UID:GID
gng_chown() {
  if ! gng_find chown || ! gng_find stat; then
    gng_say "$1" chown no-tools
    return 0
  fi
  gng_stat=$gng_found
  gng_try_file "$2"
  if [ "$gng_result" != created ]; then
    gng_say "$1" chown "$gng_result $gng_words"
    return 0
  fi
  gng_find chown
  if gng_words=$("$gng_found" "$3" "$2" 2>&1); then
    gng_say "$1" chown "changed $("$gng_stat" -c '%u:%g' "$2" 2>&1)"
  else
    gng_say "$1" chown "denied $gng_words"
  fi
}
