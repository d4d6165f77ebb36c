// Random-k (Stich, Cordonnier, Jaggi, NeurIPS 2018). A message has k random elements. All workers draw the
// same ones from a shared seed, so no index is sent and messages can be added.
#include "policies/compression/random_k.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "policies/compression/methods.hpp"
#include "policies/compression/packing.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::compression {
namespace {

class RandomK final : public Codec {
 public:
  explicit RandomK(const Setting& setting) : choice_(setting) {}

  std::int64_t message_bytes() const override {
    return choice_.count() * static_cast<std::int64_t>(sizeof(float));
  }

  void encode(std::span<const float> values, std::int64_t exchange, std::span<std::byte> message) override {
    check_sizes(values.size(), choice_.elements(), message.size(), message_bytes());
    std::size_t at = 0;
    for (const std::uint32_t index : choice_.of(exchange))
      put(message, at++, values[index] * choice_.scale());
  }

  void decode(std::span<const std::byte> message, std::int64_t exchange, std::span<float> values) override {
    check_sizes(values.size(), choice_.elements(), message.size(), message_bytes());
    std::fill(values.begin(), values.end(), 0.0F);
    std::size_t at = 0;
    for (const std::uint32_t index : choice_.of(exchange)) values[index] = get<float>(message, at++);
  }

 private:
  RandomChoice choice_;
};

Efforts random_k_efforts(const Options& options) {
  const double share = options.real("ratio");
  const double both = 2.0 * sizeof(float) * share;
  // One draw per chosen element, and one test per element whether it is chosen.
  const Effort compress{both + 0.25 + feedback_bytes(options), 10.0 * share + 1.0};
  return {compress, {both + sizeof(float) + 0.25, 10.0 * share + 1.0}};
}

}  // namespace

RandomChoice::RandomChoice(const Setting& setting)
    : elements_(setting.stretch.elements),
      count_(count_of_share(setting.options.real("ratio"), elements_)),
      seed_(
          Rng::stream(setting.seed, "random-k", static_cast<std::uint64_t>(setting.stretch.position)).next()),
      scale_(has_error_feedback(setting.options) || count_ == 0
                 ? 1.0F
                 : static_cast<float>(static_cast<double>(elements_) / static_cast<double>(count_))) {
  TANDEM_CHECK(elements_ <= std::int64_t{std::numeric_limits<std::uint32_t>::max()}, elements_);
}

const std::vector<std::uint32_t>& RandomChoice::of(std::int64_t exchange) {
  if (is_drawn(exchange)) return chosen_;
  constexpr unsigned bits = 64;
  Rng random = Rng::stream(seed_, "exchange", static_cast<std::uint64_t>(exchange));
  const auto elements = static_cast<std::uint64_t>(elements_);
  marked_.assign((elements + bits - 1) / bits, 0);
  for (std::uint64_t last = elements - static_cast<std::uint64_t>(count_); last < elements; ++last) {
    const std::uint64_t drawn = random.below(last + 1);
    const bool is_marked = ((marked_[drawn / bits] >> (drawn % bits)) & 1U) != 0;
    const std::uint64_t chosen = is_marked ? last : drawn;
    marked_[chosen / bits] |= std::uint64_t{1} << (chosen % bits);
  }
  chosen_.clear();
  for (std::size_t word = 0; word < marked_.size(); ++word)
    for (std::uint64_t rest = marked_[word]; rest != 0; rest &= rest - 1)
      chosen_.push_back(
          static_cast<std::uint32_t>(word * bits + static_cast<unsigned>(std::countr_zero(rest))));
  drawn_for_ = exchange;
  return chosen_;
}

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
                   .element = &collectives::float_element,
                   .may_err_widely = [](const Options& options) { return !has_error_feedback(options); }}};
}

}  // namespace tandem::compression
