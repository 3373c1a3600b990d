// regimen/programs/step.hpp — the training step as one program: persistent regions and the order of operations.
#pragma once

#include <regimen/core/defect.hpp>
#include <regimen/policy/loss.hpp>
#include <regimen/policy/optimizer.hpp>
#include <regimen/programs/forward.hpp>
#include <regimen/programs/input_ring.hpp>
#include <regimen/programs/unit_update.hpp>

#include <bit>

namespace regimen::programs {

/// Nobody looks at the outputs of a step.
struct NoViewer final {
  constexpr void operator()(std::size_t) const {}
};

/// A model bound to loss and update rule. Written once and walked by every engine.
///   Bound   walk::BoundModel      Loss, UpdateRule   as policies name them      micro_batches   accumulated per step
///   steps   of a launch       sums   the loss is a sum, not a mean       simulates   micro-batches stand for ranks
template <class Bound_, class Loss, class UpdateRule, std::size_t micro_batches, std::size_t steps, bool sums = false,
          bool simulates = false>
struct Step : Forward<Bound_> {
  using Bound = Bound_;
  using X = typename Bound::X;
  using Body = typename Bound::Body;
  using Roles = typename Bound::Roles;
  using Output = typename Bound::Output;
  using Labels = typename Loss::template Labels<Output>;
  /// Upper bound of labels that are whole numbers; of a sum of losses that of each.
  static constexpr auto classes = regimen::detail::labels_below<Loss, Output>();
  /// Whether the loss counts correct rows, by itself or as it runs: then an evaluation has an accuracy.
  template <class Walk>
  static constexpr bool counts_correct = requires(Walk& walk, std::size_t at, View<Scalars> scalars) {
    Loss::template count_correct<Output>(walk, at, at, scalars);
  };
  template <class Walk>
  static constexpr bool has_accuracy = counts_correct<Walk> || requires { requires Loss::counts_as_it_runs; };
  using Master = typename Roles::master;
  using Reduce = typename Roles::reduce;
  using Buffer = buffer_t<Roles>;
  using Sharding = typename Bound::Ctx::Sharding;
  using Units = UnitUpdate<Bound, UpdateRule>;

  /// Backward computes gradients of Σ loss · scale. The scale is a power of two near 1 / (rows of the global batch), so
  /// that 16-bit gradients stay in range; Finish divides by the number of valid labels, once.
  static constexpr double scale_of(std::size_t capacity, std::size_t ranks) {
    return 1.0 / double(std::bit_ceil(capacity * Loss::template rows<Output> * micro_batches * ranks));
  }

  /// What divides the sum of the losses of so many valid targets.
  static constexpr double divisor_of(double count) { return sums && count > 0 ? 1 : count; }

  /// Allocates the persistent regions, each child's part under the child's name.
  static constexpr Resident setup(auto& walk) {
    Resident r{};
    r.parameters = Base::push_units(walk, MemoryKind::parameter, &walk::UnitOffsets::parameters);
    r.buffers = Base::push_buffers(walk);
    if constexpr (moves_apart) {
      r.moved = Base::push_buffers(walk);
      r.sum_of_moved = Base::push_buffers(walk);
    }
    r.states = Base::push_units(walk, MemoryKind::optimizer, &walk::UnitOffsets::states);
    if (walk.ranks > 1)
      r.sums = {walk.arena.push(TensorArena::align(walk.ranks * sizeof(RankSums)), MemoryKind::communication,
                                Base::path_of_sums)};
    if constexpr (Sharding::bucket > 0) push_bucket_staging(walk);
    r.scalars = walk.scalars = {
        walk.arena.push(TensorArena::align(sizeof(Scalars)), MemoryKind::optimizer, Base::path_of_scalars)};
    r.input = Base::push_input(walk);
    r.target = walk.arena.push(walk::bytes_of<Labels>(walk), MemoryKind::input, Base::path_of_target);
    r.ring = push_ring<X, Labels, slots<std::remove_cvref_t<decltype(walk)>>>(walk, Base::path_of_ring);
    if constexpr (steps > 1)
      r.results = {
          walk.arena.push(TensorArena::align(steps * sizeof(Scalars)), MemoryKind::optimizer, Base::path_of_results)};
    r.gradients = Base::push_units(walk, MemoryKind::gradient, &walk::UnitOffsets::gradients);
    r.end = walk.arena.top;
    return r;
  }

