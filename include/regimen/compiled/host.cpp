// regimen/compiled/host.cpp — of regimen::compiled: what runs on the host and depends on no type of the program's.
#include <regimen/state/detail/safetensors_header.ipp>
