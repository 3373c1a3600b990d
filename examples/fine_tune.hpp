// examples/fine_tune.hpp — a network that another library has trained, with a new head: the code that lesson 15 and its test share.
#pragma once

#include "images.hpp"

#include <regimen/models/names.hpp>
#include <regimen/watch/metrics.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace images {

/// Begins with the weights of a file, whose tensors have the names of the mapping `pretrained`; ends with a table of what is taken for what.
template <const auto& pretrained>
struct FromPretrained {
  static constexpr const char* purpose = "A network that another library has trained, and a new head, which learns a folder of images: a sub-folder for each class.";
  static constexpr const char* program = "examples/15_fine_tune.cpp";
  static constexpr double learning_rate = 1e-2;   // the head alone learns
  std::string weights{};

  void add(program::CommandLine& line) {
    line.add("--weights", weights, "The file of weights, model.safetensors or an index of several; needed. docs/tutorial.md says how to get one");
  }
  const char* missing() const {
    return weights.empty() ? "give a file of weights: --weights resnet18.safetensors; docs/tutorial.md, lesson 15, says how to get one" : nullptr;
  }
  void begin(auto& trainer) const { names::load<pretrained>(trainer, weights); }

  void end(auto& trainer, const auto& validation, const data::ImageFolder& folder, std::FILE* out) const {
    ConfusionMatrix confusion;
    trainer.evaluate(validation, confusion);
    const std::vector<std::string>& classes = folder.classes();
    std::fprintf(out, "rows: what an image is; columns: what it is taken for\n%16s", "");
    for (std::size_t predicted = 0; predicted < classes.size(); ++predicted) std::fprintf(out, " %6zu", predicted + 1);
    std::fprintf(out, "  other\n");
    for (std::size_t actual = 0; actual < classes.size(); ++actual) {
      double others = 0;   // outputs beyond the folder's classes
      for (std::size_t predicted = classes.size(); predicted < confusion.classes; ++predicted) others += confusion.count(actual, predicted);
      std::fprintf(out, "%3zu %-12.12s", actual + 1, regimen::detail::printable(classes[actual]).c_str());
      for (std::size_t predicted = 0; predicted < classes.size(); ++predicted) std::fprintf(out, " %6.0f", confusion.count(actual, predicted));
      std::fprintf(out, " %6.0f\n", others);
    }
  }
};

}  // namespace images
// SPDX-License-Identifier: Apache-2.0
