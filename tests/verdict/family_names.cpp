// Names of a family of networks, asked of a network of none: no tensor has a name, which is the rule's to say.
#include <regimen/models/llama.hpp>
#include <regimen/models/lstm.hpp>
#include <regimen/models/t5.hpp>
#include <regimen/models/transformer.hpp>
#include <regimen/models/vit.hpp>
#include <regimen/trainers/inference.hpp>

using namespace regimen;

namespace {

struct Net final : Model<Input<Vector<4>>, Linear<3>> {};

template <const auto& map>
constexpr bool names_nothing =
    names::detail::compare(
        map.entries,
        names::detail::TensorsOf<typename programs::InferenceRecipe<Net, ConfigurationOf<Batch<1>>>::Bound>::list)
            .misfit == names::Misfit::tensors_without_name &&
    map.entries.empty();

static_assert(names_nothing<hugging_face::llama_names<Net>> && names_nothing<hugging_face::t5_names<Net>> &&
              names_nothing<hugging_face::marian_names<Net>> && names_nothing<pytorch_lstm_names<Net>>);
static_assert(names_nothing<timm::vit_names<Net>> && names_nothing<timm::vit_encoder_names<Net>>);

}  // namespace
// SPDX-License-Identifier: Apache-2.0