  /// Slots of the ring from which steps take their micro-batches, and which the host fills ahead of them; 0: no ring.
  template <class Walk>
  static constexpr std::size_t slots = Walk::Engine::Traits::input_slots(steps > 1 ? steps * micro_batches : 1);

  /// Whether each micro-batch moves buffers of its own, as a rank does, of which the step takes the mean.
  static constexpr bool moves_apart = simulates && micro_batches > 1 && Bound::layout.buffer_bytes > 0;

  static constexpr void begin(auto& walk, const Resident& r) {
    walk.phase(op::Phase::forward);
    walk.run(op::Begin{r.scalars});
  }

  /// Where the model's output lies; the loss overwrites it with its gradient. On top of the saved stack the gradient
  /// needs no memory of its own, and is freed with its layer's saved tensors (on the transient side it would leave a
  /// hole below the next gradient). If it is read for longer, it is a transient tensor; if the last layer reads its own
  /// output, it is a copy.
  static constexpr bool copies_output = Body::reads_output, gradient_on_stack = !copies_output && !Body::keeps_d_y;
  static constexpr walk::Place output_place =
      copies_output || gradient_on_stack ? walk::Place::saved : walk::Place::transient;

  /// Forward and loss of the micro-batch in the input. Returns the gradient of the output.
  ///   see(output)   is called between the two, when the output is whole
  template <class See = NoViewer>
  static constexpr std::size_t forward(auto& walk, const Resident& r, bool further, const See& see = {}) {
    const regimen::WeightPlaces weights{r.parameters, r.gradients, further, moves_apart ? r.moved : r.buffers};
    walk.phase(op::Phase::forward);
    if constexpr (moves_apart) sum_buffers(walk, r.buffers, r.moved, {}, {.constant = 0});
    if constexpr (Bound::tied_count > 0) Bound::enter_tied(walk, weights, true);
    if constexpr (Bound::named_count > 0) Bound::enter_named(walk, true);
    walk.saved = walk.arena.top;
    std::size_t output =
        Body::forward(walk, walk::Tensor{r.input, false}, weights, Bound::path, {walk::Mode::save, output_place});
    if constexpr (moves_apart) {  // by how much: what stays where it was does so to the bit
      sum_buffers(walk, r.moved, r.sum_of_moved, {}, {.constant = further ? 1.0 : 0.0});
      sum_buffers(walk, r.buffers, r.sum_of_moved, {-1.0}, {});
    }
    see(output);
    if constexpr (copies_output) {
      static_assert(Output::leading == Output::columns);
      using S = typename Output::Element;
      const std::size_t copy = walk::allocate<Output>(walk, walk::Place::transient, Bound::path);
      walk.run(op::Copy<S>{{output}, {copy}, walk.batch * Output::size});
      output = copy;
    }
    walk.path = {};  // what a loss runs is no layer's
    Loss::template run<true, Output>(walk, output, r.target, r.scalars, scale_of(walk.capacity, walk.ranks));
    // A loss may take transient memory, which it gives back. (Backward does not compute the footprint again: plans of
    // many layers would take more steps than compilers allow a constant.)
    if (walk.arena.top != walk.saved + Body::footprint(walk, output_place))
      defect("a walker pushed other than its footprint, or a loss left saved tensors");
    return output;
  }
  /// Backward of that micro-batch; adds to the gradients unless it is the first of the step. If gradients are reduced
  /// once, the last micro-batch does it.
  static constexpr void backward(auto& walk, const Resident& r, std::size_t gradient, std::size_t micro_batch) {
    const regimen::WeightPlaces weights{r.parameters, r.gradients, micro_batch > 0, moves_apart ? r.moved : r.buffers};
    walk.phase(op::Phase::backward);
    walk.reduces = Sharding::reduces_each || micro_batch + 1 == micro_batches;
    if constexpr (Bound::named_count > 0) Bound::clear_named_gradients(walk);
    Body::backward(walk, walk::Tensor{gradient, !gradient_on_stack}, r.input, walk.saved, weights, Bound::path,
                   output_place);
    if constexpr (Bound::tied_count > 0) Bound::reduce_tied(walk, weights);
    if constexpr (!Sharding::alone) walk::finish_reductions<Reduce, Sharding>(walk);
    walk.arena.pop_to(r.end);
    if (walk.arena.top != r.end || walk.arena.transients.count != 0) defect("a step left tensors behind");
  }
  /// The gradient's norm, whether the step counts, and the update of every unit.   step   of the launch
  static constexpr void update(auto& walk, const Resident& r, const op::LossScaling& loss_scaling, double clip,
                               const typename UpdateRule::Options& options, [[maybe_unused]] std::size_t step = 0) {
    walk.phase(op::Phase::update);
    if constexpr (Sharding::stage == 0 && Sharding::reduces_each) {
      for_each_trained(walk, [&](const walk::UnitRecord& unit, walk::UnitOffsets at, const LayerPath& path) {
        gather_slices(walk, r.gradients + at.gradients, unit.gradient_slice * sizeof(Reduce), path);
      });
    }
    if constexpr (!Sharding::alone)
      if (walk.ranks > 1) walk.run(op::Zero<double>{{r.sums.offset}, walk.ranks * (sizeof(RankSums) / sizeof(double))});
    for_each_trained(walk, [&](const walk::UnitRecord& unit, walk::UnitOffsets at, const LayerPath&) {
      Units::sum_squares(walk, r, at, unit.trained, unit.gradient_part);
    });
    if constexpr (!Sharding::alone)
      if (walk.ranks > 1) combine_sums(walk, r);
    walk.run(op::Finish<UpdateRule>{.scalars = r.scalars,
                                    .scale = scale_of(walk.capacity, walk.ranks),
                                    .clip = clip,
                                    .loss_scaling = loss_scaling,
                                    .options = options,
                                    .sums = sums});
    const View<Scalars> scalars = Units::begin_groups(walk, r, options, Base::path_of_scalars);
    for_each_trained(walk, [&](const walk::UnitRecord& unit, walk::UnitOffsets at, const LayerPath& path) {
      Units::update_unit(walk, r, unit, at, {options, scalars}, path);
    });
    if constexpr (Units::Groups::count > 1) walk.arena.give(scalars.offset);
    if constexpr (!Sharding::alone) gather_values<true>(walk, r);
    if constexpr (moves_apart) sum_buffers(walk, r.sum_of_moved, r.buffers, {1.0 / double(micro_batches)}, {});
    if constexpr (Bound::layout.buffer_bytes > 0 && !Sharding::alone) average_buffers(walk, r);
    if constexpr (steps > 1) walk.run(op::KeepResults{r.scalars, r.results + step});
  }
  /// Sums the loss over all ranks, and the norm, if each rank has a part of it.
  static constexpr void combine_sums(auto& walk, const Resident& r) {
    const View<RankSums> own = r.sums + walk.rank;
    walk.run(op::ShareSums{r.scalars, own});
    walk.await(walk.all_gather({.own = own.offset,
                                .all = r.sums.offset,
                                .bytes = sizeof(RankSums),
                                .small = true,
                                .path = Base::path_of_sums}));
    walk.run(op::CombineSums{r.scalars, r.sums, walk.ranks, Sharding::group});
  }
  /// All-gathers the parameters that kernels read from the ranks' slices; after an update those that it left in slices.
  template <bool trained_alone>
  static constexpr void gather_values(auto& walk, const Resident& r) {
    if constexpr (Sharding::slices_state && !Sharding::slices_parameters) {
      for_each_apart<trained_alone>(
          walk, [&](const walk::UnitRecord& unit, walk::UnitOffsets at, const LayerPath& path) {
            if (!trained_alone || Units::whole_states(unit.tensors) == Units::none)
              gather_slices(walk, r.parameters + at.parameters, unit.values_slice_bytes, path);
          });
    }
  }

