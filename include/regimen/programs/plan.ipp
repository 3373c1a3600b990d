// regimen/programs/plan.ipp — the bodies of plan.hpp.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/programs/plan.hpp>

namespace regimen {

namespace detail {

inline std::string text_of(const RecomputationPlan& recomputed) {
  std::string text;
  const auto name = [&](const RecomputationPlan::Schedules& of) {
    const char* before = "";
    if (of.segment > 0) text += printed("Every<%zu>", of.segment), before = ", ";
    for (const char* layer : of.layers)
      if (layer) text += printed("%s%s", before, layer), before = ", ";
    if (!*before) text += "nothing";
  };
  std::size_t whole = 0;
  for (const RecomputationPlan::Schedules& of : recomputed.of) {
    if (whole > 0) text += printed("; of the last %zu blocks: ", whole);
    if (&of == &recomputed.of[0] || whole > 0) name(of);
    whole = of.whole;
  }
  return text;
}

}  // namespace detail

REGIMEN_INLINE std::string MemoryPlan::table() const {
  std::string text;
  const auto line = [&](const char* format, auto... values) { text += detail::printed(format, values...); };
  line("plan: %zu parameters, batch %zu", parameters, batch);
  if (micro_batches > 1) line(" x %zu micro-batches", micro_batches);
  if (ranks > 1) line(", one of %zu ranks", ranks);
  line(", %.3g Gflop a step (forward %.3g, backward %.3g), %.3g GB moved\n", flops() / 1e9, forward.flops / 1e9,
       backward.flops / 1e9, bytes_moved() / 1e9);
  const bool large = peak >> 34 != 0;
  const char* const unit = large ? "GiB" : "MiB";
  const auto size = [&](std::size_t bytes) { return double(bytes) / (large ? 0x1p30 : 0x1p20); };
  if (ranks > 1)
    line("  %.2f %s kept from step to step, %.2f %s sent to other ranks in a step\n", size(kept), unit, size(wire()),
         unit);
  for (std::size_t kind = 0; kind < memory_kinds; ++kind)
    if (kinds[kind] > 0)
      line("  %-14s %10.2f %s  %5.1f %%\n", memory_kind_names[kind], size(kinds[kind]), unit,
           100.0 * double(kinds[kind]) / double(peak));
  line("  %-14s %10.2f %s  %zu bytes\n", "peak", size(peak), unit, peak);
  if (host > 0)
    line("  %.2f %s of the host's memory; %.2f %s copied there in a step, %.2f %s back\n", size(host), unit,
         size(to_host()), unit, size(from_host()), unit);
  if (gaps > 0) line("  %zu bytes lie between parameters, which begin at multiples of 16 bytes\n", gaps);
  if (padding > 0) line("  %zu bytes lie between rows of the output, which begin at multiples of 16 bytes\n", padding);
  if (budget > 0) line("  for Budget<%zu>, recomputed: %s\n", budget, detail::text_of(recomputed).c_str());
  text += "largest at the peak:\n";
  for (const regimen::detail::LiveTensors::Line& entry : largest) {
    if (entry.copies == 0) break;
    line("  %10.2f %s  %-13s ", size(entry.bytes()), unit,
         memory_kind_names[static_cast<std::size_t>(entry.item.kind)]);
    const std::string place = entry.item.path.place();
    line(place.empty() ? "%s%s" : "%s %s", place.c_str(), entry.item.path.name);
    if (entry.copies > 1) line(", %zu x %.2f %s", entry.copies, size(entry.item.bytes), unit);
    text += "\n";
  }
  if (unaligned_share() > 0)
    line("rows of products that are no multiples of 16 bytes, with %.1f %% of the products' flops:\n",
         100 * unaligned_share());
  for (const planning::UnalignedRows& rows : unaligned) {
    if (rows.columns == 0) break;
    line("  %s %s: %zu columns of %zu bytes", rows.path.place().c_str(), rows.path.name, rows.columns, rows.element);
    if (rows.bytes > 0) line("; %zu would do, for %zu more bytes\n", rows.enough(), rows.bytes);
    else text += ", which do not begin at a multiple of 16 bytes\n";
  }
  return text;
}

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
