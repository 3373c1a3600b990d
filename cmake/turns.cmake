# Where two compilers share the suite (tests/run.sh), a run is a part of it, and what costs most takes turns. Of what is large and hardly depends on
# the compiler (tests that train, of kernels, of walks, random programs) each compiler builds every REGIMEN_EVERY-th, and of the rest every
# REGIMEN_EVERY_SMALL-th. Over some turns each compiler builds all.
set(REGIMEN_EVERY 1 CACHE STRING "Of the tests that train, of kernels and walks, and of the random programs, build every N-th")
set(REGIMEN_EVERY_SMALL 1 CACHE STRING "Of the other tests, build every N-th")
set(REGIMEN_TURN 0 CACHE STRING "Where every N-th is built: which of the N")
mark_as_advanced(REGIMEN_EVERY REGIMEN_EVERY_SMALL REGIMEN_TURN)
set(shares FALSE)
if(REGIMEN_EVERY GREATER 1)
  set(shares TRUE)
endif()

# Whether number `index` is one of every N.
function(is_turn_of result index every)
  math(EXPR place "(${index} + ${REGIMEN_TURN}) % ${every}")
  set(${result} FALSE PARENT_SCOPE)
  if(place EQUAL 0)
    set(${result} TRUE PARENT_SCOPE)
  endif()
endfunction()
# The same where two compilers share the suite; otherwise always.
function(is_shared_turn_of result index every)
  if(NOT shares)
    set(every 1)
  endif()
  is_turn_of(turn ${index} ${every})
  set(${result} ${turn} PARENT_SCOPE)
endfunction()
