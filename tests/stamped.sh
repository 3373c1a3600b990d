#!/usr/bin/env bash
# stamped.sh FOLDER FILES COMPILE COMMAND...: runs COMMAND, a test that reads a source by COMPILE, and judges what the compiler says; but not if all
# that it reads is as it was when it last held, which a file in FOLDER says. ccache keeps no failed compile, and none without an object.
#
# What it reads: the source, preprocessed with REGIMEN_MISUSE, numbers of lines and macros, without comments of headers; the source itself; the
# compiler's version; COMPILE and COMMAND; FILES, what judges and what is expected. FILES and COMPILE, which ends with the source, have | in place of
# blanks. Paths count from the clone, so that another one's stamps hold. A stamp is written after COMMAND has succeeded, and only if it has.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=$1
IFS='|' read -ra files <<< "$2"
IFS='|' read -ra compile <<< "$3"
shift 3
preprocess=()
for ((i = 0; i < ${#compile[@]}; i++)); do
  case ${compile[i]} in
    -c | -ptx | -fsyntax-only) ;;
    -o) i=$((i + 1)) ;;
    *) preprocess+=("${compile[i]}") ;;
  esac
done

# Of nvcc: what the device's compiler reads, and what the host's does.
compiler=${preprocess[0]} source=${preprocess[-1]}
text() {
  case $compiler in
    *nvcc)
      "${preprocess[@]}" -DREGIMEN_MISUSE -E -Xcompiler -dD && "${preprocess[@]}" -DREGIMEN_MISUSE -E -Xcompiler -dD,-U__CUDA_ARCH__ && g++ --version
      ;;
    *) "${preprocess[@]}" -DREGIMEN_MISUSE -E -dD ;;
  esac
}
here=$(printf %s "$root/" | sed 's/[][\.*^$|]/\\&/g')
stamp=""
if read=$({ printf '%s\n' "${preprocess[@]}" -- "$@" && "$compiler" --version && text && cat "$source" "${files[@]}"; } 2> /dev/null |
  LC_ALL=C sed "s|$here||g" | sha256sum); then
  stamp=$folder/${read%% *}.held
fi
if [ -n "$stamp" ] && [ -e "$stamp" ]; then
  touch "$stamp"
  echo "unchanged since it last held: not read again"
  exit 0
fi
"$@"
if [ -n "$stamp" ]; then
  mkdir -p "$folder"
  : > "$stamp"
  find "$folder" -name '*.held' -mtime +60 -delete   # nobody has needed it for two months
fi
