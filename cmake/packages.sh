# shellcheck shell=bash
# Sourced by tests/run.sh and examples/run.sh: what must be on this machine, and how it gets there. bash.

say() { printf '\n== %s\n' "$*"; }

# Is there a header on this machine, where compilers and CMake look?
header() {
  local folder
  for folder in /usr/include /usr/include/*-linux-gnu /usr/include/*-linux-gnu/openblas* /usr/local/include \
      ${CMAKE_PREFIX_PATH:+${CMAKE_PREFIX_PATH//[:;]//include }/include} ${CPATH:+${CPATH//:/ }}; do
    [ -e "$folder/$1" ] && return 0
  done
  return 1
}
program() { command -v "$1" > /dev/null; }
catch_header() { header catch2/catch.hpp || header catch2/catch_all.hpp; }
# A BLAS that is written for speed, to build with. cblas.h alone proves nothing: the reference implementation, 40 times
# slower, has it, too.
fast_blas() {
  local folder
  header cblas.h || header mkl_cblas.h || return 1
  for folder in /usr/lib /usr/lib64 /usr/lib/*-linux-gnu /usr/local/lib ${CMAKE_PREFIX_PATH:+${CMAKE_PREFIX_PATH//[:;]//lib }/lib} \
      ${LIBRARY_PATH:+${LIBRARY_PATH//:/ }} ${MKLROOT:+"$MKLROOT/lib" "$MKLROOT/lib/intel64"}; do
    compgen -G "$folder/libopenblas*.so" > /dev/null || compgen -G "$folder/libmkl_rt.so" > /dev/null || compgen -G "$folder/libblis*.so" > /dev/null && return 0
  done
  return 1
}
omp_for_clang() { compgen -G "/usr/lib/llvm-*/lib/libomp.so" > /dev/null; }

must=()    # packages without which nothing works
may=()     # packages that make it faster or test more
#           package                 how to see that it is there
need() { "${@:2}" || must+=("$1"); }
want() { "${@:2}" || may+=("$1"); }

need_to_build() {
  need g++                    program g++
  need cmake                  program cmake
  need ninja-build            program ninja
  need libboost-dev           header boost/mp11.hpp
  need zlib1g-dev             header zlib.h
  want libopenblas-openmp-dev fast_blas
  want libdnnl-dev            header oneapi/dnnl/dnnl.h
  want libjpeg-dev            header jpeglib.h
  want libpng-dev             header png.h
  want nlohmann-json3-dev     header nlohmann/json.hpp
  want libpcre2-dev           header pcre2.h
  want ccache                 program ccache
}

# Installs what is missing, where that is allowed; otherwise says what to install, and stops only if it cannot go on.
install_missing() {
  if [ ${#must[@]} -eq 0 ] && [ ${#may[@]} -eq 0 ]; then
    echo "nothing is missing"
    return
  fi
  local as=no
  if program apt-get; then
    if [ "$(id -u)" -eq 0 ]; then as=
    elif program sudo && sudo -n true 2> /dev/null; then as="sudo -n"
    elif program sudo && [ -t 0 ] && [ -z "${CI:-}" ]; then as=sudo
    fi
  fi
  if [ "$as" = no ]; then
    if [ ${#must[@]} -gt 0 ]; then
      echo "missing, and you may not install: ${must[*]} ${may[*]}"
      echo "ask for:  apt-get install ${must[*]} ${may[*]}"
      exit 1
    fi
    echo "goes on without: ${may[*]}   (apt-get install ${may[*]})"
    return
  fi
  local package wanted=()
  export DEBIAN_FRONTEND=noninteractive
  local apt="$as env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3"
  echo "apt-get update"
  $apt update > /dev/null || echo "the package lists could not be brought up to date; goes on with those at hand"
  for package in "${may[@]}"; do
    if apt-cache show "$package" > /dev/null 2>&1; then wanted+=("$package"); else echo "this system has no package $package; goes on without"; fi
  done
  if [ ${#must[@]} -eq 0 ] && [ ${#wanted[@]} -eq 0 ]; then return; fi
  echo "apt-get install ${must[*]} ${wanted[*]}"
  if ! $apt install -y --no-install-recommends "${must[@]}" "${wanted[@]}" < /dev/null > "${TMPDIR:-/tmp}/regimen-apt.$$" 2>&1; then
    tail -n 20 "${TMPDIR:-/tmp}/regimen-apt.$$"
    echo "the installation failed"
    exit 1
  fi
  rm -f "${TMPDIR:-/tmp}/regimen-apt.$$"
}

# CMake of this version or newer?
check_cmake() {
  local version
  version=$(cmake --version | sed -n '1s/.*version //p')
  if [ "$(printf '%s\n3.25\n' "$version" | sort -V | head -n 1)" != 3.25 ]; then
    echo "CMake $version is too old: 3.25 or newer is needed (Debian 12, Ubuntu 23.04)"
    exit 1
  fi
}
