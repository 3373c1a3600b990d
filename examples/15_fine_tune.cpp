// examples/15_fine_tune.cpp — lesson 15: a network that torchvision has trained learns your classes.
//
//   fine_tune --images FOLDER --weights resnet18.safetensors
//
// Its weights stay as they are, and a new head is trained. docs/tutorial.md says how to write the file.
#include "fine_tune.hpp"

#include <regimen/models/layers_of.hpp>
#include <regimen/models/resnet.hpp>

using namespace regimen;

// A ResNet takes images of any size; at 64 x 64 a hundred of them take seconds of a CPU. The head has more outputs than most
// folders have classes.
constexpr std::size_t side = 64, classes = 16;
using Backbone = ResNet18<regimen::Image<side, side, 3>>;
struct Net : Model<Input<regimen::Image<side, side, 3>>, Frozen<KeepStatistics, EncoderOf<Backbone>>, Linear<classes>> {};

// Where their file lies beside the model: all but its head, which has 1000 classes and is left unread.
constexpr auto pretrained = names::list(Backbone::torchvision_encoder_names, names::absent(names::layer("fc")), names::ignore("fc.*"));

// Try: EncoderOf<Backbone> without Frozen<...>, and --learning-rate 1e-4: then all of it learns.
int main(int argc, char** argv) { return images::train<Net, side, classes>(argc, argv, images::FromPretrained<pretrained>{}); }
// SPDX-License-Identifier: Apache-2.0
