// Random-k (Stich, Cordonnier, Jaggi, NeurIPS 2018). A message has k random elements. All workers draw the
// same ones from a shared seed, so no index is sent and messages can be added.
#include <algorithm>

#include "policies/compression/methods.hpp"
#include "policies/compression/packing.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::compression {
namespace {

class RandomK final : public Codec {
 public:
  explicit RandomK(const Setting& setting)
      : elements_(setting.stretch.elements),
        count_(count_of_share(setting.options.real("ratio"), elements_)),
        seed_(Rng::stream(setting.seed, "random-k", static_cast<std::uint64_t>(setting.stretch.position))
                  .next()),
        // Elements that are not sent now are sent later, or the sent ones are scaled to represent them.
        scale_(has_error_feedback(setting.options) || count_ == 0
                   ? 1.0F
                   : static_cast<float>(static_cast<double>(elements_) / static_cast<double>(count_))) {}

  std::int64_t message_bytes() const override { return count_ * static_cast<std::int64_t>(sizeof(float)); }

  void encode(std::span<const float> values, std::int64_t exchange, std::span<std::byte> message) override {
    check_sizes(values.size(), elements_, message.size(), message_bytes());
    std::size_t at = 0;
    for (const std::size_t index : chosen(exchange)) put(message, at++, values[index] * scale_);
  }

  void decode(std::span<const std::byte> message, std::int64_t exchange, std::span<float> values) override {
    check_sizes(values.size(), elements_, message.size(), message_bytes());
    std::fill(values.begin(), values.end(), 0.0F);
    std::size_t at = 0;
    for (const std::size_t index : chosen(exchange)) values[index] = get<float>(message, at++);
  }

 private:
  /// In ascending order; all choices of k elements are equally likely (Floyd's algorithm: Bentley,
  /// Programming Pearls, CACM 30(9), 1987).
  const std::vector<std::size_t>& chosen(std::int64_t exchange) {
    if (exchange == drawn_for_) return chosen_;
    Rng random = Rng::stream(seed_, "exchange", static_cast<std::uint64_t>(exchange));
    marked_.assign(static_cast<std::size_t>(elements_), false);
    for (auto last = static_cast<std::size_t>(elements_ - count_); last < marked_.size(); ++last) {
      const auto drawn = static_cast<std::size_t>(random.below(last + 1));
      marked_[marked_[drawn] ? last : drawn] = true;
    }
    chosen_.clear();
    for (std::size_t index = 0; index < marked_.size(); ++index)
      if (marked_[index]) chosen_.push_back(index);
    drawn_for_ = exchange;
    return chosen_;
  }

  std::int64_t elements_;
  std::int64_t count_;
  std::uint64_t seed_;
  float scale_;
  std::int64_t drawn_for_ = -1;
  std::vector<std::size_t> chosen_;
  std::vector<bool> marked_;
};

Efforts random_k_efforts(const Options& options) {
  const double share = options.real("ratio");
  const double both = 2.0 * sizeof(float) * share;
  // One draw per chosen element, and one test per element whether it is chosen.
  const Effort compress{both + 0.25 + feedback_bytes(options), 10.0 * share + 1.0};
  return {compress, {both + sizeof(float) + 0.25, 10.0 * share + 1.0}};
}

}  // namespace

Entry random_k() {
  return {.name = "random-k",
          .summary =
              "random elements from a shared seed, 4 bytes each; without error feedback scaled by d / k, "
              "which makes them unbiased",
          .paper = "Stich, Cordonnier, Jaggi: Sparsified SGD with Memory. NeurIPS 2018",
          .options = {ratio_option(), error_feedback_option(true)},
          .make = {.sharing = Sharing::summed,
                   .make = make_codec<RandomK>,
                   .efforts = random_k_efforts,
                   .element = &collectives::float_element}};
}

}  // namespace tandem::compression
