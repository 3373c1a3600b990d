// regimen/engine/cpu/onednn.hpp — bf16 products by oneDNN, where the processor multiplies bf16 tiles in hardware.
#pragma once

#if REGIMEN_HAS_ONEDNN

#include <regimen/core/number.hpp>

#include <dnnl.h>  // the C interface: the C++ one costs more than a second per translation unit

#include <cstddef>
#include <vector>

namespace regimen::cpu::onednn {

/// Tests set this to use the path on processors where it works but is not the fastest.
inline bool forced = false;

/// Does the processor have AMX for bf16? oneDNN's bf16 is slower than packed fp32 without it.
inline bool has_bf16_tiles() {
  static const bool has = (static_cast<unsigned>(dnnl_get_effective_cpu_isa()) & dnnl_cpu_isa_avx512_core_amx) == dnnl_cpu_isa_avx512_core_amx;
  return has;
}

namespace detail {

struct Shape final {
  std::size_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false, add = false, to_fp32 = false;

  friend bool operator==(const Shape&, const Shape&) = default;
};

/// What one shape needs; `primitive` stays null where oneDNN has no implementation for it.
struct Entry final {
  Shape shape{};
  dnnl_primitive_t primitive = nullptr;
  dnnl_memory_t a = nullptr, b = nullptr, c = nullptr;
};

/// Engine, stream, and every shape met so far: after the first step nothing is created any more. One per thread, so
/// nothing is locked.
class Library final {
 public:
  static Library& here() {
    thread_local Library library;
    return library;
  }

  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    for (const Entry& entry : entries_) release(entry);
    if (stream_ != nullptr) dnnl_stream_destroy(stream_);
    if (engine_ != nullptr) dnnl_engine_destroy(engine_);
  }

  bool run(const Shape& shape, const void* a, const void* b, void* c) {
    if (stream_ == nullptr) return false;
    const Entry& entry = find(shape);
    if (entry.primitive == nullptr) return false;
    // Execution reads a and b and writes c; the C interface has one pointer type for both.
    dnnl_memory_set_data_handle(entry.a, const_cast<void*>(a));
    dnnl_memory_set_data_handle(entry.b, const_cast<void*>(b));
    dnnl_memory_set_data_handle(entry.c, c);
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, entry.a}, {DNNL_ARG_WEIGHTS, entry.b}, {DNNL_ARG_DST, entry.c}};
    return dnnl_primitive_execute(entry.primitive, stream_, 3, arguments) == dnnl_success && dnnl_stream_wait(stream_) == dnnl_success;
  }

  std::size_t shapes() const { return entries_.size(); }

 private:
  Library() {
    if (dnnl_engine_create(&engine_, dnnl_cpu, 0) != dnnl_success) return;
    if (dnnl_stream_create(&stream_, engine_, dnnl_stream_default_flags) != dnnl_success) stream_ = nullptr;
  }

  const Entry& find(const Shape& shape) {
    for (const Entry& entry : entries_)
      if (entry.shape == shape) return entry;
    Entry entry{shape};
    if (!create(entry)) {
      release(entry);
      entry = Entry{shape};
    }
    entries_.push_back(entry);
    return entries_.back();
  }

  static void release(const Entry& entry) {
    if (entry.primitive != nullptr) dnnl_primitive_destroy(entry.primitive);
    for (const dnnl_memory_t memory : {entry.a, entry.b, entry.c})
      if (memory != nullptr) dnnl_memory_destroy(memory);
  }

#if DNNL_VERSION_MAJOR >= 3
  using Description = dnnl_memory_desc_t;
  static void release(Description description) { dnnl_memory_desc_destroy(description); }
  static bool describe(Description* to, const dnnl_dims_t dims, dnnl_data_type_t type, const dnnl_dims_t strides) {
    return dnnl_memory_desc_create_with_strides(to, 2, dims, type, strides) == dnnl_success;
  }
  bool create_memory(dnnl_memory_t* to, const Description& of) { return dnnl_memory_create(to, of, engine_, DNNL_MEMORY_NONE) == dnnl_success; }
  static bool append_sum(dnnl_post_ops_t to) { return dnnl_post_ops_append_sum(to, 1.0f, 0, dnnl_data_type_undef) == dnnl_success; }
  bool create_matmul(dnnl_primitive_desc_t* to, const Description& a, const Description& b, const Description& c, dnnl_primitive_attr_t attributes) {
    return dnnl_matmul_primitive_desc_create(to, engine_, a, b, nullptr, c, attributes) == dnnl_success;
  }
