#!/usr/bin/env bash
# Runs all tests: installs what is missing (Debian, Ubuntu), configures, builds, tests.
#
#   tests/run.sh                         every test once, by g++ or by clang; every refusal by every compiler; programs for a GPU for one architecture
#   tests/run.sh --all                   every test by g++, clang 14, clang 19, both sanitizers and without product libraries, programs for a GPU for
#                                        all architectures, and 100 more random programs by each of g++ and clang: many times as long
#   tests/run.sh --preset asan           all tests in one configuration of CMakePresets.json; may be repeated
#   tests/run.sh --preset release -- -R core   what follows -- goes to ctest
#
# On two cores expect an hour. The last line counts what passed.
# REGIMEN_MINUTES: the time that there is; a machine that is too slow for it leaves out some tests that train, and some random ones; it begins with others every day.
# REGIMEN_DATA names a folder with real data (tinyshakespeare.txt, MNIST); tests that need it are skipped without.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/cmake/packages.sh"

presets=()
extra=()
all=no stamps=-DREGIMEN_STAMPS=${REGIMEN_STAMPS:-}
while [ $# -gt 0 ]; do
  case $1 in
    --preset) presets+=("${2:?--preset needs a name}"); shift 2 ;;
    --all) all=yes; shift ;;
    --help | -h) sed -n '2,/^set/p' "$0" | sed '$d; s/^# \{0,1\}//'; exit ;;
    --) shift; extra=("$@"); break ;;
    *) echo "unknown argument '$1'; see --help" >&2; exit 2 ;;
  esac