  /// Every rank has moved its buffers by its own samples; all get the mean, summed in the order of the ranks.
  static constexpr void average_buffers(auto& walk, const Resident& r) {
    if (walk.ranks == 1) return;
    constexpr std::size_t bytes = Bound::layout.buffer_bytes;
    const std::size_t all = walk.arena.take(walk.ranks * bytes, MemoryKind::communication, Base::path_of_buffers);
    walk.await(walk.all_gather({.own = r.buffers, .all = all, .bytes = bytes, .path = Base::path_of_buffers}));
    walk.run(op::MeanOfRanks<Buffer>{{all}, {r.buffers}, walk.ranks, bytes / sizeof(Buffer)});
    walk.arena.give(all);
  }

  /// Buffers y = a x + b y.
  static constexpr void sum_buffers(auto& walk, std::size_t x, std::size_t y, op::Factor a, op::Factor b) {
    constexpr std::size_t count = Bound::layout.buffer_bytes / sizeof(Buffer);
    walk.run(op::ScaledSum<Buffer, Buffer>{.x = {x}, .y = {y}, .count = count, .a = a, .b = b});
  }

  /// A whole step, for every engine. `load(m)` copies micro-batch m to the input, or to the ring, and returns whether
  /// there is one; a plan copies nothing. The operations between two loads, and after the last load, are one recording
  /// each; but nothing is recorded where the host sees the output of every micro-batch: see(output), as in forward.
  template <class See = NoViewer>
  static constexpr void step(auto& walk, const Resident& r, const op::LossScaling& loss_scaling, double clip,
                             const typename UpdateRule::Options& options, auto&& load, const See& see = {}) {
    using Record = engines::Recording::Piece;
    bool goes_on = load(std::size_t{0});
    const auto run = [&](Record piece, auto&& body) {
      if constexpr (std::is_same_v<See, NoViewer>) walk.replay(piece, body);
      else body();
    };
    if constexpr (micro_batches == 1) {
      if (goes_on) run(Record::step, [&] { step_of_loaded(walk, r, loss_scaling, clip, options, 0, see); });
    } else {
      if (!goes_on) return;
      run(Record::first_micro_batch, [&] {  // assigns gradients; later ones add, which costs more
        begin(walk, r);
        micro_batch(walk, r, 0, see);
      });
      const auto further = [&](Record piece, std::size_t m) {
        goes_on = goes_on && load(m);
        if (goes_on) run(piece, [&] { micro_batch(walk, r, m, see); });
      };
      const std::size_t equal = walk.ranks == 1 || Sharding::reduces_each ? micro_batches - 1 : micro_batches - 2;
      walk.repeat(equal, [&](std::size_t m) { further(Record::further_micro_batch, m + 1); });
      if (equal + 1 < micro_batches) further(Record::last_micro_batch, micro_batches - 1);  // this one reduces
      run(Record::update, [&] { update(walk, r, loss_scaling, clip, options); });
    }
  }
  /// A launch of `steps` steps: `load(m)` copies micro-batch m of all of them to the ring; then one recording has all
  /// operations.
  static constexpr void launch(auto& walk, const Resident& r, const op::LossScaling& loss_scaling, double clip,
                               const typename UpdateRule::Options& options, auto&& load) {
    for (std::size_t m = 0; m < steps * micro_batches; ++m) load(m);
    walk.replay(engines::Recording::Piece::launch, [&] {
      for (std::size_t s = 0; s < steps; ++s) step_of_loaded(walk, r, loss_scaling, clip, options, s);
    });
  }