#else
  struct Description final {
    dnnl_memory_desc_t value;
  };
  static void release(const Description&) {}
  static bool describe(Description* to, const dnnl_dims_t dims, dnnl_data_type_t type, const dnnl_dims_t strides) {
    return dnnl_memory_desc_init_by_strides(&to->value, 2, dims, type, strides) == dnnl_success;
  }
  bool create_memory(dnnl_memory_t* to, const Description& of) {
    return dnnl_memory_create(to, &of.value, engine_, DNNL_MEMORY_NONE) == dnnl_success;
  }
  static bool append_sum(dnnl_post_ops_t to) { return dnnl_post_ops_append_sum(to, 1.0f) == dnnl_success; }
  bool create_matmul(dnnl_primitive_desc_t* to, const Description& a, const Description& b, const Description& c, dnnl_primitive_attr_t attributes) {
    dnnl_matmul_desc_t operation;
    return dnnl_matmul_desc_init(&operation, &a.value, &b.value, nullptr, &c.value) == dnnl_success &&
           dnnl_primitive_desc_create(to, &operation, attributes, engine_, nullptr) == dnnl_success;
  }
#endif

  bool create(Entry& entry) {
    const Shape& s = entry.shape;
    const dnnl_dim_t m = static_cast<dnnl_dim_t>(s.m), n = static_cast<dnnl_dim_t>(s.n), k = static_cast<dnnl_dim_t>(s.k);
    // Dense strides, in order or exactly transposed: anything else would leave the fast kernels.
    const dnnl_dims_t a_dims = {m, k}, b_dims = {k, n}, c_dims = {m, n};
    const dnnl_dims_t a_strides = {s.transpose_a ? 1 : k, s.transpose_a ? m : 1};
    const dnnl_dims_t b_strides = {s.transpose_b ? 1 : n, s.transpose_b ? k : 1};
    const dnnl_dims_t c_strides = {n, 1};
    Description a{}, b{}, c{};
    const bool described = describe(&a, a_dims, dnnl_bf16, a_strides) && describe(&b, b_dims, dnnl_bf16, b_strides) &&
                           describe(&c, c_dims, s.to_fp32 ? dnnl_f32 : dnnl_bf16, c_strides);
    dnnl_primitive_attr_t attributes = nullptr;
    dnnl_post_ops_t after = nullptr;
    dnnl_primitive_desc_t description = nullptr;
    bool done = described && dnnl_primitive_attr_create(&attributes) == dnnl_success;
    if (done && s.add)  // c is read, added in fp32, and rounded once
      done = dnnl_post_ops_create(&after) == dnnl_success && append_sum(after) && dnnl_primitive_attr_set_post_ops(attributes, after) == dnnl_success;
    done = done && create_matmul(&description, a, b, c, attributes) && dnnl_primitive_create(&entry.primitive, description) == dnnl_success &&
           create_memory(&entry.a, a) && create_memory(&entry.b, b) && create_memory(&entry.c, c);
    if (description != nullptr) dnnl_primitive_desc_destroy(description);
    if (after != nullptr) dnnl_post_ops_destroy(after);
    if (attributes != nullptr) dnnl_primitive_attr_destroy(attributes);
    release(a);
    release(b);
    release(c);
    return done;
  }

  dnnl_engine_t engine_ = nullptr;
  dnnl_stream_t stream_ = nullptr;
  std::vector<Entry> entries_;
};

}  // namespace detail

/// c = op(a) · op(b), or c +=, of dense row-major bf16 into bf16 or fp32 (C); false, and c untouched, where oneDNN cannot.
///
/// error   fp32 accumulation; subnormal operands count as 0 on processors whose bf16 instructions say so
template <class C>
bool product(const bf16* a, const bf16* b, C* c, std::size_t m, std::size_t n, std::size_t k, bool transpose_a, bool transpose_b, bool add) {
  static_assert(sizeof(C) == sizeof(bf16) || sizeof(C) == sizeof(fp32));
  return detail::Library::here().run({m, n, k, transpose_a, transpose_b, add, sizeof(C) == sizeof(fp32)}, a, b, c);
}

}  // namespace regimen::cpu::onednn

#endif  // REGIMEN_HAS_ONEDNN
// SPDX-License-Identifier: Apache-2.0
