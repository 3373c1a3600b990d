// Every container as the model's last child, alone, and nested there. The loss writes its gradient where the output
// lay, so this is where a
// walker that reads it after giving its memory back is found out.
#include "walk/last_child.hpp"

using namespace regimen;
using namespace regimen::test;

namespace {

using In = Input<Vector<8>>;
using Branch = Residual<LayerNorm, Linear<8>>;

// Relu has kinks, which small steps rarely meet; a smaller step costs 2⁻⁵³ · loss / 1e-5 of accuracy.
constexpr double kinked = 1e-5, kinked_tolerance = 1e-6;

}  // namespace

TEST_CASE("a Residual comes last, alone, twice, and in itself") {
  holds_as_last<Model<In, Linear<8>, Branch>>("last");
  holds_as_last<Model<In, Residual<Linear<8>, Gelu, Linear<8>>>>("alone");
  holds_as_last<Model<In, Linear<8>, Branch, Branch>>("twice");
  holds_as_last<Model<In, Linear<8>, Residual<LayerNorm, Residual<Linear<8>, Gelu>>>,
                Checkpoint<Selective<LayerNorm, Gelu>>>("in itself");
}
TEST_CASE("a Repeat comes last, alone, and in itself") {
  holds_as_last<Model<In, Linear<8>, Repeat<3, Sequential<LayerNorm, Linear<8>>>>>("last");
  holds_as_last<Model<In, Repeat<3, Branch>>>("alone");
  holds_as_last<Model<In, Linear<8>, Repeat<2, Repeat<3, Branch>>>>("in itself");
  holds_as_last<Model<In, Linear<8>, Residual<Repeat<3, Sequential<Linear<8>, Gelu>>>>>("in a Residual");
}
TEST_CASE("a Repeat that is computed again comes last") {
  holds_as_last<Model<In, Linear<8>, Repeat<3, Sequential<LayerNorm, Linear<8>>>>, Checkpoint<Every<1>>>("every 1");
  holds_as_last<Model<In, Linear<8>, Repeat<5, Branch>>, Checkpoint<Every<2>>>("every 2, the last one shorter");
  holds_as_last<Model<In, Repeat<2, Repeat<4, Branch>>>, Checkpoint<Every<2>>>("in itself, every 2");
  holds_as_last<Model<In, Linear<8>, Repeat<3, Branch>>, Checkpoint<Selective<LayerNorm, Linear<8>>>>("selective");
}
TEST_CASE("a layer that reads its own output comes last") {
  holds_as_last<Model<In, Linear<8>, Relu>>("last", kinked, kinked_tolerance);
  holds_as_last<Model<In, Linear<8>, Residual<LayerNorm, Linear<8>, Relu>>>("in a Residual", kinked, kinked_tolerance);
  holds_as_last<Model<In, Linear<8>, Repeat<3, Sequential<Linear<8>, Relu>>>, Fusion<Unfused>>("in a Repeat", kinked,
                                                                                               kinked_tolerance);
  holds_as_last<Model<In, Repeat<3, Residual<Linear<8>, Relu>>>, Checkpoint<Every<2>>>("in a Residual in a Repeat",
                                                                                       kinked, kinked_tolerance);
}