  /// Adds the loss of the batch in the input to the scalars; saves nothing for backward, dropout is off.
  static constexpr void evaluate(auto& walk, const Resident& r) {
    walk.replay(engines::Recording::Piece::evaluation, [&] { evaluate_output(walk, r, Base::predict(walk, r)); });
  }
  /// The part of it after the model's output, which it frees.
  static constexpr void evaluate_output(auto& walk, const Resident& r, std::size_t output) {
    walk.path = {};
    if constexpr (counts_correct<std::remove_cvref_t<decltype(walk)>>)
      Loss::template count_correct<Output>(walk, output, r.target, r.scalars);
    Loss::template run<false, Output>(walk, output, r.target, r.scalars, 1.0);
    walk.arena.give(output);
  }

 private:
  using Base = Forward<Bound>;

  template <class See = NoViewer>
  static constexpr void step_of_loaded(auto& walk, const Resident& r, const op::LossScaling& loss_scaling, double clip,
                                       const typename UpdateRule::Options& options, std::size_t step,
                                       const See& see = {}) {
    begin(walk, r);
    for (std::size_t m = 0; m < micro_batches; ++m) micro_batch(walk, r, m, see);
    update(walk, r, loss_scaling, clip, options, step);
  }
  static constexpr void micro_batch(auto& walk, const Resident& r, std::size_t m, const auto& see) {
    take_input<X, Labels, slots<std::remove_cvref_t<decltype(walk)>>>(walk, r);
    backward(walk, r, forward(walk, r, m > 0, see), m);
  }

