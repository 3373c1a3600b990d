# cmake -DPROGRAM=<program of tests/device> -P one_sentence.cmake: without a device it ends with 77, and one line.
execute_process(COMMAND ${PROGRAM} RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(NOT code EQUAL 77 OR NOT said MATCHES "^[^\n]+\n$")
  message(FATAL_ERROR "without a device it ended with ${code} and said\n${said}")
endif()
