// DGC, deep gradient compression (Lin, Han, Mao, Wang, Dally, ICLR 2018): top-k with error feedback of a
// worker's velocity instead of its gradient (momentum correction), u = m u + g, v = v + u. What is sent of v
// is cleared in v, and in u, too (momentum factor masking): no stale momentum pulls elements that were sent
// late. At first messages are longer (warm-up). The optimiser then has no momentum of its own. Only gradients
// get momentum: a change of a model (local steps) has that of the optimiser already, and a server's reply
// that of the pushes. The clipping of gradients, which the paper uses for recurrent networks, is not
// included.
#include <algorithm>
#include <cmath>
#include <limits>

#include "policies/compression/largest_elements.hpp"
#include "policies/compression/methods.hpp"
#include "policies/compression/packing.hpp"

namespace tandem::compression {
namespace {

/// The paper sends this share in the first of four stages of the warm-up, and in each of the others this
/// share of the one before: 25, 6.25, 1.5625 and 0.4 %.
constexpr double warm_up_share = 0.25;
constexpr int warm_up_stages = 4;

constexpr int vectors_kept = 2;  // v and u

bool has_warm_up(const Options& options) { return options.integer("warm_up") > 0; }

class Dgc final : public LargestElementsCodec {
 public:
  explicit Dgc(const Setting& setting)
      : LargestElementsCodec(setting.stretch.elements),
        ratio_(setting.options.real("ratio")),
        momentum_(setting.is_gradient ? static_cast<float>(setting.options.real("momentum")) : 0.0F),
        masks_(setting.options.boolean("masking")),
        warm_up_(setting.options.integer("warm_up")) {}

  std::int64_t message_bytes() const override {
    return bytes_of(count_of_share(warm_up_ > 0 ? std::max(ratio_, warm_up_share) : ratio_, elements()));
  }
  std::int64_t header_bytes() const override {
    return warm_up_ > 0 ? static_cast<std::int64_t>(sizeof(std::uint32_t)) : 0;
  }
  std::int64_t bytes_of(std::span<const std::byte> header) const override {
    return bytes_of(count_in(header));
  }
  std::int64_t expected_bytes() const override { return bytes_of(count_of_share(ratio_, elements())); }
  int memory_vectors() const override { return vectors_kept; }

  void encode(std::span<const float> values, std::int64_t exchange, std::span<std::byte> message) override {
    check_sizes(values.size(), elements(), message.size(), message_bytes());
    largest_.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) largest_.note(i, values[i]);
    put(values, exchange, message, [](std::size_t) {});
  }

  /// `memory`: v, and then u.
  bool encode_with_memory(std::span<const float> values, std::span<float> memory, std::int64_t exchange,
                          std::span<std::byte> message) override {
    check_sizes(values.size(), elements(), message.size(), message_bytes());
    TANDEM_CHECK(memory.size() == vectors_kept * values.size(), "memory", memory.size(), "values",
                 values.size());
    const auto unsent = memory.first(values.size()), velocity = memory.subspan(values.size());
    largest_.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      velocity[i] = momentum_ * velocity[i] + values[i];
      unsent[i] += velocity[i];
      largest_.note(i, unsent[i]);
    }
    // As in top-k, what is not finite stays, and is detected.
    put(unsent, exchange, message, [&](std::size_t i) {
      unsent[i] -= unsent[i];
      if (masks_) velocity[i] -= velocity[i];
    });
    return true;
  }

 private:
  std::int64_t bytes_of(std::int64_t count) const {
    return header_bytes() + LargestElements::bytes_of(count);
  }
  std::int64_t count_in(std::span<const std::byte> message) const override {
    return warm_up_ > 0 ? std::int64_t{get<std::uint32_t>(message, 0)} : count_of_share(ratio_, elements());
  }
  /// The lower half of an exchange's number says how often the model was updated before.
  std::int64_t count_at(std::int64_t exchange) const {
    const std::int64_t updates = exchange & std::int64_t{std::numeric_limits<std::uint32_t>::max()};
    if (updates >= warm_up_) return count_of_share(ratio_, elements());
    const auto stage = static_cast<double>(warm_up_stages * updates / warm_up_);
    return count_of_share(std::max(ratio_, std::pow(warm_up_share, stage + 1.0)), elements());
  }

  template <class Sent>
  void put(std::span<const float> values, std::int64_t exchange, std::span<std::byte> message, Sent sent) {
    const std::int64_t count = count_at(exchange);
    if (warm_up_ > 0) compression::put(message, 0, static_cast<std::uint32_t>(count));
    largest_.put(count, values, message.subspan(static_cast<std::size_t>(header_bytes())), sent);
  }

  double ratio_;
  float momentum_;
  bool masks_;
  std::int64_t warm_up_;  ///< updates
};

Efforts dgc_efforts(const Options& options) {
  constexpr double passes_of_selection = 3.0;  // as in top-k
  constexpr double width = sizeof(float);
  // Unsent values and velocities are read and written together with the values; sent ones are cleared.
  const double feedback = has_error_feedback(options) ? 6 * width : 0.0;
  return {.compress = {.bytes = 4 * width + 2 * width * passes_of_selection + feedback, .flops = 2.0},
          .decompress = {.bytes = width, .kernels = 2}};
}

}  // namespace

Entry dgc() {
  return {
      .name = "dgc",
      .summary =
          "deep gradient compression: top-k of velocities with error feedback, 8 bytes for each "
          "element; uses an all-gather",
      .paper =
          "Lin et al.: Deep Gradient Compression: Reducing the Communication Bandwidth for "
          "Distributed Training. ICLR 2018",
      .options = {{.name = "ratio",
                   .summary = "share of the elements that a message contains, at least one element",
                   .default_value = 0.001,
                   .minimum = 1e-6,
                   .maximum = 1.0},
                  {.name = "momentum",
                   .summary = "m of the momentum correction of gradients; optimizer.momentum is 0 then",
                   .default_value = 0.9,
                   .minimum = 0.0,
                   .maximum = 0.9999},
                  {.name = "masking",
                   .summary = "momentum factor masking: elements that are sent lose their momentum",
                   .default_value = true},
                  {.name = "warm_up",
                   .summary = "updates of the model in which messages contain 25 %, then 6.25, 1.5625 and "
                              "0.4 % of the elements, at least the ratio; 0: none; over servers only",
                   .default_value = std::int64_t{0},
                   .minimum = 0},
                  {.name = "error_feedback",
                   .summary = "keep what is not sent, and velocities; false: top-k of the gradient alone",
                   .default_value = true}},
      .make = {.sharing = Sharing::gathered,
               .make = make_codec<Dgc>,
               .efforts = dgc_efforts,
               .memory_vectors = vectors_kept,
               .lengths_vary = has_warm_up}};
}

}  // namespace tandem::compression