done
if [ $all = yes ]; then stamps=-DREGIMEN_STAMPS=OFF presets=(release clang clang19 asan tsan portable)
elif [ ${#presets[@]} = 0 ]; then presets=(release clang); fi
jobs=$(nproc 2> /dev/null || echo 2)
memory=$(awk '/^MemAvailable:/ {print int($2 / 1048576)}' /proc/meminfo 2> /dev/null || echo 0)   # GiB
started=$SECONDS

say "what is missing"
need_to_build
need catch2       catch_header
need nlohmann-json3-dev header nlohmann/json.hpp
want libcli11-dev header CLI/CLI.hpp
want clang        program clang++
want clang-19     program clang++-19
want libomp-dev   omp_for_clang
want libopenmpi-dev program mpicxx
want openmpi-bin    program mpirun
want lld          program ld.lld
want locales        test -e /usr/share/i18n/locales/de_DE
install_missing
check_cmake
program nvcc || [ -x /usr/local/cuda/bin/nvcc ] || echo "no nvcc here: what it would refuse is not tested"

# Large pages: clang takes a twentieth less. Ends after `left` seconds, if that is set, with status 124.
build_all() {
  GLIBC_TUNABLES=glibc.malloc.hugetlb=1 ${left:+timeout "$left"} cmake --build "$@" --parallel "$jobs" -- -k 0
}

# Of the programs of several tests, and the random ones, those that are not built.
programs_not_there() {
  ninja -C "$1" -t targets all | sed -nE 's/^tests\/(test_(train_together|random)_[a-z0-9_]+): CXX_EXECUTABLE.*/\1/p' | while read -r program; do
    [ -e "$1/tests/$program" ] || echo "$program"
  done
}

cd "$root"
passed=0 failed=0 skipped=0 unread=0
first=yes shared=no
for preset in "${presets[@]}"; do
  compiler=$(sed -n "/\"name\": \"$preset\"/,/}/s/.*\"CMAKE_CXX_COMPILER\": \"\([^\"]*\)\".*/\1/p" CMakePresets.json | head -n 1)
  if [ -n "$compiler" ] && ! program "$compiler"; then
    say "$preset: no $compiler here; left out"
    skipped=$((skipped + 1))
    continue
  fi

  # What does not depend on the configuration is built and tested once, by the first: benchmarks, headers alone, verdicts and refusals in four
  # compilers, programs for a GPU, what compiling costs. What is about to run for moments is not optimised: tests that train.
  # Tests that train are compiled sixteen files at a time, which takes clang less than half as long as one by one (a tenth less than eight
  # at a time), and up to 7 GB; or four, as g++ needs 10 GB for sixteen.
  # Sanitizers look at what runs; they take far longer for large files than for several small ones.
  # Where g++ and clang share the tests, lessons, benchmarks, MPI and packages are g++'s, too.
  bench=TESTED headers=ON hurry=TESTS together=4 examples=ON mpi=AUTO cuda=AUTO share=ALL later=OFF once=()
  case $preset in clang*) [ $((jobs * 10)) -gt "${memory:-0}" ] || together=16 ;; esac
  case $preset in
    asan | tsan) bench=OFF headers=OFF hurry=ON together=1 cuda=OFF once=(-LE '^compilers$') ;;
    *)
      if [ $first = no ]; then bench=OFF headers=OFF hurry=ON cuda=OFF once=(-LE '^compilers$')
      elif [ $all = yes ]; then hurry=OFF
      elif [ "${presets[*]}" = "release clang" ] && program clang++; then share=FIRST shared=yes; fi
      if [ $shared$preset = yesclang ]; then
        examples=OFF mpi=OFF share=SECOND once=(-LE '^(compilers|mpi|package|device)$')
        [ -z "${REGIMEN_MINUTES:-}" ] || later=ON
      fi
      first=no
      ;;
  esac

  say "$preset: configure"
  cmake --preset "$preset" -DREGIMEN_BENCH=$bench -DREGIMEN_TEST_HEADERS=$headers -DREGIMEN_HURRY=$hurry -DREGIMEN_EXAMPLES=$examples -DREGIMEN_MPI=$mpi -DREGIMEN_TOGETHER=$together -DREGIMEN_CUDA=$cuda -DREGIMEN_SHARE=$share -DREGIMEN_LATER=$later -DREGIMEN_LEFT_OUT= $stamps ${REGIMEN_DATA:+-DREGIMEN_DATA="$REGIMEN_DATA"} | { grep -E '^-- regimen|^CMake (Warning|Error)' || true; }

  say "$preset: build ($jobs at a time)"
  begun=$SECONDS
  built=yes left=
  build_all "build/$preset" || built=no
  if [ $later = ON ]; then   # but for six minutes, in which the tests run
    left=$((REGIMEN_MINUTES * 60 - (SECONDS - started) - 360)) log=build/$preset/together.log
    [ $left -gt 0 ] || left=1
    build_all "build/$preset" --target test_later 2>&1 | tee "$log" || [ ${PIPESTATUS[0]} = 124 ] || built=no
    if grep -q '^FAILED: ' "$log"; then built=no; fi
    late=$(programs_not_there "build/$preset" | paste -sd ';')
    if [ $built = yes ] && [ -n "$late" ]; then
      echo "no time was left to build $late"
      cmake -DREGIMEN_LEFT_OUT="$late" "build/$preset" > /dev/null
    fi
  fi
  echo "$((SECONDS - begun)) s"

  say "$preset: test"
  begun=$SECONDS
  report=$root/build/$preset/report.xml
  rm -f "$report"
  ctest --test-dir "build/$preset" --parallel "$jobs" --output-on-failure --output-junit "$report" "${once[@]}" "${extra[@]}" < /dev/null || true
  echo "$((SECONDS - begun)) s"

  if [ $built = no ]; then
    echo "$preset: the build failed"
    failed=$((failed + 1))
  fi
  if [ -e "$report" ]; then
    # One <testcase> a test. Left out on purpose: exit code 77. Anything else that did not run has failed.
    counts=$(awk '/<testcase /{all++} /<testcase .*status="run"/{ok++} /<skipped message="SKIP_RETURN_CODE/{skip++} END {print ok+0, all-ok-skip, skip+0}' "$report")
    read -r p f s <<< "$counts"
    unread=$((unread + $(grep -c 'unchanged since it last held' "$report" || true)))
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  else
    echo "$preset: no test report"
    failed=$((failed + 1))
  fi
done

if [ $all = yes ]; then
  for compiler in g++ clang++; do
    program $compiler || continue
    say "random programs, $compiler"
    if "$root/tests/random.sh" --from 1000 --count 100 --compiler $compiler --out "build/random_$compiler" --jobs "$jobs"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  done
fi

say "$((SECONDS - started)) s in all"
[ $unread = 0 ] || echo "of those that passed, $unread were not read again: nothing that they read has changed since they last held"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