  /// The transport's scratch for the largest possible bucket: a bucket that the largest
  /// unit fills up, or all gradients.
  static constexpr void push_bucket_staging(auto& walk) {
    if (walk.ranks == 1) return;
    std::size_t all = 0, largest = 0;
    for (const walk::UnitRecord& unit : Bound::units(walk.ranks)) {
      const std::size_t bytes = unit.trained > 0 ? unit.whole_gradient_bytes : 0;
      all += unit.count * bytes;
      largest = bytes > largest ? bytes : largest;
    }
    const std::size_t filled = Sharding::bucket - 1 < all ? Sharding::bucket - 1 + largest : all,
                      most = filled < all ? filled : all,
                      staging = Sharding::Transport::staging_bytes(walk.ranks, most / walk.ranks);
    if (staging == 0) return;
    const std::size_t offset =
        walk.arena.push(TensorArena::align(staging), MemoryKind::communication, Base::path_of_bucket);
    walk.bucket.staging = offset;
  }

  /// Every rank has its slice of a buffer, and needs all of them.
  static constexpr void gather_slices(auto& walk, std::size_t whole, std::size_t bytes, const LayerPath& path) {
    if (walk.ranks > 1)
      walk.await(walk.all_gather({.own = whole + walk.rank * bytes, .all = whole, .bytes = bytes, .path = path}));
  }

  /// Calls f(unit, offsets, path) for every unit that trains, or for all units; each iteration of a Repeat separately.
  static constexpr void for_each_trained(auto& walk, auto&& f) { for_each_apart<true>(walk, f); }
  template <bool trained_alone>
  static constexpr void for_each_apart(auto& walk, auto&& f) {
    for (const walk::UnitRecord& unit : Bound::units(walk.ranks))
      if ((trained_alone ? unit.trained : unit.elements) > 0)
        walk.repeat(unit.count, [&](std::size_t i) { f(unit, unit.first + unit.size * i, unit.path_of(i)); });
  }
};

}  // namespace regimen::programs
// SPDX-License-Identifier: Apache-2.0
